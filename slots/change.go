package slots

import (
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/slots/locality"
	"mrlocal/trace"
)

// This file holds the steps that facts and grants are made of. Each keeps the
// counts of slots, trackers, pools and totals in place; touch is the one place
// where a job's visible demand changes.

// advance moves time on and accrues slot-time.
func (l *Ledger) advance(now time.Duration) {
	invariant.Check(now >= l.now, "slots: time went back from %v to %v", l.now, now)
	if now <= l.now {
		return
	}
	dt := now - l.now
	l.now = now
	l.stats.busy += dt * time.Duration(l.total.running[Map]+l.total.running[Reduce])
	l.stats.lent += dt * time.Duration(l.total.lent)
	l.stats.waiting += dt * time.Duration(l.total.waiting)
	open := l.total.open + l.total.draining
	l.stats.open += dt * time.Duration(open)
	if l.weights.Bound() {
		open = l.weights.Sum(l.total.cap)
	}
	l.stats.work += dt * time.Duration(l.weights.Sum(l.total.running)-l.weights.Times(Reduce, l.total.waiting))
	l.stats.room += dt * time.Duration(open)
}

// accrue brings a pool's slot-time up to now; it must precede every change of
// the pool's counts.
func (l *Ledger) accrue(p *ledgerPool) {
	dt := l.now - p.at
	p.at = l.now
	running := p.running[Map] + p.running[Reduce]
	p.slotTime += dt * time.Duration(running)
	if running+p.pending[Map]+p.pending[Reduce] > 0 {
		p.wantTime += dt
	}
}

// done ends every fact about a job.
func (l *Ledger) done(j *ledgerJob) {
	l.touch(j)
	if l.observer != nil {
		l.observed()
	}
	l.checked()
}

// checked runs Check in a checked build: after every step of a small run, now
// and then in a large one.
func (l *Ledger) checked() {
	if !invariant.Enabled {
		return
	}
	l.steps++
	if len(l.jobs)+len(l.slots) > 60 && l.steps%64 != 0 {
		return
	}
	err := l.Check()
	invariant.Check(err == nil, "%v", err)
}

// touch brings all that depends on a job's tasks up to date: whether it is
// complete, its gate, its visible demand, whether its reduces wait.
func (l *Ledger) touch(j *ledgerJob) {
	if j.state == Running && j.complete() {
		l.endJob(j, Succeeded)
	}
	running := j.state == Running
	if done := j.mapsDone(); done != (j.times.MapsDone >= 0) && running {
		j.times.MapsDone = -1
		if done {
			j.times.MapsDone = l.now
			l.decided(jobEvent(trace.OpMapsDone, j.id))
		}
	}
	if gate := running && j.gateOpen(l.config.Slowstart); gate != j.gate {
		j.gate = gate
		if j.side[Reduce].total > 0 && running {
			l.gateEvent(j)
		}
	}
	l.accrue(j.pool)
	for k := range j.side {
		s := &j.side[k]
		shown := int32(0)
		if running && j.admitted && (Kind(k) == Map || j.gate) {
			shown = s.pending
		}
		d := shown - s.shown
		s.shown = shown
		j.pool.pending[k] += d
		l.total.pending[k] += d
	}
	if waiting := running && !j.mapsDone(); waiting != j.waiting {
		sign := int32(-1)
		if waiting {
			sign = 1
		}
		j.waiting = waiting
		l.total.waiting += sign * j.side[Reduce].running
		l.total.heldWaiting += sign * j.held
	}
	if !running && j.live() == 0 {
		l.retire(j)
	}
	l.fruitless = 0
	if !j.dirty {
		j.dirty = true
		l.changed = append(l.changed, j.id)
	}
	l.dirty = true
}

func (l *Ledger) gateEvent(j *ledgerJob) {
	e := jobEvent(trace.OpGate, j.id)
	if j.gate {
		e.Flags = trace.OK
	}
	l.decided(e)
}

// endJob ends a job; touch must follow.
func (l *Ledger) endJob(j *ledgerJob, s State) {
	if (j.mapsDone() || s == Succeeded) && j.times.MapsDone < 0 { // a lost map is not wanted any more
		j.times.MapsDone = l.now
		l.decided(jobEvent(trace.OpMapsDone, j.id))
	}
	j.state = s
	j.times.Finish = l.now
	l.total.active--
	e := jobEvent(trace.OpJobEnd, j.id)
	e.A = int64(s)
	l.decided(e)
	if j.live() > 0 {
		for i := range l.slots {
			if sl := &l.slots[i]; sl.busy && sl.attempt.Job == j.id {
				l.kill(sl, trace.RuleJobEnded)
			}
		}
	}
	l.leave(j)
}

// retire frees an ended job's tasks once none of its attempts is left.
func (l *Ledger) retire(j *ledgerJob) {
	for k := range j.side {
		s := &j.side[k]
		s.tasks, s.again, s.retry, s.pending = nil, nil, nil, 0
	}
	j.places, j.failures = locality.Index{}, failures{}
}

// kill orders the end of the attempt on s, once.
func (l *Ledger) kill(s *ledgerSlot, r Rule) {
	if s.killing {
		return
	}
	s.killing = true
	l.total.killing++
	l.kills = append(l.kills, kill{s.attempt, s.ID, r})
	l.dirty = true
}

func (l *Ledger) killTask(t *task, r Rule) {
	for id := t.head; id != NoSlot; id = l.slots[id].next {
		l.kill(&l.slots[id], r)
	}
}

func (l *Ledger) advanceReduce(id SlotID) {
	s := l.slotAt(id)
	if s == nil || !s.busy || s.attempt.Kind != Reduce {
		return
	}
	s.advanced = true
	l.advances = append(l.advances, s.attempt)
	l.decided(attemptEvent(trace.OpAdvance, s.attempt, s.ID, trace.RuleNone))
}

func (l *Ledger) job(id JobID) *ledgerJob {
	if id < 0 || int(id) >= len(l.jobs) {
		return nil
	}
	return l.jobs[id]
}

func (l *Ledger) slotAt(id SlotID) *ledgerSlot {
	if id < 0 || int(id) >= len(l.slots) {
		return nil
	}
	return &l.slots[id]
}

// slotOf is the slot that a runs on, or nil.
func (l *Ledger) slotOf(a AttemptID) *ledgerSlot {
	j := l.job(a.Job)
	if j == nil || a.Kind >= trace.Kinds || a.Task < 0 || int(a.Task) >= len(j.side[a.Kind].tasks) {
		return nil
	}
	for id := j.side[a.Kind].tasks[a.Task].head; id != NoSlot; id = l.slots[id].next {
		if l.slots[id].attempt.N == a.N {
			return &l.slots[id]
		}
	}
	return nil
}

func (l *Ledger) poolNamed(name string) *ledgerPool {
	if id, ok := l.poolID[name]; ok {
		return l.pools[id]
	}
	return l.addPool(Pool{Name: name, Weight: One})
}

func (l *Ledger) addPool(c Pool) *ledgerPool {
	p := &ledgerPool{Pool: c, id: PoolID(len(l.pools)), at: l.now, limit: newLimit(c.MaxRunning)}
	l.pools = append(l.pools, p)
	l.poolID[c.Name] = p.id
	return p
}

// capable: a map may use s.
func (l *Ledger) capable(s *ledgerSlot) bool { return l.lends || s.Extra || s.Home == Map }

// retally brings a tracker's used and lent counts, and the totals of them, up
// to date after its capacity or running tasks changed.
func (l *Ledger) retally(t *tracker) {
	before, keeps := t.tally, t.keeps
	t.tally, t.keeps = l.weights.TallyOf(t.cap, t.running), l.keeps(t.cap)
	for k := range t.cap {
		l.total.tally.Used[k] += t.tally.Used[k] - before.Used[k]
		l.total.tally.Lent[k] += t.tally.Lent[k] - before.Lent[k]
	}
	l.total.keeps += t.keeps - keeps
	for list := range t.free {
		l.free[list].Put(t.id, len(t.free[list]) > 0 && l.fits(t, l.weights.Lightest()))
	}
}

// openSlot makes a closed slot take tasks, or a draining one again.
func (l *Ledger) openSlot(s *ledgerSlot) {
	t := &l.trackers[s.Tracker]
	if s.state == SlotClosed {
		t.free[s.list()].Push(s.ID)
		if l.capable(s) {
			l.total.freeCapable++
		}
	} else {
		l.total.draining--
		l.hold(s, 1)
	}
	s.state = SlotOpen
	l.countOpen(t, s, 1)
}

// drainSlot makes a busy slot close when its attempt ends.
func (l *Ledger) drainSlot(s *ledgerSlot) {
	s.state = SlotDraining
	l.total.draining++
	l.hold(s, -1)
	l.countOpen(&l.trackers[s.Tracker], s, -1)
}

// closeSlot closes an idle slot, open or draining.
func (l *Ledger) closeSlot(s *ledgerSlot, r Rule) {
	l.shut(s)
	l.dirty = true
	l.decided(slotEvent(trace.OpClose, s.ID, r))
}

// shut takes an idle slot out of all that is counted.
func (l *Ledger) shut(s *ledgerSlot) {
	t := &l.trackers[s.Tracker]
	if s.state == SlotDraining {
		l.total.draining--
	} else {
		t.free[s.list()].Remove(s.ID)
		if l.capable(s) {
			l.total.freeCapable--
		}
		l.countOpen(t, s, -1)
	}
	s.state = SlotClosed
	l.retally(t)
}

func (l *Ledger) countOpen(t *tracker, s *ledgerSlot, d int32) {
	t.open += d
	l.total.open += d
	if l.capable(s) {
		l.total.mapCapable += d
	}
	if !s.Extra {
		t.cap[s.Home] += d
		l.total.cap[s.Home] += d
	}
	l.retally(t)
}

// hold counts a reduce on a map-capable slot, or takes it back.
func (l *Ledger) hold(s *ledgerSlot, d int32) {
	if !s.busy || s.attempt.Kind != Reduce || !l.capable(s) {
		return
	}
	j := l.jobs[s.attempt.Job]
	j.held += d
	if j.waiting {
		l.total.heldWaiting += d
	}
}

// rehome makes an idle slot one of home kind k.
func (l *Ledger) rehome(s *ledgerSlot, k Kind) {
	l.shut(s)
	s.Home = k
	l.openSlot(s)
	e := slotEvent(trace.OpHome, s.ID, trace.RuleResize)
	e.Kind = k
	l.decided(e)
}

// resize opens and closes slots of a tracker so that, per list, want of them
// are open: the lowest ids stay.
func (l *Ledger) resize(id TrackerID, want [homes]int) {
	t := &l.trackers[id]
	var open [homes]int
	for _, sid := range t.slots {
		s := &l.slots[sid]
		list := s.list()
		keep := open[list] < want[list] && !t.lost
		if keep {
			open[list]++
		}
		switch {
		case keep && s.state != SlotOpen:
			l.openSlot(s)
			l.dirty = true
			l.decided(slotEvent(trace.OpOpen, sid, trace.RuleResize))
		case !keep && s.state == SlotOpen && s.busy:
			l.drainSlot(s)
			l.decided(slotEvent(trace.OpDrain, sid, trace.RuleResize))
		case !keep && s.state == SlotOpen:
			l.closeSlot(s, trace.RuleResize)
		}
	}
}
