package policy

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// Copies is the part of an Order that starts copies of running tasks. The embedded speculation
// finds the tasks that are worth a copy. SEPB decides whether copies may start now, although
// tasks are pending. A copy helps its own job; a pending task helps the batch [DynamicMR14,
// "sepb"].
//
// The Order counts a task that is worth a copy as one more task that its job may start, as
// in Hadoop 1.0.3, JobSchedulable.updateDemand.
type Copies struct {
	*speculation
	checked [trace.Kinds]slots.PPM                  // by kind: share of the running jobs that are checked for pending tasks
	idle    func(v *slots.View, k slots.Kind) int32 // slots that tasks of kind k could have now
	open    [trace.Kinds]bool                       // by kind: copies may start
	current [trace.Kinds]bool                       // by kind: the rankings include copies (Order.rerank)
	running int32                                   // number of running jobs
	inOrder [trace.Kinds]runningJobs                // by kind; kept only if some jobs are checked and others not
	counted []bool                                  // by job: it counts in running
}

// RuleSpeculative is the rule of copies of running tasks.
const RuleSpeculative slots.Rule = "speculative"

// SpeculativeWords returns the words of RuleSpeculative under the options, for Traits.Rules.
func (o *Options) SpeculativeWords() string {
	which := "It is among the slowest quarter of its kind and will end last of them, and later than a copy that takes the usual time"
	if o.CopyRule == copyHadoop {
		which = "Its progress is 0.2 or more behind the average of its kind in its job"
	}
	return "a second attempt of a task that is running already; the first one to finish counts. " + which
}

// NewCopies returns Copies for one Ledger. It uses only CopyAfter and CopyRule of o. checked is,
// by kind, the share of the running jobs whose pending tasks go before copies. If atInput is
// true, a tracker prefers to copy maps whose input it has. Step 3 of DynamicMR treats pending and
// speculative maps alike [DynamicMR14, "slot prescheduling"]. Otherwise it copies the map that
// ends last. idle returns how many slots tasks of a kind could have now.
func NewCopies(o *Options, checked [trace.Kinds]slots.PPM, atInput bool, idle func(v *slots.View, k slots.Kind) int32) *Copies {
	s := newSpeculation(o)
	s.local = atInput
	return &Copies{speculation: s, checked: checked, idle: idle}
}

// ranked returns how many copies of a job's tasks of kind k may start, for the rank of the job. c
// may be nil.
func (c *Copies) ranked(id slots.JobID, k slots.Kind) int32 {
	if c == nil || int(id) >= len(c.jobs) || c.jobs[id] == nil {
		return 0
	}
	n := &c.jobs[id].kinds[k]
	if n.ranked = n.worth; !c.current[k] {
		return 0
	}
	return n.worth
}

// copiesIn returns how many copies of a pool's tasks of kind k may start.
func (o *Order) copiesIn(id slots.PoolID, k slots.Kind) int32 {
	if o.copies == nil || !o.copies.current[k] || o.copies.worth[k] == 0 {
		return 0
	}
	return *At(&o.copies.inPool[k], id)
}

// changed updates the candidates and the number of running jobs after a change of job j. It
// reports whether the job runs: it is admitted and has not ended.
func (c *Copies) changed(v *slots.View, j slots.JobView) (in bool) {
	c.speculation.Changed(v.Now(), j)
	counted := At(&c.counted, j.ID())
	if in = j.Runnable() && !j.Ended(); in != *counted {
		*counted = in
		if c.running--; in {
			c.running += 2
		}
	}
	return in
}

// look drops stale candidates. If the driver has answered a Probe, it also finds the tasks that
// are worth a copy. Then it ranks the jobs again that have or had candidates.
func (o *Order) look(v *slots.View) {
	c := o.copies
	if c == nil {
		return
	}
	looks := c.answered(v.Now()) && o.mayCopy(v)
	if !looks && v.Now() < c.expires {
		return
	}
	if looks {
		c.look(v)
	} else if !c.expire(v.Now()) {
		return
	}
	for _, g := range c.recounted {
		m := c.jobs[g.job]
		if m == nil { // the job has ended
			continue
		}
		k := &m.kinds[g.kind]
		if k.recounted = false; k.ranked != k.worth {
			o.rankAgain(v, g.job, g.kind)
		}
	}
	c.recounted = c.recounted[:0]
	o.balance(v)
}

// mayCopy reports whether SEPB would let a copy start on the next free slot, if some running
// task were worth one. If not, looks are useless.
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

// askProgress asks for the progress of all running attempts, which the next look needs. If
// slots are idle, it also asks for a wake-up at that time. Otherwise the look can wait until a
// slot becomes free.
func (o *Order) askProgress(v *slots.View, d *slots.Decision) {
	c := o.copies
	if c == nil || c.running == 0 || c.due < 0 || !o.mayCopy(v) {
		return
	}
	c.probe(v, d)
	w := v.Weights()
	if v.Used(slots.Map)+v.Used(slots.Reduce) < w.Times(slots.Map, v.Capacity(slots.Map))+w.Times(slots.Reduce, v.Capacity(slots.Reduce)) {
		d.WakeAt(max(c.asked, v.Now()))
	}
}

// Speculating passes facts to the copies of an Order. A policy embeds it and so is a
// slots.Observer and a slots.Speculator. Order must not be nil.
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
	return c != nil && c.open[k] && c.worth[k] > 0
}
