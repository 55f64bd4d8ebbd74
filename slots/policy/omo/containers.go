package omo

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// containers is what all policies here are made of: slots of any kind, one task
// a visit, what is learnt, and which jobs changed.
type containers struct {
	measures
	changed []slots.JobID
	out     []refusal // of the rankings, for the rest of the visit
	barred  [trace.Kinds][]bool
}

// refusal is a job that may not have the container that was offered to it.
type refusal struct {
	job  slots.JobID
	kind slots.Kind
	why  slots.Refusal // Granted: the policy itself keeps it back
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

// startable is how many tasks of kind k of a job may start on this visit.
func (c *containers) startable(j slots.JobView, k slots.Kind) int32 {
	if int(j.ID()) < len(c.barred[k]) && c.barred[k][j.ID()] {
		return 0
	}
	return j.Pending(k)
}

// offer is a grant, and what it rests on.
type offer struct {
	job  slots.JobID
	kind slots.Kind
	rule slots.Rule
	why  func() slots.Why // called only where someone listens
}

// grant starts a task of a job. One that may not have the container is out of
// the rankings for the rest of the visit.
func (c *containers) grant(v *slots.View, d *slots.Decision, r ranker, o offer) bool {
	if d.Explaining() {
		d.Because(o.why())
	}
	if d.Grant(slots.Grant{Slot: slots.NoSlot, Job: o.job, Kind: o.kind, Task: slots.NoTask, Rule: o.rule}) {
		c.start(v.Now(), d.Started().Slot)
		c.update(v, r)
		return true
	}
	c.bar(refusal{o.job, o.kind, d.Refused()})
	r.rank(v, v.Job(o.job))
	return false
}

// bar keeps tasks of a job from starting for the rest of the visit.
func (c *containers) bar(o refusal) {
	c.out = append(c.out, o)
	for int(o.job) >= len(c.barred[o.kind]) {
		c.barred[o.kind] = append(c.barred[o.kind], false)
	}
	c.barred[o.kind][o.job] = true
}

// restore ends a visit: it puts back what was taken out.
func (c *containers) restore(v *slots.View, r ranker) {
	for _, o := range c.out {
		c.barred[o.kind][o.job] = false
		r.rank(v, v.Job(o.job))
	}
	c.out = c.out[:0]
}

// held is how many containers a job has.
func held(j slots.JobView) int32 { return j.Running(slots.Map) + j.Running(slots.Reduce) }

// total is how many containers there are, and idle how many of them run nothing.
func total(v *slots.View) int32 { return v.Capacity(slots.Map) + v.Capacity(slots.Reduce) }

func idle(v *slots.View) int32 {
	return max(total(v)-v.Running(slots.Map)-v.Running(slots.Reduce), 0)
}

// unstarted is m', how many of a job's maps have not been started, or must be
// again.
func unstarted(j slots.JobView) int32 {
	return max(j.Total(slots.Map)-j.Done(slots.Map)-j.Running(slots.Map), 0)
}

// mapsComplete: the job's map stage is complete.
func mapsComplete(j slots.JobView) bool { return j.Sealed() && j.Done(slots.Map) == j.Total(slots.Map) }

// fewest is fair order by containers (O11): who holds the fewest for its weight
// comes first, then who was submitted earlier, which ids are in the order of.
type fewest struct{ containers, weight int64 }

func fewestLess(a, b *fewest) bool { return a.containers*b.weight < b.containers*a.weight }

func fewestOf(j slots.JobView) fewest { return fewest{int64(held(j)), int64(j.Weight())} }

func newFewest() slots.Ranking[fewest] { return slots.Ranking[fewest]{Less: fewestLess} }

// put ranks a job or takes it out.
func put[K any](r *slots.Ranking[K], id slots.JobID, in bool, key K) {
	if in {
		r.Set(int32(id), key)
	} else {
		r.Remove(int32(id))
	}
}

// first is the first job of a ranking.
func first[K any](r *slots.Ranking[K]) (slots.JobID, bool) {
	id, ok := r.First()
	return slots.JobID(id), ok
}

// fewestRule words trace.RuleFewest.
const fewestRule = "its job has the fewest containers for its weight, maps and reduces together"
