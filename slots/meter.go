package slots

import (
	"fmt"
	"time"

	"mrlocal/trace"
)

// This file adds up how the time of slots was used, and how evenly pools got it.
//
// The Ledger of a run reports each change to a Meter. An attempt starts, enters a phase or
// ends, the counts of a pool change, or time passes. So real and simulated runs have the
// same figures. The sum of Totals.Phases is Totals.Busy. Totals.Wasted is the part of
// Totals.Busy that contributed to no result.
//
// Steps follow the progress of an attempt between the reports of a driver.
//
// A Meter keeps a few words for each pool; the callers keep a meteredAttempt for each slot and a
// Clock for each job. It belongs to the goroutine of its Ledger, and each call costs O(1).

// Totals are times, added up over slots: slot-seconds, in nanoseconds.
type Totals struct {
	Busy          time.Duration            // with an attempt
	Lent          time.Duration            // with an attempt of the other kind; part of Busy
	WaitingReduce time.Duration            // with a reduce whose job has unfinished maps (hoarding); part of Busy
	Open          time.Duration            // of open slots, busy or not
	Work, Room    time.Duration            // Busy - WaitingReduce, and the home slots, or Work if that is more; under slot weights both in weight
	Phases        [numPhases]time.Duration // Busy by phase; nothing is in PhaseNone
	Wasted        Wasted                   // part of Busy
}

// Utilisation returns Work / Room, and 0 if no slot was open. Extra slots are not room by
// themselves: a policy may open many, and leave them idle or to reduces that wait. They count as far as
// more tasks work at a time than there are home slots. So policies with and without them compare.
func (t Totals) Utilisation() float64 {
	return float64(t.Work) / float64(max(t.Room, 1)) // without room there is no work
}

// Wasted is wasted slot time. The whole time of an attempt that contributed to no result counts
// in exactly one of Failed, Copies and Killed. The time in which a committed reduce waited for
// maps counts in Waiting.
type Wasted struct {
	Failed  time.Duration // attempts that failed
	Copies  time.Duration // attempts of a task that another attempt committed, and copies that were killed
	Killed  time.Duration // all other attempts that were killed, also by the loss of a tracker
	Waiting time.Duration // committed reduces, while their job had unfinished maps
}

// All returns the sum of the fields.
func (w Wasted) All() time.Duration { return w.Failed + w.Copies + w.Killed + w.Waiting }

// slotMeter has the figures of one run. The zero value is ready for a run that begins.
type slotMeter struct {
	Totals
	pools []*meteredPool

	// wanting is the number of pools with demand now. sum and squares are the sums of x and
	// of x² over these pools, where x is running attempts divided by weight.
	wanting      int
	sum, squares float64
	shared       time.Duration // time in which two pools or more had demand, and one had a slot
	evenness     float64       // integral of Jain's index over that time, in nanoseconds
}

// meterLoad says what the slots of a cluster do at a moment. Busy, Lent, WaitingReduce and Open are
// numbers of slots. Work and Room are weights, as in Totals.
type meterLoad struct{ Busy, Lent, WaitingReduce, Open, Work, Room int32 }

// Pass adds dt to the times. The cluster has had the load for all of dt.
func (m *slotMeter) Pass(dt time.Duration, now *meterLoad) {
	m.Busy += dt * time.Duration(now.Busy)
	m.Lent += dt * time.Duration(now.Lent)
	m.WaitingReduce += dt * time.Duration(now.WaitingReduce)
	m.Open += dt * time.Duration(now.Open)
	m.Work += dt * time.Duration(now.Work)
	m.Room += dt * time.Duration(now.Room)
	if m.wanting > 1 && m.squares > 0 {
		m.shared += dt
		m.evenness += float64(m.sum * m.sum / (float64(m.wanting) * m.squares) * float64(dt))
	}
}

// taskClock counts the time in which a job has unfinished maps. The zero value is stopped at 0.
type taskClock struct {
	whole, since time.Duration // whole: counted until since, the time of the latest Set
	on           bool
}

// Set starts or stops the clock at time now.
func (c *taskClock) Set(now time.Duration, on bool) {
	c.whole, c.since, c.on = c.at(now), now, on
}

// at returns the time that the clock has counted until now.
func (c *taskClock) at(now time.Duration) time.Duration {
	if c.on {
		return c.whole + now - c.since
	}
	return c.whole
}

// meteredAttempt is an attempt that holds a slot. The zero value is not an attempt; Start makes it
// one.
type meteredAttempt struct {
	started, since time.Duration // since: start of the current phase
	waited         time.Duration // of the clock of its job, at the start
	phase          trace.Phase
}

// Start begins an attempt of kind k at time now. c is the clock of its job.
func (a *meteredAttempt) Start(now time.Duration, k trace.Kind, c *taskClock) {
	*a = meteredAttempt{now, now, c.at(now), k.FirstPhase()}
}

// Enter ends the current phase of an attempt and begins phase p. The caller calls it with
// PhaseNone when the attempt ends, so that the last phase counts.
func (m *slotMeter) Enter(a *meteredAttempt, now time.Duration, p trace.Phase) {
	m.Phases[a.phase] += now - a.since
	a.since = now
	if p != trace.PhaseNone {
		a.phase = p
	}
}

// Took returns the time since the start of an attempt.
func (a *meteredAttempt) Took(now time.Duration) time.Duration { return now - a.started }

// meteredPool measures how large a share of the slots a pool gets.
type meteredPool struct {
	weight   float64
	at       time.Duration // slotTime and wantTime are up to here
	slotTime time.Duration // of its attempts, added up over slots
	wantTime time.Duration // time in which attempts of it ran or tasks were pending
	running  int32         // attempts now
	wants    bool          // it has demand now: running attempts or pending tasks
}

// Set sets how many attempts of a pool run from now on, and how many tasks are pending.
func (m *slotMeter) Set(p *meteredPool, now time.Duration, running, pending int32) {
	p.pass(now)
	wants := running+pending > 0
	if running == p.running && wants == p.wants {
		return
	}
	m.count(p, -1)
	p.running, p.wants = running, wants
	m.count(p, 1)
}

// pass brings the times of a pool up to now.
func (p *meteredPool) pass(now time.Duration) {
	dt := now - p.at
	p.at = now
	p.slotTime += dt * time.Duration(p.running)
	if p.wants {
		p.wantTime += dt
	}
}

// count adds a pool to the sums over pools with demand (sign 1), or takes it out (sign -1).
func (m *slotMeter) count(p *meteredPool, sign int) {
	if !p.wants {
		return
	}
	x := float64(p.running) / p.weight
	m.wanting += sign
	m.sum += float64(sign) * x
	m.squares += float64(float64(sign) * float64(x*x)) // conversions prevent fused operations, so all processors get the same sums
	if m.wanting == 0 {
		m.sum, m.squares = 0, 0 // removes rounding errors
	}
}

// Jain returns Jain's index (Σx)² / (n·Σx²) over the n pools that had demand until now. x is
// the slot time of a pool divided by its weight and by its time with demand. The index is 1
// if all x are equal, or if no pool had a slot.
func (m *slotMeter) Jain(now time.Duration) float64 {
	var n, sum, squares float64
	for _, p := range m.pools {
		p.pass(now)
		if p.wantTime == 0 {
			continue
		}
		x := float64(p.slotTime) / float64(p.wantTime) / p.weight
		n++
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (n * squares)
}

// JainInTime returns the mean over time of Jain's index, where x is a pool's running attempts
// divided by its weight. Only moments count in which at least two pools had demand and a pool
// had a slot. JainInTime returns 1 if there was no such moment.
func (m *slotMeter) JainInTime() float64 {
	if m.shared == 0 {
		return 1
	}
	return min(1, m.evenness/float64(m.shared))
}

// AttemptCounts count a job's attempts of one kind, as Hadoop's job counters do.
type AttemptCounts struct {
	Started     int64
	Failed      int64
	Killed      int64
	Speculative int64
	LostOutputs int64
	Local       int64 // maps started on a tracker that has their input
	GroupLocal  int64 // maps started elsewhere in a group that has it

	PreScheduled int64 // maps started by the rule prescheduled

	// Times of attempts that have ended, however they ended (Hadoop 1.0.3,
	// JobInProgress.meterTaskAttempt). Lent is the part on slots of the other kind.
	SlotTime, Lent time.Duration
}

// JobTimes are times in the life of a job, from the start of the run. A negative time
// has not come yet.
type JobTimes struct {
	Submit   time.Duration
	Start    time.Duration // of its first attempt
	MapsDone time.Duration
	Finish   time.Duration
}

// SlotTimes says how long a slot was used.
type SlotTimes struct {
	Busy, Lent time.Duration // Lent is part of Busy
	Starts     int64
}

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

// FailedBy returns the attempt whose failure ended the job, and false if no task has failed too often.
func (l *Ledger) FailedBy(id JobID) (AttemptID, bool) {
	return l.jobs[id].failedBy, l.jobs[id].state == Failed && l.jobs[id].failedBy.Job == id
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
