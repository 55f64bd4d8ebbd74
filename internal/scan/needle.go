package scan

import (
	"math/bits"
	"slices"
)

// column is one byte of a literal as the kernel wants it: what must stand, at
// this distance from the place asked about, after or-ing the mask.
type column struct {
	want, mask [lane]byte
	offset     uint64
	_          [56]byte // a column fills two cache lines
}

// lane is how many places one register holds.
const lane = 32

// maxColumns bounds what the kernel compares of one literal. What passes that
// many bytes is nearly always the literal; the rest is compared in Go.
const maxColumns = 16

// Needle marks one literal. The kernel compares two bytes of it at each place,
// those of which a sample held the fewest together, and the others only where
// these two stand; or, where that is in many words, whose branches could not be
// predicted, all of them at each place.
type Needle struct {
	lit     Literal
	columns []column
	every   bool // all columns are compared at each place
	whole   bool // the columns are all of the literal
}

// NewNeedle prepares to look for l.
func NewNeedle(l Literal) *Needle {
	n := &Needle{lit: l}
	n.Tune(nil)
	return n
}

func (n *Needle) width() int { return min(len(n.lit.Text), mostWidth) }

// rarest are the bytes that the pair is chosen from.
const rarest = 6

// Tune chooses the bytes and their order.
func (n *Needle) Tune(sample []byte) {
	n.every = false
	counts := countBytes(sample)
	order := make([]int, n.width())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if n.lit.weigh(a, counts) < n.lit.weigh(b, counts) {
			return -1
		}
		if n.lit.weigh(a, counts) > n.lit.weigh(b, counts) {
			return 1
		}
		return 0
	})
	if len(order) > 1 {
		n.pair(order, sample)
	}
	if len(order) == 1 {
		order = append(order, order[0]) // the kernel takes two at once
	}
	n.whole = len(n.lit.Text) <= maxColumns
	n.fill(order[:min(len(order), maxColumns)])
}

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

// pair puts that pair of the rarest bytes first that stands together at the
// fewest places of the sample.
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

// branchColumns is how many columns could be compared in the time that a
// mispredicted branch takes.
const branchColumns = 8

// Mark marks the places where the literal begins.
func (n *Needle) Mark(hits []uint64, data []byte) bool {
	found := kernel{columns: n.columns, every: n.every}.places(hits, data, n.width())
	if !found || n.whole {
		return found
	}
	found = false
	for w, h := range hits {
		for rest := h; rest != 0; rest &= rest - 1 {
			if i := bits.TrailingZeros64(rest); !n.lit.Begins(data[64*w+i:]) {
				h &^= 1 << i
			}
		}
		hits[w] = h
		found = found || h != 0
	}
	return found
}
