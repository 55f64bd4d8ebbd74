package scan

import "math/bits"

// Bytes is a set of bytes whose runs are searched for: words.
type Bytes struct {
	low, high [16]byte // a byte below 0x80 is meant when its nibbles' entries share a bit
	invert    uint64   // all ones: the bytes meant are the set; 0: all others are
	in        [256]uint8
}

// NewBytes is the set of ASCII bytes for which in is true or, with others, of
// all bytes, beyond ASCII too, for which it is not.
func NewBytes(in func(c byte) bool, others bool) *Bytes {
	s := &Bytes{invert: ^uint64(0)}
	if others {
		s.invert = 0
	}
	var rows []uint16 // the low nibbles that a bit stands for
	for high := range 8 {
		row := uint16(0)
		for low := range 16 {
			if in(byte(high<<4 | low)) {
				row |= 1 << low
			}
		}
		bit := indexOf(rows, row)
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

func indexOf(rows []uint16, row uint16) int {
	for i, r := range rows {
		if r == row {
			return i
		}
	}
	return -1
}

// EdgesRoom is the least that Edges needs as dst.
const EdgesRoom = 64 + 16

// Edges writes to dst where runs of bytes of the set begin and end in data, in
// turn, from at on: until the data ends, or dst might not be enough for the
// next 64 bytes. A run that data[at-1] belongs to has begun already. It returns
// how many it wrote, and where to go on, len(data) when that was all. A run that
// data ends with, ends there.
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
	// The run that goes on to the end of less than 64 bytes has its last edge
	// there like any other.
	in := s.mask(data[at:])
	return appendEdges(dst, n, at, in^(in<<1|last)), len(data)
}

// windowsPortable finds the edges of windows of 64 bytes, as long as there is
// room for those of one more.
//
// hot: what processors without an assembly of ours run.
func (s *Bytes) windowsPortable(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	for at+64 <= len(data) && len(dst)-n >= EdgesRoom {
		in := s.mask(data[at : at+64])
		n = appendEdges(dst, n, at, in^(in<<1|last))
		last = in >> 63
		at += 64
	}
	return n, at, last
}

// mask has a bit for each of up to 64 bytes that belongs to the set.
func (s *Bytes) mask(p []byte) (in uint64) {
	for i, c := range p {
		in |= uint64(s.in[c]) << (i & 63)
	}
	return in
}

func appendEdges(dst []uint32, n, at int, edges uint64) int {
	for ; edges != 0; edges &= edges - 1 {
		dst[n] = uint32(at + bits.TrailingZeros64(edges))
		n++
	}
	return n
}
