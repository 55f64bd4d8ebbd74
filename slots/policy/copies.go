package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/trace"
)

// copies is the part of an order that is about copies of running tasks: which are
// worth one (LATE), and whether they may go before pending tasks now (SEPB). To
// the order such a task is one more that its job may start, as Hadoop counts it
// (SPEC 1.4). Nil has none.
type copies struct {
	*dynamicmr.Speculation
	checked slots.PPM                               // of the running jobs, those checked for pending tasks
	idle    func(v *slots.View, k slots.Kind) int32 // slots that tasks of kind k could have now
	open    [trace.Kinds]bool                       // copies may start
	running int32                                   // jobs
	isIn    []bool                                  // by job: it counts as running
	asked   time.Duration                           // from when on progress is told; negative: that was not asked for
	before  []slots.JobID                           // scratch
}

// of is how many copies of a job's tasks may start.
func (c *copies) of(id slots.JobID, k slots.Kind) int32 {
	if c == nil || !c.open[k] {
		return 0
	}
	return c.Of(id, k)
}

// inPool is how many copies of a pool's tasks may start.
func (o *order) copiesIn(v *slots.View, id slots.PoolID, k slots.Kind) (n int32) {
	if o.copies == nil || !o.copies.open[k] {
		return 0
	}
	o.copies.Each(k, func(c *dynamicmr.Candidate) {
		if o.placeOf(v.Job(c.Attempt.Job)) == id {
			n++
		}
	})
	return n
}

// changed takes in a job that changed.
func (c *copies) changed(v *slots.View, j slots.JobView) {
	c.Changed(v.Now(), j)
	for int(j.ID()) >= len(c.isIn) {
		c.isIn = append(c.isIn, false)
	}
	if in := j.Runnable() && !j.Ended(); in != c.isIn[j.ID()] {
		c.isIn[j.ID()] = in
		if c.running--; in {
			c.running += 2
		}
	}
}

// balance follows every change: copies of a kind come and go with the slots that
// pending tasks leave (SEPB).
func (o *order) balance(v *slots.View) {
	for k := range slots.Kind(trace.Kinds) {
		open := o.copies.Candidates(k) > 0 && o.leavesSlots(v, k)
		if open == o.copies.open[k] {
			continue
		}
		o.copies.open[k] = open
		o.copies.Each(k, func(c *dynamicmr.Candidate) { o.rankCopied(v, c.Attempt.Job, k) })
	}
}

func (o *order) rankCopied(v *slots.View, id slots.JobID, k slots.Kind) {
	j := v.Job(id)
	o.rank(v, j, k)
	o.rankPool(v, o.placeOf(j), k)
}

// leavesSlots: the tasks that pend in the jobs checked leave a slot for a copy.
func (o *order) leavesSlots(v *slots.View, k slots.Kind) bool {
	idle := o.copies.idle(v, k)
	return dynamicmr.LeavesSlots(o.pendingChecked(v, k, idle), idle)
}

// pendingChecked is totalNumOfPendingMapTasks or …ReduceTasks: what pends in the
// first jobs, pools and jobs in fair order, up to enough.
func (o *order) pendingChecked(v *slots.View, k slots.Kind, enough int32) (n int32) {
	most := dynamicmr.MostJobsChecked(o.copies.checked, o.copies.running)
	if most == 0 {
		return 0
	}
	if most == o.copies.running {
		return o.total[k].pending
	}
	for _, pool := range o.pools[k].Firsts(nil, int(most)) {
		for _, number := range o.jobs[k][pool].Firsts(nil, int(most)) {
			if n += v.Job(o.members[pool][number]).Pending(k); n >= enough {
				return n
			}
			if most--; most == 0 {
				return n
			}
		}
	}
	return n
}

// copiesOpen is how many copies count as startable.
func (o *order) copiesOpen(k slots.Kind) int32 {
	if !o.copies.open[k] {
		return 0
	}
	return o.copies.Candidates(k)
}

// look looks for tasks that are worth a copy, where that is due and their
// progress has been told.
func (o *order) look(v *slots.View) {
	c := o.copies
	if c == nil {
		return
	}
	jobs := c.jobsOf(c.before[:0])
	changed := c.Expire(v.Now())
	if c.asked >= 0 && v.Now() >= c.asked { // what is not used now will be old
		c.asked = -1
		if o.mayCopy(v) {
			c.Look(v)
			changed = true
		}
	}
	if c.before = c.jobsOf(jobs); !changed {
		return
	}
	for _, id := range c.before {
		for k := range slots.Kind(trace.Kinds) {
			o.rankCopied(v, id, k)
		}
	}
	o.balance(v)
}

// mayCopy: something runs of which a copy might have the next slot that is free,
// if it is worth one.
func (o *order) mayCopy(v *slots.View) bool {
	for k := range slots.Kind(trace.Kinds) {
		idle := max(o.copies.idle(v, k), 1)
		if v.Running(k) > 0 && dynamicmr.LeavesSlots(o.pendingChecked(v, k, idle), idle) {
			return true
		}
	}
	return false
}

// askProgress ends a visit: the next look needs to know how far everything is.
// Where slots idle it wants to be asked then.
func (o *order) askProgress(v *slots.View, d *slots.Decision) {
	c := o.copies
	if c == nil || c.running == 0 || c.Due() < 0 || !o.mayCopy(v) {
		return
	}
	if c.asked < 0 {
		c.asked = max(c.Due(), v.Now()+1) // at this instant what is known is old
	}
	d.Probe(c.asked)
	if v.Used(slots.Map)+v.Used(slots.Reduce) < capacity(v, slots.Map)+capacity(v, slots.Reduce) {
		d.WakeAt(max(c.asked, v.Now()))
	}
}

// jobsOf appends the jobs that have candidates.
func (c *copies) jobsOf(ids []slots.JobID) []slots.JobID {
	for k := range slots.Kind(trace.Kinds) {
		c.Each(k, func(c *dynamicmr.Candidate) { ids = append(ids, c.Attempt.Job) })
	}
	return ids
}

// copy makes a grant of a job that has nothing pending one of a copy.
func (o *order) copy(v *slots.View, g *slots.Grant) (dynamicmr.Candidate, bool) {
	c, ok := o.copies.For(v, g.Job, g.Kind)
	if ok {
		g.Task, g.Speculative, g.Rule, g.Locality = c.Attempt.Task, true, trace.RuleSpeculative, slots.LevelAny
	}
	return c, ok
}

// speculating is the part of a policy that learns for its order's copies.
type speculating struct{ order *order }

// Observe implements slots.Observer.
func (s *speculating) Observe(f slots.Fact) {
	if s.order.copies != nil {
		s.order.copies.Observe(&f)
	}
}

// Speculates implements slots.Speculator.
func (s *speculating) Speculates(_ *slots.View, k slots.Kind) bool {
	return s.order.copies != nil && s.order.copiesOpen(k) > 0
}
