package omo

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// containers is the base of all policies here: slots of any kind, one task a visit,
// measures, and which jobs changed.
type containers struct {
	measures
	changed []slots.JobID
	skipped []skipped           // out of the rankings until the visit ends
	barred  [trace.Kinds][]bool // by job: its tasks of the kind are skipped
}

// skipped is a job that was refused the container that the visit offered it.
type skipped struct {
	job  slots.JobID
	kind slots.Kind
	why  slots.Refusal // Granted: the policy itself keeps the job back
}

// ranker keeps orderings of jobs.
type ranker interface {
	rank(v *slots.View, j slots.JobView)
}

// update takes in what changed since the last call.
func (c *containers) update(v *slots.View, r ranker) {
	c.changed = v.Changed(c.changed[:0])
	for _, id := range c.changed {
		r.rank(v, v.Job(id))
	}
}

// startable returns how many tasks of kind k of a job may start on this visit.
func (c *containers) startable(j slots.JobView, k slots.Kind) int32 {
	if int(j.ID()) < len(c.barred[k]) && c.barred[k][j.ID()] {
		return 0
	}
	return j.Pending(k)
}

// offer is a container that a policy offers to a job.
type offer struct {
	job  slots.JobID
	kind slots.Kind
	rule slots.Rule
	why  func() slots.Why // what the rule rests on; called only if someone listens
}

// grant starts a task of a job, and reports whether it did. A job that the Ledger
// refuses is skipped until the visit ends.
func (c *containers) grant(v *slots.View, d *slots.Decision, r ranker, o offer) bool {
	if d.Explaining() {
		d.Because(o.why())
	}
	if d.Grant(slots.Grant{Slot: slots.NoSlot, Job: o.job, Kind: o.kind, Task: slots.NoTask, Rule: o.rule}) {
		c.start(v.Now(), d.Started().Slot)
		c.update(v, r)
		return true
	}
	c.bar(skipped{o.job, o.kind, d.Refused()})
	r.rank(v, v.Job(o.job))
	return false
}

// bar keeps tasks of a job from starting until the visit ends.
func (c *containers) bar(o skipped) {
	c.skipped = append(c.skipped, o)
	for int(o.job) >= len(c.barred[o.kind]) {
		c.barred[o.kind] = append(c.barred[o.kind], false)
	}
	c.barred[o.kind][o.job] = true
}

// restore ends a visit: jobs that were skipped are ranked again.
func (c *containers) restore(v *slots.View, r ranker) {
	for _, o := range c.skipped {
		c.barred[o.kind][o.job] = false
		r.rank(v, v.Job(o.job))
	}
	c.skipped = c.skipped[:0]
}

// held returns how many containers a job has.
func held(j slots.JobView) int32 { return j.Running(slots.Map) + j.Running(slots.Reduce) }

// total returns how many containers there are.
func total(v *slots.View) int32 { return v.Capacity(slots.Map) + v.Capacity(slots.Reduce) }

// idle returns how many containers run nothing.
func idle(v *slots.View) int32 {
	return max(total(v)-v.Running(slots.Map)-v.Running(slots.Reduce), 0)
}

// unstarted returns m', how many of a job's maps have not started, or must start
// again.
func unstarted(j slots.JobView) int32 {
	return max(j.Total(slots.Map)-j.Done(slots.Map)-j.Running(slots.Map), 0)
}

// mapsComplete reports whether the job's map stage is complete.
func mapsComplete(j slots.JobView) bool { return j.Sealed() && j.Done(slots.Map) == j.Total(slots.Map) }

// fewest is the key of fair order by containers [OMO21, "order by containers"]: the job
// with the fewest containers for its weight comes first, then the one that was
// submitted earlier, which has the lower id.
type fewest struct{ containers, weight int64 }

func fewestLess(a, b *fewest) bool { return a.containers*b.weight < b.containers*a.weight }

func fewestOf(j slots.JobView) fewest { return fewest{int64(held(j)), int64(j.Weight())} }

func newFewest() slots.Ranking[fewest] { return slots.Ranking[fewest]{Less: fewestLess} }

// put ranks a job, or takes it out of the ranking.
func put[K any](r *slots.Ranking[K], id slots.JobID, in bool, key K) {
	if in {
		r.Set(int32(id), key)
	} else {
		r.Remove(int32(id))
	}
}

// first returns the first job of a ranking.
func first[K any](r *slots.Ranking[K]) (slots.JobID, bool) {
	id, ok := r.First()
	return slots.JobID(id), ok
}

// fewestRule words trace.RuleFewest.
const fewestRule = "its job has the fewest containers for its weight, maps and reduces together"
