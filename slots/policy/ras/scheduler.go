package ras

import (
	"slices"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/trace"
)

// This file is the Task Scheduler [RAS11, section 3.5]. It starts the tasks that are placed,
// and keeps the needs of the tasks on a tracker within the tracker's capacity.

// held is a running reduce in shuffle, and its slot.
type held struct {
	slot    slots.SlotID
	attempt slots.AttemptID
}

// advance lets reduces whose maps are all done switch from shuffle to reduce, if their
// tracker has room for that [RAS11, "shuffle memory gate"]. It does so before launch, which
// could take the room. It does so on all trackers, because a tracker on which nothing can
// start may get no visit.
func (r *RAS) advance(v *slots.View, d *slots.Decision) {
	if len(r.changed) == 0 {
		return // nothing can give new room
	}
	if r.ended || r.regroup {
		r.refreshHeld(v)
	}
	// The list is filtered in place, and keeps the order in which the reduces started.
	kept := r.ready[:0]
	for _, h := range r.ready {
		s := r.byID[h.attempt.Job]
		if s == nil || !r.advances(v, d, s, h.slot) {
			kept = append(kept, h) // it waits for room, or its job is not active
			continue
		}
		i := slices.Index(r.held, h)
		r.held = slices.Delete(r.held, i, i+1)
	}
	r.ready = kept
}

// refreshHeld brings r.held and r.ready up to date. It removes reduces that have ended from both.
// r.ready gets the reduces whose job has done its maps.
func (r *RAS) refreshHeld(v *slots.View) {
	kept := r.held[:0]
	r.ready = r.ready[:0]
	for _, h := range r.held {
		if a, _, _, runs := v.RunningOn(h.slot); r.ended && !(runs && a == h.attempt) {
			continue
		}
		kept = append(kept, h)
		if s := r.byID[h.attempt.Job]; s == nil || s.mapsDone {
			r.ready = append(r.ready, h)
		}
	}
	r.held = kept
	r.ended, r.regroup = false, false
}

// advances lets the reduce on slot id switch if its tracker has room, and reports whether it
// did.
func (r *RAS) advances(v *slots.View, d *slots.Decision, s *rasJob, id slots.SlotID) bool {
	n := &r.nodes[r.trackerOf[id]]
	if r.denied[id] == n.ends {
		return false // there was no room, and nothing has given room since
	}
	// Running tasks count here, not placed ones. The two differ until tasks have ended.
	load := r.running(v, int(r.trackerOf[id])).Minus(s.copying(n, s.begun)).Plus(s.reducing(n))
	if !load.Fits(n.capacity) {
		r.denied[id] = n.ends
		return false
	}
	d.Advance(id)
	r.wakeTracker(slots.TrackerID(r.trackerOf[id]))
	r.moved = true
	return true
}

// killReopened kills reduces that may switch and still copy, if a map output of their job was
// lost. They would hold the resources that they need to reduce, and the map that they wait
// for may need these. They have reduced nothing yet [RAS11, "nothing waits for ever"].
func (r *RAS) killReopened(v *slots.View, d *slots.Decision) {
	if !r.lost {
		return
	}
	r.lost = false
	for _, s := range r.jobs {
		if !s.reopened {
			continue
		}
		s.reopened = false // the next loss sets it again
		for id := range slots.SlotID(v.Slots()) {
			slot := v.Slot(id)
			if copies := slot.Phase < slots.PhaseSort || slot.Phase == slots.PhaseHeld; slot.Busy && slot.Attempt.Job == s.id && slot.Advanced && copies && !s.mapsDone {
				if d.WantsReason() {
					d.Because(slots.Why{Numbers: []slots.Number{slots.Whole("maps of the job that are not done", s.left[slots.Map])}})
				}
				d.Reclaim(id)
			}
		}
	}
}

// unblock ends a deadlock [RAS11, "nothing waits for ever"]. In a deadlock only reduces in
// shuffle run, and none of them can switch. No map can start, because the maps failed on the
// trackers that have room. Then unblock kills the newest of these reduces. The job of that
// reduce gets no reduce on the tracker until an attempt of the job has ended.
func (r *RAS) unblock(v *slots.View, d *slots.Decision) {
	switch {
	case r.moved || !r.allHeld(v) || !r.wanted(v),
		slices.ContainsFunc(r.held, func(h held) bool { return v.Slot(h.slot).Killing }): // its end gives room
		r.blocked = -1
	case r.blocked < 0:
		r.blocked = v.Now()
		d.WakeAt(v.Now() + 1) // until then each tracker gets a visit
	// No visit since then has started anything.
	case v.Now() > r.blocked:
		newest := r.held[len(r.held)-1]
		if s := r.byID[newest.attempt.Job]; s != nil {
			s.bar(slots.Reduce, int(v.Slot(newest.slot).Tracker), len(r.nodes))
		}
		d.Reclaim(newest.slot)
		r.blocked = -1
	}
}

// allHeld reports whether reduces in shuffle run, and nothing else.
func (r *RAS) allHeld(v *slots.View) bool {
	return v.Running(slots.Map) == 0 && len(r.held) > 0 && v.Running(slots.Reduce) == int32(len(r.held))
}

// wanted reports whether anything waits for room: a pending map, or a reduce in shuffle whose
// maps are done.
func (r *RAS) wanted(v *slots.View) bool {
	return v.Pending(slots.Map) > 0 || slices.ContainsFunc(r.held, func(h held) bool {
		s := r.byID[h.attempt.Job]
		return s != nil && s.mapsDone
	})
}

// launch starts tasks that are placed on the visited tracker and do not run yet, as long as
// there is room. The job with the lowest utility comes first [RAS11, section 3.5].
func (r *RAS) launch(v *slots.View, d *slots.Decision) {
	t := int(v.Tracker())
	var out [trace.Kinds]slots.Refusal // the last refusal of the Ledger by kind
	r.tight = false
	switch {
	case r.awake.Has(v.Tracker()):
		for v.FreeAt(v.Tracker()) > 0 {
			// Each launch changes the load and the utilities, so nextTask runs again for each task.
			load := r.running(v, t)
			s, k := r.nextTask(v, t, load)
			if s == nil {
				break
			}
			if d.WantsReason() {
				d.Because(r.why(v, s, k, load))
			}
			if !d.Grant(slots.GrantOf(s.id, k, ruleLowestUtility)) {
				out[k] = d.Refused()
				r.refused(s, k, t, d.Refused())
				continue
			}
			r.launched(v, d, s, k)
		}
		r.clearSkipped(t)
		// After a refusal, or a lack of room on another tracker, the next visit must look again.
		if out == [trace.Kinds]slots.Refusal{} && !r.tight {
			r.sleep(t)
		}
	case invariant.Enabled:
		r.checkAsleep(v, v.Tracker(), v.Tracker()+1)
	}
	if d.WantsReason() {
		r.decline(v, d, t, out)
	}
}

// sleep notes that nothing can start on a tracker (RAS.awake).
func (r *RAS) sleep(t int) { r.awake.Put(slots.TrackerID(t), false) }

// checkAsleep checks that nothing can start on the trackers in [t, next), which get no visit. A
// next of -1 stands for all up to the last.
func (r *RAS) checkAsleep(v *slots.View, t, next slots.TrackerID) {
	if next < 0 {
		next = slots.TrackerID(len(r.nodes))
	}
	for ; t < next; t++ {
		if v.FreeAt(t) > 0 {
			s, k := r.nextTask(v, int(t), r.running(v, int(t)))
			invariant.Check(s == nil, "ras: tracker %d counts as idle, and a %v can start", t, k)
		}
	}
}

// nextTask returns the job and the kind of task to launch next on a tracker; nil: there is
// none. load is the needs of the running tasks. A job is a candidate if it runs fewer tasks
// there than are placed and has room for one more. nextTask takes the job with the lowest
// utility by running tasks. Of a job it takes reduces before maps.
func (r *RAS) nextTask(v *slots.View, t int, load slots.Vector) (next *rasJob, kind slots.Kind) {
	n := &r.nodes[t]
	var least utility
	for _, s := range n.jobs {
		k, ok := r.startable(v, s.rasJob, n, t, load)
		if !ok {
			continue
		}
		if u := s.running(v); next == nil || u < least || u == least && s.id < next.id {
			next, kind, least = s.rasJob, k, u
		}
	}
	return next, kind
}

// startable returns the kind of task of a job that may be launched on a tracker, and false if
// none may. Reduces come first. running must have set s.here for the tracker before.
func (r *RAS) startable(v *slots.View, s *rasJob, n *node, t int, load slots.Vector) (slots.Kind, bool) {
	j := v.Job(s.id)
	for _, k := range []slots.Kind{slots.Reduce, slots.Map} {
		if s.here[k] < s.on[t].tasks[k] && j.Pending(k) > 0 && !s.isBarred(k, t) && !s.skipped[k] && load.Plus(s.needs(k, n, s.mapsDone)).Fits(n.capacity) &&
			(k == slots.Reduce || r.copyingFits(v, s, t)) {
			return k, true
		}
	}
	return 0, false
}

// copyingFits reports whether a map of a job may start on tracker t. Its start raises the needs of
// the job's reduces in shuffle, and their trackers must have room for that.
func (r *RAS) copyingFits(v *slots.View, s *rasJob, t int) bool {
	if s.begun >= s.copies {
		return true
	}
	for _, h := range r.held {
		slot := v.Slot(h.slot)
		if !slot.Busy || slot.Attempt != h.attempt || h.attempt.Job != s.id {
			continue
		}
		// The load of that tracker after the start: the map itself, its running tasks, and more
		// for each reduce of the job that copies.
		n, load := &r.nodes[slot.Tracker], slots.Vector{}
		if int(slot.Tracker) == t {
			load = s.mapping(n)
		}
		more := s.copying(n, s.begun+1).Minus(s.copying(n, s.begun))
		for _, id := range n.slots {
			o := v.Slot(id)
			if !o.Busy {
				continue
			}
			load = load.Plus(r.needs(v, &o))
			if o.Attempt.Job == s.id && o.Attempt.Kind == slots.Reduce && !o.Advanced {
				load = load.Plus(more)
			}
		}
		if !load.Fits(n.capacity) {
			r.tight = true
			return false
		}
	}
	return true
}

// launched updates counts after a grant that the Ledger applied.
func (r *RAS) launched(v *slots.View, d *slots.Decision, s *rasJob, k slots.Kind) {
	start := d.Started()
	r.moved = true
	r.measures.Start(v.Now(), start.Slot)
	switch {
	case k == slots.Map:
		s.begun++
	case s.mapsDone:
		// All maps are done, so the reduce needs no permission later.
		d.Advance(start.Slot)
	default:
		r.held = append(r.held, held{start.Slot, start.Attempt})
	}
}

// refused handles a refusal of the Ledger. If the job's tasks failed on this tracker, or its
// reduce would deadlock here, the job is barred from the tracker. All tasks are then placed
// again soon. Otherwise the job is skipped for the rest of this visit.
func (r *RAS) refused(s *rasJob, k slots.Kind, t int, why slots.Refusal) {
	if why == slots.RefusedFailedHere || why == slots.RefusedBlacklisted || why == slots.RefusedDeadlock {
		s.bar(k, t, len(r.nodes))
		r.urgent = true
		return
	}
	s.skipped[k] = true
}

// clearSkipped ends a visit. Jobs that were skipped are tried again on the next one.
func (r *RAS) clearSkipped(t int) {
	for _, s := range r.nodes[t].jobs {
		s.skipped = [trace.Kinds]bool{}
	}
}

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
