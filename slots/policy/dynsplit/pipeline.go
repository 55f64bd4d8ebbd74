package dynsplit

import (
	"math"

	"mrlocal/slots"
	"mrlocal/trace"
)

// The resource usage pipeline: what a tracker may run beside what it runs. Each
// rule is a function of the tracker's counts.

// Observe implements slots.Observer: a change of phase, or an end, is news for the
// pipeline of its tracker, wherever the next visit is.
func (s *Split) Observe(f slots.Fact) {
	if f.Slot >= 0 && (f.Op == trace.OpPhase || f.Op == trace.OpFinish) {
		s.moved = append(s.moved, slots.SlotID(f.Slot))
	}
}

// pipeline opens and closes additional map slots and lets reduces go on, on the
// trackers with news.
func (s *Split) pipeline(v *slots.View, d *slots.Decision) {
	for _, id := range s.moved {
		t := v.Slot(id).Tracker
		s.openAdditional(v, d, t)
		s.advance(v, d, t)
	}
	s.moved = s.moved[:0]
}

// additional is how many map slots of a tracker stand for maps in their I/O
// period, which leave the CPU to others (S7).
func (s *Split) additional(v *slots.View, t slots.TrackerID) int32 {
	return min(s.options.AdditionalMapSlots, v.InPhase(t, slots.PhaseIO))
}

// openAdditional opens so many extra slots, or closes them from the end of what
// runs there.
func (s *Split) openAdditional(v *slots.View, d *slots.Decision, t slots.TrackerID) {
	if n := s.additional(v, t); n != v.OpenExtra(t) {
		d.Resize(t, math.MaxInt32, math.MaxInt32, int(n))
	}
}

// room is how many more tasks a tracker may run: the maximum is the normal slots
// and the additional ones (S7). It counts tasks, not which slots they are on: when
// the map in its I/O period has ended, what was let in beside it takes its place.
func (s *Split) room(v *slots.View, t slots.TrackerID) int32 {
	running := v.RunningAt(t, slots.Map) + v.RunningAt(t, slots.Reduce)
	return v.CapacityAt(t, slots.Map) + v.CapacityAt(t, slots.Reduce) + s.additional(v, t) - running
}

// mapFits: the tracker may run one more map, on whatever slot.
func (s *Split) mapFits(v *slots.View, t slots.TrackerID) bool { return s.room(v, t) > 0 }

// normalSlots is how many slots of a tracker that are not additional ones are
// idle: those take maps and reduces.
func normalSlots(v *slots.View, t slots.TrackerID) int32 {
	return v.FreeHome(t, slots.Map) + v.FreeHome(t, slots.Reduce)
}

// reduceFits: the tracker may run one more reduce, which begins by copying:
// mapred.tasktracker.reduce.total.tasks and reduce.shuffle.tasks (S8).
// It goes to a normal slot: an additional one closes when maps have written, and a
// reduce that waits there for maps would be room that no map gets.
func (s *Split) reduceFits(v *slots.View, t slots.TrackerID) bool {
	return s.room(v, t) > 0 && normalSlots(v, t) > 0 &&
		within(v.RunningAt(t, slots.Reduce), s.options.ReduceTotal) &&
		within(copying(v, t), s.options.ReduceShuffle)
}

// within: there may be one more than n of at most so many; 0: any number.
func within(n, most int32) bool { return most == 0 || n < most }

// copying is how many reduces of a tracker copy: those that do nothing else yet.
func copying(v *slots.View, t slots.TrackerID) int32 {
	return v.RunningAt(t, slots.Reduce) - v.InPhase(t, slots.PhaseHeld) - v.InPhase(t, slots.PhaseSort) - v.InPhase(t, slots.PhaseReduce)
}

// Extra implements slots.Opener: the additional map slots.
func (s *Split) Extra(_ [2]int32, most int) int { return min(int(s.options.AdditionalMapSlots), most) }

// HoldsCopy implements slots.PhaseGate: reduces ask before they sort and compute,
// where that is bounded.
func (s *Split) HoldsCopy() bool { return s.options.ReduceCompute > 0 }

// advance lets reduces of a tracker that have copied everything sort and compute,
// those that started first, as long as no more do than
// mapred.tasktracker.reduce.compute.tasks (S8). Only a reduce that can use it at
// once is let through: what waits for maps never keeps others from computing.
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
