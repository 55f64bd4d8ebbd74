package slots

import (
	"fmt"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// This file describes what tasks need of a tracker. It has two measures of resources,
// which are never used together, and the nearness of the input of maps.
//
// A Vector counts CPU, I/O and memory as shares of what a tracker of capacity 1 has. A job's
// Profile holds the vectors of its tasks, phase by phase. Policies by demand keep the sum of
// these vectors within a tracker's capacity [RAS11, section 3.4]. Weights count a task in
// whole numbers, so that map and reduce slots may stand for unequal parts of a tracker.
//
// A Placement computes on which trackers the input of a map is. An Index finds the pending
// map whose input is nearest to a tracker. Both name jobs, tasks and trackers by plain
// numbers, because this package is below slots.
//
// The package is pure. All its types but Index and Capacities are values and own no memory.

// Vector is an amount of each resource. One is all that a tracker of capacity 1
// has of the resource.
type Vector struct {
	CPU    ppm.Share `json:"cpu"`
	IO     ppm.Share `json:"io"`
	Memory ppm.Share `json:"mem"`
}

// WholeVector returns what a tracker of capacity 1 has.
func WholeVector() Vector { return Vector{ppm.One, ppm.One, ppm.One} }

// Plus returns v + o.
func (v Vector) Plus(o Vector) Vector { return Vector{v.CPU + o.CPU, v.IO + o.IO, v.Memory + o.Memory} }

// Minus returns v − o, which may be negative.
func (v Vector) Minus(o Vector) Vector {
	return Vector{v.CPU - o.CPU, v.IO - o.IO, v.Memory - o.Memory}
}

// Times returns n times v.
func (v Vector) Times(n int32) Vector {
	k := ppm.Share(n)
	return Vector{k * v.CPU, k * v.IO, k * v.Memory}
}

// AtMost returns the smaller amount of each resource.
func (v Vector) AtMost(o Vector) Vector {
	return Vector{min(v.CPU, o.CPU), min(v.IO, o.IO), min(v.Memory, o.Memory)}
}

// AtLeast returns the larger amount of each resource.
func (v Vector) AtLeast(o Vector) Vector {
	return Vector{max(v.CPU, o.CPU), max(v.IO, o.IO), max(v.Memory, o.Memory)}
}

// Fits reports whether v is within capacity for every resource.
func (v Vector) Fits(capacity Vector) bool {
	return v.CPU <= capacity.CPU && v.IO <= capacity.IO && v.Memory <= capacity.Memory
}

// Profile is what one task of a job needs: a map, a reduce in its copy phase, and
// a reduce that sorts or reduces. Shuffle.IO is the I/O for each map whose output
// the reduce copies at the same time.
type Profile struct {
	Map     Vector `json:"map"`
	Shuffle Vector `json:"shuffle"`
	Reduce  Vector `json:"reduce"`
}

// Of returns the vector of a task in the given phase. The pointer points into p, so a caller
// may set the vector.
func (p *Profile) Of(phase trace.Phase) *Vector {
	switch phase {
	case trace.PhaseCopy:
		return &p.Shuffle
	case trace.PhaseSort, trace.PhaseReduce:
		return &p.Reduce
	}
	return &p.Map
}

// Negative reports whether a task needs a negative amount of a resource.
func (p *Profile) Negative() bool {
	least := p.Map.AtMost(p.Shuffle).AtMost(p.Reduce)
	return min(least.CPU, least.IO, least.Memory) < 0
}

// Capacities lists the trackers that do not have exactly the whole of each
// resource.
type Capacities []Capacity

// Capacity is what one tracker has of each resource. Tracker is its id.
type Capacity struct {
	Tracker int32 `json:"tracker"`
	Vector
}

// Of returns what a tracker has: its entry, or Whole if it has none.
func (c Capacities) Of(tracker int32) Vector {
	for i := range c {
		if c[i].Tracker == tracker {
			return c[i].Vector
		}
	}
	return WholeVector()
}

// Validate returns an error for a capacity that is not above 0, or for a tracker
// that is not one of 0 to last.
func (c Capacities) Validate(last int32) error {
	for _, t := range c {
		if t.Tracker < 0 || t.Tracker > last || min(t.CPU, t.IO, t.Memory) <= 0 {
			return fmt.Errorf("capacity of tracker %d of %d: %+v", t.Tracker, last+1, t.Vector)
		}
	}
	return nil
}

// DefaultProfile returns the profile of a job that has none, on trackers with the given
// number of slots. A map or reduce takes an equal part of the tracker's CPU, so that
// as many tasks fit as the tracker has slots. A reduce that copies takes nothing.
func DefaultProfile(slotsOfTracker int32) Profile {
	part := Vector{CPU: ppm.One / ppm.Share(max(slotsOfTracker, 1))}
	return Profile{Map: part, Reduce: part}
}

// Weights are what a task of each kind weighs, in whole numbers [DynamicMR14, "slot
// weights"]. A task weighs as much as a home slot of its kind, whatever slot it is on. A
// tracker runs no more than its home slots weigh together. For example, a tracker has 8 map
// slots of weight 1 and 4 reduce slots of weight 2. It runs 16 maps, or 8 reduces, or 10 maps
// and 3 reduces. The zero value sets no bound: each task then weighs 1, and weights are
// counts of slots.
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

// mostCounted caps a count of tasks before it is multiplied by at most MostWeight, so that the
// product stays within 32 bits. No cluster has that many slots.
const mostCounted = 1 << 24

// Times returns what n tasks of kind k weigh. With weights above 1, counts beyond mostCounted
// are taken as mostCounted.
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

// Slots returns the least number of slots with which tasks of any mix of kinds can use the whole
// weight of a tracker. home are its home slots by kind, which are included in the result.
func (w Weights) Slots(home [2]int32) int32 {
	if !w.Bound() {
		return home[trace.Map] + home[trace.Reduce]
	}
	return max(home[trace.Map]+home[trace.Reduce], w.Sum(home)/w.Lightest())
}

// Room returns the weight that a tracker may still run. home and running are its home slots
// and its running tasks by kind. Room is negative if slots have closed under running tasks.
func (w Weights) Room(home, running [2]int32) int32 { return w.Sum(home) - w.Sum(running) }

// Tally are the papers' counts of used and lent slots, in weight
// [DHFS13, section III-A], [DHFS13, "lent by tracker"].
type Tally struct {
	Used [2]int32
	Lent [2]int32 // by the kind of the slots that are lent
}

// TallyOf returns the counts of one tracker, from its home slots and its running tasks by
// kind. Without weights they are:
//
//	used map slots    = min(running maps, map slots) + max(running reduces - reduce slots, 0)
//	used reduce slots = min(running reduces, reduce slots) + max(running maps - map slots, 0)
func (w Weights) TallyOf(home, running [2]int32) (t Tally) {
	maps, reduces := running[trace.Map], running[trace.Reduce]
	lentMaps, lentReduces := max(reduces-home[trace.Reduce], 0), max(maps-home[trace.Map], 0)
	t.Lent = [2]int32{trace.Map: w.Times(trace.Reduce, lentMaps), trace.Reduce: w.Times(trace.Map, lentReduces)}
	t.Used = [2]int32{
		trace.Map:    w.Times(trace.Map, maps-lentReduces) + t.Lent[trace.Map],
		trace.Reduce: w.Times(trace.Reduce, reduces-lentMaps) + t.Lent[trace.Reduce],
	}
	return t
}

// ShareOfLoad returns min(ceil(demand/all · own), own). It computes with integers,
// because a ceiling of a floating-point number is sometimes one slot too many.
func ShareOfLoad(demand, own, all int32) int32 {
	if all == 0 {
		return 0
	}
	return int32(min((int64(demand)*int64(own)+int64(all)-1)/int64(all), int64(own)))
}
