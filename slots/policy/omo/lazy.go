package omo

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// lazyStartReduce is Algorithm 1: a container for a reduce. A job in the midst
// of launching its reduces gets them all, one after the other (Principle 1, O6);
// else, of the jobs whose reduce stage should begin now, the one that occupies
// the fewest containers begins it. Principle 1 gives way only where the Ledger
// refuses a reduce: so that maps can go on (the deadlock guard), or because it
// failed on this tracker.
func (s *scheduler) lazyStartReduce(v *slots.View, d *slots.Decision) bool {
	if !s.lazy {
		return false
	}
	for {
		id, rule := s.nextReduce(v)
		if rule == trace.RuleNone {
			return false
		}
		why := func() slots.Why { return s.whyReduce(v, id, rule) }
		if s.launch(v, d, offer{id, slots.Reduce, rule, why}) {
			return true
		}
	}
}

// nextReduce is the job whose reduce should start, and by which rule. A job that
// was placed among the candidates by older estimates is looked at once more.
func (s *scheduler) nextReduce(v *slots.View) (slots.JobID, slots.Rule) {
	if id, ok := first(&s.begun); ok {
		return id, trace.RuleConsecutive
	}
	for {
		id, ok := first(&s.ready)
		switch {
		case !ok:
			return 0, trace.RuleNone
		case s.starts(v, v.Job(id)):
			return id, trace.RuleLazyStart
		}
		s.ready.Remove(int32(id))
	}
}

// launch starts a reduce and keeps account of its job's reduce stage.
func (s *scheduler) launch(v *slots.View, d *slots.Decision, o offer) bool {
	at := &s.jobs[o.job]
	before := *at
	if !at.begun {
		at.begun, at.stage = true, s.stages
		s.stages++
	}
	at.launched++ // first, because the grant places the job anew
	granted := s.grant(v, d, s, o)
	switch {
	case !granted:
		*at = before
	case d.Started().Attempt.N > 0:
		at.launched--
	default:
		return true
	}
	s.rank(v, v.Job(o.job))
	return granted
}

// starts reports whether a job's reduce stage should begin now: lazy start's
// rule with eq. (3). Once all maps have been started it should, whatever the
// estimates; before the first one is done nothing is known of its maps (A53),
// and while their number is not final, nothing of its shuffle.
func (s *scheduler) starts(v *slots.View, j slots.JobView) bool {
	pending := unstarted(j)
	switch {
	case !j.Sealed():
		return false
	case pending == 0:
		return true
	}
	g, ok := s.gapOf(v, j)
	return ok && startsNow(pending, g.aligned())
}

// overlap is what β of a job is made of.
type overlap struct{ shuffle, mapTime, frequency float64 }

func (g overlap) aligned() float64 { return aligned(g.shuffle, g.mapTime, g.frequency) }

// gapOf is the execution predictor of one job (O12, EP): T_s, T_m and F_e.
func (s *scheduler) gapOf(v *slots.View, j slots.JobView) (overlap, bool) {
	observed, containers, known := s.estimates()
	m := s.of(j.ID())
	if !known || m.tasks[slots.Map] == 0 {
		return overlap{}, false
	}
	return overlap{
		shuffle:   shuffleTime(m.mapOutput(), j.Total(slots.Map), s.copyBandwidth(v), j.Total(slots.Reduce)),
		mapTime:   m.mean(slots.Map).Seconds(),
		frequency: shareFrequency(observed, containers, j.Total(slots.Reduce), s.active),
	}, true
}
