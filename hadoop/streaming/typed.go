package streaming

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
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

// fixedLengths has the lengths of items, with the code, for types that have a fixed one.
var fixedLengths = [...]int{codeByte: 2, codeBool: 2, codeInt: 5, codeLong: 9, codeFloat: 5, codeDouble: 9, codeMap: 0}

// typedLength returns the length of the item at the start of p, with its code. It fails with
// errShort if p ends before the item.
func typedLength(p []byte) (int, error) { return lengthAt(p, mostDepth) }

// lengthAt is typedLength for an item that may hold depth-1 levels of items.
func lengthAt(p []byte, depth int) (n int, err error) {
	switch {
	case len(p) == 0:
		return 0, errShort
	case depth == 0:
		return 0, fmt.Errorf("typed bytes are nested more than %d levels deep", mostDepth)
	case p[0] == codeList: // a marker ends it
		return several(p, 1, math.MaxInt, depth)
	case p[0] > codeMap && (p[0] < firstCustom || p[0] > lastCustom):
		return 0, fmt.Errorf("unknown type %d in typed bytes", p[0])
	case p[0] <= codeMap && fixedLengths[p[0]] > 0:
		n = fixedLengths[p[0]]
	case len(p) < 5:
		return 0, errShort
	default:
		switch count := int(int32(binary.BigEndian.Uint32(p[1:]))); {
		case count < 0:
			return 0, errors.New("a negative length in typed bytes")
		case p[0] == codeVector:
			return several(p, 5, count, depth)
		case p[0] == codeMap:
			return several(p, 5, 2*count, depth)
		default:
			n = 5 + count
		}
	}
	if len(p) < n {
		return 0, errShort
	}
	return n, nil
}

// several returns the length of a vector, map or list with at most n items, the first of which is at p[at].
func several(p []byte, at, n, depth int) (int, error) {
	for ; n > 0; n-- {
		if p[0] == codeList && at < len(p) && p[at] == codeMarker {
			return at + 1, nil
		}
		k, err := lengthAt(p[at:], depth-1)
		if err != nil {
			return 0, err
		}
		at += k
	}
	return at, nil
}

// appendTyped appends the item p as text, as Java's toString gives it. p must be whole.
func appendTyped(dst, p []byte) []byte {
	if n, ok := integer(p); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	switch p[0] {
	case codeBool:
		return strconv.AppendBool(dst, p[1] != 0)
	case codeFloat: // printed with the digits of a float, not of a double
		return appendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(p[1:]))), 32)
	case codeDouble:
		return appendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(p[1:])), 64)
	case codeString: // behind the code and 4 bytes of length
		return append(dst, ReplaceInvalid(p[5:])...)
	case codeVector, codeList: // such as [a, b]
		dst = append(dst, '[')
		for i, item := range items(p) {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendTyped(dst, item)
		}
		return append(dst, ']')
	case codeMap:
		return appendPairs(dst, slices.Collect(slices.Chunk(items(p), 2)))
	}
	return hex.AppendEncode(dst, p[5:])
}

// integer returns the number of an item that is a whole number.
func integer(p []byte) (n int64, ok bool) {
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

// items returns the items of a vector, list or map.
func items(p []byte) (all [][]byte) {
	rest := p[1 : len(p)-1] // of a list, without the code and the marker
	if p[0] != codeList {
		rest = p[5:]
	}
	for len(rest) > 0 {
		n, _ := typedLength(rest) // never fails, because p is whole
		all, rest = append(all, rest[:n]), rest[n:]
	}
	return all
}

// appendPairs appends the keys and values of a map as text, such as "{a=1, b=2}", in the order of keys,
// because Hadoop reads maps into a TreeMap. Keys are strings or numbers of one type.
func appendPairs(dst []byte, pairs [][][]byte) []byte {
	slices.SortStableFunc(pairs, func(a, b [][]byte) int { return compareItems(a[0], b[0]) })
	dst = append(dst, '{')
	for i, p := range pairs {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendTyped(dst, p[0]), '=')
		dst = appendTyped(dst, p[1])
	}
	return append(dst, '}')
}

// compareItems compares two keys of a map: whole numbers by value, others by their text.
func compareItems(a, b []byte) int {
	x, isX := integer(a)
	y, isY := integer(b)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return bytes.Compare(appendTyped(nil, a), appendTyped(nil, b))
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
