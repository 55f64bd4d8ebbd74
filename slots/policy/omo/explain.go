package omo

import (
	"fmt"
	"slices"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/yarn"
)

// This file explains decisions in the paper's words. Policies call it only while explanations
// are on (Decision.Explaining).

// whyFewest returns the reasons of a grant by the fair scheduler, with the jobs after the winner.
func (s *OMO) whyFewest(v *slots.View, id slots.JobID) slots.Why {
	w := slots.Why{Numbers: yarn.FairNumbers(v.Job(id)), Beaten: policy.Beaten(&s.fair, id, v, yarn.Holds)}
	if s.options.ContainerOrder == orderDeficit {
		deficit := func(j slots.JobView) float64 { return s.jobs[j.ID()].account.deficit }
		w.Numbers = append(w.Numbers, slots.Decimal("container-seconds it is owed", deficit(v.Job(id))))
		w.Beaten = policy.Beaten(&s.fair, id, v, func(j slots.JobView) string {
			return fmt.Sprintf("it is owed %.3g container-seconds; %s", deficit(j), yarn.Holds(j))
		})
	}
	return w
}

// whyReduce returns the reasons of a reduce by [OMO21, Alg. 1].
func (s *OMO) whyReduce(v *slots.View, id slots.JobID, rule slots.Rule) slots.Why {
	j := v.Job(id)
	w := slots.Why{Numbers: s.overlapNumbers(v, j)}
	if rule == ruleConsecutive {
		w.Numbers = []slots.Number{slots.Whole("reduces launched", s.jobs[id].launched-1), slots.Whole("reduces of the job", j.Total(slots.Reduce))}
		w.Beaten = policy.Beaten(&s.begun, id, v, func(slots.JobView) string { return "its reduce stage began later" })
	}
	w.Beaten = andThen(w.Beaten, policy.Beaten(&s.ready, id, v, func(j slots.JobView) string { return "its reduce stage has not begun; " + yarn.Holds(j) }))
	w.Beaten = andThen(w.Beaten, policy.Beaten(&s.fair, id, v, func(slots.JobView) string { return "a reduce stage goes first" }))
	return w
}

// andThen appends the entries of more whose jobs are not in all.
func andThen(all, more []slots.Beaten) []slots.Beaten {
	for _, b := range more {
		if !slices.ContainsFunc(all, func(a slots.Beaten) bool { return a.Job == b.Job }) {
			all = append(all, b)
		}
	}
	return all
}

// overlapNumbers returns the numbers of [OMO21, eq. 2-3] for a job, as far as they are known.
func (s *OMO) overlapNumbers(v *slots.View, j slots.JobView) []slots.Number {
	all := []slots.Number{slots.Whole("pending maps m'", yarn.Unstarted(j))}
	g, ok := s.gapOf(v, j)
	if !ok {
		return all
	}
	observed, level, _ := s.estimates(j.ID())
	all = append(all, slots.Decimal("x*", g.aligned()), slots.Decimal("T_s", g.shuffle), slots.Decimal("T_m", g.mapTime))
	if yarn.Unstarted(j) == 0 || g.frequency > 0 {
		all = append(all, slots.Decimal("β", gap(g.shuffle, g.mapTime, g.frequency, yarn.Unstarted(j))))
	}
	return append(all, slots.Decimal("F_o", observed), slots.Decimal("A_o", level), slots.Whole("D", s.active))
}

// whyBatch returns the reasons of a grant by batch finish, in the paper's symbols.
func (s *OMO) whyBatch(v *slots.View, id slots.JobID) slots.Why {
	j := v.Job(id)
	observed, level, _ := s.estimates(j.ID())
	return slots.Why{
		Numbers: []slots.Number{
			slots.Whole("pending maps m'", yarn.Unstarted(j)), slots.Decimal("t_fair - t_batch", s.benefit(j)), slots.Decimal("T_m", s.Of(id).Mean(slots.Map).Seconds()),
			slots.Decimal("F_o", observed), slots.Decimal("A_o", level), slots.Whole("D", s.active),
		},
		Beaten: andThen(policy.Beaten(&s.waves, id, v, func(slots.JobView) string { return "it gains less" }),
			policy.Beaten(&s.fair, id, v, func(slots.JobView) string { return "it does not finish its maps in a batch" })),
	}
}
