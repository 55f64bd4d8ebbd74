package policy

import (
	"cmp"
	"math/bits"
	"slices"

	"mrlocal/slots"
	"mrlocal/trace"
)

// ShareDemand is what a pool's fair share depends on.
type ShareDemand struct {
	Demand int32     // running and pending tasks of its jobs, capped by the pool's limit
	Min    int32     // min share, in slots
	Weight slots.PPM // 0: 1.0
}

// ShareDemandOf returns a pool's ShareDemand for kind k.
func ShareDemandOf(p slots.PoolView, k slots.Kind) ShareDemand {
	c := p.Config()
	return ShareDemand{Demand: demandOf(p, k, 0).All, Min: c.Min(k), Weight: c.Weight}
}

// BothKinds returns the demands of pools for slots of both kinds together, and the number of these slots. Both
// arguments are by kind. Policies with slots.Together share by these.
func BothKinds(pools [trace.Kinds][]ShareDemand, capacity [trace.Kinds]int32) (demands []ShareDemand, total int32) {
	demands = slices.Clone(pools[slots.Map])
	for i, r := range pools[slots.Reduce] {
		demands[i].Demand += r.Demand
		demands[i].Min += r.Min
	}
	return demands, capacity[slots.Map] + capacity[slots.Reduce]
}

// Level is the number r that determines the fair shares of slots,
//
//	share_i = min(demand_i, max(weight_i · r, min_i)) with Σ share_i = min(Σ demand_i, total)
//
// If the min shares exceed the slots together, Level is the factor that scales each of them
// down [Hadoop, "min share scale-down"].
type Level struct {
	num, den int64 // the number is num ÷ den
	scaled   bool  // it is the factor of min shares
}

// Share returns a pool's share at this level, exactly.
func (l Level) Share(p ShareDemand) slots.Number {
	least := int64(min(p.Min, p.Demand))
	if l.scaled {
		return slots.Number{Num: least * l.num, Den: l.den}
	}
	flow := p.weight()
	switch {
	case compareProducts(flow, l.num, least, l.den) <= 0:
		return slots.Number{Num: least}
	case compareProducts(flow, l.num, int64(p.Demand), l.den) >= 0:
		return slots.Number{Num: int64(p.Demand)}
	}
	return slots.Number{Num: flow * l.num, Den: l.den}
}

// AtMost reports whether the pool's share is n or less.
func (l Level) AtMost(p ShareDemand, n int32) bool {
	s := l.Share(p)
	return compareProducts(s.Num, 1, int64(n), max(s.Den, 1)) <= 0
}

// Floor returns the pool's share without its fraction.
func (l Level) Floor(p ShareDemand) int32 {
	s := l.Share(p)
	return int32(s.Num / max(s.Den, 1))
}

// weight returns the weight in parts per million.
func (p ShareDemand) weight() int64 {
	if p.Weight == 0 {
		return int64(slots.One)
	}
	return int64(p.Weight)
}

// LevelOf returns the Level of pools that share total slots. Hadoop 1.0.3,
// SchedulingAlgorithms.computeFairShares, finds r with 25 bisections; here r is exact. The sum
// of shares is a piecewise linear function of r. The share of a pool starts to grow at min ÷
// weight and stops at demand ÷ weight. LevelOf passes these turns in order of r. The result
// lies in the piece in which the sum reaches its target.
func LevelOf(pools []ShareDemand, total int32) Level {
	var want, fixed, growing int64 // Σ demand; Σ of constant shares; Σ weights of growing shares
	type turn struct {
		slots, weight int64 // the turn is at r = slots ÷ weight
		stops         bool  // the share stops to grow; else it starts
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
		return Level{num: target, den: fixed, scaled: true}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return compareProducts(a.slots, b.weight, b.slots, a.weight) })
	last := Level{den: 1}
	for _, t := range turns {
		if growing > 0 && compareProducts(growing, t.slots, target-fixed, t.weight) >= 0 {
			return Level{num: target - fixed, den: growing}
		}
		last = Level{num: t.slots, den: t.weight}
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

// compareProducts compares a·b with c·d. None of them is negative.
func compareProducts(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(b))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}
