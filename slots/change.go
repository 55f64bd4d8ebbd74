package slots

import (
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/trace"
)

// This file has the steps that facts and grants consist of. Each keeps the counts of
// slots, trackers, pools and totals up to date. Only refresh changes the visible demand
// of a job.

// advance sets the time to now, and gives the meter the counts that held until now.
func (l *Ledger) advance(now time.Duration) {
	invariant.Check(now >= l.now, "slots: time went back from %v to %v", l.now, now)
	if now <= l.now {
		return
	}
	dt := now - l.now
	l.now = now
	// Waiting reduces do no work, so the meter's figures of useful work leave them out.
	t, w := &l.total, l.traits.Weights
	load := meterLoad{Busy: t.running[Map] + t.running[Reduce], Lent: t.lent, WaitingReduce: t.waiting, Open: t.open + t.draining, Work: w.Sum(t.running) - w.Times(Reduce, t.waiting)}
	if load.Room = max(t.cap[Map]+t.cap[Reduce]+t.draining, load.Work); w.Bound() {
		load.Room = w.Sum(t.cap)
	}
	l.meter.Pass(dt, &load)
}

// endFact runs at the end of every fact about a job.
func (l *Ledger) endFact(j *ledgerJob) {
	l.refresh(j)
	l.observe()
	l.checked()
}

// checked runs Check in a checked build. In a small run it does so after every step. In a
// large one, where Check takes long, it does so now and then.
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

// refresh updates everything that depends on a job's tasks. It ends a complete job. It
// updates the gate and the visible demand of the job, and the counts that the meter has of
// its pool. It also decides whether the job's reduces are waiting reduces.
func (l *Ledger) refresh(j *ledgerJob) {
	if j.state == Running && j.complete() {
		l.endJob(j, Succeeded)
	}
	running := j.state == Running
	if done := j.mapsDone(); done != (j.times.MapsDone >= 0) && running {
		j.times.MapsDone = -1
		if done {
			j.times.MapsDone = l.now
			l.recordDecision(jobEvent(trace.OpMapsDone, j.id), trace.RuleNone)
		}
	}
	l.setGate(j)
	// Pool and totals count the pending tasks that a policy may start now.
	for k := range j.side {
		s := &j.side[k]
		shown := int32(0)
		if running && j.admitted && (Kind(k) == Map || j.gate) {
			shown = s.pending
		}
		d := shown - s.visible
		s.visible = shown
		j.pool.pending[k] += d
		l.total.pending[k] += d
	}
	l.meter.Set(j.pool.use, l.now, j.pool.running[Map]+j.pool.running[Reduce], j.pool.pending[Map]+j.pool.pending[Reduce])
	// All running reduces of the job become waiting reduces at once, or stop being some.
	if waiting := running && !j.mapsDone(); waiting != j.waiting {
		sign := int32(-1)
		if waiting {
			sign = 1
		}
		j.waiting = waiting
		j.clock.Set(l.now, waiting)
		l.total.waiting += sign * j.side[Reduce].running
		l.total.heldWaiting += sign * j.held
	}
	if !running && j.live() == 0 {
		l.retire(j)
	}
	l.idleVisits, l.vainWakes = 0, 0
	if !j.changed {
		j.changed = true
		l.changed = append(l.changed, j.id)
	}
	l.dirty = true
}

// endJob ends a job with state s. It kills the running attempts of the job and admits jobs
// that waited for its end. The caller calls refresh afterwards.
func (l *Ledger) endJob(j *ledgerJob, s State) {
	// A map with a lost output need not run again after all reduces are done.
	if (j.mapsDone() || s == Succeeded) && j.times.MapsDone < 0 {
		j.times.MapsDone = l.now
		l.recordDecision(jobEvent(trace.OpMapsDone, j.id), trace.RuleNone)
	}
	j.state = s
	j.times.Finish = l.now
	l.total.active--
	l.recordDecision(trace.Event{Op: trace.OpJobEnd, Job: int32(j.id), A: int64(s)}, trace.RuleNone)
	if j.live() > 0 {
		for i := range l.slots {
			if sl := &l.slots[i]; sl.Busy && sl.Attempt.Job == j.id {
				l.kill(sl, trace.RuleJobEnded)
			}
		}
	}
	if s == Succeeded {
		l.relist(l.blacklists.Succeeded(&j.failures, l.config.MaxTrackerFailures, len(l.trackers), l.lost), 0)
	}
	l.leave(j)
}

// retire frees the tasks of a job that has ended and has no running attempt.
func (l *Ledger) retire(j *ledgerJob) {
	for k := range j.side {
		s := &j.side[k]
		s.tasks, s.requeued = nil, nil
		s.failedTasks = nil
		s.pending = 0
	}
	j.places, j.failures = mapIndex{}, jobFailures{}
}

// kill orders the end of the attempt on s, unless it is ordered already. The driver gets the
// order with the next Assign.
func (l *Ledger) kill(s *ledgerSlot, r Rule) {
	if s.Killing {
		return
	}
	s.Killing = true
	l.total.killing++
	l.kills = append(l.kills, kill{s.Attempt, s.ID, r})
	l.dirty = true
}

// killTask orders the end of all running attempts of t.
func (l *Ledger) killTask(t *ledgerTask, r Rule) {
	for id := t.head; id != NoSlot; id = l.slots[id].next {
		l.kill(&l.slots[id], r)
	}
}

// advanceReduce lets the reduce on a slot leave its copy phase. It does nothing if there is no
// such slot or no reduce on it.
func (l *Ledger) advanceReduce(id SlotID) {
	s := l.slotAt(id)
	if s == nil || !s.Busy || s.Attempt.Kind != Reduce {
		return
	}
	s.Advanced = true
	l.advances = append(l.advances, s.Attempt)
	l.recordDecision(attemptEvent(trace.OpAdvance, s.Attempt, s.ID), trace.RuleNone)
}

// job returns the job with the id, or nil if there is none.
func (l *Ledger) job(id JobID) *ledgerJob {
	if id < 0 || int(id) >= len(l.jobs) {
		return nil
	}
	return l.jobs[id]
}

// slotAt returns the slot with the id, or nil if there is none.
func (l *Ledger) slotAt(id SlotID) *ledgerSlot {
	if id < 0 || int(id) >= len(l.slots) {
		return nil
	}
	return &l.slots[id]
}

// slotOf returns the slot that a runs on, or nil.
func (l *Ledger) slotOf(a AttemptID) *ledgerSlot {
	j := l.job(a.Job)
	if j == nil || a.Kind >= trace.Kinds || a.Task < 0 || int(a.Task) >= len(j.side[a.Kind].tasks) {
		return nil
	}
	for id := j.side[a.Kind].tasks[a.Task].head; id != NoSlot; id = l.slots[id].next {
		if l.slots[id].Attempt.N == a.N {
			return &l.slots[id]
		}
	}
	return nil
}

// poolNamed returns the pool of that name. A pool that is not configured is made here, with
// weight 1 and no limits.
func (l *Ledger) poolNamed(name string) *ledgerPool {
	if id, ok := l.poolID[name]; ok {
		return l.pools[id]
	}
	return l.addPool(Pool{Name: name, Weight: One})
}

// addPool adds a pool with the next id.
func (l *Ledger) addPool(c Pool) *ledgerPool {
	p := &ledgerPool{Pool: c, id: PoolID(len(l.pools)), use: &meteredPool{weight: float64(c.Weight)}, limit: newLimit(c.MaxRunning)}
	l.pools = append(l.pools, p)
	l.meter.pools = append(l.meter.pools, p.use)
	l.poolID[c.Name] = p.id
	return p
}

// mapCapable reports whether the policy may put a map on s. A policy that lends may use any
// slot, others only map slots and extra slots.
func (l *Ledger) mapCapable(s *ledgerSlot) bool { return l.traits.Lends || s.Extra || s.Home == Map }

// retally updates what depends on the capacity and the running tasks of a tracker. These are
// its tally, its room for reduces, and the totals of both. The sets of trackers with free
// slots depend on them, too.
func (l *Ledger) retally(t *tracker) {
	before, keeps := t.tally, t.reduceRoom
	t.tally, t.reduceRoom = l.traits.Weights.TallyOf(t.cap, t.running), l.reduceRoom(t.cap)
	for k := range t.cap {
		l.total.tally.Used[k] += t.tally.Used[k] - before.Used[k]
		l.total.tally.Lent[k] += t.tally.Lent[k] - before.Lent[k]
	}
	l.total.reduceRoom += t.reduceRoom - keeps
	room := l.fits(t, l.traits.Weights.Lightest())
	for list := range t.free {
		l.free[list].Put(t.id, room && len(t.free[list]) > 0)
	}
}

// openSlot lets a closed or draining slot take tasks.
func (l *Ledger) openSlot(s *ledgerSlot) {
	t := &l.trackers[s.Tracker]
	// A closed slot is free. A draining slot is busy and only returns to the open ones.
	if s.State == SlotClosed {
		t.free[s.list()].Push(s.ID)
		if l.mapCapable(s) {
			l.total.freeCapable++
		}
	} else {
		l.total.draining--
		l.countHeld(s, 1)
	}
	s.State = SlotOpen
	l.countOpen(t, s, 1)
}

// drainSlot lets a busy slot close when its attempt ends.
func (l *Ledger) drainSlot(s *ledgerSlot) {
	s.State = SlotDraining
	l.total.draining++
	l.countHeld(s, -1)
	l.countOpen(&l.trackers[s.Tracker], s, -1)
}

// closeSlot closes a slot without an attempt, open or draining, and records it by rule r.
func (l *Ledger) closeSlot(s *ledgerSlot, r Rule) {
	l.removeSlot(s)
	l.dirty = true
	l.recordDecision(slotEvent(trace.OpClose, s.ID), r)
}

// removeSlot takes a free slot out of all counts.
func (l *Ledger) removeSlot(s *ledgerSlot) {
	t := &l.trackers[s.Tracker]
	if s.State == SlotDraining {
		l.total.draining--
	} else {
		t.free[s.list()].Remove(s.ID)
		if l.mapCapable(s) {
			l.total.freeCapable--
		}
		l.countOpen(t, s, -1)
	}
	s.State = SlotClosed
	l.retally(t)
}

// countOpen adds d to all counts of open slots.
func (l *Ledger) countOpen(t *tracker, s *ledgerSlot, d int32) {
	t.open += d
	l.total.open += d
	if l.mapCapable(s) {
		l.total.mapCapable += d
	}
	if !s.Extra {
		t.cap[s.Home] += d
		l.total.cap[s.Home] += d
	}
	l.retally(t)
}

// countHeld adds d to the counts of reduces on map-capable slots, if s has such a reduce.
func (l *Ledger) countHeld(s *ledgerSlot, d int32) {
	if !s.Busy || s.Attempt.Kind != Reduce || !l.mapCapable(s) {
		return
	}
	j := l.jobs[s.Attempt.Job]
	j.held += d
	if j.waiting {
		l.total.heldWaiting += d
	}
}

// rehome gives a free slot the home kind k. It takes the slot out of all counts of the old
// kind and puts it into those of the new one.
func (l *Ledger) rehome(s *ledgerSlot, k Kind) {
	l.removeSlot(s)
	s.Home = k
	l.openSlot(s)
	l.recordDecision(trace.Event{Op: trace.OpHome, Kind: k, Slot: int32(s.ID)}, trace.RuleResize)
}

// resize opens and closes slots of a tracker by rule r, until want[list] slots of each list
// are open, or all if there are fewer. The slots with the lowest ids are open. On a tracker
// that is out of service, all slots close.
func (l *Ledger) resize(id TrackerID, want [slotLists]int, r Rule) {
	t := &l.trackers[id]
	var open [slotLists]int
	for _, sid := range t.slots {
		s := &l.slots[sid]
		list := s.list()
		keep := open[list] < want[list] && !l.out(t)
		if keep {
			open[list]++
		}
		switch {
		case keep && s.State != SlotOpen:
			l.openSlot(s)
			l.dirty = true
			l.recordDecision(slotEvent(trace.OpOpen, sid), r)
		case !keep && s.State == SlotOpen && s.Busy:
			l.drainSlot(s)
			l.recordDecision(slotEvent(trace.OpDrain, sid), r)
		case !keep && s.State == SlotOpen:
			l.closeSlot(s, r)
		}
	}
}
