package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// This file has the kernels in plain Go. The caller gives them all the data that they read.
// These are the places of hits, and the bytes up to the largest offset behind the last place.

// portableMark is kernelMark in plain Go. It searches for the byte of the first column, and compares
// the other columns only there.
//
// hot: it serves processors for which there is no assembly.
func portableMark(hits []uint64, data []byte, columns []column) bool {
	clear(hits)
	found := false
	first := &columns[0]
	for _, c := range [2]byte{first.want[0], first.want[0] &^ first.mask[0]} {
		text := data[first.offset : int(first.offset)+64*len(hits)]
		for at := 0; ; at++ {
			k := bytes.IndexByte(text[at:], c)
			if k < 0 {
				break
			}
			at += k
			if columnsAt(data[at:], columns[1:]) {
				hits[at/64] |= 1 << (at % 64)
				found = true
			}
		}
		if first.mask[0] == 0 {
			break
		}
	}
	return found
}

// columnsAt reports whether all columns match at the start of data.
func columnsAt(data []byte, columns []column) bool {
	for i := range columns {
		c := &columns[i]
		if data[c.offset]|c.mask[0] != c.want[0] {
			return false
		}
	}
	return true
}

// portableMarkSet is kernelMarkSet in plain Go.
//
// hot: it serves processors for which there is no assembly.
func portableMarkSet(hits []uint64, data []byte, t *tables) bool {
	found := false
	for w := range hits {
		word := uint64(0)
		for i := range 64 {
			if t.buckets(data[64*w+i:]) != 0 {
				word |= 1 << i
			}
		}
		hits[w] = word
		found = found || word != 0
	}
	return found
}

// portableNewlines is kernelNewlines in plain Go, eight bytes at a time.
//
// hot: it serves processors for which there is no assembly.
func portableNewlines(marks []uint64, data []byte) {
	const lows, highs = 0x0101010101010101, 0x8080808080808080
	for w := range marks {
		word := uint64(0)
		for i := range 8 {
			v := binary.LittleEndian.Uint64(data[64*w+8*i:]) ^ '\n'*lows
			// v has a zero byte for each newline. Exactly those bytes get their high bit set.
			zero := ^((v&^highs + ^uint64(highs)) | v) & highs
			// The highest byte of the product has the eight high bits, one for each byte.
			word |= (zero >> 7 * 0x0102040810204080 >> 56) << (8 * i)
		}
		marks[w] = word
	}
}

// Ends sets ends to the marks of the newlines that end a line with a hit, and returns their
// number. carry is 1 if the line that begins before the first word has a hit
// already. carryOut is the same for the words that follow.
//
// The words of newlines, inverted, have ones between newlines. Adding a hit makes a carry that runs
// through these ones up to the next newline. The carry stops there, because a newline is a zero.
// Further hits of the same line make no second carry into that newline.
//
// hot: one step for 64 bytes.
func Ends(ends, hits, newlines []uint64, carry uint64) (count int, carryOut uint64) {
	hits, newlines = hits[:len(ends)], newlines[:len(ends)]
	for w := range ends {
		var sum uint64
		sum, carry = bits.Add64(^newlines[w], hits[w], carry)
		ends[w] = sum & newlines[w]
		count += bits.OnesCount64(ends[w])
	}
	return count, carry
}
