package fair

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// preemption kills tasks for pools that starve (Hadoop 1.0.3,
// FairScheduler.preemptTasksIfNecessary). Such a pool is below its min share for its
// PreemptAfter, or below half of its fair share for its FairPreemptAfter. Preemption is off
// if no pool has a timeout.
//
// If it is on, the end of each visit with changes costs O(pools), and a kill O(slots).
type preemption struct {
	known, on bool                 // known: on is set; on: a pool has a timeout
	clocks    [2][]clock           // by kind and pool
	demands   []policy.ShareDemand // scratch of checkKind, by pool
	seen      int64                // Order.Updates at the last check
	due       time.Duration        // of the next check if nothing changes; negative: none
	quiet     [2]time.Duration     // by kind: no kills before this time
}

// clock has the times since which a pool is below its min share, and below half of its fair
// share. A negative time means that it is not.
type clock struct{ min, half time.Duration }

// preemptEvery is Hadoop's preemptionInterval. Killed tasks need time to end before their slots
// help the starving pool.
const preemptEvery = 15 * time.Second

// check is called at the end of a visit. It sets the clocks by the state after the visit. So a
// slot that becomes free and is granted again at the same instant starts no clock. updates is
// Order.Updates.
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

// checkKind kills as many tasks of a kind as starving pools lack. It kills at most once in
// preemptEvery.
func (p *preemption) checkKind(v *slots.View, d *slots.Decision, k slots.Kind) {
	p.demands = p.demands[:0]
	for id := range slots.PoolID(v.Pools()) {
		p.demands = append(p.demands, policy.ShareDemandOf(v.Pool(id), k))
	}
	level := policy.LevelOf(p.demands, v.Capacity(k))
	missing := int32(0)
	for id := range slots.PoolID(v.Pools()) {
		missing += p.tasksToPreempt(v, id, k, level)
	}
	if missing == 0 {
		return
	}
	if v.Now() < p.quiet[k] {
		slots.Earlier(&p.due, p.quiet[k])
		return
	}
	p.quiet[k] = v.Now() + preemptEvery
	slots.Earlier(&p.due, p.quiet[k])
	p.preemptTasks(v, d, k, missing, level)
}

// tasksToPreempt sets the clocks of a pool (Hadoop 1.0.3, FairScheduler.tasksToPreempt). If the
// pool has starved for the timeout, it returns how many tasks it lacks to its min share or to
// its fair share.
func (p *preemption) tasksToPreempt(v *slots.View, id slots.PoolID, k slots.Kind, level policy.Level) int32 {
	for int(id) >= len(p.clocks[k]) {
		p.clocks[k] = append(p.clocks[k], clock{-1, -1})
	}
	c := &p.clocks[k][id]
	pool := v.Pool(id)
	demand := p.demands[id]
	running, least := pool.Running(k), min(demand.Min, demand.Demand)
	set(&c.min, v.Now(), running < least)
	set(&c.half, v.Now(), starvedForFairShare(running, demand, level))

	missing := int32(0)
	if p.overdue(v.Now(), c.min, pool.Config().PreemptAfter) {
		missing = least - running
	}
	if p.overdue(v.Now(), c.half, pool.Config().FairPreemptAfter) {
		missing = max(missing, level.Floor(demand)-running)
	}
	return missing
}

// starvedForFairShare reports whether running < floor(min(fairShare/2, demand)) (Hadoop 1.0.3,
// FairScheduler.isStarvedForFairShare).
func starvedForFairShare(running int32, demand policy.ShareDemand, level policy.Level) bool {
	s := level.Share(demand)
	return int64(running) < s.Num/(2*max(s.Den, 1))
}

// set starts a clock at time now if a pool starves and the clock has not started. It stops the
// clock if the pool does not starve.
func set(since *time.Duration, now time.Duration, starves bool) {
	switch {
	case !starves:
		*since = -1
	case *since < 0:
		*since = now
	}
}

// overdue reports whether a pool has starved for its whole preemption timeout. If the timeout has
// not passed yet, it makes a check due at that time.
func (p *preemption) overdue(now, since, timeout time.Duration) bool {
	if since < 0 || timeout <= 0 {
		return false
	}
	if now-since >= timeout {
		return true
	}
	slots.Earlier(&p.due, since+timeout)
	return false
}

// starves reports whether a pool has starved for its timeout. Its jobs then wait
// for no local slot (Hadoop 1.0.3, FairScheduler.getAllowedLocalityLevel).
func (p *preemption) starves(v *slots.View, id slots.PoolID) bool {
	if !p.on || int(id) >= len(p.clocks[slots.Map]) {
		return false
	}
	c, config := p.clocks[slots.Map][id], v.Pool(id).Config()
	return p.overdue(v.Now(), c.min, config.PreemptAfter) || p.overdue(v.Now(), c.half, config.FairPreemptAfter)
}

// preemptTasks kills missing tasks of pools above their fair share, the newest first. It leaves
// each pool its fair share [Hadoop, "never below the share"]. A task that is already being
// killed counts as ended, and reduces missing.
func (p *preemption) preemptTasks(v *slots.View, d *slots.Decision, k slots.Kind, missing int32, level policy.Level) {
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
		if !level.AtMost(p.demands[pool], left[pool]-1) {
			continue
		}
		if d.WantsReason() {
			share := level.Share(p.demands[pool])
			share.Name = "fair share of the pool"
			d.Because(slots.Why{Numbers: []slots.Number{
				{Name: "tasks to preempt", Num: int64(missing)},
				{Name: "running of pool " + v.Pool(pool).Config().Name, Num: int64(left[pool])},
				share,
			}})
		}
		d.Reclaim(s.ID)
		left[pool]--
		missing--
	}
}
