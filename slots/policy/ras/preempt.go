package ras

import "mrlocal/slots"

// preempt kills a reduce for a job with an earlier goal, if Options.PreemptReduces is set
// [RAS11, "preempted once"]. The paper mentions it but does not do it [RAS11, section 6].
//
// A reduce of that job has copied everything and waits on a tracker for room to reduce. preempt
// kills the newest reduce there that gives enough room, of a job whose goal is later or that
// has no goal. The task of the killed reduce runs again. A task is preempted at most once, so
// that every task ends.
func (r *RAS) preempt(v *slots.View, d *slots.Decision) {
	if !r.options.PreemptReduces {
		return
	}
	for _, h := range r.held {
		slot, s := v.Slot(h.slot), r.byID[h.attempt.Job]
		if !slot.Busy || slot.Attempt != h.attempt || slot.Killing || s == nil || !s.mapsDone {
			continue
		}
		if victim := r.preemptable(v, s, &slot); victim != slots.NoSlot {
			if d.WantsReason() {
				d.Because(slots.Why{Numbers: []slots.Number{slots.Decimal("goal of the job that waits, in seconds", v.Job(s.id).Deadline().Seconds())}})
			}
			d.Reclaim(victim)
			return // the next visit decides for the others, with the room that is left
		}
	}
}

// preemptable returns the slot of the reduce to kill for a reduce of s that waits on slot waits,
// or slots.NoSlot. Only first attempts may be killed, so that a task is preempted once.
func (r *RAS) preemptable(v *slots.View, s *rasJob, waits *slots.SlotView) slots.SlotID {
	n, goal := &r.nodes[waits.Tracker], v.Job(s.id).Deadline()
	newest := slots.NoSlot
	if goal == 0 {
		return newest
	}
	load := r.running(v, int(waits.Tracker)).Minus(s.copying(n, s.begun)).Plus(s.reducing(n))
	for _, id := range n.slots {
		o := v.Slot(id)
		switch {
		case !o.Busy || o.Attempt.Kind != slots.Reduce || !o.Advanced || o.Attempt.N > 0:
		case o.Killing:
			return slots.NoSlot // its end gives room already
		case v.Job(o.Attempt.Job).Deadline() != 0 && v.Job(o.Attempt.Job).Deadline() <= goal || !load.Minus(r.needs(v, &o)).Fits(n.capacity):
		case newest == slots.NoSlot || o.Started >= v.Slot(newest).Started:
			newest = id
		}
	}
	return newest
}
