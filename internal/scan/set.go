package scan

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// MaxSet is how many literals a Set may hold. With more than two in each of its
// buckets, most places would pass.
const MaxSet = 16

// setColumns is how many bytes of each literal the kernel compares.
const setColumns = 3

// tables are what the kernel of a Set looks bytes up in. The literals are in
// eight buckets, one bit each. For each column, low and high give the buckets
// to which a byte may belong, by its lower and its higher four bits. A place
// passes if one bucket passes all columns.
type tables struct {
	low, high [setColumns][16]byte
	offsets   [setColumns]uint64
}

// buckets returns a bit for each bucket that may have a literal at the start of data. Each
// column of the tables leaves only those buckets whose literals have such a byte there.
func (t *tables) buckets(data []byte) byte {
	all := byte(0xff)
	for k := range t.offsets {
		c := data[t.offsets[k]]
		all &= t.low[k][c&15] & t.high[k][c>>4]
	}
	return all
}

// Set marks the places where one of its literals begins. The kernel finds
// candidates by three bytes of each literal. They stand at the same distances
// from the start in all literals, those that a sample of the text held least
// often. Each candidate is then compared.
type Set struct {
	tables   tables
	members  [8][]member // by bucket
	width    int         // length of the shortest literal
	compared int         // number of candidates that the last Mark compared
}

// member is a literal and its first eight bytes as a number: which bytes there
// are, their value after OR with fold, and whether they are all.
type member struct {
	lit              Literal
	care, want, fold uint64
	whole            bool
}

// newMember puts the first eight bytes of a literal into words, so that one comparison
// decides about most places.
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
	// Similar literals share a bucket, so that the bucket passes few other
	// places.
	alike := slices.Clone(lits)
	slices.SortStableFunc(alike, func(a, b Literal) int { return strings.Compare(a.Text, b.Text) })
	for i, l := range alike {
		b := i * min(len(alike), 8) / len(alike)
		s.members[b] = append(s.members[b], newMember(l))
	}
	s.Tune(nil)
	return s
}

// Tune chooses the columns: the distances at which the bytes of the literals
// are rarest together.
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

// fill makes the tables of the columns: for each half of a byte, the buckets with a literal
// that has it. A letter that folds stands there in both cases.
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
	found := false
	for w, h := range hits {
		s.compared += bits.OnesCount64(h)
		for rest := h; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			if !s.begins(data[64*w+i:]) {
				h &^= 1 << i
			}
		}
		hits[w] = h
		found = found || h != 0
	}
	return found
}

// Compared returns how many candidates the last Mark compared, which decides
// its time.
func (s *Set) Compared() int { return s.compared }

// begins reports whether a literal of the set begins at the start of data. Near the end of a
// text there are no eight bytes, and the literals are compared one by one.
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

// kernel marks whole words, by columns or, if there are none, by tables. It is
// no function value, because then the copies below would escape to the heap.
type kernel struct {
	columns []column
	every   bool // the pair stands in many words
	tables  *tables
}

// mark sets a bit in hits for each place of data that may begin a literal, and reports
// whether there is one.
func (k kernel) mark(hits []uint64, data []byte) bool {
	switch {
	case k.tables != nil:
		return kernelMarkSet(hits, data, k.tables)
	case k.every:
		return kernelMarkEvery(hits, data, k.columns)
	}
	return kernelMark(hits, data, k.columns)
}

// mostWidth is the largest distance from a place at which a kernel may read.
const mostWidth = 64

// places marks all places behind which data has width bytes, which the kernel
// reads. For the last word it reads the last 64 such places; if there are fewer
// than 64, it reads a copy.
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
