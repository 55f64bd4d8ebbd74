package dynsplit

import (
	"math"

	"mrlocal/slots"
	"mrlocal/trace"
)

// This file is the resource usage pipeline. It decides which tasks a tracker may run in addition
// to its running ones. Each rule is a function of the tracker's counts.

// Observe implements slots.Observer. It notes the slots on which an attempt has changed phase or
// ended. The next visit updates the pipelines of their trackers, whichever tracker it is for.
func (s *Split) Observe(f slots.Fact) {
	if f.Slot >= 0 && (f.Op == trace.OpPhase || f.Op == trace.OpFinish) {
		s.moved = append(s.moved, slots.SlotID(f.Slot))
	}
}

// pipeline opens and closes additional map slots, and lets reduces leave their copy phase, on
// the trackers of the slots that Observe has noted.
func (s *Split) pipeline(v *slots.View, d *slots.Decision) {
	for _, id := range s.moved {
		t := v.Slot(id).Tracker
		s.openAdditional(v, d, t)
		s.advance(v, d, t)
	}
	s.moved = s.moved[:0]
}

// additional returns how many additional map slots a tracker has now [Split11, "additional map
// slots"]. There is one for each map in its I/O period, up to the option, because such a map
// does not use the CPU.
func (s *Split) additional(v *slots.View, t slots.TrackerID) int32 {
	return min(s.options.AdditionalMapSlots, v.InPhase(t, slots.PhaseIO))
}

// openAdditional opens extra slots up to the number of additional map slots, or closes those
// above it. A busy slot closes when its attempt ends.
func (s *Split) openAdditional(v *slots.View, d *slots.Decision, t slots.TrackerID) {
	if n := s.additional(v, t); n != v.OpenExtra(t) {
		d.Resize(t, math.MaxInt32, math.MaxInt32, int(n))
	}
}

// room returns how many more tasks a tracker may run. A tracker runs at most as many as it has
// normal and additional slots [Split11, dynamic slot request of map task]. room counts tasks,
// whichever slots they are on. So when the map in its I/O period ends, the additional map
// counts as one on a normal slot.
func (s *Split) room(v *slots.View, t slots.TrackerID) int32 {
	running := v.RunningAt(t, slots.Map) + v.RunningAt(t, slots.Reduce)
	return v.CapacityAt(t, slots.Map) + v.CapacityAt(t, slots.Reduce) + s.additional(v, t) - running
}

// mapFits reports whether the tracker may run one more map, on any slot.
func (s *Split) mapFits(v *slots.View, t slots.TrackerID) bool { return s.room(v, t) > 0 }

// normalSlots returns how many home slots of a tracker are free. They take maps and reduces.
func normalSlots(v *slots.View, t slots.TrackerID) int32 {
	return v.FreeHome(t, slots.Map) + v.FreeHome(t, slots.Reduce)
}

// reduceFits reports whether the tracker may run one more reduce, which begins by copying
// [Split11, dynamic slot request of reduce task]. The bounds are
// mapred.tasktracker.reduce.total.tasks and reduce.shuffle.tasks. The reduce needs a normal
// slot. An additional slot closes when the map has written, and a reduce that waits for maps
// there would take the room of these maps.
func (s *Split) reduceFits(v *slots.View, t slots.TrackerID) bool {
	return s.room(v, t) > 0 && normalSlots(v, t) > 0 &&
		within(v.RunningAt(t, slots.Reduce), s.options.ReduceTotal) &&
		within(copying(v, t), s.options.ReduceShuffle)
}

// within reports whether there may be one more than n under the bound most; 0: no bound.
func within(n, most int32) bool { return most == 0 || n < most }

// copying returns how many reduces of a tracker are in their copy phase.
func copying(v *slots.View, t slots.TrackerID) int32 {
	return v.RunningAt(t, slots.Reduce) - v.InPhase(t, slots.PhaseHeld) - v.InPhase(t, slots.PhaseSort) - v.InPhase(t, slots.PhaseReduce)
}

// Extra implements slots.Opener. It returns the number of additional map slots.
func (s *Split) Extra(_ [2]int32, most int) int { return min(int(s.options.AdditionalMapSlots), most) }

// HoldsCopy implements slots.PhaseGate. If an option bounds the reduces that sort
// and compute, reduces wait in their copy phase.
func (s *Split) HoldsCopy() bool { return s.options.ReduceCompute > 0 }

// advance lets held reduces of a tracker sort and compute, in the order of their starts
// [Split11, dynamic slot request of reduce task]. At most
// mapred.tasktracker.reduce.compute.tasks do so at a time. Only held reduces are advanced, so
// a reduce that waits for maps never uses up the bound.
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
