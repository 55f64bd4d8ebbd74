// Package meter adds up what the time of slots went to, and how evenly pools got it.
//
// The Ledger of a run reports each change to a Meter: an attempt starts, enters a phase, ends; a
// pool has other counts; time passes. So real and simulated runs have the same figures. The
// sum of Totals.Phases is Totals.Busy. Of it, Totals.Wasted is what brought nothing.
//
// A Meter keeps a few words for each pool; the callers keep a MeteredAttempt for each slot and a
// Clock for each job. It belongs to the goroutine of its Ledger, and each call costs O(1).
// Neighbours: package slots calls it, report gives the figures their names.
package meter

import (
	"time"

	"mrlocal/trace"
)

// phases is the number of phases, trace.PhaseNone among them.
const phases = int(trace.PhaseHeld) + 1

// Totals are times, added up over slots.
type Totals struct {
	Busy          time.Duration         // with an attempt
	Lent          time.Duration         // with an attempt of the other kind; part of Busy
	WaitingReduce time.Duration         // with a reduce whose job has unfinished maps (hoarding); part of Busy
	Open          time.Duration         // of open slots, busy or not
	Work, Room    time.Duration         // Busy - WaitingReduce, and Open; under slot weights both in weight, and extra slots add no Room
	Phases        [phases]time.Duration // Busy by phase; nothing is in PhaseNone
	Wasted        Wasted                // part of Busy
}

// Utilisation returns Work / Room, and 0 if no slot was open.
func (t Totals) Utilisation() float64 {
	return float64(t.Work) / float64(max(t.Room, 1)) // without room there is no work
}

// Wasted is the time of attempts that have ended and brought nothing, each in one field. Of the
// other attempts it has the time in which they waited.
type Wasted struct {
	Failed  time.Duration // attempts that failed
	Copies  time.Duration // attempts of a task that another attempt did, and copies that were killed
	Killed  time.Duration // all other attempts that were killed, lost trackers among them
	Waiting time.Duration // committed reduces, while their job had unfinished maps
}

// All returns the sum.
func (w Wasted) All() time.Duration { return w.Failed + w.Copies + w.Killed + w.Waiting }

// Meter has the figures of one run. The zero value is one of a run that begins.
type Meter struct {
	Totals
	pools []*MeteredPool

	// Of the pools with demand now: their number, and the sums of x and of x², where x is
	// running attempts by weight.
	wanting      int
	sum, squares float64
	shared       time.Duration // in which two pools or more had demand, and one had a slot
	evenness     float64       // Jain's index of these moments, times their length
}

// Load is what the slots of a cluster do at a moment: numbers of slots, and weights.
type Load struct{ Busy, Lent, WaitingReduce, Open, Work, Room int32 }

// Pass says that dt has passed with a load.
func (m *Meter) Pass(dt time.Duration, now *Load) {
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

// Clock counts the time in which a job has unfinished maps.
type Clock struct {
	whole, since time.Duration
	on           bool
}

// Set starts or stops the clock.
func (c *Clock) Set(now time.Duration, on bool) {
	c.whole, c.since, c.on = c.at(now), now, on
}

func (c *Clock) at(now time.Duration) time.Duration {
	if c.on {
		return c.whole + now - c.since
	}
	return c.whole
}

// MeteredAttempt is an attempt that holds a slot.
type MeteredAttempt struct {
	started, since time.Duration // since: in its phase
	waited         time.Duration // of the clock of its job, at the start
	phase          trace.Phase
}

// Start says that an attempt of a kind has started. The clock is that of its job.
func (a *MeteredAttempt) Start(now time.Duration, k trace.Kind, c *Clock) {
	*a = MeteredAttempt{now, now, c.at(now), k.FirstPhase()}
}

// Enter says that an attempt enters a phase. It has to be called with the phase that it is in
// when it ends.
func (m *Meter) Enter(a *MeteredAttempt, now time.Duration, p trace.Phase) {
	m.Phases[a.phase] += now - a.since
	a.since = now
	if p != trace.PhaseNone {
		a.phase = p
	}
}

// Committed says that an attempt has ended, and did its task.
func (m *Meter) Committed(a *MeteredAttempt, now time.Duration, k trace.Kind, c *Clock) {
	if k == trace.Reduce {
		m.Wasted.Waiting += c.at(now) - a.waited
	}
}

// Took returns the time since the start of an attempt.
func (a *MeteredAttempt) Took(now time.Duration) time.Duration { return now - a.started }

// Running returns the totals with what attempts that still run have spent in their phases.
func (m *Meter) Running(now time.Duration, each func(yield func(a *MeteredAttempt))) Totals {
	t := m.Totals
	each(func(a *MeteredAttempt) { t.Phases[a.phase] += now - a.since })
	return t
}

// MeteredPool measures how large a share of the slots a pool gets.
type MeteredPool struct {
	weight   float64
	at       time.Duration // the times are up to here
	slotTime time.Duration // of its attempts, added up over slots
	wantTime time.Duration // in which attempts of it ran or tasks were pending
	running  int32
	wants    bool
}

// NewPool adds a pool. Its weight is above 0; only the weights' ratios matter.
func (m *Meter) NewPool(weight float64) *MeteredPool {
	p := &MeteredPool{weight: weight}
	m.pools = append(m.pools, p)
	return p
}

// Set says how many attempts of a pool run from now on, and how many tasks are pending.
func (m *Meter) Set(p *MeteredPool, now time.Duration, running, pending int32) {
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
func (p *MeteredPool) pass(now time.Duration) {
	dt := now - p.at
	p.at = now
	p.slotTime += dt * time.Duration(p.running)
	if p.wants {
		p.wantTime += dt
	}
}

// count adds a pool to those with demand, or takes it out.
func (m *Meter) count(p *MeteredPool, sign int) {
	if !p.wants {
		return
	}
	x := float64(p.running) / p.weight
	m.wanting += sign
	m.sum += float64(sign) * x
	m.squares += float64(float64(sign) * float64(x*x)) // no fused operations: all processors have the same sums
	if m.wanting == 0 {
		m.sum, m.squares = 0, 0 // what rounding has left
	}
}

// Jain returns Jain's index (Σx)² / (n·Σx²) over the pools that had demand until now. x is
// slot-time by weight and by time with demand. 1: even.
func (m *Meter) Jain(now time.Duration) float64 {
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

// JainInTime returns Jain's index of fairness between pools, as a mean over time. Moments count
// in which at least two pools had demand and a pool had a slot. The index is of running
// attempts divided by the pool's weight. JainInTime returns 1 if there was no such moment.
func (m *Meter) JainInTime() float64 {
	if m.shared == 0 {
		return 1
	}
	return min(1, m.evenness/float64(m.shared))
}
