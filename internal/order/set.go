package order

import "math/bits"

// Set is a set of ids: a bit per id, 64 of them in a word.
type Set[T ~int32] []uint64

// Put adds t if in is set, and takes it out if not.
func (s *Set[T]) Put(t T, in bool) {
	for int(t)/64 >= len(*s) {
		*s = append(*s, 0)
	}
	if in {
		(*s)[t/64] |= 1 << (t % 64)
	} else {
		(*s)[t/64] &^= 1 << (t % 64)
	}
}

// Next returns the first id from t on that is in one of the sets i with chosen[i], or -1
// if there is none.
func Next[T ~int32](sets []Set[T], chosen []bool, t T) T {
	words := 0
	for i := range sets {
		words = max(words, len(sets[i]))
	}
	for w := int(t) / 64; w < words; w++ {
		word := uint64(0)
		for i := range sets {
			if chosen[i] && w < len(sets[i]) {
				word |= sets[i][w]
			}
		}
		if w == int(t)/64 {
			word &= ^uint64(0) << (t % 64)
		}
		if word != 0 {
			return T(w*64 + bits.TrailingZeros64(word))
		}
	}
	return -1
}
