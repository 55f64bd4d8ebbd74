package slots

import "time"

type accruals struct {
	busy, lent, waiting, open time.Duration
	work, room                time.Duration // in weight
	moves                     int64
	stale                     int64
}

// Stats are totals up to the latest fact or Assign.
type Stats struct {
	Moves         int64         // grants by a borrowing rule; where a policy has none, grants on a slot of the other home kind
	Busy          time.Duration // slot-time with an attempt
	Lent          time.Duration // of it, with one of the other kind
	WaitingReduce time.Duration // of it, with a reduce of a job that has unfinished maps (hoarding)
	Open          time.Duration // slot-time of open slots
	Work, Room    time.Duration // Busy - WaitingReduce and Open; under slot weights, in weight, which extra slots add none to
	Jain          float64       // fairness over pools, 1 is even
	Stale         int64         // ends of attempts that were unknown
}

// Utilisation is (busy - waiting reduce) / open.
func (s Stats) Utilisation() float64 {
	if s.Room == 0 {
		return 0
	}
	return float64(s.Work) / float64(s.Room)
}

// Stats returns the totals so far.
func (l *Ledger) Stats() Stats {
	s := &l.stats
	return Stats{Moves: s.moves, Busy: s.busy, Lent: s.lent, WaitingReduce: s.waiting, Open: s.open, Work: s.work, Room: s.room, Jain: l.jain(), Stale: s.stale}
}

// jain is Jain's index over the pools' slot-time per weight and time with
// demand: (Σx)² / (n·Σx²).
func (l *Ledger) jain() float64 {
	var n, sum, squares float64
	for _, p := range l.pools {
		l.accrue(p)
		if p.wantTime == 0 {
			continue
		}
		x := float64(p.slotTime) / float64(p.wantTime) / float64(p.Weight)
		n++
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (n * squares)
}

// SlotTimes is what became of a slot up to the latest fact or Assign.
func (l *Ledger) SlotTimes(id SlotID) SlotTimes {
	s := &l.slots[id]
	t := s.times
	if s.busy {
		t.Busy += l.now - s.started
		if s.lent {
			t.Lent += l.now - s.started
		}
	}
	return t
}

// JobState is how a job stands.
func (l *Ledger) JobState(id JobID) State { return l.jobs[id].state }

// Done reports whether a job has ended and none of its attempts is left.
func (l *Ledger) Done(id JobID) bool {
	j := l.jobs[id]
	return j.state != Running && j.live() == 0
}

// Active is how many jobs are running.
func (l *Ledger) Active() int { return int(l.total.active) }

// FailedBy is the attempt whose failure ended the job; false where it did not
// fail.
func (l *Ledger) FailedBy(id JobID) (AttemptID, bool) {
	return l.jobs[id].failedBy, l.jobs[id].state == Failed
}

// JobTimes are when a job did what.
func (l *Ledger) JobTimes(id JobID) JobTimes { return l.jobs[id].times }

// JobCounts are a job's attempts of kind k.
func (l *Ledger) JobCounts(id JobID, k Kind) AttemptCounts { return l.jobs[id].side[k].counts }

// JobTasks is how many tasks of kind k a job has, and how many of them are done.
func (l *Ledger) JobTasks(id JobID, k Kind) (done, total int32) {
	s := &l.jobs[id].side[k]
	return s.done, s.total
}

// Jobs is how many jobs were submitted; their ids are 0 to Jobs()-1.
func (l *Ledger) Jobs() int { return len(l.jobs) }

// Idle is how many tasks may start now and how many open slots are idle, by
// kind.
func (l *Ledger) Idle() (pending, idle [2]int32) {
	for i := range l.trackers {
		for k := range idle {
			idle[k] += int32(len(l.trackers[i].free[k]))
		}
	}
	return l.total.pending, idle
}

// KeptBack reports whether pending reduces may be kept from idle slots by the
// deadlock guard: those of a job with unfinished maps.
func (l *Ledger) KeptBack() bool {
	for _, j := range l.jobs {
		if j.waiting && j.side[Reduce].shown > 0 {
			return true
		}
	}
	return false
}

// LentBy is, by lending kind, the papers' count of lent slots (SPEC A4) and of
// open slots, summed over trackers, in weight.
func (l *Ledger) LentBy() (lent, capacity [2]int32) {
	for k := range capacity {
		capacity[k] = l.weights.Times(Kind(k), l.total.cap[k])
	}
	return l.total.tally.Lent, capacity
}
