// Package weight is the arithmetic of slot weights: map and reduce slots stand for
// unequal parts of a tracker's resources (SPEC 3.1, challenge C2). A task weighs
// what a home slot of its kind does, whatever slot it is on, and a tracker runs
// no more than its home slots weigh together: with 8 map slots of weight 1 and 4
// reduce slots of weight 2 that is 16 maps, or 8 reduces, or 10 maps and 3 reduces.
//
// Where nobody says otherwise all weigh 1, and weights are counts of slots: the
// papers' counts are a tracker's Tally either way.
//
// It is pure, and all of it are values. Neighbours: slots keeps a Tally of every
// tracker and of all together, slots/policy decides by them, workload files and
// the command line say what kinds weigh.
package weight

import "mrlocal/trace"

// Most is the most that a task may weigh, so that sums stay in 32 bits.
const Most = 100

// Weights are what a task of each kind weighs, in whole numbers. The zero value
// sets no bound.
type Weights struct {
	Map    int32 `json:"map"`
	Reduce int32 `json:"reduce"`
}

// Bound reports whether they bound what a tracker runs.
func (w Weights) Bound() bool { return w != Weights{} }

// Valid reports whether both kinds have a weight that is not too large, or none
// has any.
func (w Weights) Valid() bool {
	return !w.Bound() || min(w.Map, w.Reduce) >= 1 && max(w.Map, w.Reduce) <= Most
}

// Of is what a task of kind k weighs; 1 where there is no bound.
func (w Weights) Of(k trace.Kind) int32 {
	if k == trace.Map {
		return max(w.Map, 1)
	}
	return max(w.Reduce, 1)
}

// mostCounted is how many tasks are told apart; there are never so many slots.
const mostCounted = 1 << 24

// Times is what n tasks of kind k weigh.
func (w Weights) Times(k trace.Kind, n int32) int32 {
	each := w.Of(k)
	if each > 1 {
		n = min(n, mostCounted)
	}
	return n * each
}

// Sum is what counts of maps and reduces, or of their slots, weigh together.
func (w Weights) Sum(counts [2]int32) int32 {
	return w.Times(trace.Map, counts[trace.Map]) + w.Times(trace.Reduce, counts[trace.Reduce])
}

// Lightest is what the lightest task weighs.
func (w Weights) Lightest() int32 { return min(w.Of(trace.Map), w.Of(trace.Reduce)) }

// Slots is how many slots a tracker needs that its tasks fill up whatever their
// kinds, with so many home slots.
func (w Weights) Slots(home [2]int32) int32 {
	if !w.Bound() {
		return home[trace.Map] + home[trace.Reduce]
	}
	return max(home[trace.Map]+home[trace.Reduce], w.Sum(home)/w.Lightest())
}

// Tally are the papers' counts of used and lent slots (SPEC D4, A4), in weight.
type Tally struct {
	Used [2]int32
	Lent [2]int32 // by the lending kind
}

// TallyOf counts a tracker:
//
//	used map slots    = min(runM, Mcap) + max(runR - Rcap, 0)
//	used reduce slots = min(runR, Rcap) + max(runM - Mcap, 0)
func (w Weights) TallyOf(home, running [2]int32) (t Tally) {
	for k := range trace.Kind(trace.Kinds) {
		over := max(running[k]-home[k], 0)
		t.Lent[1-k] = w.Times(k, over)
		t.Used[1-k] += t.Lent[1-k]
		t.Used[k] += w.Times(k, running[k]-over)
	}
	return t
}

// Room is the weight that a tracker may still run.
func (w Weights) Room(home, running [2]int32) int32 { return w.Sum(home) - w.Sum(running) }
