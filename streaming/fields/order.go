package fields

import "encoding/binary"

// Order is the order of KeyFieldBasedComparator, as an encoding: of two keys, the
// one that comes first has the smaller encoding, byte by byte. Keys that the
// comparator takes for equal have equal encodings.
//
// An encoding is a sequence of parts, one for each specification:
//
//	field missing  00                 and no further part: Hadoop looks at none
//	text           01 bytes 00 00     with each 00 of the field as 00 ff
//	number         01 sign …          see appendNumber
//
// A part of a reversed specification has all its bits flipped.
type Order struct{ Specs }

// Append appends the encoding of key to dst.
func (o *Order) Append(dst, key []byte) []byte {
	if !o.Given() {
		return append(dst, key...)
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

// appendText appends bytes that compare as text does and end by themselves.
func appendText(dst, text []byte) []byte {
	for _, c := range text {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// number is a number as the comparator reads it: an optional minus, digits, and
// maybe a point with further digits. Whatever follows ends it.
type number struct {
	negative       bool
	whole, decimal []byte // without zeros that do not count
	mark           byte   // decides between numbers of equal digits
}

// parseNumber reads text as KeyFieldBasedComparator.numericalCompare does.
func parseNumber(text []byte) number {
	var n number
	if len(text) == 0 {
		return n
	}
	// Where a number ends with its field, Hadoop compares the first bytes of the fields.
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
		// Behind a point the decimals alone decide: 010.50 is 10.5, and 10.0 is 10.
		switch {
		case len(n.decimal) > 0:
			n.mark = 0
		case !n.negative && len(n.whole) > 0:
			n.mark = n.whole[0]
		case !n.negative:
			n.mark = '0'
		}
	case i < len(text):
		n.mark = text[i]
	}
	// A negative zero is a zero.
	if n.negative && len(n.whole)+len(n.decimal) == 0 {
		n.negative = false
		if n.mark == '-' {
			n.mark = '0'
		}
	}
	return n
}

func digit(c byte) bool { return c-'0' < 10 }

// appendNumber appends a sign, the number of digits before the point, these digits,
// those behind it, and the mark. All but the sign are flipped in negative numbers.
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
	dst = append(dst, 0, n.mark) // no digit is 0
	if n.negative {
		for i := from; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}
