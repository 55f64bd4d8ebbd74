package slots

import "fmt"

// Stats are figures up to the latest fact or Assign.
type Stats struct {
	Totals
	Moves            int64   // grants by a borrowing rule; for a policy without one, grants on a slot of the other kind
	Jain, JainInTime float64 // Jain's index of fairness between pools, of the whole run and as a mean over its moments; 1: even
	Refused          int64   // grants that the Ledger refused for a reason that only a bug in the policy causes
	Stale            int64   // calls of Finish for attempts that do not run, because their tracker was lost
}

// Stats returns the figures so far. Attempts that run count up to now.
func (l *Ledger) Stats() Stats {
	s := l.stats
	s.Jain, s.JainInTime = l.meter.Jain(l.now), l.meter.JainInTime()
	s.Totals = l.meter.Totals
	for i := range l.slots {
		if sl := &l.slots[i]; sl.Busy {
			s.Phases[sl.use.phase] += l.now - sl.use.since
		}
	}
	return s
}

// Refused returns a message if the Ledger refused grants for reasons that only a bug in the
// policy causes, else "". The message has their number and the reason of the first one.
func (l *Ledger) Refused() string {
	if l.stats.Refused == 0 {
		return ""
	}
	return fmt.Sprintf("policy %s: refused grants: %d, the first because %s; a checked build (-tags invariants) stops there", l.traits.Name, l.stats.Refused, refusalBugs[l.refused])
}

// SlotTimes returns how a slot was used up to the latest fact or Assign.
func (l *Ledger) SlotTimes(id SlotID) SlotTimes {
	s := &l.slots[id]
	t := s.times
	if s.Busy {
		t.Busy += l.now - s.Started
		if s.Lent {
			t.Lent += l.now - s.Started
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

// JobTasks returns how many tasks of kind k of a job are done, and how many it has.
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
// Without one it is DefaultProfile of the first tracker's home slots.
func (l *Ledger) JobProfile(id JobID) (p Profile, given bool) {
	if p := l.jobs[id].spec.Profile; p != nil {
		return *p, true
	}
	return DefaultProfile(l.homeSlots), false
}
