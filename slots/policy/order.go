package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// order ranks, for each kind, the pools that have a pending task and the jobs
// inside them, by Hadoop's comparator. It is brought up to date with what
// changed before every grant, so that a grant costs O(log pools + log jobs).
type order struct {
	pools   [2]slots.Ranking[shareKey]
	jobs    [2][]slots.Ranking[shareKey] // by pool
	changed []slots.JobID
	refused []slots.JobID
}

// shareKey is what FairShareComparator looks at (SPEC 1.3), copied.
type shareKey struct {
	rank      int8 // FIFO pools: minus the priority; else 0
	needy     bool // below the min share
	running   int64
	minShare  int64 // min(min share, demand)
	weight    int64
	submitted time.Duration // pools: 0
	name      string        // pools
}

// fairShareLess is FairShareComparator, "distance below min and fair share":
// who is below its min share comes first, of these the one farthest below;
// among the others the one with the fewest running tasks per weight; then the
// earlier, then by name (SPEC 1.3).
func fairShareLess(a, b *shareKey) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.needy != b.needy {
		return a.needy
	}
	left, right := a.running*b.weight, b.running*a.weight
	if a.needy {
		left, right = a.running*max(b.minShare, 1), b.running*max(a.minShare, 1)
	}
	if left != right {
		return left < right
	}
	if a.submitted != b.submitted {
		return a.submitted < b.submitted
	}
	return a.name < b.name
}

// update takes in what changed since the last call.
func (o *order) update(v *slots.View) {
	o.changed = v.Changed(o.changed[:0])
	for _, id := range o.changed {
		o.rank(v, id)
	}
}

func (o *order) rank(v *slots.View, id slots.JobID) {
	j := v.Job(id)
	for k := range slots.Kind(trace.Kinds) {
		for int(j.Pool()) >= len(o.jobs[k]) {
			o.jobs[k] = append(o.jobs[k], slots.Ranking[shareKey]{Less: fairShareLess})
		}
		jobs := &o.jobs[k][j.Pool()]
		if j.Pending(k) > 0 {
			jobs.Set(int32(id), jobKey(v, j, k))
		} else {
			jobs.Remove(int32(id))
		}
		o.rankPool(v, j.Pool(), k)
	}
}

func (o *order) rankPool(v *slots.View, id slots.PoolID, k slots.Kind) {
	o.pools[k].Less = fairShareLess
	p := v.Pool(id)
	limit := p.Config().Max(k)
	if o.jobs[k][id].Len() == 0 || limit > 0 && p.Running(k) >= limit {
		o.pools[k].Remove(int32(id))
		return
	}
	o.pools[k].Set(int32(id), poolKey(p, k))
}

// poolKey: a pool's demand is what its jobs want, capped (SPEC 1.4).
func poolKey(p slots.PoolView, k slots.Kind) shareKey {
	c := p.Config()
	demand := int64(p.Pending(k)) + int64(p.Running(k))
	if limit := int64(c.Max(k)); limit > 0 {
		demand = min(demand, limit)
	}
	key := shareKey{running: int64(p.Running(k)), minShare: min(int64(c.Min(k)), demand), weight: int64(c.Weight), name: c.Name}
	key.needy = key.running < key.minShare
	return key
}

// jobKey: inside a pool jobs have no min share; a FIFO pool orders them by
// priority and submission (FifoComparator).
func jobKey(v *slots.View, j slots.Job, k slots.Kind) shareKey {
	if v.Pool(j.Pool()).Config().FIFO {
		return shareKey{rank: -int8(j.Priority()), weight: 1, submitted: j.Submitted()}
	}
	return shareKey{running: int64(j.Running(k)), weight: int64(j.Weight()), submitted: j.Submitted()}
}

// grant starts a task of kind k of the first job of the first pool that may
// have one. needy tells the rule apart where the caller leaves it open
// (trace.RuleNone).
func (o *order) grant(v *slots.View, d *slots.Decision, k slots.Kind, rule slots.Rule) bool {
	o.update(v)
	granted := false
	for !granted {
		pool, ok := o.pools[k].First()
		if !ok {
			break
		}
		id, _ := o.jobs[k][pool].First()
		r := rule
		if r == trace.RuleNone {
			r = shareRule(v, slots.PoolID(pool), k)
		}
		granted = d.Grant(slots.Grant{Slot: slots.NoSlot, Job: slots.JobID(id), Kind: k, Task: slots.NoTask, Rule: r})
		if !granted { // the Ledger's deadlock guard; another job's task may do
			o.refused = append(o.refused, slots.JobID(id))
			o.jobs[k][pool].Remove(id)
			o.rankPool(v, slots.PoolID(pool), k)
		}
	}
	for _, id := range o.refused {
		o.rank(v, id)
	}
	o.refused = o.refused[:0]
	return granted
}

func shareRule(v *slots.View, p slots.PoolID, k slots.Kind) slots.Rule {
	if key := poolKey(v.Pool(p), k); key.needy {
		return trace.RuleMinShare
	}
	return trace.RuleFairShare
}
