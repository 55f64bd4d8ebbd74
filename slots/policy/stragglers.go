package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Stragglers finds running tasks that are worth a copy, for a policy without an Order. Such a policy
// copies a task only where nothing pending can start. On each visit it calls Changed for the jobs
// that have changed, then Look, then Copy, and Ask at the end. It passes all facts to Observe, and
// all attempts that it has started to Started.
type Stragglers struct {
	slow  *speculation
	asked time.Duration // as in Copies
}

// Stragglers returns what finds the slow tasks of one Ledger. It uses only CopyAfter and CopyRule of o.
func (o *Options) Stragglers() *Stragglers { return &Stragglers{newSpeculation(o), -1} }

// Observe updates the measurements by a fact.
func (s *Stragglers) Observe(f *slots.Fact) { s.slow.observe(f) }

// Changed updates the measurements of a job that has changed.
func (s *Stragglers) Changed(v *slots.View, j slots.JobView) { s.slow.changed(v.Now(), j) }

// Started notes an attempt that a grant has started on the visited tracker.
func (s *Stragglers) Started(v *slots.View, o slots.Start) { s.slow.started(v, o) }

// Worth returns how many running tasks of kind k are worth a copy.
func (s *Stragglers) Worth(k slots.Kind) int32 { return s.slow.worth[k] }

// Look drops stale candidates. If the driver has answered a Probe, it finds the tasks that are worth
// a copy now.
func (s *Stragglers) Look(v *slots.View) {
	if s.asked >= 0 && v.Now() >= s.asked {
		s.asked = -1
		s.slow.look(v)
	} else {
		s.slow.expire(v.Now())
	}
	for _, g := range s.slow.recounted { // there are no rankings that count candidates
		s.slow.of(g.job).kinds[g.kind].recounted = false
	}
	s.slow.recounted = s.slow.recounted[:0]
}

// Copy calls start with the tasks that the visited tracker may copy, the longest time left first,
// until one starts. It reports whether one did. why has the reasons of the copy.
func (s *Stragglers) Copy(v *slots.View, start func(a slots.AttemptID, why slots.Why) bool) bool {
	for k := range slots.Kind(trace.Kinds) {
		for i := range s.slow.list {
			c := &s.slow.list[i]
			if c.Attempt.Kind != k || s.slow.slowTracker(v, v.Tracker()) || c.Tracker == v.Tracker() && v.Trackers() > 1 {
				continue
			}
			if start(c.Attempt, slots.Why{Numbers: copyNumbers(c)}) {
				return true
			}
		}
	}
	return false
}

// Ask asks for the progress of all running attempts, and for a wake-up at that time, if a look is due
// then.
func (s *Stragglers) Ask(v *slots.View, d *slots.Decision) {
	if s.slow.due < 0 {
		return
	}
	if s.asked < 0 {
		s.asked = max(s.slow.due, v.Now()+1) // not now: the progress of this Assign is reported already
	}
	d.Probe(s.asked)
	d.WakeAt(max(s.asked, v.Now()))
}
