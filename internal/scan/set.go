package scan

import (
	"math"
	"math/bits"
	"slices"
)

// MaxSet is how many literals a Set may hold: with more of them in a bucket
// than two, most places pass.
const MaxSet = 16

// setColumns is how many bytes of the literals the kernel looks at.
const setColumns = 3

// tables are what the kernel of a Set looks bytes up in. The literals are in
// eight buckets, a bit each; low and high hold, for each column and each value
// of a byte's lower and higher four bits, the buckets that a byte with these
// may belong to. A place passes when some bucket passes all columns.
type tables struct {
	low, high [setColumns][16]byte
	offsets   [setColumns]uint64
}

func (t *tables) buckets(data []byte) byte {
	all := byte(0xff)
	for k := range t.offsets {
		c := data[t.offsets[k]]
		all &= t.low[k][c&15] & t.high[k][c>>4]
	}
	return all
}

// Set marks the places where one of its literals begins. The kernel finds
// places that may be one, by three bytes of each literal at the same distances
// from its start, where a sample held the fewest; each is then compared.
type Set struct {
	lits    []Literal
	tables  tables
	members [8][]Literal // of each bucket
	width   int          // of the shortest literal
}

// NewSet prepares to look for at most MaxSet literals.
func NewSet(lits []Literal) *Set {
	s := &Set{lits: slices.Clone(lits), width: mostWidth}
	for _, l := range lits {
		s.width = min(s.width, len(l.Text))
	}
	// Those that look alike share a bucket, which then lets little else pass.
	slices.SortStableFunc(s.lits, func(a, b Literal) int { return slices.Compare([]byte(a.Text), []byte(b.Text)) })
	for i, l := range s.lits {
		b := i * min(len(s.lits), 8) / len(s.lits)
		s.members[b] = append(s.members[b], l)
	}
	s.Tune(nil)
	return s
}

// Tune chooses the columns: those distances at which the bytes of the
// literals are the rarest together.
func (s *Set) Tune(sample []byte) {
	counts := countBytes(sample)
	total := 1000 * float64(len(sample)+1)
	share := func(i int) (sum [8]float64) {
		for b, lits := range s.members {
			for _, l := range lits {
				sum[b] += min(1, l.weigh(i, counts)/total+0.001)
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

func (s *Set) fill() {
	t := &s.tables
	t.low, t.high = [setColumns][16]byte{}, [setColumns][16]byte{}
	for b, lits := range s.members {
		for _, l := range lits {
			for k, offset := range t.offsets {
				c, m := l.Text[offset], l.mask(int(offset))
				t.low[k][c&15] |= 1 << b
				t.high[k][c>>4] |= 1 << b
				t.high[k][(c&^m)>>4] |= 1 << b
			}
		}
	}
}

// Mark marks the places where a literal of the set begins.
func (s *Set) Mark(hits []uint64, data []byte) bool {
	found := kernel{tables: &s.tables}.places(hits, data, s.width)
	return found && keep(hits, data, s.at)
}

func (s *Set) at(data []byte) bool {
	for b := s.tables.buckets(data); b != 0; b &= b - 1 {
		for _, l := range s.members[bits.TrailingZeros8(b)] {
			if l.Begins(data) {
				return true
			}
		}
	}
	return false
}
