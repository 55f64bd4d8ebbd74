package streaming

import "unicode/utf16"

// hashBytes returns the hash of a Text or BytesWritable key (WritableComparator.hashBytes).
// Each byte, as a signed one, is added to 31 times the hash so far.
func hashBytes(key []byte) int32 {
	h := int32(1)
	for _, b := range key {
		h = 31*h + int32(int8(b))
	}
	return h
}

// hashLong returns the hash of a LongWritable.
func hashLong(n int64) int32 { return int32(n ^ int64(uint64(n)>>32)) }

// reduceOf returns the reduce for a hash, from 0 to parts-1 (HashPartitioner).
func reduceOf(hash int32, parts int) int { return int(hash&0x7fffffff) % parts }

// ByHash returns the reduce of a key, from 0 to parts-1, as HashPartitioner does for Text and
// BytesWritable keys.
func ByHash(key []byte, parts int) int { return reduceOf(hashBytes(key), parts) }

// ByLong returns the reduce of a key, from 0 to parts-1, as HashPartitioner does for
// LongWritable keys.
func ByLong(n int64, parts int) int { return reduceOf(hashLong(n), parts) }

// ByFields returns the reduce of a key, from 0 to parts-1, as KeyFieldBasedPartitioner does.
// It hashes the bytes that each specification means, one after the other. An empty key goes
// to reduce 0. Without a specification it hashes the key as a Java string.
func ByFields(s *Specs, key []byte, parts int) int {
	key = ReplaceInvalid(key)
	if !s.Given() {
		return reduceOf(hashString(key), parts)
	}
	if len(key) == 0 {
		return 0
	}
	var room [16]int
	lengths, h := s.lengths(room[:0], key), int32(0)
	for i := range s.list {
		begin, end, ok := s.span(key, lengths, &s.list[i])
		if !ok {
			continue
		}
		for ; begin < end; begin++ {
			h = 31*h + int32(int8(key[begin]))
		}
	}
	return reduceOf(h, parts)
}

// hashString returns the hash of valid UTF-8 text as Java's String.hashCode computes it, over
// UTF-16 code units.
func hashString(text []byte) int32 {
	h := int32(0)
	for _, r := range string(text) {
		if a, b := utf16.EncodeRune(r); a != '\uFFFD' {
			h = 31*(31*h+a) + b
			continue
		}
		h = 31*h + r
	}
	return h
}

// BySlice returns the reduce of a key, from 0 to parts-1, as BinaryPartitioner does. It hashes
// the bytes from left to right, both included. A negative offset counts from the end. ok is
// false if the key is empty or a negative offset lies before it; Hadoop's task fails then.
func BySlice(key []byte, left, right, parts int) (part int, ok bool) {
	n := len(key)
	if n == 0 {
		return 0, false
	}
	// The remainder keeps the sign of its left side, in Go as in Java.
	from, to := (left+n)%n, (right+n)%n
	if from < 0 || to < 0 {
		return 0, false
	}
	h := int32(1)
	for i := from; i <= to; i++ {
		h = 31*h + int32(int8(key[i]))
	}
	return reduceOf(h, parts), true
}

// ReplaceInvalid returns text with U+FFFD in place of each invalid sequence of UTF-8, as a
// Java decoder replaces it. It returns text itself if that is valid, otherwise a new slice.
func ReplaceInvalid(text []byte) []byte {
	i := 0
	for i < len(text) && text[i] < 0x80 {
		i++
	}
	if i == len(text) {
		return text
	}
	var out []byte // nil until an invalid sequence is found
	for i < len(text) {
		n, valid := sequence(text[i:])
		if !valid && out == nil {
			out = append(make([]byte, 0, len(text)+8), text[:i]...)
		}
		switch {
		case !valid:
			out = append(out, "\uFFFD"...)
		case out != nil:
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	if out == nil {
		return text
	}
	return out
}

// sequence returns the length of the UTF-8 sequence at the start of text, and whether it is
// valid. An invalid sequence ends before the first byte that no valid one could have there.
func sequence(text []byte) (n int, valid bool) {
	c := text[0]
	// low and high bound the second byte; some first bytes narrow them.
	low, high, length := byte(0x80), byte(0xbf), 0
	switch {
	case c < 0x80:
		return 1, true
	case c >= 0xc2 && c <= 0xdf:
		length = 2
	case c >= 0xe0 && c <= 0xef:
		length = 3
		switch c {
		case 0xe0:
			low = 0xa0 // less would fit into two bytes
		case 0xed:
			high = 0x9f // surrogates
		}
	case c >= 0xf0 && c <= 0xf4:
		length = 4
		switch c {
		case 0xf0:
			low = 0x90 // less would fit into three bytes
		case 0xf4:
			high = 0x8f // U+10FFFF is the last code point
		}
	default:
		return 1, false
	}
	for n = 1; n < length; n++ {
		if n == len(text) || text[n] < low || text[n] > high {
			return n, false
		}
		low, high = 0x80, 0xbf
	}
	return length, true
}
