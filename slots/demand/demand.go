// Package demand says what tasks need of a tracker: resources, in two measures that
// never mix, and for maps the nearness of their input. A Vector counts CPU, I/O and memory as shares of what a tracker of
// capacity 1 has; a job's Profile holds the vectors of its tasks, phase by phase,
// and policies that know resources keep the sum of them within a tracker's
// capacity [RAS11, section 3.4]. Weights count a task in whole numbers, so that
// map and reduce slots may stand for unequal parts of a tracker.
//
// A Placement knows on which trackers the input of a map is, and an Index finds the
// pending map whose input is nearest to a tracker. Their ids are plain numbers.
//
// The package is pure: all its types but Index are values, and own no memory.
//
// Neighbours: package slots records profiles and capacities, keeps a Tally of
// weights for each tracker, and has a Placement and an Index per job; slots/setup reads all of them from a workload file;
// slots/policy/ras places tasks by vectors, dynamicmr grants by weights.
package demand

import (
	"fmt"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Vector is an amount of each resource. One is all that a tracker of capacity 1
// has of the resource.
type Vector struct {
	CPU    ppm.Share `json:"cpu"`
	IO     ppm.Share `json:"io"`
	Memory ppm.Share `json:"mem"`
}

// Whole returns what a tracker of capacity 1 has.
func Whole() Vector { return Vector{ppm.One, ppm.One, ppm.One} }

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

// Of returns the vector of a task in the given phase. The pointer leads into p.
func (p *Profile) Of(phase trace.Phase) *Vector {
	switch phase {
	case trace.PhaseCopy:
		return &p.Shuffle
	case trace.PhaseSort, trace.PhaseReduce:
		return &p.Reduce
	}
	return &p.Map
}

// Capacities lists the trackers that do not have exactly the whole of each
// resource.
type Capacities []Capacity

// Capacity is what one tracker has.
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
	return Whole()
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

// Default returns the profile of a job that has none, on trackers with the given
// number of slots. A map or reduce takes an equal part of the tracker's CPU, so that
// as many tasks run as the tracker has slots; a reduce that copies takes nothing.
func Default(slotsOfTracker int32) Profile {
	part := Vector{CPU: ppm.One / ppm.Share(max(slotsOfTracker, 1))}
	return Profile{Map: part, Reduce: part}
}
