package sort

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"
)

// appendExact appends a key for a number of JSON. It compares numbers as decimals of any length, so
// that 9007199254740993 is above 9007199254740992, and 1e400 above 1e399.
//
// A number that is not zero is 0.d × 10^e, where d has no zeros at its start and its end. The key has a
// byte for the sign, then e, then d as appendDigits writes it. Negative numbers are inverted bit by bit.
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
	exponent := ""
	if end < len(text) { // e or E
		exponent = strings.TrimPrefix(string(text[end+1:]), "+")
	}
	dst = appendDigits(appendExponent(dst, exponent, int64(shift)), whole, fraction)
	if minus {
		invert(dst[start:])
		dst[start] = negative
	}
	return dst
}

// appendExponent appends text + shift, so that the bytes have the order of the sums. Two bytes suffice
// for usual sums. Others have the length of their magnitude in two bytes more, and the magnitude.
func appendExponent(dst []byte, text string, shift int64) []byte {
	const least, most = 1 << 14, 3 << 14 // of the two bytes of a usual sum
	small, err := strconv.ParseInt(text, 10, 32)
	if text == "" {
		small, err = 0, nil
	}
	if sum := small + shift; err == nil && sum > -least && sum < least {
		return binary.BigEndian.AppendUint16(dst, uint16(1<<15+sum))
	}
	sum, ok := new(big.Int).SetString(text, 10)
	if !ok { // there is none
		sum = new(big.Int)
	}
	sum.Add(sum, big.NewInt(shift))
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, most+1)
	magnitude := sum.Bytes()
	dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(magnitude))), magnitude...)
	if sum.Sign() < 0 {
		invert(dst[start:])
	}
	return dst
}

// unescape returns the text of a string of JSON, without its quotes. Bytes that are not UTF-8 stay, and
// half of a surrogate pair becomes its three bytes, so that different strings stay different.
func unescape(s []byte) []byte {
	text := make([]byte, 0, len(s))
	for at := 0; at < len(s); at++ {
		if s[at] != '\\' {
			text = append(text, s[at])
			continue
		}
		at++
		if s[at] != 'u' {
			letter := s[at]
			if i := strings.IndexByte("bfnrt", letter); i >= 0 {
				letter = "\b\f\n\r\t"[i]
			}
			text = append(text, letter)
			continue
		}
		r := unit(s[at:])
		at += 4
		if pair := utf16.DecodeRune(r, unit(s[min(at+2, len(s)):])); pair != utf8.RuneError && s[at+1] == '\\' {
			r, at = pair, at+6
		}
		if utf16.IsSurrogate(r) {
			text = append(text, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
			continue
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}

// unit returns the number of uXXXX at the start of s, or -1.
func unit(s []byte) rune {
	if len(s) < 5 || s[0] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[1:5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
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
