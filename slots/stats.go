package slots

import (
	"fmt"
	"time"

	"mrlocal/slots/demand"
)

// Stats are totals up to the latest fact or Assign. Times are added up over slots.
type Stats struct {
	Moves         int64         // grants by a borrowing rule; for a policy without one, grants on a slot of the other kind
	Busy          time.Duration // with an attempt
	Lent          time.Duration // with an attempt of the other kind; part of Busy
	WaitingReduce time.Duration // with a reduce whose job has unfinished maps (hoarding); part of Busy
	Work, Room    time.Duration // Busy - WaitingReduce, and the time of open slots; under slot weights both in weight, and extra slots add no Room
	Jain          float64       // Jain's index of fairness between pools; 1: even
	Refused       int64         // grants that the Ledger refused for a reason that only a bug in the policy gives
	Stale         int64         // reports of the end of attempts that the Ledger did not know
}

// Utilisation returns Work / Room, and 0 if no slot was open.
func (s Stats) Utilisation() float64 {
	return float64(s.Work) / float64(max(s.Room, 1)) // without room there is no work
}

// Stats returns the totals so far.
func (l *Ledger) Stats() Stats {
	s := l.stats
	s.Jain = l.jain()
	return s
}

// Refused says how many grants the Ledger refused for a reason that only a bug in the
// policy gives. It has the reason of the first one. It returns "" if there were none.
func (l *Ledger) Refused() string {
	if l.stats.Refused == 0 {
		return ""
	}
	return fmt.Sprintf("policy %s: %d grants were refused, the first because %s; a checked build (-tags invariants) stops there", l.traits.Name, l.stats.Refused, l.refused.why())
}

// jain returns Jain's index (Σx)² / (n·Σx²) over the pools that had demand. x is a
// pool's slot-time per weight and per time with demand.
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

// SlotTimes returns how a slot was used up to the latest fact or Assign.
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

// JobState returns the state of a job.
func (l *Ledger) JobState(id JobID) State { return l.jobs[id].state }

// Done reports whether a job has ended and no attempt of it runs.
func (l *Ledger) Done(id JobID) bool {
	j := l.jobs[id]
	return j.state != Running && j.live() == 0
}

// Active returns how many jobs have not ended.
func (l *Ledger) Active() int { return int(l.total.active) }

// FailedBy returns the attempt whose failure ended the job, and false if the job has
// not failed.
func (l *Ledger) FailedBy(id JobID) (AttemptID, bool) {
	return l.jobs[id].failedBy, l.jobs[id].state == Failed
}

// JobTimes returns the times of a job.
func (l *Ledger) JobTimes(id JobID) JobTimes { return l.jobs[id].times }

// JobCounts returns the counts of a job's attempts of kind k.
func (l *Ledger) JobCounts(id JobID, k Kind) AttemptCounts { return l.jobs[id].side[k].counts }

// JobTasks returns how many tasks of kind k a job has, and how many of them are done.
func (l *Ledger) JobTasks(id JobID, k Kind) (done, total int32) {
	s := &l.jobs[id].side[k]
	return s.done, s.total
}

// Jobs returns how many jobs were submitted. Their ids are 0 to Jobs()-1.
func (l *Ledger) Jobs() int { return len(l.jobs) }

// Idle returns by kind how many tasks may start now and how many open home slots are
// free.
func (l *Ledger) Idle() (pending, idle [2]int32) {
	for i := range l.trackers {
		for k := range idle {
			idle[k] += int32(len(l.trackers[i].free[k]))
		}
	}
	return l.total.pending, idle
}

// JobProfile returns what the tasks of a job need, and whether the job has a profile.
// Without one it is demand.Default of the first tracker's home slots.
func (l *Ledger) JobProfile(id JobID) (p demand.Profile, given bool) {
	if p := l.jobs[id].spec.Profile; p != nil {
		return *p, true
	}
	return demand.Default(l.homeSlots), false
}
