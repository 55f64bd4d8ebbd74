package slots

import (
	"time"

	"mrlocal/trace"
)

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
