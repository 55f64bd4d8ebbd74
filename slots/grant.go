package slots

import (
	"mrlocal/internal/invariant"
	"mrlocal/trace"
)

// grant checks a grant and applies it.
func (l *Ledger) grant(g Grant) Refusal {
	refused := l.settle(&g)
	if refused != Granted {
		invariant.Check(!refused.bug(), "slots: %s grants %+v at tracker %d: %s", l.policy.Traits().Name, g, l.visited, refused)
		return refused
	}
	l.start(&g)
	return Granted
}

// settle fills in what the policy left open and says whether g is allowed.
func (l *Ledger) settle(g *Grant) Refusal {
	j := l.job(g.Job)
	if j == nil || j.state != Running || g.Kind >= trace.Kinds || !l.asking {
		return RefusedJob
	}
	if g.Kind == Reduce && !j.gate {
		return RefusedGate
	}
	side := &j.side[g.Kind]
	switch {
	case l.blacklisted(j, l.visited):
		return RefusedBlacklisted
	case g.Task == NoTask:
		if g.Task = l.pick(j, g.Kind, l.visited, g.Locality); g.Task == NoTask && side.shown > 0 {
			return l.whyNone(j, g)
		}
	case !g.Speculative && side.at(g.Task).failed > 0 && l.avoids(j, g.Kind, g.Task, l.visited):
		return RefusedFailedHere
	}
	if g.Task < 0 || int32(g.Task) >= side.ready || !j.admitted {
		return RefusedTask
	}
	t := side.at(g.Task)
	if g.Speculative && t.state != taskRunning || !g.Speculative && t.state != taskPending {
		return RefusedTask
	}
	s := l.slotFor(g)
	if s == nil {
		return RefusedSlot
	}
	switch {
	case !l.lends && !s.Extra && s.Home != g.Kind:
		return RefusedTyped
	case g.Speculative && g.Kind == Map && j.spec.Single:
		return RefusedSingle
	case g.Speculative && (l.sameHost(t, s) || l.avoids(j, g.Kind, g.Task, l.visited)):
		return RefusedSameHost
	case g.Kind == Reduce && l.wouldDeadlock(j, s):
		return RefusedDeadlock
	case l.overAllowance(g.Kind):
		return RefusedAllowance
	case !l.fits(&l.trackers[l.visited], l.weights.Of(g.Kind)):
		return RefusedWeight
	}
	return Granted
}

// whyNone is why none of the pending tasks may start at the visited tracker.
func (l *Ledger) whyNone(j *ledgerJob, g *Grant) Refusal {
	if g.Locality > LevelAny && l.pick(j, g.Kind, l.visited, LevelAny) != NoTask {
		return RefusedLocality
	}
	return RefusedFailedHere
}

// overAllowance: one more task of kind k at the visited tracker would lend more
// slots of the other kind than the policy's percentage allows (SPEC A4, A6).
func (l *Ledger) overAllowance(k Kind) bool {
	t, other := &l.trackers[l.visited], k.Other()
	if !l.borrows || t.running[k] < t.cap[k] {
		return false
	}
	share := l.config.BorrowMap
	if other == Reduce {
		share = l.config.BorrowReduce
	}
	return l.total.tally.Lent[other]+l.weights.Of(k) > l.weights.Times(other, share.Of(l.total.cap[other]))
}

// slotFor resolves g.Slot: an idle open slot of the visited tracker. Left to the
// Ledger, a task goes to its own kind first, then to an extra slot, where it may,
// then to one of the other kind; the lowest id first. Under weights extra slots come last:
// they are there for the light tasks that fill up what heavy ones leave.
func (l *Ledger) slotFor(g *Grant) *ledgerSlot {
	t := &l.trackers[l.visited]
	if g.Slot == NoSlot {
		lists := [homes]int{int(g.Kind), homeExtra, int(g.Kind.Other())}
		if l.weights.Bound() {
			lists[1], lists[2] = lists[2], lists[1]
		}
		for _, list := range lists {
			if len(t.free[list]) > 0 && (list != homeExtra || !g.HomeSlot) && (list != int(g.Kind.Other()) || l.lends) {
				g.Slot = t.free[list][0]
				break
			}
		}
	}
	s := l.slotAt(g.Slot)
	if s == nil || s.busy || s.state != SlotOpen || s.Tracker != l.visited {
		return nil
	}
	return s
}

// sameHost: s is where an attempt of t runs: on the same tracker where there
// are several, on the same core where there is one (SPEC 1.11).
func (l *Ledger) sameHost(t *task, s *ledgerSlot) bool {
	for id := t.head; id != NoSlot; id = l.slots[id].next {
		o := &l.slots[id]
		if len(l.trackers) > 1 && o.Tracker == s.Tracker || len(l.trackers) == 1 && o.Core >= 0 && o.Core == s.Core {
			return true
		}
	}
	return false
}

// start applies a settled grant.
func (l *Ledger) start(g *Grant) {
	j, s := l.jobs[g.Job], &l.slots[g.Slot]
	side := &j.side[g.Kind]
	t := side.at(g.Task)
	a := AttemptID{Job: g.Job, Kind: g.Kind, Task: g.Task, N: t.n}
	if g.Rehome && !s.Extra && s.Home != g.Kind {
		l.rehome(s, g.Kind)
	}
	if t.state == taskPending {
		t.state = taskRunning
		side.pending--
	}
	t.n++
	l.take(s, a, g)
	s.next, t.head = t.head, s.ID

	side.counts.Started++
	if g.Speculative {
		side.counts.Speculative++
	}
	if s.lent {
		side.counts.Lent++
	}
	if g.Rule.Borrows() || s.lent && g.Rule != trace.RuleOwnSlots {
		side.counts.Moves++
		s.times.Moves++
		l.stats.moves++
	}
	if j.times.Start < 0 {
		j.times.Start = l.now
	}
	if g.Kind == Map {
		l.guardKill = false
	}
	level := LevelAny
	if g.Kind == Map {
		level = l.levelOf(j, g.Task, s.Tracker)
		side.countLevel(level)
	}
	l.orders.Starts = append(l.orders.Starts, Start{Attempt: a, Slot: s.ID, Lent: s.lent, Rule: g.Rule, Locality: level})
	e := attemptEvent(trace.OpStart, a, s.ID, g.Rule)
	e.A = int64(level)
	if g.Speculative {
		e.Flags |= trace.Speculative
	}
	if s.lent {
		e.Flags |= trace.Lent
	}
	l.decided(e)
	if s.lent {
		l.decided(attemptEvent(trace.OpLend, a, s.ID, g.Rule))
	}
	l.touch(j)
}

func (s *side) countLevel(level Level) {
	switch level {
	case LevelTracker:
		s.counts.Local++
	case LevelGroup:
		s.counts.GroupLocal++
	}
}

// take puts an attempt on an idle open slot.
func (l *Ledger) take(s *ledgerSlot, a AttemptID, g *Grant) {
	tr := &l.trackers[s.Tracker]
	tr.free[s.list()].Remove(s.ID)
	if l.capable(s) {
		l.total.freeCapable--
	}
	s.busy, s.killing, s.speculative = true, false, g.Speculative
	s.lent = !s.Extra && s.Home != a.Kind
	s.rule, s.attempt, s.started, s.seq = g.Rule, a, l.now, l.seq
	s.phase, s.progress, s.advanced = PhaseNone, 0, false
	s.times.Starts++
	l.seq++
	if s.lent {
		l.total.lent++
	}
	l.count(s, 1)
}

// release takes the attempt off its slot: the task's list, the slot's time, the
// counts; a draining slot closes. The task's state is the caller's.
func (l *Ledger) release(s *ledgerSlot) {
	a := s.attempt
	link := &l.jobs[a.Job].side[a.Kind].tasks[a.Task].head
	for *link != s.ID {
		link = &l.slots[*link].next
	}
	*link, s.next = s.next, NoSlot

	s.times.Busy += l.now - s.started
	if s.lent {
		s.times.Lent += l.now - s.started
		l.total.lent--
		l.decided(attemptEvent(trace.OpReturn, a, s.ID, s.rule))
	}
	if s.killing {
		l.total.killing--
	}
	l.count(s, -1)
	s.busy, s.lent, s.killing = false, false, false
	if s.state == SlotDraining {
		l.closeSlot(s, trace.RuleResize)
		return
	}
	tr := &l.trackers[s.Tracker]
	tr.free[s.list()].Push(s.ID)
	if l.capable(s) {
		l.total.freeCapable++
	}
	l.free[s.list()].Put(tr.id, l.fits(tr, l.weights.Lightest()))
}

// count adds d to everything that counts the running attempt on s.
func (l *Ledger) count(s *ledgerSlot, d int32) {
	k := s.attempt.Kind
	j := l.jobs[s.attempt.Job]
	l.accrue(j.pool)
	j.side[k].running += d
	j.pool.running[k] += d
	l.total.running[k] += d
	tr := &l.trackers[s.Tracker]
	tr.running[k] += d
	tr.phases[s.phase] += d
	l.retally(tr)
	if k == Reduce && j.waiting {
		l.total.waiting += d
	}
	if s.state == SlotOpen {
		l.hold(s, d)
	}
}
