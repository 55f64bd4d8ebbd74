package streaming

import "encoding/binary"

// Order encodes keys for the order of KeyFieldBasedComparator. Of two keys, the one that
// sorts first has the smaller encoding, byte by byte. Keys that the comparator takes for
// equal have equal encodings.
//
// An encoding is a sequence of parts, one for each specification:
//
//	field missing  00                 and no further part, because Hadoop compares no further
//	text           01 bytes 00 00     with each 00 of the field as 00 ff
//	number         01 sign …          see appendNumber
//
// All bits of a part are flipped if its specification is reversed. Without specifications the
// encoding is that of a text, without its 01. No encoding is the start of another one.
type Order struct{ Specs }

// Append appends the encoding of key to dst.
func (o *Order) Append(dst, key []byte) []byte {
	if !o.Given() {
		return appendText(dst, key)
	}
	var room [16]int
	lengths := o.lengths(room[:0], key)
	for i := range o.list {
		k, from := &o.list[i], len(dst)
		begin, end, ok := o.span(key, lengths, k)
		switch {
		case !ok:
			dst = append(dst, 0)
		case k.Numeric:
			dst = appendNumber(append(dst, 1), key[begin:max(begin, end)])
		default:
			dst = appendText(append(dst, 1), key[begin:max(begin, end)])
		}
		if k.Reverse {
			for i := from; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
		}
		if !ok {
			break
		}
	}
	return dst
}

// appendText appends bytes that compare as text does. None is the start of another one.
func appendText(dst, text []byte) []byte {
	for _, c := range text {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// number is a number as the comparator reads it: an optional minus, digits, and perhaps a
// point with further digits. Any other byte ends it.
type number struct {
	negative       bool
	whole, decimal []byte // without leading and trailing zeros, respectively
	mark           byte   // decides between numbers with equal digits
}

// parseNumber reads text as KeyFieldBasedComparator.numericalCompare does. The slices of the
// result are parts of text. An empty text is zero.
func parseNumber(text []byte) number {
	var n number
	if len(text) == 0 {
		return n
	}
	// Hadoop compares the first bytes of two fields if both end with their numbers.
	n.mark = text[0]
	i := 0
	if text[0] == '-' {
		n.negative, i = true, 1
	}
	for i < len(text) && text[i] == '0' {
		i++
	}
	from := i
	for i < len(text) && digit(text[i]) {
		i++
	}
	n.whole = text[from:i]
	switch {
	case i < len(text) && text[i] == '.':
		from = i + 1
		for i++; i < len(text) && digit(text[i]); i++ {
		}
		n.decimal = text[from:i]
		for len(n.decimal) > 0 && n.decimal[len(n.decimal)-1] == '0' {
			n.decimal = n.decimal[:len(n.decimal)-1]
		}
		// Numbers with decimals and equal digits are equal: 010.50 is 10.5. With no decimals but
		// zeros, 10.0 has the mark of 10.
		switch {
		case len(n.decimal) > 0:
			n.mark = 0
		case !n.negative && len(n.whole) > 0:
			n.mark = n.whole[0]
		case !n.negative:
			n.mark = '0'
		}
	// Otherwise Hadoop compares the bytes behind the numbers.
	case i < len(text):
		n.mark = text[i]
	}
	// A negative zero is equal to zero.
	if n.negative && len(n.whole)+len(n.decimal) == 0 {
		n.negative = false
		if n.mark == '-' {
			n.mark = '0'
		}
	}
	return n
}

// digit reports whether c is an ASCII digit. Bytes below '0' wrap around to large numbers.
func digit(c byte) bool { return c-'0' < 10 }

// appendNumber appends the encoding of a number. It begins with a sign (0 for negative) and
// the count of digits before the point, in 4 bytes. These digits, the digits behind the
// point, 00 and the mark follow. In negative numbers all bits but those of the sign are
// flipped.
func appendNumber(dst, text []byte) []byte {
	n := parseNumber(text)
	if n.negative {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
	}
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(n.whole)))
	dst = append(append(dst, n.whole...), n.decimal...)
	dst = append(dst, 0, n.mark) // 0 is less than any digit, so it ends the digits
	if n.negative {
		for i := from; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}
