package slots

import (
	"time"

	"mrlocal/trace"
)

// Progress reports the share of its work that an attempt has done. The first report of an
// attempt, and of each phase of a reduce, is a fact. Later steps of less than 1 % are ignored,
// except the last one and steps that double what was done before.
func (l *Ledger) Progress(now time.Duration, a AttemptID, done Progress) {
	s := l.slotOf(a)
	if s == nil || !s.progress.Report(now, done) {
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
	return s.progress.At(v.l.now, max(v.l.heard, v.l.trackers[s.Tracker].heard)), s.progress.Known
}
