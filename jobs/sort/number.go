package sort

import (
	"bytes"
	"encoding/binary"
)

// appendNumber appends a key for the number at the start of text, behind
// blanks. It reads numbers as GNU sort -n does: an optional minus, digits, and
// a fraction behind a point; no plus and no exponent. No number counts as zero.
// There may be any number of digits.
//
// The first byte holds the sign and the number n of integer digits: 80 for
// zero, 81+n for positive numbers, 7F−n for negative ones. If n is 7E or more,
// the byte is FF (00 if negative), and n follows in eight bytes. Then come the
// digits, without zeros at the start and the end, two in each byte, each as 1
// to 10, and a 0 at the end. The point needs no mark, because digits are
// compared only if n is equal. Negative numbers are inverted bit by bit.
func appendNumber(dst, text []byte) []byte {
	negative, whole, fraction, _ := decimal(text[skipBlanks(text, 0):])
	// Zeros that do not count would make equal numbers differ.
	whole = bytes.TrimLeft(whole, "0")
	fraction = bytes.TrimRight(fraction, "0")
	if len(whole)+len(fraction) == 0 {
		return append(dst, 0x80)
	}
	start := len(dst)
	// More integer digits mean a larger number, because the first digit is not zero.
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

// decimal reads a minus sign, digits, a point and digits at the start of text; each of
// them may be missing. end is the place behind them.
func decimal(text []byte) (minus bool, whole, fraction []byte, end int) {
	if minus = len(text) > 0 && text[0] == '-'; minus {
		end = 1
	}
	whole, end = digits(text, end)
	if end < len(text) && text[end] == '.' {
		fraction, end = digits(text, end+1)
	}
	return minus, whole, fraction, end
}

// digits returns the run of digits in text from at on, and where it ends.
// The result points into text.
func digits(text []byte, at int) ([]byte, int) {
	begin := at
	for at < len(text) && text[at]-'0' < 10 {
		at++
	}
	return text[begin:at], at
}

// appendDigits appends two digits in each byte, each as 1 to 10. The end is a nibble or
// a byte of 0, which lies before every digit, so 1.2 lies before 1.23.
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
		// The free half of the last byte is the end.
		return append(dst, high)
	}
	return append(dst, 0)
}
