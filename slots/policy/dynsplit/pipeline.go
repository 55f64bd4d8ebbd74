package dynsplit

import (
	"math"

	"mrlocal/slots"
	"mrlocal/trace"
)

// This file is the resource usage pipeline: what a tracker may run besides its running
// tasks. Each rule is a function of the tracker's counts.

// Observe implements slots.Observer. A change of phase, or an end, concerns the pipeline
// of its tracker, whichever tracker is visited next.
func (s *Split) Observe(f slots.Fact) {
	if f.Slot >= 0 && (f.Op == trace.OpPhase || f.Op == trace.OpFinish) {
		s.moved = append(s.moved, slots.SlotID(f.Slot))
	}
}

// pipeline opens and closes additional map slots and lets reduces leave their copy phase,
// on the trackers where phases changed.
func (s *Split) pipeline(v *slots.View, d *slots.Decision) {
	for _, id := range s.moved {
		t := v.Slot(id).Tracker
		s.openAdditional(v, d, t)
		s.advance(v, d, t)
	}
	s.moved = s.moved[:0]
}

// additional returns how many additional map slots a tracker has now: one for each map in
// its I/O period, which leaves the CPU to others [Split11, "additional map slots"].
func (s *Split) additional(v *slots.View, t slots.TrackerID) int32 {
	return min(s.options.AdditionalMapSlots, v.InPhase(t, slots.PhaseIO))
}

// openAdditional opens so many extra slots, or closes them when their attempts end.
func (s *Split) openAdditional(v *slots.View, d *slots.Decision, t slots.TrackerID) {
	if n := s.additional(v, t); n != v.OpenExtra(t) {
		d.Resize(t, math.MaxInt32, math.MaxInt32, int(n))
	}
}

// room returns how many more tasks a tracker may run: at most as many as it has normal
// and additional slots [Split11, dynamic slot request of map task]. It counts tasks,
// whichever slots they are on. When the map in its I/O period ends, the additional map
// takes its place.
func (s *Split) room(v *slots.View, t slots.TrackerID) int32 {
	running := v.RunningAt(t, slots.Map) + v.RunningAt(t, slots.Reduce)
	return v.CapacityAt(t, slots.Map) + v.CapacityAt(t, slots.Reduce) + s.additional(v, t) - running
}

// mapFits reports whether the tracker may run one more map, on any slot.
func (s *Split) mapFits(v *slots.View, t slots.TrackerID) bool { return s.room(v, t) > 0 }

// normalSlots returns how many slots of a tracker are idle and not additional. They take
// maps and reduces.
func normalSlots(v *slots.View, t slots.TrackerID) int32 {
	return v.FreeHome(t, slots.Map) + v.FreeHome(t, slots.Reduce)
}

// reduceFits reports whether the tracker may run one more reduce, which begins by
// copying: within mapred.tasktracker.reduce.total.tasks and reduce.shuffle.tasks
// [Split11, dynamic slot request of reduce task]. The reduce takes a normal slot. An
// additional slot closes when maps have written, and a reduce that waits there for maps
// would take room from these maps.
func (s *Split) reduceFits(v *slots.View, t slots.TrackerID) bool {
	return s.room(v, t) > 0 && normalSlots(v, t) > 0 &&
		within(v.RunningAt(t, slots.Reduce), s.options.ReduceTotal) &&
		within(copying(v, t), s.options.ReduceShuffle)
}

// within reports whether there may be one more than n; most 0 is no bound.
func within(n, most int32) bool { return most == 0 || n < most }

// copying returns how many reduces of a tracker are in their copy phase.
func copying(v *slots.View, t slots.TrackerID) int32 {
	return v.RunningAt(t, slots.Reduce) - v.InPhase(t, slots.PhaseHeld) - v.InPhase(t, slots.PhaseSort) - v.InPhase(t, slots.PhaseReduce)
}

// Extra implements slots.Opener: the additional map slots.
func (s *Split) Extra(_ [2]int32, most int) int { return min(int(s.options.AdditionalMapSlots), most) }

// HoldsCopy implements slots.PhaseGate. If an option bounds the reduces that sort
// and compute, reduces wait in their copy phase.
func (s *Split) HoldsCopy() bool { return s.options.ReduceCompute > 0 }

// advance lets reduces of a tracker that have copied everything sort and compute, those
// that started first. At most mapred.tasktracker.reduce.compute.tasks do so at a time
// [Split11, dynamic slot request of reduce task]. Only a reduce that can go on at once
// gets leave: a reduce that waits for maps never keeps others from computing.
func (s *Split) advance(v *slots.View, d *slots.Decision, t slots.TrackerID) {
	for s.HoldsCopy() && v.InPhase(t, slots.PhaseHeld) > 0 {
		computing, next := int32(0), slots.NoSlot
		for _, id := range v.SlotsOf(t) {
			switch r := v.Slot(id); {
			case !r.Busy || r.Attempt.Kind != slots.Reduce:
			case r.Advanced:
				computing++
			case r.Phase == slots.PhaseHeld && (next == slots.NoSlot || r.Started < v.Slot(next).Started):
				next = id
			}
		}
		if next == slots.NoSlot || !within(computing, s.options.ReduceCompute) {
			return
		}
		d.Advance(next)
	}
}
