package omo

import (
	"fmt"
	"slices"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// This file explains decisions in the paper's words. Policies call it only if someone
// listens (Decision.Explaining).

// beaten returns the jobs after the winner in a ranking.
func beaten[K any](r *slots.Ranking[K], winner slots.JobID, v *slots.View, why func(j slots.JobView) string) (all []slots.Beaten) {
	for _, id := range r.Firsts(nil, slots.MostBeaten+1) {
		if j := v.Job(slots.JobID(id)); j.ID() != winner && len(all) < slots.MostBeaten {
			all = append(all, slots.Beaten{Pool: j.Pool(), Job: j.ID(), Why: why(j)})
		}
	}
	return all
}

// holds words how many containers a job has.
func holds(j slots.JobView) string {
	if n := held(j); n != 1 {
		return fmt.Sprintf("it has %d containers", n)
	}
	return "it has 1 container"
}

// fairNumbers are what fair order by containers depends on.
func fairNumbers(j slots.JobView) []slots.Number {
	return []slots.Number{slots.Whole("containers of the job", held(j)), slots.Decimal("weight", float64(j.Weight())/float64(slots.One))}
}

func (s *scheduler) whyFewest(v *slots.View, id slots.JobID) slots.Why {
	return slots.Why{Numbers: fairNumbers(v.Job(id)), Beaten: beaten(&s.fair, id, v, holds)}
}

// whyReduce is what a reduce by [OMO21, Alg. 1] rests on.
func (s *scheduler) whyReduce(v *slots.View, id slots.JobID, rule slots.Rule) slots.Why {
	j := v.Job(id)
	w := slots.Why{Numbers: s.overlapNumbers(v, j)}
	if rule == trace.RuleConsecutive {
		w.Numbers = []slots.Number{slots.Whole("reduces launched", s.jobs[id].launched-1), slots.Whole("reduces of the job", j.Total(slots.Reduce))}
		w.Beaten = beaten(&s.begun, id, v, func(slots.JobView) string { return "its reduce stage began later" })
	}
	w.Beaten = andThen(w.Beaten, beaten(&s.ready, id, v, func(j slots.JobView) string { return "its reduce stage has not begun; " + holds(j) }))
	w.Beaten = andThen(w.Beaten, beaten(&s.fair, id, v, func(slots.JobView) string { return "a reduce stage goes first" }))
	return w
}

// andThen appends the jobs of more that all does not have.
func andThen(all, more []slots.Beaten) []slots.Beaten {
	for _, b := range more {
		if !slices.ContainsFunc(all, func(a slots.Beaten) bool { return a.Job == b.Job }) {
			all = append(all, b)
		}
	}
	return all
}

// overlapNumbers are those of [OMO21, eq. 2-3].
func (s *scheduler) overlapNumbers(v *slots.View, j slots.JobView) []slots.Number {
	all := []slots.Number{slots.Whole("pending maps m'", unstarted(j))}
	g, ok := s.gapOf(v, j)
	if !ok {
		return all
	}
	observed, containers, _ := s.estimates()
	all = append(all, slots.Decimal("x*", g.aligned()), slots.Decimal("T_s", g.shuffle), slots.Decimal("T_m", g.mapTime))
	if unstarted(j) == 0 || g.frequency > 0 {
		all = append(all, slots.Decimal("β", gap(g.shuffle, g.mapTime, g.frequency, unstarted(j))))
	}
	return append(all, slots.Decimal("F_o", observed), slots.Decimal("A_o", containers), slots.Whole("D", s.active))
}

func (s *scheduler) whyBatch(v *slots.View, id slots.JobID) slots.Why {
	j := v.Job(id)
	observed, containers, _ := s.estimates()
	return slots.Why{
		Numbers: []slots.Number{
			slots.Whole("pending maps m'", unstarted(j)), slots.Decimal("t_fair - t_batch", s.benefit(j)), slots.Decimal("T_m", s.of(id).mean(slots.Map).Seconds()),
			slots.Decimal("F_o", observed), slots.Decimal("A_o", containers), slots.Whole("D", s.active),
		},
		Beaten: andThen(beaten(&s.waves, id, v, func(slots.JobView) string { return "it gains less" }),
			beaten(&s.fair, id, v, func(slots.JobView) string { return "it does not finish its maps in a batch" })),
	}
}

// decline ends a visit.
func (s *scheduler) decline(v *slots.View, d *slots.Decision, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		reason := s.stopped(v, k, started)
		if reason == "" {
			reason = "lazy start holds the pending reduces back: their shuffle would end before the maps do"
		}
		d.Decline(k, reason)
	}
}

// stopped returns why nothing more of kind k starts, or "" if only the policy knows.
func (c *containers) stopped(v *slots.View, k slots.Kind, started bool) string {
	switch {
	case v.Pending(k) == 0:
		return fmt.Sprintf("no %v is pending", k)
	case v.FreeAt(v.Tracker()) == 0:
		return "no slot of the tracker is free"
	case started:
		return "a heartbeat starts one task"
	}
	for _, o := range c.skipped {
		if o.kind == k && o.why != slots.Granted {
			return policy.RefusedBecause(o.why, k)
		}
	}
	return ""
}

// requestNumbers are what the ramp-up of a job's reduces rests on.
func requestNumbers(r request) []slots.Number {
	return []slots.Number{
		slots.Whole("containers it has or could have", r.total), {Name: "share of maps done", Num: int64(r.doneMaps), Den: int64(max(r.maps, 1))},
		slots.Whole("maps wanted", r.wantedMaps), slots.Whole("reduces running", r.reduces), slots.Whole("reduces to ramp up", rampUp(r)),
	}
}

func (y *YARN) why(v *slots.View, id slots.JobID) slots.Why {
	j := v.Job(id)
	return slots.Why{Numbers: append(fairNumbers(j), requestNumbers(limits(v, j))...), Beaten: beaten(&y.fair, id, v, holds)}
}

func (y *YARN) decline(v *slots.View, d *slots.Decision, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		reason := y.stopped(v, k, started)
		if reason == "" {
			reason = "the pending reduces are not ramped up yet"
		}
		d.Decline(k, reason)
	}
}

func (f *Fresh) why(v *slots.View, id slots.JobID, k slots.Kind) slots.Why {
	all := append(fairNumbers(v.Job(id)),
		slots.Decimal("remaining map work in seconds", float64(f.work[slots.Map])/1e6), slots.Decimal("remaining reduce work in seconds", float64(f.work[slots.Reduce])/1e6),
		slots.Decimal("map containers s_m", mapContainers(total(v), f.work)), slots.Whole("running maps", v.Running(slots.Map)))
	return slots.Why{Numbers: all, Beaten: beaten(&f.jobs[k], id, v, holds)}
}

func (f *Fresh) decline(v *slots.View, d *slots.Decision, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		d.Decline(k, f.stopped(v, k, started))
	}
}
