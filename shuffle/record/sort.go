package record

import (
	"bytes"
	"math/bits"
	"slices"

	"mrlocal/internal/membudget"
)

// Sorter sorts entries by key, and equal keys by address. Only one goroutine may use it.
//
// It is a radix sort that begins with the most significant digit. A digit is the highest bits
// in which prefixes differ. So a common prefix does not put all entries into one bucket. If all
// 8 bytes of the prefixes are equal, the Sorter skips the bytes that the keys have in common.
// It then loads the next 8 bytes. More entries than the scratch holds are first divided in
// place, by quicksort on the prefix.
//
//	[ entries ] -- more than the scratch --> [ < ][ = ][ > ]   by prefix
//	    | distribute by the highest bits that differ: into the scratch, and back
//	    v
//	[..][...][.][....]   few: insertion sort
//
// Every step divides a group into smaller ones, in time linear in the group. It reads each byte
// of a key a bounded number of times. So no order of the input, no common prefix and no number
// of equal keys makes the sort quadratic.
type Sorter struct {
	Arena   *Arena
	Scratch []Entry
	longer  func() []Entry // takes a longer scratch when it is first needed; nil: there is none
	counts  []uint32       // stack of the ends of buckets
	touched byte           // keeps the compiler from removing the reads that warm the cache
}

const (
	insertionMax = 24 // most entries that are sorted by insertion
	byKeyMax     = 3  // most entries of equal prefix that are compared key by key
	maxRadixBits = 11 // most bits of a digit
	minRadixBits = 4  // fewest bits of a digit
	bucketTarget = 2  // log2 of the number of entries that a bucket should get
)

// Sort sorts entries. Their prefixes hold the 8 bytes of the keys from depth on, and all keys
// agree before depth. If a division leaves most entries on one side, the next division halves
// the range of the prefixes. So no input needs more than a few dozen divisions.
func (s *Sorter) Sort(a []Entry, depth int) {
	halve := false
	for len(a) > len(s.Scratch) {
		if differing(a, a[0].Prefix) == 0 {
			s.tied(a, depth)
			return
		}
		if s.lengthen(len(a)) {
			break
		}
		pivot := median(a)
		if halve {
			pivot = middle(a)
		}
		lt, gt := partition3(a, pivot)
		s.tied(a[lt:gt], depth)
		short, long := a[:lt], a[gt:]
		if len(short) > len(long) {
			short, long = long, short
		}
		halve = len(long) > len(a)/8*7
		s.Sort(short, depth)
		a = long
	}
	s.radix(a, depth)
}

// lengthen replaces the scratch by one for the given number of entries. It tries this once. It
// returns false if there is no memory.
func (s *Sorter) lengthen(entries int) bool {
	if s.longer == nil {
		return false
	}
	longer := s.longer()
	if s.longer = nil; len(longer) < entries {
		return false
	}
	s.Scratch = longer
	return true
}

// SortRanges sorts each of the ranges of e by itself. ends has the end of each range; depth is
// as in Sort. If a range is longer than the scratch, SortRanges takes a longer scratch from l
// for the time of the call. If the budget has no memory for that, it divides the range in
// place, which is slower.
func (s *Sorter) SortRanges(e []Entry, ends []int, depth int, l *membudget.Lease) {
	longest, start := 0, 0
	for _, end := range ends {
		longest, start = max(longest, end-start), end
	}
	own, free := s.Scratch, func() {}
	s.longer = func() []Entry {
		big, grown, ok := l.Take(int64(longest) * EntryBytes)
		if !ok {
			return nil
		}
		free = func() {
			l.Free(big)
			l.Shrink(grown)
		}
		return EntriesIn(big.Data, longest)
	}
	start = 0
	for _, end := range ends {
		if end-start > 1 {
			s.Sort(e[start:end], depth)
		}
		start = end
	}
	s.Scratch, s.longer = own, nil
	free()
}

// middle returns the middle between the least and the greatest prefix.
func middle(a []Entry) uint64 {
	least, most := a[0].Prefix, a[0].Prefix
	for i := range a {
		least, most = min(least, a[i].Prefix), max(most, a[i].Prefix)
	}
	return least + (most-least)/2
}

// median returns the median of nine evenly spaced prefixes of a.
func median(a []Entry) uint64 {
	var p [9]uint64
	for i := range p {
		p[i] = a[i*(len(a)-1)/8].Prefix
	}
	slices.Sort(p[:])
	return p[4]
}

// partition3 divides a in place: a[:lt] has prefixes less than pivot, a[lt:gt] equal ones,
// and a[gt:] greater ones.
//
// hot: passes over every entry, several times in a sort.
func partition3(a []Entry, pivot uint64) (lt, gt int) {
	lt, gt = 0, len(a)
	for i := 0; i < gt; {
		switch e := a[i]; {
		case e.Prefix < pivot:
			a[i], a[lt] = a[lt], e
			lt++
			i++
		case e.Prefix > pivot:
			gt--
			a[i], a[gt] = a[gt], e
		default:
			i++
		}
	}
	return lt, gt
}

// radix sorts at most as many entries as the scratch has.
//
// hot: passes over every entry, a few times in a sort.
func (s *Sorter) radix(a []Entry, depth int) {
	for {
		if len(a) <= insertionMax {
			s.insertion(a, depth)
			return
		}
		first := a[0].Prefix
		var diff uint64
		for i := range a {
			diff |= a[i].Prefix ^ first
		}
		if diff == 0 {
			s.tied(a, depth)
			return
		}
		width := min(max(bits.Len(uint(len(a)))-bucketTarget, minRadixBits), maxRadixBits)
		shift := max(0, bits.Len64(diff)-width)
		mask := uint64(1)<<width - 1
		base := len(s.counts)
		s.counts = append(s.counts, make([]uint32, 1<<width)...)
		counts := s.counts[base:]
		for i := range a {
			counts[a[i].Prefix>>shift&mask]++
		}
		sum := uint32(0)
		for i, n := range counts {
			counts[i] = sum
			sum += n
		}
		out := s.Scratch[:len(a)]
		for _, e := range a {
			at := &counts[e.Prefix>>shift&mask]
			out[*at] = e
			*at++
		}
		copy(a, out)
		a = s.buckets(a, base, 1<<width, depth)
	}
}

// buckets sorts all buckets but the largest and returns that one, which the caller goes on to
// divide. So the depth of the recursion is at most the logarithm of the number of entries.
// s.counts[base:base+n] holds the ends of the buckets; buckets removes them from the stack.
func (s *Sorter) buckets(a []Entry, base, n, depth int) []Entry {
	start := uint32(0)
	largest := uint32(0)
	largestEnd := uint32(0)
	for i := range n {
		end := s.counts[base+i]
		if end-start > largestEnd-largest {
			largest, largestEnd = start, end
		}
		start = end
	}
	start = 0
	for i := range n {
		end := s.counts[base+i]
		if start != largest || end != largestEnd {
			switch {
			case end-start < 2:
			case end-start <= insertionMax:
				s.insertion(a[start:end], depth)
			default:
				s.radix(a[start:end], depth)
			}
		}
		start = end
	}
	s.counts = s.counts[:base]
	return a[largest:largestEnd]
}

// insertion sorts a few entries: first by prefix, without reading any key, and then each group
// of equal prefixes by tied.
//
// hot: makes most of the comparisons of a sort.
func (s *Sorter) insertion(a []Entry, depth int) {
	tie := false
	for i := 1; i < len(a); i++ {
		e := a[i]
		j := i
		for j > 0 && e.Prefix < a[j-1].Prefix {
			a[j] = a[j-1]
			j--
		}
		a[j] = e
		tie = tie || j > 0 && a[j-1].Prefix == e.Prefix
	}
	if !tie {
		return
	}
	if a[0].Ref&CodeMask >= CodeLongTaken {
		s.touchTied(a, depth+8)
	}
	for i, j := 0, 0; i < len(a); i = j {
		if j = tieEnd(a, i); j-i > 1 {
			s.tied(a[i:j], depth)
		}
	}
}

// tieEnd returns the end of the group of equal prefixes that begins at i.
func tieEnd(a []Entry, i int) int {
	j := i + 1
	for j < len(a) && a[j].Prefix == a[i].Prefix {
		j++
	}
	return j
}

// touchTied calls touch for each group of equal prefixes in a, which is sorted by prefix.
func (s *Sorter) touchTied(a []Entry, depth int) {
	for i, j := 0, 0; i < len(a); i = j {
		if j = tieEnd(a, i); j-i > 1 {
			s.touch(a[i:j], depth)
		}
	}
}

// byKey sorts at most byKeyMax entries of equal prefix by their keys.
func (s *Sorter) byKey(a []Entry, depth int) {
	for i := 1; i < len(a); i++ {
		e := a[i]
		j := i
		for j > 0 && s.less(e.Ref, a[j-1].Ref, depth) {
			a[j] = a[j-1]
			j--
		}
		a[j] = e
	}
}

// less reports whether the record at x comes before the record at y. Their keys agree in the
// bytes before depth, and in the 8 bytes after it as far as both are that long. Equal keys are
// compared by address.
func (s *Sorter) less(x, y uint64, depth int) bool {
	if x&CodeMask < CodeLongTaken && x&CodeMask == y&CodeMask && int(x&CodeMask) <= depth+8 {
		return x < y
	}
	kx, ky := s.Arena.Key(x), s.Arena.Key(y)
	at := min(depth, len(kx), len(ky))
	if c := bytes.Compare(kx[at:], ky[at:]); c != 0 {
		return c < 0
	}
	return x < y
}

// tied sorts entries whose prefixes, the 8 bytes from depth on, are all equal. Most keys differ
// in the next 8 bytes. If they do not, tied skips the bytes that they have in common. At the
// end it restores all prefixes.
func (s *Sorter) tied(a []Entry, depth int) {
	if len(a) < 2 {
		return
	}
	prefix := a[0].Prefix
	all := a
	for skip := false; ; skip = true {
		if len(a) <= byKeyMax {
			s.byKey(a, depth)
			break
		}
		if a = s.ended(a, depth); len(a) == 0 {
			break
		}
		depth += 8
		if skip {
			depth += s.common(a, depth)
		}
		if s.load(a, depth) {
			s.Sort(a, depth)
			break
		}
	}
	for i := range all {
		all[i].Prefix = prefix
	}
}

// load sets the prefixes to the bytes of the keys from depth on. It reports whether at least
// two of them differ.
//
// hot: one cache miss for each key whose prefix is not unique.
func (s *Sorter) load(a []Entry, depth int) bool {
	var first, diff uint64
	for i := range a {
		if i%LookAhead == 0 {
			s.touch(a[i:min(len(a), i+LookAhead)], depth)
		}
		x := PrefixOf(s.Arena.Key(a[i].Ref)[depth:])
		if i == 0 {
			first = x
		}
		diff |= x ^ first
		a[i].Prefix = x
	}
	return diff != 0
}

// ended moves the entries whose keys end within the 8 bytes after depth to the front, shorter
// keys first, and returns the rest. The prefixes of a are equal. So keys that end at the same
// byte are equal, and their entries are sorted by address. A key of exactly depth+8 bytes
// belongs to the rest and ends in the next round.
func (s *Sorter) ended(a []Entry, depth int) (rest []Entry) {
	least, most := depth+8, 0
	for i := range a {
		if i%LookAhead == 0 {
			s.touch(a[i:min(len(a), i+LookAhead)], depth+8)
		}
		n := s.Arena.keyBytes(a[i].Ref)
		least, most = min(least, n), max(most, n)
	}
	for at := least; at <= most && at < depth+8; at++ {
		n := len(a)
		if least < most {
			n = 0
			for i := range a {
				if s.Arena.keyBytes(a[i].Ref) == at {
					a[i], a[n] = a[n], a[i]
					n++
				}
			}
		}
		sortByAddress(a[:n])
		a = a[n:]
	}
	return a
}

// touch reads the first byte of each record and the one at depth, so that cache misses overlap.
// It reads nothing of taken records: their refs hold the lengths, so that few of them are read
// later.
//
// hot: one cache miss for each key whose prefix is not unique.
func (s *Sorter) touch(a []Entry, depth int) {
	if a[0].Ref&CodeMask < CodeLongTaken {
		return
	}
	sum := s.touched
	for i := range a {
		p := s.Arena.At(a[i].Ref >> CodeBits)
		if len(p) > depth {
			sum += p[0] + p[depth]
		}
	}
	s.touched = sum
}

// common returns the number of bytes from next on that all keys have in common.
func (s *Sorter) common(a []Entry, next int) int {
	first := s.Arena.Key(a[0].Ref)[next:]
	n := len(first)
	for i := 1; i < len(a) && n > 0; i++ {
		n = CommonBytes(first[:n], s.Arena.Key(a[i].Ref)[next:])
	}
	return n
}

// sortByAddress sorts entries by their refs. Mostly they are in this order already.
func sortByAddress(a []Entry) {
	byRef := func(x, y Entry) int {
		if x.Ref < y.Ref {
			return -1
		}
		return 1
	}
	if !slices.IsSortedFunc(a, byRef) {
		slices.SortFunc(a, byRef)
	}
}

// CommonBytes returns the length of the common prefix of a and b.
func CommonBytes(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+64 <= n && bytes.Equal(a[i:i+64], b[i:i+64]); i += 64 {
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

// digit is the part of a prefix by which entries are distributed to buckets: the highest bits
// in which prefixes differ.
type digit struct {
	shift int
	mask  uint64
}

// digitOf returns a digit for n entries whose prefixes differ in the bits diff. It has
// enough bits for buckets of a few dozen entries. It has at most 12 bits, so that the places that
// scatter writes to stay in the cache.
func digitOf(diff uint64, n int) digit {
	width := min(max(bits.Len(uint(n))-5, 1), 12)
	return digit{max(0, bits.Len64(diff)-width), 1<<width - 1}
}

func (d digit) buckets() int { return int(d.mask) + 1 }

// count counts the entries of each bucket.
//
// hot: one iteration for each entry that is gathered.
func (d digit) count(counts []int, e []Entry) {
	for i := range e {
		counts[e[i].Prefix>>d.shift&d.mask]++
	}
}

// scatter copies e to out and adds shift to the refs. at holds the next place of each bucket.
//
// hot: moves each entry that is gathered.
func (d digit) scatter(out []Entry, at []int, e []Entry, shift uint64) {
	for i := range e {
		n := &at[e[i].Prefix>>d.shift&d.mask]
		out[*n] = Entry{e[i].Prefix, e[i].Ref + shift}
		*n++
	}
}

// differing returns the bits in which any prefix of e differs from first.
//
// hot: one iteration for each entry that is gathered.
func differing(e []Entry, first uint64) (diff uint64) {
	for i := range e {
		diff |= e[i].Prefix ^ first
	}
	return diff
}
