package streaming

import (
	"unicode/utf16"
	"unicode/utf8"
)

// hashBytes goes on with a hash as WritableComparator.hashBytes does: it adds each byte of p, as a
// signed one, to 31 times the hash so far. The hash of a Text or BytesWritable key begins with 1.
func hashBytes(hash int32, p []byte) int32 {
	for _, b := range p {
		hash = 31*hash + int32(int8(b))
	}
	return hash
}

// hashLong returns the hash of a LongWritable.
func hashLong(n int64) int32 { return int32(n ^ int64(uint64(n)>>32)) }

// reduceOf returns the reduce for a hash, from 0 to parts-1 (HashPartitioner).
func reduceOf(hash int32, parts int) int { return int(hash&0x7fffffff) % parts }

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
		h = hashBytes(h, key[begin:max(begin, end)])
	}
	return reduceOf(h, parts)
}

// hashString returns the hash of valid UTF-8 text as Java's String.hashCode computes it, over
// UTF-16 code units.
func hashString(text []byte) int32 {
	h := int32(0)
	var room [2]uint16
	for _, r := range string(text) {
		for _, unit := range utf16.AppendRune(room[:0], r) {
			h = 31*h + int32(unit)
		}
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
	return reduceOf(hashBytes(1, key[from:max(from, to+1)]), parts), true
}

// ReplaceInvalid returns text with U+FFFD in place of each invalid sequence of UTF-8, as a
// Java decoder replaces it. It returns text itself if that is valid, otherwise a new slice. An
// invalid sequence ends before the first byte that no valid one could have there.
func ReplaceInvalid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text)+8)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			for n < len(text) && !utf8.FullRune(text[:n+1]) {
				n++
			}
		}
		out = utf8.AppendRune(out, r)
		text = text[n:]
	}
	return out
}
