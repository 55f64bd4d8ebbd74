package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/trace"
)

// order ranks, for each kind, the pools that have a task which may start and the
// jobs inside them. It is brought up to date with what changed before every
// grant, so that a grant costs O(log pools + log jobs), however many there are.
type order struct {
	shape   shape
	pools   [2]slots.Ranking[shareKey]
	jobs    [2][]slots.Ranking[shareKey] // by pool; a job is its number there
	numbers []int32                      // by job: how many jobs of its pool came before it
	members [][]slots.JobID              // by pool and number
	demands [2][]kindDemand              // by pool
	total   [2]kindDemand
	changed []slots.JobID
	updates int64   // jobs that changed, so far
	out     []taken // of the ranking, for the rest of the visit
	delay   delay
	copies  *copies // of running tasks; nil: none
}

// shape is what is ranked.
type shape uint8

const (
	perKind  shape = iota // pools by their tasks of the kind: the fair scheduler, PI-DHFS
	together              // pools by their maps and reduces together: PD-DHFS (A14)
	lineUp                // no pools, all jobs in one line: FIFO
)

// kindDemand is a pool's demand of one kind (SPEC 1.4): what its jobs want, capped
// by the pool's limit, how much of it may start now, and how much of that pends.
// The rest of what may start is copies.
type kindDemand struct{ all, startable, pending int32 }

// taken is a job that may not have the slot that was offered to it.
type taken struct {
	job  slots.JobID
	kind slots.Kind
	why  slots.Refusal
	copy bool // of a running task was what was refused
}

// shareKey is what FairShareComparator looks at (SPEC 1.3), copied.
type shareKey struct {
	rank      int8 // FIFO: minus the priority; else 0
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
	o.updates += int64(len(o.changed))
	for _, id := range o.changed {
		j := v.Job(id)
		if o.copies != nil {
			o.copies.changed(v, j)
		}
		for k := range slots.Kind(trace.Kinds) {
			o.rank(v, j, k)
			o.rankPool(v, o.placeOf(j), k)
		}
	}
	if o.copies != nil {
		o.balance(v)
	}
}

// placeOf is the pool that a job stands in, as this order sees it.
func (o *order) placeOf(j slots.JobView) slots.PoolID {
	if o.shape == lineUp {
		return 0
	}
	return j.Pool()
}

func (o *order) rank(v *slots.View, j slots.JobView, k slots.Kind) {
	place := o.placeOf(j)
	for int(place) >= len(o.jobs[k]) {
		o.jobs[k] = append(o.jobs[k], slots.Ranking[shareKey]{Less: fairShareLess})
		o.demands[k] = append(o.demands[k], kindDemand{})
	}
	jobs, n := &o.jobs[k][place], o.numberOf(v, j.ID())
	if j.Pending(k)+o.copies.of(j.ID(), k) > 0 {
		jobs.Set(n, o.jobKey(v, j, k))
	} else {
		jobs.Remove(n)
	}
}

// numberOf is a job's number among the jobs of its pool, in the order of ids. A
// ranking takes room for all ids up to the greatest: with the jobs' own ids,
// 100,000 jobs in pools of their own would take its square.
func (o *order) numberOf(v *slots.View, id slots.JobID) int32 {
	for int(id) >= len(o.numbers) {
		next := slots.JobID(len(o.numbers))
		place := o.placeOf(v.Job(next))
		for int(place) >= len(o.members) {
			o.members = append(o.members, nil)
		}
		o.numbers = append(o.numbers, int32(len(o.members[place])))
		o.members[place] = append(o.members[place], next)
	}
	return o.numbers[id]
}

// rankPool ranks a pool for kind k where one of its jobs may start a task.
func (o *order) rankPool(v *slots.View, id slots.PoolID, k slots.Kind) {
	o.pools[k].Less = fairShareLess
	d := o.demandOf(v, id, k)
	o.total[k].all += d.all - o.demands[k][id].all
	o.total[k].startable += d.startable - o.demands[k][id].startable
	o.total[k].pending += d.pending - o.demands[k][id].pending
	o.demands[k][id] = d
	if o.jobs[k][id].Len() == 0 || d.startable == 0 {
		o.pools[k].Remove(int32(id))
		return
	}
	o.pools[k].Set(int32(id), o.poolKey(v, id, k))
}

// demandOf: a pool's demand is what its jobs want, capped by maxMaps or
// maxReduces (SPEC 1.4).
func (o *order) demandOf(v *slots.View, id slots.PoolID, k slots.Kind) kindDemand {
	if o.shape == lineUp {
		return kindDemand{v.Pending(k) + v.Running(k), v.Pending(k), v.Pending(k)}
	}
	return poolDemand(v.Pool(id), k, o.copiesIn(v, id, k))
}

// poolDemand counts a task that is worth a copy as one more.
func poolDemand(p slots.PoolView, k slots.Kind, copies int32) kindDemand {
	startable := p.Pending(k) + copies
	d := kindDemand{startable + p.Running(k), startable, p.Pending(k)}
	if limit := p.Config().Max(k); limit > 0 {
		d.all = min(d.all, limit)
		room := max(limit-p.Running(k), 0)
		d.startable, d.pending = min(d.startable, room), min(d.pending, room)
	}
	return d
}

// poolKey is where a pool stands for kind k; under PD-DHFS for both (A14).
func (o *order) poolKey(v *slots.View, id slots.PoolID, k slots.Kind) shareKey {
	if o.shape == lineUp {
		return shareKey{weight: 1}
	}
	p := v.Pool(id)
	c := p.Config()
	key := shareKey{
		running: int64(p.Running(k)), minShare: min(int64(c.Min(k)), int64(poolDemand(p, k, 0).all)),
		weight: int64(c.Weight), name: c.Name,
	}
	if o.shape == together {
		both := int64(poolDemand(p, slots.Map, 0).all) + int64(poolDemand(p, slots.Reduce, 0).all)
		key.running = int64(p.Running(slots.Map)) + int64(p.Running(slots.Reduce))
		key.minShare = min(int64(c.MinMaps)+int64(c.MinReduces), both)
	}
	key.needy = key.running < key.minShare
	return key
}

// jobKey: inside a pool jobs have no min share; a FIFO pool, and a scheduler
// without pools, orders them by priority and submission (FifoComparator).
func (o *order) jobKey(v *slots.View, j slots.JobView, k slots.Kind) shareKey {
	if o.shape == lineUp || v.Pool(j.Pool()).Config().FIFO {
		return shareKey{rank: -int8(j.Priority()), weight: 1, submitted: j.Submitted()}
	}
	return shareKey{running: int64(j.Running(k)), weight: int64(j.Weight()), submitted: j.Submitted()}
}

// offer is what grant may do: start tasks of Kind by Rule, with numbers that
// explain it. RuleNone leaves the rule to the pool's standing.
type offer struct {
	kind    slots.Kind
	rule    slots.Rule
	numbers func() []slots.Number // called only where someone listens
}

// begin is a heartbeat.
func (o *order) begin(v *slots.View) {
	o.delay.beat(v.Now())
	o.update(v)
	o.look(v)
}

// grant starts a task of the first job of the first pool that may have one.
func (o *order) grant(v *slots.View, d *slots.Decision, f offer) bool {
	for {
		pool, ok := o.pools[f.kind].First()
		if !ok {
			return false
		}
		if o.try(v, d, slots.PoolID(pool), f, false) {
			return true
		}
	}
}

// try offers the slot to the first job of a pool. A job that may not have it is
// out of the ranking for the rest of the visit. anywhere lifts the wait for a local slot.
func (o *order) try(v *slots.View, d *slots.Decision, pool slots.PoolID, f offer, anywhere bool) bool {
	first, _ := o.jobs[f.kind][pool].First()
	id := o.members[pool][first]
	if f.rule == trace.RuleNone {
		f.rule = o.shareRule(v, pool, f.kind)
	}
	g := slots.Grant{Slot: slots.NoSlot, Job: id, Kind: f.kind, Task: slots.NoTask, Rule: f.rule}
	if f.kind == slots.Map && !anywhere {
		g.Locality = o.delay.allowed(v, id) // LevelAny while nobody waits
	}
	if o.copies != nil && v.Job(id).Pending(f.kind) == 0 {
		c, ok := o.copy(v, &g)
		if !ok {
			o.refuse(v, d, pool, taken{id, f.kind, slots.RefusedSameHost, true})
			return false
		}
		f.numbers = func() []slots.Number { return copyNumbers(v, &c) }
	}
	if d.Explaining() {
		d.Because(o.why(v, pool, id, f))
	}
	if d.Grant(g) {
		o.started(v, d, g)
		return true
	}
	o.refuse(v, d, pool, taken{id, f.kind, d.Refused(), g.Speculative})
	return false
}

// started follows a grant that was applied.
func (o *order) started(v *slots.View, d *slots.Decision, g slots.Grant) {
	if g.Kind == slots.Map && !g.Speculative {
		o.delay.launched(g.Job, d.Started().Locality)
	}
	if o.copies != nil {
		o.copies.Started(v, d.Started())
	}
	o.update(v)
}

// preSchedule gives an extra idle slot of the visited tracker to the pool and the
// job that fairness ranks first, where that has a map whose input is there.
func (o *order) preSchedule(v *slots.View, d *slots.Decision, extra int32, numbers func() []slots.Number) bool {
	pool, ok := o.pools[slots.Map].First()
	if !ok {
		return false
	}
	first, _ := o.jobs[slots.Map][pool].First()
	id := o.members[pool][first]
	if v.Job(id).Pending(slots.Map) == 0 || !dynamicmr.PreSchedules(0, extra, v.Local(id, v.Tracker())) {
		return false
	}
	g := slots.Grant{Slot: slots.NoSlot, Job: id, Kind: slots.Map, Task: slots.NoTask, Rule: trace.RulePreScheduled, Locality: slots.LevelTracker}
	if d.Explaining() {
		d.Because(o.why(v, slots.PoolID(pool), id, offer{slots.Map, g.Rule, numbers}))
	}
	if !d.Grant(g) {
		return false
	}
	o.started(v, d, g)
	return true
}

// refuse takes a job out: the Ledger's deadlock guard keeps its reduce back, its
// tasks failed on this tracker, or it waits for a local slot. Another job's task
// may do.
func (o *order) refuse(v *slots.View, d *slots.Decision, pool slots.PoolID, t taken) {
	if t.why == slots.RefusedLocality {
		o.delay.skip(v, d, t.job)
	}
	o.out = append(o.out, t)
	o.jobs[t.kind][pool].Remove(o.numberOf(v, t.job))
	o.rankPool(v, pool, t.kind)
}

// waits: a task that pends is heavier than what the tracker has room for. Nobody
// behind it gets the room, or lighter tasks would keep it out for ever.
func (o *order) waits() bool {
	n := len(o.out)
	return n > 0 && o.out[n-1].why == slots.RefusedWeight && !o.out[n-1].copy
}

// restore ends a visit: it puts back what was taken out.
func (o *order) restore(v *slots.View, d *slots.Decision) {
	for _, t := range o.out {
		o.putBack(v, t)
	}
	o.out = o.out[:0]
	o.askProgress(v, d)
}

// recall puts back what was taken out for a reason, and reports whether anything
// was.
func (o *order) recall(v *slots.View, why slots.Refusal) bool {
	kept := o.out[:0]
	for _, t := range o.out {
		if t.why == why {
			o.putBack(v, t)
		} else {
			kept = append(kept, t)
		}
	}
	recalled := len(kept) < len(o.out)
	o.out = kept
	return recalled
}

func (o *order) putBack(v *slots.View, t taken) {
	j := v.Job(t.job)
	o.rank(v, j, t.kind)
	o.rankPool(v, o.placeOf(j), t.kind)
}

func (o *order) shareRule(v *slots.View, p slots.PoolID, k slots.Kind) slots.Rule {
	if key := o.poolKey(v, p, k); key.needy {
		return trace.RuleMinShare
	}
	return trace.RuleFairShare
}
