package wordcount

import (
	"encoding/binary"
	"math/bits"
)

const (
	lows   = 0x0101010101010101
	highs  = 0x8080808080808080
	sevens = 0x7f7f7f7f7f7f7f7f
)

func trailingZeros(x uint64) int { return bits.TrailingZeros64(x) }

// gather packs the high bits of the eight bytes of m, which has no other bits
// set, into the low eight bits, first byte lowest.
func gather(m uint64) uint64 { return m >> 7 * 0x0102040810204080 >> 56 }

// nonBlank marks the bytes that belong to words: all but space, TAB, newline,
// form feed and carriage return.
//
// Adding 0x80−k to the low seven bits of a byte sets its high bit when they
// are at least k, and never carries into the next byte.
//
// hot: a call 64 bytes.
func nonBlank(p *[64]byte) uint64 {
	var mask uint64
	for i := 0; i < 64; i += 8 {
		v := binary.LittleEndian.Uint64(p[i : i+8])
		low := v & sevens
		controls := (low + (0x80-'\t')*lows) &^ (low + (0x80-'\r'-1)*lows) & ((low ^ '\v'*lows) + sevens)
		space := (low + (0x80-' ')*lows) &^ (low + (0x80-' '-1)*lows)
		mask |= gather((controls|space)&^v&highs) << i
	}
	return ^mask
}

// alnum marks ASCII letters and digits.
//
// hot: a call 64 bytes.
func alnum(p *[64]byte) uint64 {
	var mask uint64
	for i := 0; i < 64; i += 8 {
		v := binary.LittleEndian.Uint64(p[i : i+8])
		low := v & sevens
		folded := low | 0x20*lows
		letters := (folded + (0x80-'a')*lows) &^ (folded + (0x80-'z'-1)*lows)
		digits := (low + (0x80-'0')*lows) &^ (low + (0x80-'9'-1)*lows)
		mask |= gather((letters|digits)&^v&highs) << i
	}
	return mask
}

// lower turns A to Z into a to z, eight bytes at a time.
//
// hot: with IgnoreCase every byte passes.
func lower(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		low := v & sevens
		upper := (low + (0x80-'A')*lows) &^ (low + (0x80-'Z'-1)*lows) &^ v & highs
		binary.LittleEndian.PutUint64(p, v|upper>>2)
	}
	for i, c := range p {
		if c-'A' < 26 {
			p[i] = c | 0x20
		}
	}
}
