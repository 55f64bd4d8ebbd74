package scan

import (
	"cmp"
	"math/bits"
	"slices"
)

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
