package ras

import (
	"math"
	"slices"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// This file is the Task Scheduler [RAS11, section 3.5]: it starts the tasks that are
// placed, and never lets the tasks on a tracker need more than it has.

// held is a reduce in shuffle.
type held struct {
	slot    slots.SlotID
	attempt slots.AttemptID
}

// advance lets reduces whose maps are all done switch from shuffle to reduce, if their
// tracker has room for that [RAS11, "shuffle memory gate"]. It does so before anything is
// launched, and on all trackers: a tracker on which nothing can start may get no visit.
func (r *RAS) advance(v *slots.View, d *slots.Decision) {
	if len(r.changed) == 0 || !r.look {
		return // there is no new room
	}
	r.look = false
	if r.ended || r.regroup {
		r.sortOut(v)
	}
	// The list is filtered in place, and keeps the order in which the reduces started.
	kept := r.ready[:0]
	for _, h := range r.ready {
		s := r.byID[h.attempt.Job]
		if s == nil || !r.advances(v, d, s, h.slot) {
			kept = append(kept, h)
			r.look = true // it waits for room, or its job is not known yet
			continue
		}
		s.held--
		i := slices.Index(r.held, h)
		r.held = slices.Delete(r.held, i, i+1)
	}
	r.ready = kept
}

// sortOut takes reduces that have ended out of those in shuffle, and finds those that may
// switch now: the maps of their job are done.
func (r *RAS) sortOut(v *slots.View) {
	kept := r.held[:0]
	r.ready = r.ready[:0]
	for _, h := range r.held {
		s := r.byID[h.attempt.Job]
		if r.ended && !v.Runs(h.slot, h.attempt) {
			if s != nil {
				s.held--
			}
			continue
		}
		kept = append(kept, h)
		if s == nil || s.mapsDone {
			r.ready = append(r.ready, h)
		}
	}
	r.held, r.ended, r.regroup = kept, false, false
}

// advances lets one reduce switch, if there is room.
func (r *RAS) advances(v *slots.View, d *slots.Decision, s *standing, id slots.SlotID) bool {
	n := &r.nodes[r.trackerOf[id]]
	if r.denied[id] == n.ends {
		return false // there was no room, and nothing has ended since
	}
	// What runs counts here, not what is placed: the two differ until tasks have ended.
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

// takeBack kills reduces that may switch and still copy, when a map output of their job
// was lost. They would hold what they need to reduce while they wait for a map that may
// need it. They have reduced nothing yet [RAS11, "nothing waits for ever"].
func (r *RAS) takeBack(v *slots.View, d *slots.Decision) {
	if !r.lost {
		return
	}
	r.lost = false
	for _, s := range r.jobs {
		if !s.reopened {
			continue
		}
		// Each loss of a map output is handled once.
		s.reopened = false
		for id := range slots.SlotID(v.Slots()) {
			slot := v.Slot(id)
			if copies := slot.Phase < slots.PhaseSort || slot.Phase == slots.PhaseHeld; slot.Busy && slot.Attempt.Job == s.id && slot.Advanced && copies && !s.mapsDone {
				if d.Explaining() {
					d.Because(slots.Why{Numbers: []slots.Number{slots.Whole("maps of the job that are not done", s.left[slots.Map])}})
				}
				d.Reclaim(id)
			}
		}
	}
}

// ending reports whether a reduce in shuffle is being killed. With heartbeats it ends
// later, and there is a decision then.
func (r *RAS) ending(v *slots.View) bool {
	return slices.ContainsFunc(r.held, func(h held) bool { return v.Slot(h.slot).Killing })
}

// unblock is the last resort against a deadlock. Only reduces in shuffle may be running, and none
// of them can switch. No map can start, because the maps failed on the trackers that have room.
// Then unblock kills the newest of the reduces. That job gets no reduce there until an attempt of
// it has ended [RAS11, "nothing waits for ever"].
func (r *RAS) unblock(v *slots.View, d *slots.Decision) {
	switch {
	case r.moved || !r.allHeld(v) || !r.wanted(v) || r.ending(v):
		r.blocked = -1
	case r.blocked < 0:
		r.blocked = v.Now()
		d.WakeAt(v.Now() + 1) // by then all trackers have been visited
	// No tracker found anything to do since, so nothing will happen by itself.
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

// wanted reports whether a map is pending, or a reduce in shuffle lacks only room.
func (r *RAS) wanted(v *slots.View) bool {
	for _, h := range r.held {
		if s := r.byID[h.attempt.Job]; s != nil && s.mapsDone {
			return true
		}
	}
	return v.Pending(slots.Map) > 0
}

// launch starts tasks that are placed on the visited tracker and do not run, as far as there is
// room now. Tasks of the job with the lowest utility come first [RAS11, section 3.5].
func (r *RAS) launch(v *slots.View, d *slots.Decision) {
	t := int(v.Tracker())
	n := &r.nodes[t]
	var out [trace.Kinds]slots.Refusal
	r.tight = false
	// Most visits end here, before anything is added up.
	switch free := v.FreeAt(v.Tracker()); {
	case free == 0 || r.stillIdle(v, n, t, free):
	case !r.misses(t):
		r.sleep(t, math.MaxInt32)
	default:
		for v.FreeAt(v.Tracker()) > 0 {
			// Each launch changes what runs and the utilities, so the next task is chosen anew.
			load := r.running(v, t)
			s, k := r.nextTask(v, t, load)
			if s == nil {
				break
			}
			if d.Explaining() {
				d.Because(r.why(v, s, k, load))
			}
			if !d.Grant(slots.Grant{Slot: slots.NoSlot, Job: s.id, Kind: k, Task: slots.NoTask, Rule: ruleLowestUtility}) {
				out[k] = d.Refused()
				r.refused(s, k, t, d.Refused())
				continue
			}
			r.launched(v, d, s, k)
		}
		r.forgive(t)
		if out == [trace.Kinds]slots.Refusal{} && !r.tight {
			r.sleep(t, v.FreeAt(v.Tracker()))
		}
	}
	if d.Explaining() {
		r.decline(v, d, t, out)
	}
}

// sleep takes in that nothing can start on a tracker with so many free slots.
func (r *RAS) sleep(t int, free int32) {
	r.awake.Put(slots.TrackerID(t), false)
	r.nodes[t].idleFree = free
}

// stillIdle reports whether nothing can start on a tracker because nothing could at the last
// look. Checked builds look again.
func (r *RAS) stillIdle(v *slots.View, n *node, t int, free int32) bool {
	if r.awake.Has(slots.TrackerID(t)) || free > n.idleFree {
		return false
	}
	if invariant.Enabled {
		s, k := r.nextTask(v, t, r.running(v, t))
		invariant.Check(s == nil, "ras: tracker %d counts as idle, and a %v can start", t, k)
	}
	return true
}

// checkAsleep looks at the trackers from t to next that get no visit; -1 stands for the last one.
func (r *RAS) checkAsleep(v *slots.View, t, next slots.TrackerID) {
	if next < 0 {
		next = slots.TrackerID(len(r.nodes))
	}
	for ; t < next; t++ {
		if free := v.FreeAt(t); free > 0 {
			r.stillIdle(v, &r.nodes[t], int(t), free)
		}
	}
}

// misses reports whether a task is placed on a tracker and could start.
func (r *RAS) misses(t int) bool {
	for _, s := range r.nodes[t].jobs {
		for k, placed := range s.on[t].tasks {
			if placed > 0 && s.pending[k] > 0 {
				return true
			}
		}
	}
	return false
}

// nextTask returns what to launch next on a tracker. It looks at the jobs that run
// fewer tasks there than are placed, and have room for one more. It takes the one with
// the lowest utility by its running tasks; its reduces before its maps.
func (r *RAS) nextTask(v *slots.View, t int, load demand.Vector) (next *standing, kind slots.Kind) {
	n := &r.nodes[t]
	var least utility
	for _, s := range n.jobs {
		k, ok := r.startable(v, s.standing, n, t, load)
		if !ok {
			continue
		}
		if u := s.running(v); next == nil || u < least || u == least && s.id < next.id {
			next, kind, least = s.standing, k, u
		}
	}
	return next, kind
}

// startable returns the kind of task of a job that may be launched on a tracker.
func (r *RAS) startable(v *slots.View, s *standing, n *node, t int, load demand.Vector) (slots.Kind, bool) {
	j := v.Job(s.id)
	// here counts running tasks, placed those that the placement wants.
	for _, k := range []slots.Kind{slots.Reduce, slots.Map} {
		if s.here[k] < s.on[t].tasks[k] && j.Pending(k) > 0 && !s.isBarred(k, t) && !s.skipped[k] && load.Plus(r.launchNeeds(s, k, n)).Fits(n.capacity) &&
			(k == slots.Reduce || r.copiesFit(v, s, t)) {
			return k, true
		}
	}
	return 0, false
}

// copiesFit reports whether a map of a job may start on tracker t. Its start raises what the
// job's reduces in shuffle need, and their trackers must have room for that.
func (r *RAS) copiesFit(v *slots.View, s *standing, t int) bool {
	if s.held == 0 || s.begun >= parallelCopies {
		return true
	}
	for _, h := range r.held {
		slot := v.Slot(h.slot)
		if !slot.Busy || slot.Attempt != h.attempt || h.attempt.Job != s.id {
			continue
		}
		n, load := &r.nodes[slot.Tracker], demand.Vector{}
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

// launchNeeds returns what a task needs that is launched now. A reduce whose maps are all
// done switches at once.
func (r *RAS) launchNeeds(s *standing, k slots.Kind, n *node) demand.Vector {
	switch {
	case k == slots.Map:
		return s.mapping(n)
	case s.mapsDone:
		return s.reducing(n)
	}
	return s.copying(n, s.begun)
}

// launched counts a task that was launched.
func (r *RAS) launched(v *slots.View, d *slots.Decision, s *standing, k slots.Kind) {
	start := d.Started()
	r.moved = true
	// The measured durations of tasks begin here, and become the estimates of the next cycles.
	r.measures.Start(v.Now(), start.Slot)
	switch {
	case k == slots.Map:
		s.begun++
	case s.mapsDone:
		// A reduce whose maps are all done does not stop between its phases.
		d.Advance(start.Slot)
	default:
		r.held = append(r.held, held{start.Slot, start.Attempt})
		s.held++
	}
}

// refused records that the Ledger refused a job the slot. The job's tasks may have failed on this
// tracker, or its reduce would wait here for maps that cannot run. Then all tasks are placed
// again at once, none of this job here. Otherwise the job is skipped on this visit.
func (r *RAS) refused(s *standing, k slots.Kind, t int, why slots.Refusal) {
	if why == slots.RefusedFailedHere || why == slots.RefusedBlacklisted || why == slots.RefusedDeadlock {
		s.bar(k, t, len(r.nodes))
		r.urgent = true
		return
	}
	s.skipped[k] = true
}

// forgive ends a visit: skipped jobs may be asked again.
func (r *RAS) forgive(t int) {
	for _, s := range r.nodes[t].jobs {
		s.skipped = [trace.Kinds]bool{}
	}
}
