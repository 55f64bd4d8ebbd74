package policy

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// preemption has tasks killed for pools that starve (SPEC 1.7): those that are
// below their min share for their PreemptAfter, or below half of their fair
// share for their FairPreemptAfter. It is off where no pool has either.
//
// Where it is on, it costs a look at all pools at the end of each visit that
// changed anything; a kill costs a look at all slots.
type preemption struct {
	known, on bool
	clocks    [2][]clock // by kind and pool
	demands   []Demand
	seen      int64            // updates of the order that it has looked at
	due       time.Duration    // of the next look where nothing changes; negative: none
	quiet     [2]time.Duration // no kills of a kind before that
}

// clock is since when a pool starves, in each of the two senses; negative: it
// does not.
type clock struct{ min, half time.Duration }

// preemptEvery is preemptionInterval: what was killed needs time to end before
// it can be told whether the pool starves still.
const preemptEvery = 15 * time.Second

// check ends a visit: clocks are set by what the visit left, so that a slot that
// is given again at the same instant starves nobody.
func (p *preemption) check(v *slots.View, d *slots.Decision, updates int64) {
	if !p.known {
		p.known, p.due = true, -1
		for id := range slots.PoolID(v.Pools()) {
			c := v.Pool(id).Config()
			p.on = p.on || c.PreemptAfter > 0 || c.FairPreemptAfter > 0
		}
	}
	if !p.on {
		return
	}
	if updates != p.seen || p.due >= 0 && v.Now() >= p.due {
		p.seen, p.due = updates, -1
		for k := range slots.Kind(trace.Kinds) {
			p.checkKind(v, d, k)
		}
	}
	if p.due >= 0 {
		d.WakeAt(p.due)
	}
}

func (p *preemption) checkKind(v *slots.View, d *slots.Decision, k slots.Kind) {
	p.demands = p.demands[:0]
	for id := range slots.PoolID(v.Pools()) {
		p.demands = append(p.demands, shareDemand(v.Pool(id), k))
	}
	level := waterLevel(p.demands, v.Capacity(k))
	missing := int32(0)
	for id := range slots.PoolID(v.Pools()) {
		missing += p.tasksToPreempt(v, id, k, level)
	}
	if missing == 0 {
		return
	}
	if v.Now() < p.quiet[k] {
		p.wake(p.quiet[k])
		return
	}
	p.quiet[k] = v.Now() + preemptEvery
	p.wake(p.quiet[k])
	p.preemptTasks(v, d, k, missing, level)
}

// shareDemand is a pool for Shares.
func shareDemand(p slots.PoolView, k slots.Kind) Demand {
	c := p.Config()
	return Demand{Demand: poolDemand(p, k, 0).all, Min: c.Min(k), Weight: c.Weight}
}

func (p *preemption) wake(at time.Duration) {
	if p.due < 0 || at < p.due {
		p.due = at
	}
}

// tasksToPreempt is how many tasks a pool lacks that has starved for too long:
// up to its min share, or up to its fair share.
func (p *preemption) tasksToPreempt(v *slots.View, id slots.PoolID, k slots.Kind, level water) int32 {
	for int(id) >= len(p.clocks[k]) {
		p.clocks[k] = append(p.clocks[k], clock{-1, -1})
	}
	c, pool, demand := &p.clocks[k][id], v.Pool(id), p.demands[id]
	running, least := pool.Running(k), min(demand.Min, demand.Demand)
	set(&c.min, v.Now(), running < least)
	set(&c.half, v.Now(), starvedForFairShare(running, demand, level))

	missing := int32(0)
	if p.overdue(v.Now(), c.min, pool.Config().PreemptAfter) {
		missing = least - running
	}
	if p.overdue(v.Now(), c.half, pool.Config().FairPreemptAfter) {
		missing = max(missing, level.floor(demand)-running)
	}
	return missing
}

// starvedForFairShare: running < floor(min(fairShare/2, demand)); half of the
// share, and not of a demand that caps it.
func starvedForFairShare(running int32, demand Demand, level water) bool {
	s := level.share(demand)
	return int64(running) < s.Num/(2*max(s.Den, 1))
}

// set starts a clock, lets it run, or stops it.
func set(since *time.Duration, now time.Duration, starves bool) {
	switch {
	case !starves:
		*since = -1
	case *since < 0:
		*since = now
	}
}

// overdue reports whether a pool has starved for its whole timeout, and asks for
// a look when it will have.
func (p *preemption) overdue(now, since, timeout time.Duration) bool {
	if since < 0 || timeout <= 0 {
		return false
	}
	if now-since >= timeout {
		return true
	}
	p.wake(since + timeout)
	return false
}

// starves reports whether a pool has starved for its timeout: it takes maps
// wherever they are then (SPEC 1.6).
func (p *preemption) starves(v *slots.View, id slots.PoolID) bool {
	if !p.on || int(id) >= len(p.clocks[slots.Map]) {
		return false
	}
	c, config := p.clocks[slots.Map][id], v.Pool(id).Config()
	return p.overdue(v.Now(), c.min, config.PreemptAfter) || p.overdue(v.Now(), c.half, config.FairPreemptAfter)
}

// preemptTasks kills tasks of pools above their fair share, the newest first,
// and takes no pool below it. What is being killed already counts as gone.
func (p *preemption) preemptTasks(v *slots.View, d *slots.Decision, k slots.Kind, missing int32, level water) {
	left := make([]int32, v.Pools())
	for id := range left {
		left[id] = v.Pool(slots.PoolID(id)).Running(k)
	}
	var victims []slots.SlotView
	for id := range slots.SlotID(v.Slots()) {
		switch s := v.Slot(id); {
		case !s.Busy || s.Attempt.Kind != k:
		case s.Killing:
			left[v.Job(s.Attempt.Job).Pool()]--
			missing--
		default:
			victims = append(victims, s)
		}
	}
	slices.SortStableFunc(victims, func(a, b slots.SlotView) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(b.ID, a.ID))
	})
	for _, s := range victims {
		if missing <= 0 {
			return
		}
		pool := v.Job(s.Attempt.Job).Pool()
		if !level.atMost(p.demands[pool], left[pool]-1) {
			continue
		}
		if d.Explaining() {
			d.Because(slots.Why{Numbers: []slots.Number{
				{Name: "tasks to preempt", Num: int64(missing)},
				{Name: "running of pool " + v.Pool(pool).Config().Name, Num: int64(left[pool])},
				named("fair share of the pool", level.share(p.demands[pool])),
			}})
		}
		d.Reclaim(s.ID)
		left[pool]--
		missing--
	}
}

func named(name string, n slots.Number) slots.Number {
	n.Name = name
	return n
}
