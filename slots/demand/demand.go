// Package demand is what tasks need of a tracker: CPU, I/O bandwidth and memory,
// as shares of what a tracker of capacity 1 has. A job's Profile is what one of
// its tasks needs in each phase; policies that know resources hold the sum of the
// demands on a tracker to the tracker's capacity.
//
// It is pure, and all of it are values. Neighbours: slots records profiles and
// capacities, slots/setup reads them out of a workload file, slots/policy/ras
// places tasks by them.
package demand

import (
	"fmt"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Vector is an amount of each resource, in shares.
type Vector struct {
	CPU    ppm.Share `json:"cpu"`
	IO     ppm.Share `json:"io"`
	Memory ppm.Share `json:"mem"`
}

// Whole is all that a tracker of capacity 1 has.
func Whole() Vector { return Vector{ppm.One, ppm.One, ppm.One} }

// Plus is v + o.
func (v Vector) Plus(o Vector) Vector { return Vector{v.CPU + o.CPU, v.IO + o.IO, v.Memory + o.Memory} }

// Minus is v − o.
func (v Vector) Minus(o Vector) Vector {
	return Vector{v.CPU - o.CPU, v.IO - o.IO, v.Memory - o.Memory}
}

// Times is n of v.
func (v Vector) Times(n int32) Vector {
	k := ppm.Share(n)
	return Vector{k * v.CPU, k * v.IO, k * v.Memory}
}

// AtMost is v, and of each resource no more than o has.
func (v Vector) AtMost(o Vector) Vector {
	return Vector{min(v.CPU, o.CPU), min(v.IO, o.IO), min(v.Memory, o.Memory)}
}

// AtLeast is v, and of each resource no less than o has.
func (v Vector) AtLeast(o Vector) Vector {
	return Vector{max(v.CPU, o.CPU), max(v.IO, o.IO), max(v.Memory, o.Memory)}
}

// Fits reports whether there is as much of every resource as v needs.
func (v Vector) Fits(capacity Vector) bool {
	return v.CPU <= capacity.CPU && v.IO <= capacity.IO && v.Memory <= capacity.Memory
}

// Profile is what one task of a job needs: a map, a reduce that copies, and a
// reduce that sorts and reduces. The I/O of Shuffle is that for each map whose
// output is being copied.
type Profile struct {
	Map     Vector `json:"map"`
	Shuffle Vector `json:"shuffle"`
	Reduce  Vector `json:"reduce"`
}

// Of is what a task in a phase needs.
func (p *Profile) Of(phase trace.Phase) *Vector {
	switch phase {
	case trace.PhaseCopy:
		return &p.Shuffle
	case trace.PhaseSort, trace.PhaseReduce:
		return &p.Reduce
	}
	return &p.Map
}

// Capacities are what trackers have that have not the whole of each resource.
type Capacities []Capacity

// Capacity is what one of them has.
type Capacity struct {
	Tracker int32 `json:"tracker"`
	Vector
}

// Of is what a tracker has.
func (c Capacities) Of(tracker int32) Vector {
	for i := range c {
		if c[i].Tracker == tracker {
			return c[i].Vector
		}
	}
	return Whole()
}

// Validate reports what is not above 0, or of a tracker beyond the last.
func (c Capacities) Validate(last int32) error {
	for _, t := range c {
		if t.Tracker < 0 || t.Tracker > last || min(t.CPU, t.IO, t.Memory) <= 0 {
			return fmt.Errorf("capacity of tracker %d of %d: %+v", t.Tracker, last+1, t.Vector)
		}
	}
	return nil
}

// Default is the profile of a job that has none: what a tracker with so many
// slots is made for. A slot is an equal part of the tracker's CPU, so that as many
// tasks run there as there are slots; a reduce that copies needs nothing.
func Default(slotsOfTracker int32) Profile {
	part := Vector{CPU: ppm.One / ppm.Share(max(slotsOfTracker, 1))}
	return Profile{Map: part, Reduce: part}
}
