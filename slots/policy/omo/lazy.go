package omo

import (
	"mrlocal/slots"
	"mrlocal/slots/policy/yarn"
)

// lazyStartReduce starts a reduce [OMO21, Alg. 1]. A job that has begun to launch its
// reduces launches them all, one after the other [OMO21, Principle 1]. Else, of the
// jobs whose reduce stage should begin now, the one with the fewest containers begins
// it. Only the Ledger breaks Principle 1, when it refuses a reduce: its deadlock guard
// keeps a slot for maps, or the reduce failed on this tracker.
func (s *scheduler) lazyStartReduce(v *slots.View, d *slots.Decision) bool {
	if !s.lazy {
		return false
	}
	for {
		id, rule := s.nextReduce(v)
		if rule == "" {
			return false
		}
		why := func() slots.Why { return s.whyReduce(v, id, rule) }
		if s.launch(v, d, yarn.Offer{Job: id, Kind: slots.Reduce, Rule: rule}, why) {
			return true
		}
	}
}

// nextReduce returns the job whose reduce should start, and the rule. A job that became
// a candidate by older estimates is checked again.
func (s *scheduler) nextReduce(v *slots.View) (slots.JobID, slots.Rule) {
	if id, ok := yarn.First(&s.begun); ok {
		return id, ruleConsecutive
	}
	for {
		id, ok := yarn.First(&s.ready)
		switch {
		case !ok:
			return 0, ""
		case s.starts(v, v.Job(id)):
			return id, ruleLazyStart
		}
		s.ready.Remove(int32(id))
	}
}

// launch starts a reduce, and counts it in its job's reduce stage.
func (s *scheduler) launch(v *slots.View, d *slots.Decision, o yarn.Offer, why func() slots.Why) bool {
	at := &s.jobs[o.Job]
	before := *at
	if !at.begun {
		at.begun, at.stage = true, s.stages
		s.stages++
	}
	at.launched++ // first, because the grant places the job anew
	granted := s.Grant(v, d, s, o, why)
	switch {
	case !granted:
		*at = before
	case d.Started().Attempt.N > 0:
		at.launched--
	default:
		return true
	}
	s.Rank(v, v.Job(o.Job))
	return granted
}

// starts reports whether a job's reduce stage should begin now, by [OMO21, eq. 3] and
// "signed argmin". Once all maps have started it should, whatever the estimates. Before
// the first map is done nothing is known of the job's maps [OMO21, "shuffle estimate"];
// while their number is not final, nothing is known of its shuffle.
func (s *scheduler) starts(v *slots.View, j slots.JobView) bool {
	pending := yarn.Unstarted(j)
	switch {
	case !j.Sealed():
		return false
	case pending == 0:
		return true
	}
	g, ok := s.gapOf(v, j)
	return ok && startsNow(pending, g.aligned())
}

// overlap holds the terms of β of a job, in seconds and containers a second.
type overlap struct{ shuffle, mapTime, frequency float64 }

func (g overlap) aligned() float64 { return aligned(g.shuffle, g.mapTime, g.frequency) }

// gapOf is the execution predictor EP of one job: T_s, T_m and F_e [OMO21, section
// V-A]. ok is false while they are not known.
func (s *scheduler) gapOf(v *slots.View, j slots.JobView) (overlap, bool) {
	observed, level, known := s.estimates(j.ID())
	m := s.Of(j.ID())
	if !known || m.Tasks[slots.Map] == 0 {
		return overlap{}, false
	}
	return overlap{
		shuffle:   shuffleTime(m.MapOutput(), j.Total(slots.Map), s.CopyBandwidth(v), j.Total(slots.Reduce)),
		mapTime:   m.Mean(slots.Map).Seconds(),
		frequency: shareFrequency(observed, level, j.Total(slots.Reduce), s.active),
	}, true
}
