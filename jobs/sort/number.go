package sort

import (
	"bytes"
	"encoding/binary"
)

// appendNumber appends the value of the number that text begins with, after
// blanks, as GNU sort -n reads it: an optional minus, digits, and a fraction
// after a point; no exponent, no plus; nothing is zero. Any number of digits
// counts.
//
// The first byte holds the sign and the number of integer digits: 80 is zero,
// above it 81+n positive, and 7F−n negative, n digits each; n from 7E on is
// FF (00) and the count in eight bytes. Then come the digits without leading
// and trailing zeros, two a byte, each as 1 to 10, ended by 0: the point needs
// no mark, since only equal counts are compared. Negative ones are inverted.
func appendNumber(dst, text []byte) []byte {
	at := skipBlanks(text, 0)
	negative := at < len(text) && text[at] == '-'
	if negative {
		at++
	}
	whole, at := digits(text, at)
	var fraction []byte
	if at < len(text) && text[at] == '.' {
		fraction, _ = digits(text, at+1)
	}
	whole = bytes.TrimLeft(whole, "0")
	fraction = bytes.TrimRight(fraction, "0")
	if len(whole)+len(fraction) == 0 {
		return append(dst, 0x80)
	}
	start := len(dst)
	if n := len(whole); n < 0x7e {
		dst = append(dst, 0x81+byte(n))
	} else {
		dst = append(dst, 0xff)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	dst = appendDigits(dst, whole, fraction)
	if negative {
		invert(dst[start:])
	}
	return dst
}

// digits is the run of digits in text from at, and where it ends.
func digits(text []byte, at int) ([]byte, int) {
	begin := at
	for at < len(text) && text[at]-'0' < 10 {
		at++
	}
	return text[begin:at], at
}

func appendDigits(dst, whole, fraction []byte) []byte {
	var high byte
	half := false
	for _, part := range [2][]byte{whole, fraction} {
		for _, c := range part {
			if d := c - '0' + 1; half {
				dst = append(dst, high|d)
			} else {
				high = d << 4
			}
			half = !half
		}
	}
	if half {
		return append(dst, high)
	}
	return append(dst, 0)
}
