package policy

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// Stragglers finds running tasks that are worth a copy, for a policy without an Order. Such a policy
// copies a task only where nothing pending can start. On each visit it calls Changed for the jobs
// that have changed, then Look, then Copy, and Ask at the end. It passes all facts to Observe, and
// all attempts that it has started to Started.
type Stragglers struct{ *speculation }

// Stragglers returns what finds the slow tasks of one Ledger. It uses only CopyAfter and CopyRule of o.
func (o *Options) Stragglers() *Stragglers { return &Stragglers{newSpeculation(o)} }

// Worth returns how many running tasks of kind k are worth a copy.
func (s *Stragglers) Worth(k slots.Kind) int32 { return s.worth[k] }

// Look drops stale candidates. If the driver has answered a Probe, it finds the tasks that are worth
// a copy now.
func (s *Stragglers) Look(v *slots.View) {
	if s.answered(v.Now()) {
		s.look(v)
	} else {
		s.expire(v.Now())
	}
	for _, g := range s.recounted { // there are no rankings that count candidates
		s.of(g.job).kinds[g.kind].recounted = false
	}
	s.recounted = s.recounted[:0]
}

// Copy calls start with the tasks that the visited tracker may copy, the longest time left first,
// until one starts. It reports whether one did. why has the reasons of the copy.
func (s *Stragglers) Copy(v *slots.View, start func(a slots.AttemptID, why slots.Why) bool) bool {
	if s.slowTracker(v, v.Tracker()) {
		return false
	}
	for k := range slots.Kind(trace.Kinds) {
		for i := range s.list {
			c := &s.list[i]
			if c.Attempt.Kind != k || c.Tracker == v.Tracker() && v.Trackers() > 1 {
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
	if s.due >= 0 {
		s.probe(v, d)
		d.WakeAt(max(s.asked, v.Now()))
	}
}
