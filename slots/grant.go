package slots

import (
	"mrlocal/internal/invariant"
	"mrlocal/trace"
)

// grant checks a grant and applies it. If it returns a Refusal other than Granted, nothing has
// changed but the count of refusals that only a bug causes.
func (l *Ledger) grant(g Grant) Refusal {
	refused := l.resolve(&g)
	if refused != Granted {
		if refused.bug() {
			if l.stats.Refused == 0 {
				l.refused = refused
			}
			l.stats.Refused++
		}
		invariant.Check(!refused.bug(), "slots: %s grants %+v at tracker %d: %s", l.traits.Name, g, l.visited, refused)
		return refused
	}
	l.start(&g)
	return Granted
}

// resolve fills in the task and the slot if the policy left them open, and returns
// whether the grant is allowed.
func (l *Ledger) resolve(g *Grant) Refusal {
	j := l.job(g.Job)
	if j == nil || j.state != Running || g.Kind >= trace.Kinds || !l.assigning {
		return RefusedJob
	}
	if g.Kind == Reduce && !j.gate {
		return RefusedGate
	}
	side := &j.side[g.Kind]
	// The task: the one that the policy names, or the next one by Ledger.pick.
	switch {
	case l.blacklisted(j, l.visited):
		return RefusedBlacklisted
	case g.Task == NoTask:
		if g.Task = l.pick(j, g.Kind, l.visited, g.Locality); g.Task == NoTask && side.visible > 0 {
			return l.whyNoTask(j, g)
		}
	case !g.Speculative && side.task(g.Task).failed > 0 && l.avoids(j, g.Kind, g.Task, l.visited):
		return RefusedFailedHere
	}
	if g.Task < 0 || int32(g.Task) >= side.ready || !j.admitted {
		return RefusedTask
	}
	t := side.task(g.Task)
	if g.Speculative && t.state != taskRunning || !g.Speculative && t.state != taskPending {
		return RefusedTask
	}
	s := l.slotFor(g)
	if s == nil {
		return RefusedSlot
	}
	// Task and slot are known now. The remaining rules concern both together.
	switch {
	case !l.traits.Lends && !s.Extra && s.Home != g.Kind:
		return RefusedTyped
	case g.Speculative && g.Kind == Map && j.spec.Single:
		return RefusedSingle
	case g.Speculative && (l.sameHost(t, s) || l.avoids(j, g.Kind, g.Task, l.visited)):
		return RefusedSameHost
	case g.Kind == Reduce && l.wouldDeadlock(j, s):
		return RefusedDeadlock
	case l.overAllowance(g.Kind):
		return RefusedAllowance
	case !l.fits(&l.trackers[l.visited], l.traits.Weights.Of(g.Kind)):
		return RefusedWeight
	}
	return Granted
}

// whyNoTask returns why none of the pending tasks may start on the visited tracker: all are
// too far from their input, or failed there.
func (l *Ledger) whyNoTask(j *ledgerJob, g *Grant) Refusal {
	if g.Locality > LevelAny && l.pick(j, g.Kind, l.visited, LevelAny) != NoTask {
		return RefusedLocality
	}
	return RefusedFailedHere
}

// overAllowance reports whether one more task of kind k on the visited tracker would exceed
// the percentage of slots that may be lent. A tracker with fewer tasks of kind k than home
// slots of that kind lends nothing for it [DHFS13, "lent by tracker"]. The percentage bounds
// the lent slots of the whole cluster [DHFS13, "borrow allowance"].
func (l *Ledger) overAllowance(k Kind) bool {
	t, other := &l.trackers[l.visited], k.Other()
	if !l.traits.Borrows || t.running[k] < t.cap[k] {
		return false
	}
	share := [...]PPM{Map: l.config.BorrowMap, Reduce: l.config.BorrowReduce}[other]
	return l.total.tally.Lent[other]+l.traits.Weights.Of(k) > l.traits.Weights.Times(other, share.Of(l.total.cap[other]))
}

// slotFor returns the free slot that g asks for, or nil if it is not free on the visited
// tracker. If the policy named none, a slot of the task's own kind comes first, then an extra
// slot, then one of the other kind. Of several it takes the lowest id. Under slot weights
// extra slots come last: they are for light tasks that use the weight left by heavy ones.
func (l *Ledger) slotFor(g *Grant) *ledgerSlot {
	t := &l.trackers[l.visited]
	if g.Slot == NoSlot {
		lists := [slotLists]int{int(g.Kind), homeExtra, int(g.Kind.Other())}
		if l.traits.Weights.Bound() {
			lists[1], lists[2] = lists[2], lists[1]
		}
		for _, list := range lists {
			if len(t.free[list]) > 0 && (list != homeExtra || !g.HomeSlot) && (list != int(g.Kind.Other()) || l.traits.Lends) {
				g.Slot = t.free[list][0]
				break
			}
		}
	}
	s := l.slotAt(g.Slot)
	if s == nil || s.Busy || s.State != SlotOpen || s.Tracker != l.visited {
		return nil
	}
	return s
}

// sameHost reports whether an attempt of t runs on the tracker of s. If there is only one
// tracker, it compares cores. A speculative attempt has to run elsewhere (Hadoop 1.0.3,
// TaskInProgress.hasRunOnMachine).
func (l *Ledger) sameHost(t *ledgerTask, s *ledgerSlot) bool {
	for id := t.head; id != NoSlot; id = l.slots[id].next {
		o := &l.slots[id]
		if len(l.trackers) > 1 && o.Tracker == s.Tracker || len(l.trackers) == 1 && o.Core >= 0 && o.Core == s.Core {
			return true
		}
	}
	return false
}

// start applies a grant that resolve allowed.
func (l *Ledger) start(g *Grant) {
	j, s := l.jobs[g.Job], &l.slots[g.Slot]
	side := &j.side[g.Kind]
	t := side.task(g.Task)
	a := AttemptID{Job: g.Job, Kind: g.Kind, Task: g.Task, N: t.n}
	if g.Rehome && !s.Extra && s.Home != g.Kind {
		l.rehome(s, g.Kind)
	}
	if t.state == taskPending {
		t.state = taskRunning
		side.pending--
	}
	// Numbers of attempts are never used again, so an AttemptID names one attempt for ever.
	t.n++
	l.occupy(s, a, g)
	// The running attempts of a task form a linked list of their slots, the newest first.
	s.next, t.head = t.head, s.ID

	side.counts.Started++
	if g.Speculative {
		side.counts.Speculative++
	}
	if g.Rule == trace.RulePreScheduled {
		side.counts.PreScheduled++
	}
	if g.Move == MoveAlways || s.Lent && g.Move == MoveIfLent {
		l.stats.Moves++
	}
	if j.times.Start < 0 {
		j.times.Start = l.now
	}
	if g.Kind == Map { // the deadlock guard has reached its aim
		l.mapFirst = false
	}
	level := LevelAny
	if g.Kind == Map {
		level = l.levelOf(j, g.Task, s.Tracker)
		switch level {
		case LevelTracker:
			side.counts.Local++
		case LevelGroup:
			side.counts.GroupLocal++
		}
	}
	l.orders.Starts = append(l.orders.Starts, Start{Attempt: a, Slot: s.ID, Lent: s.Lent, Locality: level})
	e := attemptEvent(trace.OpStart, a, s.ID)
	e.A = int64(level)
	e.Set(trace.Speculative, g.Speculative)
	e.Set(trace.Lent, s.Lent)
	l.recordDecision(e, g.Rule)
	if s.Lent {
		l.recordDecision(attemptEvent(trace.OpLend, a, s.ID), g.Rule)
	}
	l.refresh(j)
}

// occupy puts an attempt on a free slot. The caller links the slot into the list of the task.
func (l *Ledger) occupy(s *ledgerSlot, a AttemptID, g *Grant) {
	tr := &l.trackers[s.Tracker]
	tr.free[s.list()].Remove(s.ID)
	if l.mapCapable(s) {
		l.total.freeCapable--
	}
	s.SlotView = SlotView{
		Slot: s.Slot, State: s.State, Busy: true, Lent: !s.Extra && s.Home != a.Kind, Speculative: g.Speculative,
		Attempt: a, Phase: PhaseNone, Started: l.now,
	}
	s.rule, s.seq = g.Rule, l.seq
	// A map goes on at one rate. A reduce waits, and has another rate in each phase.
	s.progress = Steps{lastAt: l.now, beforeAt: l.now, begun: a.Kind == Map}
	s.times.Starts++
	s.use.Start(l.now, a.Kind, &l.jobs[a.Job].clock)
	l.seq++
	if s.Lent {
		l.total.lent++
	}
	l.countAttempt(s, 1)
}

// release takes the attempt off its slot and out of the list of its task. A draining
// slot closes. The caller changes the state of the task.
func (l *Ledger) release(s *ledgerSlot) {
	a := s.Attempt
	// A task rarely has more than two attempts, so the list is short.
	link := &l.jobs[a.Job].side[a.Kind].tasks[a.Task].head
	for *link != s.ID {
		link = &l.slots[*link].next
	}
	*link, s.next = s.next, NoSlot

	// The meter adds up times by phase, so the last phase ends here.
	l.meter.Enter(&s.use, l.now, PhaseNone)
	took, counts := l.now-s.Started, &l.jobs[a.Job].side[a.Kind].counts
	s.times.Busy += took
	counts.SlotTime += took
	if s.Lent {
		s.times.Lent += took
		counts.Lent += took
		l.total.lent--
		// A return has the rule of its loan, so that both are found by the same name.
		l.recordDecision(attemptEvent(trace.OpReturn, a, s.ID), s.rule)
	}
	if s.Killing {
		l.total.killing--
	}
	tr := &l.trackers[s.Tracker]
	if s.State == SlotOpen {
		tr.free[s.list()].Push(s.ID)
		if l.mapCapable(s) {
			l.total.freeCapable++
		}
	}
	l.countAttempt(s, -1)
	s.Busy, s.Lent, s.Killing = false, false, false
	if s.State == SlotDraining {
		rule := trace.RuleResize
		if l.out(tr) {
			rule = trace.RuleGraylisted
		}
		l.closeSlot(s, rule)
	}
}

// countAttempt adds d, 1 or -1, to all counts of running attempts that include the one on s.
// The caller has to call refresh for its job, which gives the meter the counts of the pool.
func (l *Ledger) countAttempt(s *ledgerSlot, d int32) {
	k := s.Attempt.Kind
	j := l.jobs[s.Attempt.Job]
	j.side[k].running += d
	j.pool.running[k] += d
	l.total.running[k] += d
	tr := &l.trackers[s.Tracker]
	tr.running[k] += d
	tr.phases[s.Phase] += d
	l.retally(tr)
	if k == Reduce && j.waiting {
		l.total.waiting += d
	}
	if s.State == SlotOpen {
		l.countHeld(s, d)
	}
}
