package slots

import "fmt"

// Check recounts everything that the Ledger keeps up to date in place. An error names the
// first difference, which is a bug in this package. Checked builds call Check after facts
// and decisions. Its time is proportional to the whole state.
func (l *Ledger) Check() error {
	var want totals
	type counts struct{ running, held [2]int32 }
	jobs := make([]counts, len(l.jobs))
	for i := range l.trackers {
		if err := l.checkTracker(&l.trackers[i], &want); err != nil {
			return err
		}
	}
	for i := range l.slots {
		s := &l.slots[i]
		if !s.Busy {
			continue
		}
		if l.slotOf(s.Attempt) != s {
			return fmt.Errorf("slots: slot %d holds %v, which its task does not list", i, s.Attempt)
		}
		if s.Killing {
			want.killing++
		}
		c := &jobs[s.Attempt.Job]
		c.running[s.Attempt.Kind]++
		if s.Attempt.Kind == Reduce && s.State == SlotOpen && l.mapCapable(s) {
			c.held[Reduce]++
		}
	}
	for i, j := range l.jobs {
		if err := l.checkJob(j, jobs[i].running, jobs[i].held[Reduce], &want); err != nil {
			return err
		}
	}
	if err := l.checkLimits(); err != nil {
		return err
	}
	if want != l.total {
		return fmt.Errorf("slots: totals are %+v, recounted %+v", l.total, want)
	}
	return nil
}

// checkLimits checks the running-job limits: their counts, that none is exceeded, and that no
// job waits for a limit that has room.
func (l *Ledger) checkLimits() error {
	count := map[*limit]int32{}
	for _, j := range l.jobs {
		user := l.userLimits[j.spec.User]
		switch {
		case j.state != Running:
		case j.admitted:
			count[&j.pool.limit]++
			if user != nil {
				count[user]++
			}
		case l.fullFor(j) == nil:
			return fmt.Errorf("slots: job %d waits, and no limit is full", j.id)
		}
	}
	check := func(m *limit, what string) error {
		if m.running != count[m] || m.most > 0 && m.running > m.most || m.waiting.Len() > 0 && !m.full() {
			return fmt.Errorf("slots: %s runs %d jobs of %d, recounted %d, %d wait", what, m.running, m.most, count[m], m.waiting.Len())
		}
		return nil
	}
	for _, p := range l.pools {
		if err := check(&p.limit, "pool "+p.Name); err != nil {
			return err
		}
	}
	for _, u := range l.config.Users {
		if m := l.userLimits[u.Name]; m != nil {
			if err := check(m, "user "+u.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTracker checks the counts of a tracker, and adds them to want.
func (l *Ledger) checkTracker(t *tracker, want *totals) error {
	got := *t
	// free and capacity are by list; running is by kind and leaves its last element unused.
	var free, running, capacity [slotLists]int32
	var inPhase [numPhases]int32
	for _, id := range t.slots {
		s := &l.slots[id]
		switch {
		case s.Busy:
			running[s.Attempt.Kind]++
			inPhase[s.Phase]++
			if s.Lent {
				want.lent++
			}
		case s.State == SlotOpen:
			free[s.list()]++
			if l.mapCapable(s) {
				want.freeCapable++
			}
		}
		switch s.State {
		case SlotOpen:
			want.open++
			capacity[s.list()]++
			if l.mapCapable(s) {
				want.mapCapable++
			}
		case SlotDraining:
			want.draining++
			if !s.Busy {
				return fmt.Errorf("slots: slot %d drains and is idle", id)
			}
		}
	}
	// The lists of free slots, and the sets of trackers that have some with room for a task.
	for list := range free {
		if int(free[list]) != len(t.free[list]) {
			return fmt.Errorf("slots: tracker %d: list %d has %d free slots, recounted %d", t.id, list, len(t.free[list]), free[list])
		}
		if in := l.free[list].Has(t.id); in != (free[list] > 0 && l.fits(t, l.traits.Weights.Lightest())) {
			return fmt.Errorf("slots: tracker %d: list %d has %d free slots, in the set %v", t.id, list, free[list], in)
		}
	}
	got.running, got.cap = [2]int32(running[:2]), [2]int32(capacity[:2])
	got.tally, got.reduceRoom = l.traits.Weights.TallyOf(got.cap, got.running), l.reduceRoom(got.cap)
	if got.running != t.running || got.cap != t.cap || got.tally != t.tally || got.reduceRoom != t.reduceRoom || inPhase != t.phases {
		return fmt.Errorf("slots: tracker %d: running %v capacity %v tally %v keeps %d phases %v, recounted %v %v %v %d %v",
			t.id, t.running, t.cap, t.tally, t.reduceRoom, t.phases, got.running, got.cap, got.tally, got.reduceRoom, inPhase)
	}
	if l.traits.Weights.Bound() && !l.out(t) && l.room(t) < 0 {
		return fmt.Errorf("slots: tracker %d: %v tasks run on %v home slots, of weights %+v", t.id, t.running, t.cap, l.traits.Weights)
	}
	for k := range got.cap {
		want.cap[k] += got.cap[k]
		want.running[k] += got.running[k]
		want.tally.Used[k] += got.tally.Used[k]
		want.tally.Lent[k] += got.tally.Lent[k]
	}
	want.reduceRoom += got.reduceRoom
	return nil
}

// checkJob checks the counts of a job. running is its recounted attempts by kind, held its
// recounted reduces on map-capable slots. It adds the job's part of the totals to want.
func (l *Ledger) checkJob(j *ledgerJob, running [2]int32, held int32, want *totals) error {
	if j.state == Running {
		want.active++
	}
	if j.waiting != (j.state == Running && !j.mapsDone()) || j.held != held {
		return fmt.Errorf("slots: job %d: waiting %v, held %d, recounted %d", j.id, j.waiting, j.held, held)
	}
	if j.waiting {
		want.waiting += running[Reduce]
		want.heldWaiting += held
	}
	for k := range j.side {
		s := &j.side[k]
		var pending, done int32
		for t := range s.tasks {
			switch task := &s.tasks[t]; {
			case task.state == taskPending && int32(t) < s.ready:
				pending++
			case task.state == taskDone, task.state == taskDropped:
				done++
			}
			if live := s.tasks[t].head != NoSlot; live != (s.tasks[t].state == taskRunning) && s.tasks[t].state == taskPending {
				return fmt.Errorf("slots: job %d %v %d is pending and runs", j.id, Kind(k), t)
			}
		}
		pending += max(0, s.ready-int32(len(s.tasks))) // ready tasks that are not stored are pending
		if s.running != running[k] {
			return fmt.Errorf("slots: job %d runs %d %v attempts, recounted %d", j.id, s.running, Kind(k), running[k])
		}
		// retire has freed the tasks of a job that has ended, and left the count of done ones.
		if s.tasks != nil && (s.pending != pending || s.done != done) {
			return fmt.Errorf("slots: job %d has %d pending and %d done %v tasks, recounted %d and %d", j.id, s.pending, s.done, Kind(k), pending, done)
		}
		shown := s.pending
		if j.state != Running || !j.admitted || Kind(k) == Reduce && !j.gateOpen(l.config.Slowstart) {
			shown = 0
		}
		if s.visible != shown {
			return fmt.Errorf("slots: job %d shows %d pending %v tasks, has %d", j.id, s.visible, Kind(k), shown)
		}
		want.pending[k] += shown
	}
	return nil
}
