package scan

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// MaxSet is the most literals of a Set. With more than two in each of its eight buckets, most places
// would pass the kernel.
const MaxSet = 16

// setColumns is the number of bytes of each literal that the kernel compares.
const setColumns = 3

// tables are the tables of the kernel of a Set. The literals are in eight buckets, a bit each. For
// each column, low and high have the buckets that have a byte with these lower and higher four bits
// there. A place passes if one bucket passes all columns.
type tables struct {
	low, high [setColumns][16]byte
	offsets   [setColumns]uint64
}

// buckets returns a bit for each bucket that may have a literal at the start of data.
func (t *tables) buckets(data []byte) byte {
	all := byte(0xff)
	for k := range t.offsets {
		c := data[t.offsets[k]]
		all &= t.low[k][c&15] & t.high[k][c>>4]
	}
	return all
}

// Set marks the places at which one of its literals begins. The kernel finds candidates by three
// bytes of each literal. These bytes have the same offsets in all literals. Tune chooses the
// offsets whose bytes occur least often in a sample of the text. Mark then compares each candidate
// in Go.
type Set struct {
	tables   tables
	members  [8][]member // by bucket
	width    int         // length of the shortest literal, at most mostWidth
	compared int         // number of candidates that the last Mark compared
}

// member is a literal, with its first eight bytes as numbers. Text matches in these bytes if text OR
// fold, and then AND care, is want.
type member struct {
	lit              Literal
	care, want, fold uint64
	whole            bool // the literal has at most eight bytes
}

// newMember makes a member of a literal.
func newMember(l Literal) member {
	m := member{lit: l, whole: len(l.Text) <= 8}
	for i := range min(len(l.Text), 8) {
		m.care |= 0xff << (8 * i)
		m.want |= uint64(l.Text[i]) << (8 * i)
		m.fold |= uint64(l.mask(i)) << (8 * i)
	}
	return m
}

// NewSet returns a Set of at most MaxSet literals.
func NewSet(lits []Literal) *Set {
	s := &Set{width: mostWidth}
	for _, l := range lits {
		s.width = min(s.width, len(l.Text))
	}
	// Similar literals are put into one bucket, so that few other places pass the bucket.
	alike := slices.Clone(lits)
	slices.SortStableFunc(alike, func(a, b Literal) int { return strings.Compare(a.Text, b.Text) })
	for i, l := range alike {
		b := i * min(len(alike), 8) / len(alike)
		s.members[b] = append(s.members[b], newMember(l))
	}
	s.Tune(nil)
	return s
}

// Tune chooses the offsets of the columns: those three at which bytes of the literals occur together
// least often, by a sample of the text. It tries all of them within the first 16 bytes.
func (s *Set) Tune(sample []byte) {
	counts := countBytes(sample)
	total := 1000 * float64(len(sample)+1)
	share := func(i int) (sum [8]float64) {
		for b, lits := range s.members {
			for _, m := range lits {
				sum[b] += min(1, m.lit.weigh(i, counts)/total+0.001)
			}
		}
		return sum
	}
	width := min(s.width, 16)
	shares := make([][8]float64, width)
	for i := range shares {
		shares[i] = share(i)
	}
	best := math.Inf(1)
	for i := range width {
		for j := i; j < width; j++ {
			for k := j; k < width; k++ {
				if width >= setColumns && (i == j || j == k) {
					continue
				}
				sum := 0.0
				for b := range 8 {
					sum += shares[i][b] * shares[j][b] * shares[k][b]
				}
				if sum < best {
					best, s.tables.offsets = sum, [setColumns]uint64{uint64(i), uint64(j), uint64(k)}
				}
			}
		}
	}
	s.fill()
}

// fill makes the tables for the offsets. A letter that folds counts in both cases.
func (s *Set) fill() {
	t := &s.tables
	t.low, t.high = [setColumns][16]byte{}, [setColumns][16]byte{}
	for b, lits := range s.members {
		for _, m := range lits {
			for k, offset := range t.offsets {
				c, mask := m.lit.Text[offset], m.lit.mask(int(offset))
				t.low[k][c&15] |= 1 << b
				t.high[k][c>>4] |= 1 << b
				t.high[k][(c&^mask)>>4] |= 1 << b
			}
		}
	}
}

// Mark implements Marker.
func (s *Set) Mark(hits []uint64, data []byte) bool {
	s.compared = 0
	if !(kernel{tables: &s.tables}.places(hits, data, s.width)) {
		return false
	}
	return Sift(hits, func(at int) bool {
		s.compared++
		return s.begins(data[at:])
	})
}

// Sift clears the marks for which holds is false, and reports whether one is left.
func Sift(hits []uint64, holds func(at int) bool) (found bool) {
	for w, h := range hits {
		// Each round drops the lowest bit, so the loop runs once for each mark.
		for rest := h; rest != 0; rest &= rest - 1 {
			if i := bits.TrailingZeros64(rest); !holds(64*w + i) {
				h &^= 1 << i
			}
		}
		hits[w] = h
		found = found || h != 0
	}
	return found
}

// Compared returns the number of candidates that the last Mark compared. If it is large, the Set is
// slow for this text.
func (s *Set) Compared() int { return s.compared }

// begins reports whether a literal of the set begins at the start of data. If data has fewer than
// eight bytes, it compares the literals byte by byte.
func (s *Set) begins(data []byte) bool {
	b := s.tables.buckets(data)
	if len(data) < 8 {
		for ; b != 0; b &= b - 1 {
			for i := range s.members[bits.TrailingZeros8(b)] {
				if s.members[bits.TrailingZeros8(b)][i].lit.Begins(data) {
					return true
				}
			}
		}
		return false
	}
	head := binary.LittleEndian.Uint64(data)
	for ; b != 0; b &= b - 1 {
		for i := range s.members[bits.TrailingZeros8(b)] {
			m := &s.members[bits.TrailingZeros8(b)][i]
			if (head|m.fold)&m.care == m.want && (m.whole || m.lit.Begins(data)) {
				return true
			}
		}
	}
	return false
}

// ByteSet is a set of bytes.
type ByteSet [256]bool

// Triple is a sequence of byte sets, one for each byte of the text.
type Triple [setColumns]ByteSet

// Triples marks the places at which one of its triples begins. It may mark others, too: a bucket of the kernel compares
// the two halves of a byte one after the other, so sets of many forms share buckets if there are too many for eight.
type Triples struct{ tables tables }

// NewTriples returns Triples that mark all places of all.
func NewTriples(all []Triple) *Triples {
	t := &Triples{tables{offsets: [setColumns]uint64{0, 1, 2}}}
	var exact []Triple
	for _, triple := range all {
		parts := []Triple{triple}
		for k, set := range triple {
			var cut []Triple
			for _, p := range parts {
				for _, part := range set.products() {
					p[k] = part
					cut = append(cut, p)
				}
			}
			parts = cut
		}
		exact = append(exact, parts...)
	}
	if len(exact) <= 8 {
		all = exact
	}
	for i, triple := range all {
		for k, set := range triple {
			for c, in := range set {
				if in {
					t.tables.low[k][c&15] |= 1 << (i % 8)
					t.tables.high[k][c>>4] |= 1 << (i % 8)
				}
			}
		}
	}
	return t
}

// products returns parts of s, which is not empty. A byte is in a part if both of its halves occur there.
func (s ByteSet) products() (parts []ByteSet) {
	var lows [][16]bool
	for high := range 16 {
		low := [16]bool(s[16*high:])
		if low == ([16]bool{}) {
			continue
		}
		i := slices.Index(lows, low)
		if i < 0 {
			i = len(lows)
			lows, parts = append(lows, low), append(parts, ByteSet{})
		}
		copy(parts[i][16*high:], low[:])
	}
	return parts
}

// Mark implements Marker.
func (t *Triples) Mark(hits []uint64, data []byte) bool {
	return kernel{tables: &t.tables}.places(hits, data, setColumns)
}

// Tune implements Marker. There is nothing to choose.
func (t *Triples) Tune([]byte) {}

// kernel marks whole words, by tables or, if tables is nil, by columns. It is a struct and not a
// function value, because arguments of a function value would be allocated.
type kernel struct {
	columns []column
	every   bool // compare all columns at each place (Needle.every)
	tables  *tables
}

// mark sets a bit in hits for each place of data that passes, and reports whether there is any.
func (k kernel) mark(hits []uint64, data []byte) bool {
	switch {
	case k.tables != nil:
		return kernelMarkSet(hits, data, k.tables)
	case k.every:
		return kernelMarkEvery(hits, data, k.columns)
	}
	return kernelMark(hits, data, k.columns)
}

// mostWidth is the most bytes that a kernel may read from a place on.
const mostWidth = 64

// places marks the places that pass, among those from which data has at least width bytes. For the
// last word, the kernel reads the last 64 such places again. If there are fewer than 64, it reads a
// padded copy.
func (k kernel) places(hits []uint64, data []byte, width int) bool {
	places := max(len(data)-width+1, 0)
	full := min(places/64, len(hits))
	found := full > 0 && k.mark(hits[:full], data)
	if full == len(hits) {
		return found
	}
	clear(hits[full:])
	left := places - 64*full
	if left == 0 {
		return found
	}
	var word [1]uint64
	if places >= 64 {
		k.mark(word[:], data[places-64:])
		hits[full] = word[0] >> (64 - left)
	} else {
		var padded [mostWidth + 63]byte
		copy(padded[:], data)
		k.mark(word[:], padded[:])
		hits[full] = word[0] & (1<<left - 1)
	}
	return found || hits[full] != 0
}

// column is one byte of a literal in the form that the kernel needs. A place matches if the byte of
// the text at that place plus offset, after OR with mask, is want. All elements of want and of mask
// are equal.
type column struct {
	want, mask [lane]byte
	offset     uint64
	_          [56]byte // pads a column to two cache lines
}

// lane is the number of places in one register.
const lane = 32

// maxColumns is the most bytes of a literal that the kernel compares. If this many bytes agree, the
// rest mostly agrees too. Mark compares the rest in Go.
const maxColumns = 16

// Needle marks the places of one literal. At each place, the kernel compares two bytes of the
// literal: the pair that occurs least often in a sample of the text. It compares the other bytes
// only if the pair matches. If the pair occurs in too many words, the processor mispredicts
// branches, so the kernel compares all bytes at each place instead.
type Needle struct {
	lit     Literal
	columns []column
	every   bool // compare all columns at each place
	whole   bool // the columns are the whole literal
}

// NewNeedle returns a Needle for l.
func NewNeedle(l Literal) *Needle {
	n := &Needle{lit: l}
	n.Tune(nil)
	return n
}

// width returns the number of bytes that the kernel may read from a place on.
func (n *Needle) width() int { return min(len(n.lit.Text), mostWidth) }

// rarest is the number of bytes from which the pair is chosen.
const rarest = 6

// Tune chooses the bytes that the kernel compares, and their order, by a sample of the text.
func (n *Needle) Tune(sample []byte) {
	n.every = false
	counts := countBytes(sample)
	order := make([]int, n.width())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(n.lit.weigh(a, counts), n.lit.weigh(b, counts)) })
	if len(order) > 1 {
		n.pair(order, sample)
	}
	if len(order) == 1 {
		order = append(order, order[0]) // the kernel compares two at a time
	}
	n.whole = len(n.lit.Text) <= maxColumns
	n.fill(order[:min(len(order), maxColumns)])
}

// fill makes the columns for the bytes of the literal with the indices in order.
func (n *Needle) fill(order []int) {
	n.columns = n.columns[:0]
	for _, i := range order {
		c := column{offset: uint64(i)}
		for k := range c.want {
			c.want[k], c.mask[k] = n.lit.Text[i], n.lit.mask(i)
		}
		n.columns = append(n.columns, c)
	}
}

// pair moves two of the rarest bytes to the front of order: those that match together at the fewest
// places of the sample. It also sets every.
func (n *Needle) pair(order []int, sample []byte) {
	hits := make([]uint64, max(len(sample)-n.width()+1, 0)/64)
	if len(hits) == 0 {
		return
	}
	words := len(hits)
	few := order[:min(len(order), rarest)]
	best, bestPlaces := [2]int{0, 1}, len(sample)+1
	for a := range few {
		for b := a + 1; b < len(few); b++ {
			n.fill([]int{few[a], few[b]})
			kernelMark(hits, sample, n.columns)
			places := 0
			for _, h := range hits {
				places += bits.OnesCount64(h)
			}
			if places < bestPlaces {
				best, bestPlaces = [2]int{a, b}, places
			}
		}
	}
	first, second := few[best[0]], few[best[1]]
	rest := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return i == first || i == second })
	copy(order, append([]int{first, second}, rest...))
	n.every = bestPlaces*branchColumns > words*min(len(order)-1, maxColumns)
}

// branchColumns is the number of columns that can be compared in the time of
// one mispredicted branch.
const branchColumns = 8

// Mark implements Marker.
func (n *Needle) Mark(hits []uint64, data []byte) bool {
	found := kernel{columns: n.columns, every: n.every}.places(hits, data, n.width())
	if !found || n.whole {
		return found
	}
	return Sift(hits, func(at int) bool { return n.lit.Begins(data[at:]) })
}
