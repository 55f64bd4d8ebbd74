package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Copies is the part of an Order that starts copies of running tasks. A
// Speculation says which tasks are worth one. Speculative execution performance balancing
// (SEPB) says whether copies may start before pending tasks now: a copy helps its
// job, a pending task helps the batch [DynamicMR14, "sepb"].
//
// To the Order a task that is worth a copy is one more task that its job may start,
// as in Hadoop 1.0.3, JobSchedulable.updateDemand.
type Copies struct {
	*Speculation
	checked [trace.Kinds]slots.PPM                  // by kind: share of the running jobs that are checked for pending tasks
	idle    func(v *slots.View, k slots.Kind) int32 // slots that tasks of kind k could have now
	open    [trace.Kinds]bool                       // copies may start
	running int32                                   // jobs
	inOrder [trace.Kinds]runningJobs                // kept where some jobs are checked and others not
	isIn    []bool                                  // by job: it counts as running
	asked   time.Duration                           // progress is reported from then on; negative: nobody asked for it
	before  []slots.JobID                           // scratch
}

// RuleSpeculative is the rule of copies of running tasks.
const RuleSpeculative slots.Rule = "speculative"

// SpeculativeWords words RuleSpeculative under the options.
func (o *Options) SpeculativeWords() string {
	which := "It is among the slowest quarter of its kind and will end last of them, and later than a copy that takes the usual time"
	if o.CopyRule == copyHadoop {
		which = "Its progress is 0.2 or more behind the average of its kind in its job"
	}
	return "a second attempt of a task that is running already; the first one to finish counts. " + which + "; no task that goes before copies needs the slot (SEPB)"
}

// NewCopies returns Copies for one Ledger. Of o only CopyAfter and CopyRule count. checked is, by
// kind, the share of the running jobs whose pending tasks go before copies (Options.JobsChecked).
// atInput: a tracker copies maps whose input it has before those that end later. Step 3 of
// DynamicMR serves pending and speculative maps alike [DynamicMR14, "slot prescheduling"]. idle
// returns how many slots tasks of a kind could have now.
func NewCopies(o *Options, checked [trace.Kinds]slots.PPM, atInput bool, idle func(v *slots.View, k slots.Kind) int32) *Copies {
	s := newSpeculation(o)
	s.local = atInput
	return &Copies{Speculation: s, checked: checked, idle: idle, asked: -1}
}

// of returns how many copies of a job's tasks may start.
func (c *Copies) of(id slots.JobID, k slots.Kind) int32 {
	if c == nil || !c.open[k] {
		return 0
	}
	return c.Of(id, k)
}

// copiesIn returns how many copies of a pool's tasks may start.
func (o *Order) copiesIn(v *slots.View, id slots.PoolID, k slots.Kind) (n int32) {
	if o.copies == nil || !o.copies.open[k] {
		return 0
	}
	o.copies.Each(k, func(c *Candidate) {
		if o.placeOf(v.Job(c.Attempt.Job)) == id {
			n++
		}
	})
	return n
}

// changed takes in a job that changed, and reports whether it runs.
func (c *Copies) changed(v *slots.View, j slots.JobView) (in bool) {
	c.Changed(v.Now(), j)
	isIn := At(&c.isIn, j.ID())
	if in = j.Runnable() && !j.Ended(); in != *isIn {
		*isIn = in
		if c.running--; in {
			c.running += 2
		}
	}
	return in
}

func (o *Order) rankCopied(v *slots.View, id slots.JobID, k slots.Kind) {
	j := v.Job(id)
	o.rank(v, j, k)
	o.rankPool(v, o.placeOf(j), k)
}

// startable returns how many copies count as tasks that may start.
func (c *Copies) startable(k slots.Kind) int32 {
	if !c.open[k] {
		return 0
	}
	return c.Candidates(k)
}

// look finds the tasks that are worth a copy, if that is due and their progress
// has been reported.
func (o *Order) look(v *slots.View) {
	c := o.copies
	if c == nil {
		return
	}
	jobs := c.jobsOf(c.before[:0])
	changed := c.Expire(v.Now())
	if c.asked >= 0 && v.Now() >= c.asked { // progress that is not used now will be stale later
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

// mayCopy reports whether a copy of a running task could have the next free slot,
// if the task is worth one.
func (o *Order) mayCopy(v *slots.View) bool {
	for k := range slots.Kind(trace.Kinds) {
		if v.Running(k) == 0 {
			continue
		}
		if idle := max(o.copies.idle(v, k), 1); leavesSlots(o.pendingChecked(v, k, idle), idle) {
			return true
		}
	}
	return false
}

// askProgress ends a visit: it asks for the progress of all running attempts,
// which the next look needs. If slots are idle, it asks for a visit at that time.
func (o *Order) askProgress(v *slots.View, d *slots.Decision) {
	c := o.copies
	if c == nil || c.running == 0 || c.Due() < 0 || !o.mayCopy(v) {
		return
	}
	if c.asked < 0 {
		c.asked = max(c.Due(), v.Now()+1) // the progress known at this instant is stale
	}
	d.Probe(c.asked)
	w := v.Weights()
	if v.Used(slots.Map)+v.Used(slots.Reduce) < w.Times(slots.Map, v.Capacity(slots.Map))+w.Times(slots.Reduce, v.Capacity(slots.Reduce)) {
		d.WakeAt(max(c.asked, v.Now()))
	}
}

// jobsOf appends the jobs that have candidates to ids.
func (c *Copies) jobsOf(ids []slots.JobID) []slots.JobID {
	for k := range slots.Kind(trace.Kinds) {
		c.Each(k, func(c *Candidate) { ids = append(ids, c.Attempt.Job) })
	}
	return ids
}

// Speculating makes a policy learn for the copies of its Order: the policy embeds
// it and so is a slots.Observer and a slots.Speculator.
type Speculating struct{ Order *Order }

// Observe implements slots.Observer.
func (s *Speculating) Observe(f slots.Fact) {
	if c := s.Order.copies; c != nil {
		c.Observe(&f)
	}
}

// Speculates implements slots.Speculator.
func (s *Speculating) Speculates(_ *slots.View, k slots.Kind) bool {
	c := s.Order.copies
	return c != nil && c.startable(k) > 0
}
