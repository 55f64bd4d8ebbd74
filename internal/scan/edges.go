package scan

import (
	"math/bits"
	"slices"
)

// Bytes is a set of byte values. Edges finds runs of bytes that belong to it,
// such as words.
type Bytes struct {
	low, high [16]byte   // a byte below 0x80 is listed if the entries of its two nibbles share a bit
	invert    uint64     // all ones: the set has the listed bytes; 0: it has all others
	in        [256]uint8 // 1: the byte is in the set
}

// NewBytes returns the set of the ASCII bytes for which in returns true. If others is
// true, it returns the set of all other bytes, including those above ASCII.
func NewBytes(in func(c byte) bool, others bool) *Bytes {
	s := &Bytes{invert: ^uint64(0)}
	if others {
		s.invert = 0
	}
	var rows []uint16 // for each bit, the low nibbles that it stands for
	for high := range 8 {
		row := uint16(0)
		for low := range 16 {
			if in(byte(high<<4 | low)) {
				row |= 1 << low
			}
		}
		bit := slices.Index(rows, row)
		if row == 0 {
			continue
		} else if bit < 0 {
			bit, rows = len(rows), append(rows, row)
		}
		s.high[high] = 1 << bit
		for low := range 16 {
			s.low[low] |= byte(row>>low&1) << bit
		}
	}
	for c := range s.in {
		if (c < 0x80 && in(byte(c))) != others {
			s.in[c] = 1
		}
	}
	return s
}

// EdgesRoom is the least length of dst for Edges.
const EdgesRoom = 64 + 16

// Edges writes to dst, in turn, the places at which runs of bytes of the set begin and end in data,
// from place at on. It stops at the end of data, or if dst may be too short for the next 64 bytes.
// If data[at-1] is in the set, a run has begun already, and its end comes first. A run that reaches
// the end of data ends there. Edges returns the number of places, and the place next at which the
// caller goes on; len(data): there is no more.
func (s *Bytes) Edges(dst []uint32, data []byte, at int) (n, next int) {
	last := uint64(0)
	if at > 0 {
		last = uint64(s.in[data[at-1]])
	}
	if at+64 <= len(data) {
		n, at, last = s.windows(dst, data, at, last)
	}
	if len(data)-at >= 64 || at < len(data) && len(dst)-n < EdgesRoom {
		return n, at
	}
	// The bits behind the last byte are 0, so a run that reaches the end of data ends there.
	in := s.mask(data[at:])
	return appendEdges(dst, n, at, in^(in<<1|last)), len(data)
}

// windowsPortable finds the edges of whole windows of 64 bytes, as long as dst
// has room for the edges of one more. last is 1 if a run has begun before at. inRun is the same for
// next.
//
// hot: it serves processors for which there is no assembly.
func (s *Bytes) windowsPortable(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	for at+64 <= len(data) && len(dst)-n >= EdgesRoom {
		in := s.mask(data[at : at+64])
		n = appendEdges(dst, n, at, in^(in<<1|last))
		last = in >> 63
		at += 64
	}
	return n, at, last
}

// mask returns a bit for each of up to 64 bytes: 1 if the byte is in the set.
func (s *Bytes) mask(p []byte) (in uint64) {
	for i, c := range p {
		in |= uint64(s.in[c]) << (i & 63)
	}
	return in
}

// appendEdges writes at+i to dst, behind its first n elements, for each bit i of edges that is 1. It
// returns the new number of elements. dst has room for 64 more.
func appendEdges(dst []uint32, n, at int, edges uint64) int {
	for ; edges != 0; edges &= edges - 1 {
		dst[n] = uint32(at + bits.TrailingZeros64(edges))
		n++
	}
	return n
}
