package streaming

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// These are the type codes of typed bytes (org.apache.hadoop.typedbytes.Type). A code is the
// first byte of an item, such as a key or value. Numbers and lengths behind it are big-endian.
const (
	codeBytes  = 0
	codeByte   = 1
	codeBool   = 2
	codeInt    = 3
	codeLong   = 4
	codeFloat  = 5
	codeDouble = 6
	codeString = 7
	codeVector = 8
	codeList   = 9
	codeMap    = 10
	codeMarker = 255 // ends a list

	firstCustom, lastCustom = 50, 200 // of applications, in the form of codeBytes
)

// mostDepth limits how deep vectors, lists and maps lie in one another.
const mostDepth = 256

// typedLength returns the length of the item at the start of p, with its code. It fails with
// errShort if p ends before the item.
func typedLength(p []byte) (int, error) { return lengthAt(p, mostDepth) }

// lengthAt is typedLength for an item that may hold depth-1 levels of items.
func lengthAt(p []byte, depth int) (int, error) {
	if len(p) == 0 {
		return 0, errShort
	}
	switch code := p[0]; {
	case depth == 0:
		return 0, fmt.Errorf("typed bytes are nested more than %d levels deep", mostDepth)
	case code == codeByte || code == codeBool:
		return atLeast(p, 2)
	case code == codeInt || code == codeFloat:
		return atLeast(p, 5)
	case code == codeLong || code == codeDouble:
		return atLeast(p, 9)
	case code == codeList:
		return listLength(p, depth)
	case code > codeMap && (code < firstCustom || code > lastCustom):
		return 0, fmt.Errorf("unknown type %d in typed bytes", code)
	}
	n, err := count(p)
	switch {
	case err != nil:
		return 0, err
	case p[0] == codeVector:
		return several(p, n, depth)
	case p[0] == codeMap:
		return several(p, 2*n, depth)
	}
	return atLeast(p, 5+n)
}

// atLeast returns n, or errShort if p has fewer than n bytes.
func atLeast(p []byte, n int) (int, error) {
	if len(p) < n {
		return 0, errShort
	}
	return n, nil
}

// count returns the number in the 4 bytes behind the type code.
func count(p []byte) (int, error) {
	if len(p) < 5 {
		return 0, errShort
	}
	n := int32(binary.BigEndian.Uint32(p[1:]))
	if n < 0 {
		return 0, errors.New("a negative length in typed bytes")
	}
	return int(n), nil
}

// several returns the length of a vector or map with n items. Its head has 5 bytes.
func several(p []byte, n, depth int) (int, error) {
	at := 5
	for range n {
		k, err := lengthAt(p[at:], depth-1)
		if err != nil {
			return 0, err
		}
		at += k
	}
	return at, nil
}

// listLength returns the length of a list, with the marker that ends it.
func listLength(p []byte, depth int) (int, error) {
	for at := 1; at < len(p); {
		if p[at] == codeMarker {
			return at + 1, nil
		}
		k, err := lengthAt(p[at:], depth-1)
		if err != nil {
			return 0, err
		}
		at += k
	}
	return 0, errShort
}

// appendTyped appends the item p as text. p must be whole.
func appendTyped(dst, p []byte) []byte {
	dst, _ = appendItem(dst, p)
	return dst
}

// appendItem appends the item at the start of p as text, as Java's toString gives it. rest
// is the part of p behind the item.
func appendItem(dst, p []byte) (out, rest []byte) {
	n, err := typedLength(p)
	if err != nil {
		return dst, nil
	}
	item, rest := p[:n], p[n:]
	switch code := item[0]; code {
	case codeByte:
		dst = strconv.AppendInt(dst, int64(int8(item[1])), 10)
	case codeBool:
		dst = strconv.AppendBool(dst, item[1] != 0)
	case codeInt:
		dst = strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(item[1:]))), 10)
	case codeLong:
		dst = strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(item[1:])), 10)
	case codeFloat: // printed with the digits of a float, not of a double
		dst = appendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(item[1:]))), 32)
	case codeDouble:
		dst = appendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(item[1:])), 64)
	case codeString: // behind the code and 4 bytes of length
		dst = append(dst, ReplaceInvalid(item[5:])...)
	case codeVector, codeList:
		dst = appendItems(dst, item)
	case codeMap:
		dst = appendPairs(dst, item)
	default: // bytes: hexadecimal digits
		for _, c := range item[5:] {
			dst = fmt.Appendf(dst, "%02x", c)
		}
	}
	return dst, rest
}

// appendItems appends a vector or list as text, such as "[a, b]".
func appendItems(dst, list []byte) []byte {
	rest := list[1 : len(list)-1] // without the code and the marker
	if list[0] == codeVector {
		rest = list[5:]
	}
	dst = append(dst, '[')
	for first := true; len(rest) > 0; first = false {
		if !first {
			dst = append(dst, ", "...)
		}
		dst, rest = appendItem(dst, rest)
	}
	return append(dst, ']')
}

// appendPairs appends a map as text, such as "{a=1, b=2}", in the order of its keys, because
// Hadoop reads maps into a TreeMap. Keys are strings or numbers of one type.
func appendPairs(dst, pairs []byte) []byte {
	type pair struct{ key, value []byte }
	var all []pair
	for rest := pairs[5:]; len(rest) > 0; {
		k, err := typedLength(rest)
		if err != nil {
			break
		}
		v, err := typedLength(rest[k:])
		if err != nil {
			break
		}
		all = append(all, pair{rest[:k], rest[k : k+v]})
		rest = rest[k+v:]
	}
	slices.SortStableFunc(all, func(a, b pair) int { return compareItems(a.key, b.key) })
	dst = append(dst, '{')
	for i, p := range all {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendTyped(dst, p.key), '=')
		dst = appendTyped(dst, p.value)
	}
	return append(dst, '}')
}

// compareItems compares two keys of a map: whole numbers by value, others by their text.
func compareItems(a, b []byte) int {
	number := func(p []byte) (int64, bool) {
		switch p[0] {
		case codeByte:
			return int64(int8(p[1])), true
		case codeInt:
			return int64(int32(binary.BigEndian.Uint32(p[1:]))), true
		case codeLong:
			return int64(binary.BigEndian.Uint64(p[1:])), true
		}
		return 0, false
	}
	x, isX := number(a)
	y, isY := number(b)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return strings.Compare(string(appendTyped(nil, a)), string(appendTyped(nil, b)))
}

// appendFloat appends a number as Java prints a float (bits 32) or double (bits 64). The text
// always has a point. It has an exponent if the number is below 0.001, or 10,000,000 or more.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	format := byte('e')
	if size := math.Abs(f); size == 0 || size >= 1e-3 && size < 1e7 {
		format = 'f'
	}
	mantissa, exponent, hasExponent := strings.Cut(strconv.FormatFloat(f, format, -1, bits), "e")
	if dst = append(dst, mantissa...); !strings.Contains(mantissa, ".") {
		dst = append(dst, ".0"...)
	}
	if hasExponent {
		e, _ := strconv.Atoi(exponent)
		dst = strconv.AppendInt(append(dst, 'E'), int64(e), 10)
	}
	return dst
}
