package slots

import (
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Progress is the share of its work that an attempt has done, in parts per billion. A task of
// an hour next to tasks of a tenth of a second is judged at 28 parts per million, so a PPM
// would be too coarse to compare two such tasks.
type Progress int64

// AllDone is the progress of an attempt whose work is done.
const AllDone Progress = 1_000_000_000

// ProgressUnit is one part per million. It is the unit of the field ppm of events.
const ProgressUnit = AllDone / 1_000_000

// Steps are the last two facts of progress of an attempt. The time between them has its rate.
type Steps struct {
	Last, before     Progress
	lastAt, beforeAt time.Duration
	base             Progress // where its rate began
	Known            bool     // there is a fact
	begun            bool     // there is a fact since its rate began; before, it has no rate
}

// step returns the least step that becomes a fact: 1 %, and as much as was done at the present
// rate while that is less. So a phase leads to at most 130 facts of progress.
func (s *Steps) step() Progress { return min(AllDone/100, max(s.Last-s.base, 1)) }

// Report takes a progress that the driver reports. It reports whether that is a fact.
func (s *Steps) Report(now time.Duration, done Progress) bool {
	if done = max(0, min(done, AllDone)); s.Known && done < s.Last {
		return false
	}
	switch {
	case !s.begun:
		*s = Steps{Last: done, before: done, base: done, lastAt: now, beforeAt: now, Known: true, begun: true}
	case !s.Known || done >= s.Last+s.step() || done == AllDone && done > s.Last:
		s.before, s.beforeAt = s.Last, s.lastAt
		s.Last, s.lastAt, s.Known = done, now, true
	default:
		return false
	}
	return true
}

// At returns the progress of an attempt at time now. The driver reported the progress for the
// last time at time heard, and the report has led to no fact if it was too small a step. The
// attempt is taken to go on as between its last two facts. If it is slower, the result is too
// large by less than one step.
func (s *Steps) At(now, heard time.Duration) Progress {
	if s.Last <= s.before || s.lastAt <= s.beforeAt {
		return s.Last
	}
	done := s.Last
	if heard = min(heard, now); heard > s.lastAt {
		done = min(s.grown(done, heard-s.lastAt), s.Last+s.step()-1)
	}
	return s.grown(done, now-max(heard, s.lastAt))
}

// grown returns the progress at a time d after the progress was p, at the rate between the last
// two facts.
func (s *Steps) grown(p Progress, d time.Duration) Progress {
	if d <= 0 {
		return p
	}
	more := ppm.Scaled(int64(d), int64(s.Last-s.before), int64(s.lastAt-s.beforeAt))
	return min(p+min(Progress(more), AllDone), AllDone)
}

// Phase notes that a reduce has entered another phase. The next report is a fact.
func (s *Steps) Phase(k trace.Kind) { s.begun = k == trace.Map }

// Progress reports the share of its work that an attempt on a slot has done. The first report of
// an attempt, and of each phase of a reduce, is a fact. Later steps of less than 1 % are ignored,
// except the last one and steps that double what was done before. A report about an attempt that
// does not run on the slot is ignored, too.
func (l *Ledger) Progress(now time.Duration, id SlotID, a AttemptID, done Progress) {
	if id < 0 || int(id) >= len(l.slots) {
		return
	}
	s := &l.slots[id]
	if !s.Busy || s.Attempt != a || !s.progress.Report(now, done) {
		return
	}
	l.advance(now)
	if l.stream != nil {
		e := attemptEvent(trace.OpProgress, a, s.ID)
		e.A, e.B = int64(s.progress.Last/ProgressUnit), int64(s.progress.Last%ProgressUnit)
		l.record(e)
	}
	l.measured()
}

// Progress returns the progress of the attempt on a slot now. Between two reports of the driver
// the attempt goes on at its latest rate. known is false if the driver has not reported its
// progress yet (Decision.Probe). A driver with heartbeats reports it some time after the Probe.
func (v *View) Progress(id SlotID) (done Progress, known bool) {
	s := &v.l.slots[id]
	if s.progress.lastAt == v.l.now { // At would return the same, after a look at the tracker
		return s.progress.Last, s.progress.Known
	}
	return s.progress.At(v.l.now, max(v.l.heard, v.l.trackers[s.Tracker].heard)), s.progress.Known
}
