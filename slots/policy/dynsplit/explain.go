package dynsplit

import (
	"cmp"
	"fmt"
	"slices"

	"mrlocal/slots"
	"mrlocal/trace"
)

// This file explains decisions in the paper's words. The policy calls it only while explanations
// are on (Decision.Explaining).

// why returns the reasons of a grant: how far the maps of the job are, its share, and the shares
// of all jobs.
func (s *Split) why(v *slots.View, id slots.JobID, k slots.Kind, r slots.Rule) slots.Why {
	j, at := v.Job(id), &s.jobs[id]
	weight := s.weightOf(j)
	names := [trace.Kinds]string{slots.Map: "R_im", slots.Reduce: "R_ir"}
	w := slots.Why{Numbers: []slots.Number{
		{Name: "x", Num: int64(j.Done(slots.Map)), Den: int64(max(j.Total(slots.Map), 1))},
		slots.Decimal("w_m", mapWeight(weight)), slots.Decimal("w_r", weight),
		slots.Decimal(names[k], at.share[k]), slots.Decimal("carried", at.carried[k]), slots.Whole(fmt.Sprintf("running %vs of the job", k), j.Running(k)),
		slots.Decimal("R_M", s.totals[slots.Map]), slots.Decimal("R_R", s.totals[slots.Reduce]),
	}}
	if r == ruleAdditional {
		w.Numbers = append(w.Numbers, slots.Whole("maps of the tracker in their I/O period", v.InPhase(v.Tracker(), slots.PhaseIO)),
			slots.Whole("additional map slots", s.options.AdditionalMapSlots))
	}
	w.Beaten = s.beaten(v, id, k)
	return w
}

// beaten returns the jobs after the winner, at most slots.MostBeaten: those with tasks of kind k,
// then those with tasks of the other kind.
func (s *Split) beaten(v *slots.View, winner slots.JobID, k slots.Kind) (all []slots.Beaten) {
	for _, of := range []slots.Kind{k, k.Other()} {
		after := s.ranks[of].Firsts(nil, slots.MostBeaten+1)
		if of == slots.Reduce && s.earlyFits(v) {
			after = s.early.Firsts(after, slots.MostBeaten+1)
			slices.SortStableFunc(after, func(a, b int32) int { return cmp.Compare(s.jobs[b].below[of], s.jobs[a].below[of]) })
		}
		for _, n := range after {
			id := slots.JobID(n)
			if id == winner && of == k || len(all) == slots.MostBeaten {
				continue
			}
			why := fmt.Sprintf("its %vs are %+.3f slots below their share", of, s.jobs[id].below[of])
			all = append(all, slots.Beaten{Pool: v.Job(id).Pool(), Job: id, Why: why})
		}
	}
	return all
}

// decline explains the end of a visit: why it starts nothing more of each kind.
func (s *Split) decline(v *slots.View, d *slots.Decision, started bool) {
	for k := range slots.Kind(trace.Kinds) {
		d.Decline(k, s.stopped(v, k, started), slots.Decimal("R_M", s.totals[slots.Map]), slots.Decimal("R_R", s.totals[slots.Reduce]))
	}
}

// stopped returns in words why nothing more of kind k starts.
func (s *Split) stopped(v *slots.View, k slots.Kind, started bool) string {
	t := v.Tracker()
	switch {
	case v.Pending(k) == 0:
		return fmt.Sprintf("no %v is pending", k)
	case started:
		return "a heartbeat starts one task"
	case v.FreeAt(t) == 0 || !s.mapFits(v, t):
		return "no slot of the tracker is free, normal or additional"
	case k == slots.Reduce && normalSlots(v, t) == 0:
		return "only an additional map slot is free"
	}
	switch why := s.skips.Why(k); {
	case why != "":
		return why
	case k == slots.Reduce && !within(v.RunningAt(t, k), s.options.ReduceTotal):
		return fmt.Sprintf("the tracker runs as many reduces as it may, %d", s.options.ReduceTotal)
	case k == slots.Reduce && !within(copying(v, t), s.options.ReduceShuffle):
		return fmt.Sprintf("as many reduces of the tracker copy as may, %d", s.options.ReduceShuffle)
	}
	if s.early.Len() > 0 {
		return fmt.Sprintf("%d reduces run, as many as R_R, and the maps of the jobs that want more are not all done", v.Running(k))
	}
	return "the pending reduces have no share yet: too few of their jobs' maps are done"
}
