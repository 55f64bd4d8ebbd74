package record

import "math/bits"

// digit is the part of a prefix that a distribution goes by: the highest bits
// in which prefixes differ.
type digit struct {
	shift int
	mask  uint64
}

// DigitOf chooses so many bits that a bucket gets a few dozen of n entries,
// and so few that the places written to stay in the cache.
func DigitOf(diff uint64, n int) digit {
	width := min(max(bits.Len(uint(n))-5, 1), 12)
	return digit{max(0, bits.Len64(diff)-width), 1<<width - 1}
}

func (d digit) Buckets() int { return int(d.mask) + 1 }

// hot: every entry that is gathered.
func (d digit) Count(counts []int, e []Entry) {
	for i := range e {
		counts[e[i].Prefix>>d.shift&d.mask]++
	}
}

// Scatter adds shift to the refs.
//
// hot: every entry that is gathered, to a place of its own.
func (d digit) Scatter(out []Entry, at []int, e []Entry, shift uint64) {
	for i := range e {
		n := &at[e[i].Prefix>>d.shift&d.mask]
		out[*n] = Entry{e[i].Prefix, e[i].Ref + shift}
		*n++
	}
}

// Differing is the bits in which prefixes differ from first.
//
// hot: every entry that is gathered.
func Differing(e []Entry, first uint64) (diff uint64) {
	for i := range e {
		diff |= e[i].Prefix ^ first
	}
	return diff
}
