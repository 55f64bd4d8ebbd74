package record

import "math/bits"

// digit is the part of a prefix by which entries are distributed to buckets: the highest
// bits in which prefixes differ.
type digit struct {
	shift int
	mask  uint64
}

// digitOf returns a digit for n entries whose prefixes differ in the bits diff. It has so
// many bits that a bucket gets a few dozen entries. It has 12 at most, so that the places
// written to stay in the cache.
func digitOf(diff uint64, n int) digit {
	width := min(max(bits.Len(uint(n))-5, 1), 12)
	return digit{max(0, bits.Len64(diff)-width), 1<<width - 1}
}

func (d digit) buckets() int { return int(d.mask) + 1 }

// count counts the entries of each bucket.
//
// hot: every entry that is gathered.
func (d digit) count(counts []int, e []Entry) {
	for i := range e {
		counts[e[i].Prefix>>d.shift&d.mask]++
	}
}

// scatter copies e to out, each entry to the next place of its bucket, which at holds,
// and adds shift to the refs.
//
// hot: every entry that is gathered, to a place of its own.
func (d digit) scatter(out []Entry, at []int, e []Entry, shift uint64) {
	for i := range e {
		n := &at[e[i].Prefix>>d.shift&d.mask]
		out[*n] = Entry{e[i].Prefix, e[i].Ref + shift}
		*n++
	}
}

// differing returns the bits in which prefixes of e differ from first.
//
// hot: every entry that is gathered.
func differing(e []Entry, first uint64) (diff uint64) {
	for i := range e {
		diff |= e[i].Prefix ^ first
	}
	return diff
}
