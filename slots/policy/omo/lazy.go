package omo

import (
	"mrlocal/slots"
	"mrlocal/slots/policy/yarn"
)

// lazyStartReduce starts a reduce [OMO21, Alg. 1], and reports whether one started. A job that
// has begun to launch its reduces launches them all, one after the other [OMO21, Principle 1].
// If there is none, the reduce stage of another job may begin. Of the jobs whose stage should
// begin now, it takes the job with the fewest containers. Principle 1 is broken only if the
// Ledger refuses a reduce. It does so if the deadlock guard keeps a slot for maps, or if the
// reduce failed on this tracker.
func (s *OMO) lazyStartReduce(v *slots.View, d *slots.Decision) bool {
	if !s.lazy {
		return false
	}
	for {
		id, rule := s.nextReduce(v)
		if rule == "" {
			return false
		}
		if s.launch(v, d, slots.GrantOf(id, slots.Reduce, rule), func() slots.Why { return s.whyReduce(v, id, rule) }) {
			return true
		}
	}
}

// nextReduce returns the job whose reduce should start, and the rule; "": there is none. It
// checks a job of s.ready again, because the estimates may have changed since it was ranked.
func (s *OMO) nextReduce(v *slots.View) (slots.JobID, slots.Rule) {
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

// launch starts a reduce, counts it in its job's reduce stage, and reports whether it started.
func (s *OMO) launch(v *slots.View, d *slots.Decision, g slots.Grant, why func() slots.Why) bool {
	at := &s.jobs[g.Job]
	before := *at
	if !at.begun {
		at.begun, at.stage = true, s.stages
		s.stages++
	}
	at.launched++ // before the grant, which ranks the job again
	granted := s.Grant(v, d, s, g, why)
	switch {
	case !granted:
		*at = before
	case d.Started().Attempt.N > 0: // launched counts tasks, and this task had an attempt before
		at.launched--
	default:
		return true
	}
	s.Rank(v, v.Job(g.Job))
	return granted
}

// starts reports whether a job's reduce stage should begin now, by [OMO21, eq. 3] and
// "signed argmin". It begins at the latest when all maps have started. It does not begin
// before the first map is done, because the times of the maps are unknown [OMO21, "shuffle
// estimate"]. As long as the number of maps is not final, the size of the shuffle is unknown.
func (s *OMO) starts(v *slots.View, j slots.JobView) bool {
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

// overlap holds the terms of β of a job, T_s, T_m and F_e, in seconds and containers per second.
type overlap struct{ shuffle, mapTime, frequency float64 }

// aligned returns x*.
func (g overlap) aligned() float64 { return aligned(g.shuffle, g.mapTime, g.frequency) }

// roomOfShare has a job's reduces take room from its own share of the containers
// (policy.Options.LazyRoom).
const roomOfShare = "share"

// gapOf is the execution predictor EP for one job [OMO21, section V-A]. It returns T_s, T_m
// and F_e, and false as long as they are not known.
func (s *OMO) gapOf(v *slots.View, j slots.JobView) (overlap, bool) {
	observed, level, known := s.estimates(j.ID())
	m := s.Of(j.ID())
	if !known || m.Tasks[slots.Map] == 0 {
		return overlap{}, false
	}
	reduces := j.Total(slots.Reduce)
	frequency := shareFrequency(observed, level, reduces, s.active)
	if s.options.LazyRoom == roomOfShare {
		busy := v.Running(slots.Map) + v.Running(slots.Reduce)
		frequency = restFrequency(observed, level, float64(busy), reduces, s.active)
	}
	return overlap{
		shuffle:   shuffleTime(m.MapOutput(), j.Total(slots.Map), s.CopyBandwidth(v), reduces),
		mapTime:   m.Mean(slots.Map).Seconds(),
		frequency: frequency,
	}, true
}
