package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The kernels in plain Go. All are given as much data as the places of hits
// and the width of what they look for take.

// hot: what processors without an assembly of ours run.
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

func columnsAt(data []byte, columns []column) bool {
	for i := range columns {
		c := &columns[i]
		if data[c.offset]|c.mask[0] != c.want[0] {
			return false
		}
	}
	return true
}

// hot: what processors without an assembly of ours run.
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

// hot: what processors without an assembly of ours run.
func portableNewlines(marks []uint64, data []byte) {
	const lows, highs = 0x0101010101010101, 0x8080808080808080
	for w := range marks {
		word := uint64(0)
		for i := range 8 {
			v := binary.LittleEndian.Uint64(data[64*w+8*i:]) ^ '\n'*lows
			// Exact for every byte: the high bit is set in zero bytes only.
			zero := ^((v&^highs + ^uint64(highs)) | v) & highs
			// The product gathers the eight high bits in its highest byte.
			word |= (zero >> 7 * 0x0102040810204080 >> 56) << (8 * i)
		}
		marks[w] = word
	}
}

// Ends sets each of ends to the marks of newlines that end a line with a hit,
// and returns what to pass as carry for the words that follow: 1 where the
// last line, not ended yet, has one. It counts the ends.
//
// Adding the hits to the ones between newlines carries into each newline that
// has a hit before it since the last, and no further, as a newline is a zero
// there: the first hit's carry runs through all the ones above it, and those
// above leave ones, not carries.
//
// hot: a turn for 64 bytes.
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
