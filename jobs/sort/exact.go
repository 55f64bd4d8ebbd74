package sort

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"sync/atomic"
)

// mostExact is the largest exponent of a number of JSON that is told from larger ones.
const mostExact = 1<<15 - 1

// appendExact appends a key for a number of JSON. It compares numbers as decimals of any length, so
// that 9007199254740993 is above 9007199254740992, and 1e400 above 1e399.
//
// A number that is not zero is 0.d × 10^e, where d has no zeros at its start and its end. The key has a
// byte for the sign, then e, then d as appendDigits writes it. Negative numbers are inverted bit by bit. An e beyond
// mostExact counts as mostExact.
func appendExact(dst, text []byte) []byte {
	minus, whole, fraction, end := decimal(text)
	var shift int
	if all := bytes.TrimLeft(whole, "0"); len(all) > 0 {
		whole, shift = all, len(all)
		if fraction = bytes.TrimRight(fraction, "0"); len(fraction) == 0 {
			whole = bytes.TrimRight(whole, "0")
		}
	} else {
		all = bytes.TrimLeft(fraction, "0")
		whole, shift = nil, len(all)-len(fraction)
		fraction = bytes.TrimRight(all, "0")
	}
	if len(whole)+len(fraction) == 0 {
		return append(dst, zeroNumber)
	}
	start := len(dst)
	dst = append(dst, positive)
	exponent := int64(shift)
	if end < len(text) { // e or E
		n, _ := strconv.ParseInt(string(text[end+1:]), 10, 32) // a number that is out of range becomes the end of the range
		exponent += n
	}
	exponent = max(-mostExact, min(exponent, mostExact))
	dst = appendDigits(binary.BigEndian.AppendUint16(dst, uint16(mostExact+exponent)), whole, fraction)
	if minus {
		invert(dst[start:])
		dst[start] = negative
	}
	return dst
}

// seen knows which keys of JSON a line has had.
type seen struct {
	lines atomic.Bool   // there was a line
	all   atomic.Bool   // each key was found
	found []atomic.Bool // by the index of the field
}

// look notes the keys that line has.
func (s *seen) look(o *Order, line []byte) {
	if s.all.Load() {
		return
	}
	s.lines.Store(true)
	all := true
	for i := range s.found {
		if !s.found[i].Load() && jsonValue(line, o.fields[i].path) != nil {
			s.found[i].Store(true)
		}
		all = all && s.found[i].Load()
	}
	s.all.Store(all)
}

// Unseen returns the index in Options.JSON of the first key that no line has had; -1: there is none. It
// counts lines of this Order that were checked. Without lines each key counts as seen.
func (o *Order) Unseen() int {
	if o.seen == nil || !o.seen.lines.Load() {
		return -1
	}
	for i := range o.seen.found {
		if !o.seen.found[i].Load() {
			return i
		}
	}
	return -1
}
