package yarn

import (
	"cmp"
	"fmt"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Base is the base of a policy whose slots take any task and whose visits start at most one
// task. It measures finished tasks, and has the policy rank jobs that have changed. A policy
// embeds it.
type Base struct {
	policy.Measures
	Nodes Nodes
	Slow  *policy.Stragglers // finds tasks to copy; nil: none are copied
	skips policy.Skips
	full  [trace.Kinds]bool // by kind: on this visit a task did not fit the tracker
}

// Ranker is the policy that embeds a Base. Rank updates the orderings of the policy for a job
// that may have changed.
type Ranker interface {
	Rank(v *slots.View, j slots.JobView)
}

// Update has r rank the jobs that have changed since the last call.
func (c *Base) Update(v *slots.View, r Ranker) {
	for _, id := range v.Changed() {
		if c.Slow != nil {
			c.Slow.Changed(v.Now(), v.Job(id))
		}
		r.Rank(v, v.Job(id))
	}
}

// Startable returns how many tasks of kind k of a job may start on this visit.
func (c *Base) Startable(j slots.JobView, k slots.Kind) int32 {
	if c.skips.Has(j.ID(), k) {
		return 0
	}
	return j.Pending(k)
}

// Grant starts a task of a job, and reports whether it did. why returns the reasons, and is
// called only while explanations are on. If the Ledger refuses the job, or if the tracker has
// no room for its task, the job is skipped until the visit ends.
func (c *Base) Grant(v *slots.View, d *slots.Decision, r Ranker, g slots.Grant, why func() slots.Why) bool {
	if !c.Nodes.fits(v, v.Job(g.Job), g.Kind) {
		c.full[g.Kind] = true
		c.skips.Add(g.Job, g.Kind, slots.Granted)
	} else if c.skips.Grant(d, g, why) {
		c.Start(v.Now(), d.Started().Slot)
		if c.Slow != nil {
			c.Slow.Started(v, d.Started())
		}
		c.Nodes.charge(v, d.Started().Slot, v.Job(g.Job), g.Kind)
		c.Update(v, r)
		return true
	}
	r.Rank(v, v.Job(g.Job))
	return false
}

// KeepBack skips the reduces of a job until the visit ends, because the policy itself holds them
// back.
func (c *Base) KeepBack(id slots.JobID) { c.skips.Add(id, slots.Reduce, slots.Granted) }

// End ends a visit. It has r rank the skipped jobs again.
func (c *Base) End(v *slots.View, r Ranker) {
	c.skips.End(func(id slots.JobID) { r.Rank(v, v.Job(id)) })
	c.full = [trace.Kinds]bool{}
}

// Held returns how many containers a job has.
func Held(j slots.JobView) int32 { return j.Running(slots.Map) + j.Running(slots.Reduce) }

// Total returns how many containers there are.
func Total(v *slots.View) int32 { return v.Capacity(slots.Map) + v.Capacity(slots.Reduce) }

// Idle returns how many containers run nothing.
func Idle(v *slots.View) int32 {
	return max(Total(v)-v.Running(slots.Map)-v.Running(slots.Reduce), 0)
}

// Unstarted returns m', how many of a job's maps have not started, or must start
// again.
func Unstarted(j slots.JobView) int32 {
	return max(j.Total(slots.Map)-j.Done(slots.Map)-j.Running(slots.Map), 0)
}

// Fewest is the key of fair order by containers [OMO21, "order by containers"]. The job
// with the fewest containers for its weight comes first, then the one that was
// submitted earlier, which has the lower id.
type Fewest struct{ containers, weight int64 }

// Less reports whether f comes before o. Products compare containers ÷ weight exactly.
func (f *Fewest) Less(o *Fewest) bool { return f.containers*o.weight < o.containers*f.weight }

// FewestOf returns the key of a job as it is now.
func FewestOf(j slots.JobView) Fewest { return Fewest{int64(Held(j)), int64(j.Weight())} }

// NewRanking returns an empty ranking in fair order.
func NewRanking() slots.Ranking[Fewest] { return slots.Ranking[Fewest]{Less: (*Fewest).Less} }

// First returns the first job of a ranking.
func First[K any](r *slots.Ranking[K]) (slots.JobID, bool) {
	id, ok := r.First()
	return slots.JobID(id), ok
}

// RuleFewest is the rule of policies that start a task of the job with the fewest
// containers.
const RuleFewest slots.Rule = "fewest-containers"

// FewestWords are the words of RuleFewest in explanations.
const FewestWords = "its job has the fewest containers for its weight, maps and reduces together"

// Holds says in words how many containers a job has.
func Holds(j slots.JobView) string {
	if n := Held(j); n != 1 {
		return fmt.Sprintf("it has %d containers", n)
	}
	return "it has 1 container"
}

// FairNumbers returns the numbers of a job on which fair order by containers depends.
func FairNumbers(j slots.JobView) []slots.Number {
	return []slots.Number{slots.Whole("containers of the job", Held(j)), slots.Decimal("weight", float64(j.Weight())/float64(slots.One))}
}

// Decline explains why a visit starts nothing more. started says whether it has started a task, and own is the
// reason of the policy if no other one holds.
func (c *Base) Decline(v *slots.View, d *slots.Decision, started bool, own string) {
	if d.WantsReason() {
		for k := range slots.Kind(trace.Kinds) {
			d.Decline(k, cmp.Or(policy.NoTask(v, k), policy.If(v.FreeAt(v.Tracker()) == 0, "no slot of the tracker is free"),
				policy.If(started, "a heartbeat starts one task"),
				policy.If(c.full[k], "the tracker has too little CPU or memory left, or reduces that wait would leave no room for maps"),
				c.skips.Why(k), own))
		}
	}
}
