package demand

import "mrlocal/trace"

// Weights are what a task of each kind weighs, in whole numbers. A task weighs
// what a home slot of its kind weighs, whatever slot it is on, and a tracker runs no
// more than its home slots weigh together. With 8 map slots of weight 1 and 4
// reduce slots of weight 2 a tracker runs 16 maps, or 8 reduces, or 10 maps and 3
// reduces. The zero value sets no bound: each task then weighs 1, and weights are
// counts of slots. Source: [DynamicMR14, "slot weights"].
type Weights struct {
	Map    int32 `json:"map"`
	Reduce int32 `json:"reduce"`
}

// MostWeight is the most that one task may weigh. It keeps sums within 32 bits.
const MostWeight = 100

// Bound reports whether w bounds what a tracker runs.
func (w Weights) Bound() bool { return w != Weights{} }

// Valid reports whether w is the zero value, or both weights are from 1 to
// MostWeight.
func (w Weights) Valid() bool {
	return !w.Bound() || min(w.Map, w.Reduce) >= 1 && max(w.Map, w.Reduce) <= MostWeight
}

// Of returns what a task of kind k weighs; 1 if there is no bound.
func (w Weights) Of(k trace.Kind) int32 {
	if k == trace.Map {
		return max(w.Map, 1)
	}
	return max(w.Reduce, 1)
}

// mostCounted caps a count of tasks before it is multiplied, so that the product
// stays within 32 bits. No cluster has so many slots.
const mostCounted = 1 << 24

// Times returns what n tasks of kind k weigh.
func (w Weights) Times(k trace.Kind, n int32) int32 {
	each := w.Of(k)
	if each > 1 {
		n = min(n, mostCounted)
	}
	return n * each
}

// Sum returns what counts of maps and reduces, or of their slots, weigh together.
func (w Weights) Sum(counts [2]int32) int32 {
	return w.Times(trace.Map, counts[trace.Map]) + w.Times(trace.Reduce, counts[trace.Reduce])
}

// Lightest returns what the lighter kind of task weighs.
func (w Weights) Lightest() int32 { return min(w.Of(trace.Map), w.Of(trace.Reduce)) }

// Slots returns how many slots a tracker with the given home slots needs, so that
// tasks of any mix of kinds can use its whole weight.
func (w Weights) Slots(home [2]int32) int32 {
	if !w.Bound() {
		return home[trace.Map] + home[trace.Reduce]
	}
	return max(home[trace.Map]+home[trace.Reduce], w.Sum(home)/w.Lightest())
}

// Room returns the weight that a tracker may still run.
func (w Weights) Room(home, running [2]int32) int32 { return w.Sum(home) - w.Sum(running) }

// Tally are the papers' counts of used and lent slots, in weight
// [DHFS13, section III-A], [DHFS13, "lent by tracker"].
type Tally struct {
	Used [2]int32
	Lent [2]int32 // by the kind of the slots that are lent
}

// TallyOf counts one tracker from its home slots and its running tasks:
//
//	used map slots    = min(running maps, map slots) + max(running reduces - reduce slots, 0)
//	used reduce slots = min(running reduces, reduce slots) + max(running maps - map slots, 0)
func (w Weights) TallyOf(home, running [2]int32) (t Tally) {
	for k := range trace.Kind(trace.Kinds) {
		over := max(running[k]-home[k], 0)
		t.Lent[1-k] = w.Times(k, over)
		t.Used[1-k] += t.Lent[1-k]
		t.Used[k] += w.Times(k, running[k]-over)
	}
	return t
}
