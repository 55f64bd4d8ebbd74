package policy

import (
	"math/bits"
	"slices"

	"mrlocal/slots"
)

// Demand is a pool as Shares sees it.
type Demand struct {
	Demand int32     // what its jobs want, capped by the pool's limit
	Min    int32     // min share
	Weight slots.PPM // 0: 1.0
}

// Shares are the fair shares of slots (SPEC 1.2), in the order of pools:
//
//	share_i = min(demand_i, max(weight_i · r, min_i)) with Σ share_i = min(Σ demand_i, total)
//
// Hadoop approaches r with 25 bisections; here it is exact. Min shares that
// exceed the slots together are scaled down in proportion, as Hadoop's design
// document has it and its code does not.
func Shares(pools []Demand, total int32) []float64 {
	level := waterLevel(pools, total)
	shares := make([]float64, len(pools))
	for i, p := range pools {
		n := level.share(p)
		shares[i] = float64(n.Num) / float64(max(n.Den, 1))
	}
	return shares
}

// water is r as Num ÷ Den, exactly; or, where the min shares alone are too many,
// the factor by which each is scaled down.
type water struct {
	num, den int64
	scaled   bool
}

// share is a pool's share at this level, exactly.
func (w water) share(p Demand) slots.Number {
	least := int64(min(p.Min, p.Demand))
	if w.scaled {
		return slots.Number{Num: least * w.num, Den: w.den}
	}
	flow := p.weight()
	switch {
	case mulCompare(flow, w.num, least, w.den) <= 0:
		return slots.Number{Num: least}
	case mulCompare(flow, w.num, int64(p.Demand), w.den) >= 0:
		return slots.Number{Num: int64(p.Demand)}
	}
	return slots.Number{Num: flow * w.num, Den: w.den}
}

// atMost reports whether the pool's share is n or less.
func (w water) atMost(p Demand, n int32) bool {
	s := w.share(p)
	return mulCompare(s.Num, 1, int64(n), max(s.Den, 1)) <= 0
}

// floor is the pool's share without its fraction.
func (w water) floor(p Demand) int32 {
	s := w.share(p)
	return int32(s.Num / max(s.Den, 1))
}

func (p Demand) weight() int64 {
	if p.Weight == 0 {
		return int64(slots.One)
	}
	return int64(p.Weight)
}

// waterLevel solves for r. The sum of shares grows with r in straight pieces: a
// pool starts to grow at min ÷ weight and stops at demand ÷ weight. Walking
// those in order, the piece that reaches the sum holds r.
func waterLevel(pools []Demand, total int32) water {
	var want, fixed, growing int64 // Σ demand; Σ of shares that stand; Σ weights of those that grow
	type turn struct {
		slots, weight int64 // at r = slots ÷ weight
		stops         bool
	}
	turns := make([]turn, 0, 2*len(pools))
	for _, p := range pools {
		least := int64(min(p.Min, p.Demand))
		want += int64(p.Demand)
		fixed += least
		turns = append(turns, turn{least, p.weight(), false}, turn{int64(p.Demand), p.weight(), true})
	}
	target := min(want, int64(total))
	if fixed > target {
		return water{num: target, den: fixed, scaled: true}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return mulCompare(a.slots, b.weight, b.slots, a.weight) })
	last := water{den: 1}
	for _, t := range turns {
		if growing > 0 && mulCompare(growing, t.slots, target-fixed, t.weight) >= 0 {
			return water{num: target - fixed, den: growing}
		}
		last = water{num: t.slots, den: t.weight}
		if t.stops {
			fixed += t.slots
			growing -= t.weight
		} else {
			fixed -= t.slots
			growing += t.weight
		}
	}
	return last // every demand is met
}

// mulCompare compares a·b with c·d, none of them negative.
func mulCompare(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(b))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(d))
	switch {
	case high != otherHigh && high < otherHigh, high == otherHigh && low < otherLow:
		return -1
	case high == otherHigh && low == otherLow:
		return 0
	}
	return 1
}
