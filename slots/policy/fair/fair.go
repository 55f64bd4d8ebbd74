// Package fair is Hadoop 1.x's Fair Scheduler on static, typed slots. It is the
// baseline HFS of [DHFS13]. Two more policies add one rule to it: under delay jobs wait
// for slots at their input, and late copies slow tasks. deficit.go is the policy
// fair-deficit, the Fair Scheduler of Hadoop 0.20, which is the one that [OMO21] changed.
//
// For each kind, each free slot goes to the pool that is farthest below its min
// share, else below its fair share. Inside a pool it goes to a job in the same way.
// A preemption kills tasks for pools that starve.
//
// Memory: a policy owns a few words per job and pool.
package fair

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Fair is the fair scheduler (Hadoop 1.0.3, FairScheduler).
type Fair struct {
	// BeyondLoad starts a map on a tracker that already has its part of the load of
	// maps, and reports whether one started. nil: no map starts there.
	BeyondLoad func(v *slots.View, d *slots.Decision) bool

	Order   policy.Order
	name    string
	options policy.Options
	preempt preemption
}

// New returns the policy fair.
func New(o policy.Options) *Fair { return &Fair{name: "fair", options: o} }

// hadoopsDelay is the default wait of Hadoop's delay scheduling, 1.5 heartbeats of 3 s (Hadoop
// 1.0.3, FairScheduler).
const hadoopsDelay = 4500 * time.Millisecond

// NewDelay returns the policy delay [Delay10]: fair with the wait o.LocalityDelay, or Hadoop's
// if that is nil.
func NewDelay(o policy.Options) *Fair {
	o.LocalityDelay = new(policy.TimeOr(o.LocalityDelay, hadoopsDelay))
	return &Fair{name: "delay", options: o}
}

// Late is the fair scheduler with LATE's copies of slow tasks.
type Late struct {
	*Fair
	policy.Speculating
	copies func() *policy.Copies // for the next Ledger; nil: none
}

// NewLate returns the policy late [LATE08]. No pending tasks of other jobs go before a job's
// copies: they start in the fair order of jobs.
func NewLate(o policy.Options) *Late {
	return NewCopying("late", o, true, false, [trace.Kinds]slots.PPM{})
}

// NewCopying returns a fair scheduler with the given name. If copies is true, it copies slow tasks.
// policy.NewCopies describes checked and atInput.
func NewCopying(name string, o policy.Options, copies, atInput bool, checked [trace.Kinds]slots.PPM) *Late {
	f := &Fair{name: name, options: o}
	l := &Late{Fair: f, Speculating: policy.Speculating{Order: &f.Order}}
	if copies {
		l.copies = func() *policy.Copies { return policy.NewCopies(&o, checked, atInput, f.idle) }
	}
	return l
}

// Reset implements slots.Policy.
func (l *Late) Reset() {
	l.Fair.Reset()
	if l.copies != nil {
		l.Fair.Order.Copy(l.copies())
	}
}

// Traits implements slots.Policy. It adds the options and the rule of copies.
func (l *Late) Traits() slots.Traits {
	t := l.Fair.Traits()
	t.Options = l.options
	t.Rules[policy.RuleSpeculative] = l.options.SpeculativeWords() + "; no task that goes before copies needs the slot (SEPB)"
	return t
}

// Traits implements slots.Policy.
func (f *Fair) Traits() slots.Traits {
	return slots.Traits{Name: f.name, Uses: slots.PoolSettings | slots.Preemption, Sharing: slots.PerKind, Rules: map[slots.Rule]string{
		policy.RuleMinShare:  "its pool is the one farthest below its min share",
		policy.RuleFairShare: "its pool runs the fewest tasks for its weight, and so is farthest below its fair share",
	}}
}

// Reset implements slots.Policy.
func (f *Fair) Reset() {
	f.preempt = preemption{}
	f.Order = policy.NewOrder(slots.PerKind, policy.Wait{Delay: policy.TimeOr(f.options.LocalityDelay, 0), Starving: f.preempt.starves})
}

// NextVisit implements slots.Selective. It returns -1 if of each kind nothing may start, or no
// slot is left in the cluster.
func (f *Fair) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	f.Order.Update(v)
	for k := range slots.Kind(trace.Kinds) {
		if v.Running(k) < v.Capacity(k) && f.Order.Demand(v, k).Startable > 0 {
			return t
		}
	}
	return -1
}

// Decide is one heartbeat. It starts tasks until both kinds are rejected (Hadoop 1.0.3,
// FairScheduler.assignTasks), and then kills tasks for starving pools.
func (f *Fair) Decide(v *slots.View, d *slots.Decision) {
	f.Order.Begin(v)
	f.assignTasks(v, d)
	f.Order.End(v, d, func(k slots.Kind) string { return cmp.Or(policy.NoTaskOrSlot(v, k), policy.LoadUsedUp) },
		func(k slots.Kind) []slots.Number { return f.LoadNumbers(v, k) })
	f.preempt.check(v, d, f.Order.Updates)
}

// assignTasks starts tasks until each kind is rejected (Hadoop 1.0.3,
// FairScheduler.assignTasks). A kind is rejected if the tracker has no slot for it, has its
// part of the load, or no job takes one.
func (f *Fair) assignTasks(v *slots.View, d *slots.Decision) {
	t := v.Tracker()
	rejected := [2]bool{}
	for {
		for k := range slots.Kind(trace.Kinds) {
			rejected[k] = rejected[k] || !f.fits(v, t, k)
		}
		if rejected[slots.Map] && rejected[slots.Reduce] {
			return
		}
		k := nextKind(v, t, rejected)
		if v.RunningAt(t, k) >= f.loadCap(v, t, k) {
			rejected[k] = !f.BeyondLoad(v, d)
			continue
		}
		numbers := func(slots.PoolID) []slots.Number { return f.LoadNumbers(v, k) }
		rejected[k] = !f.Order.Grant(v, d, policy.Offer{Kind: k}, numbers)
	}
}

// fits reports whether a task of kind k may start and the tracker has a slot for it. The slot
// must be within the tracker's part of the load, except for a map if f.BeyondLoad is set.
func (f *Fair) fits(v *slots.View, t slots.TrackerID, k slots.Kind) bool {
	return v.FreeHome(t, k) > 0 && f.Order.Demand(v, k).Startable > 0 &&
		(v.RunningAt(t, k) < f.loadCap(v, t, k) || k == slots.Map && f.BeyondLoad != nil)
}

// idle returns how many slots tasks of kind k could have now.
func (f *Fair) idle(v *slots.View, k slots.Kind) int32 { return v.Capacity(k) - v.Running(k) }

// loadCap returns how many tasks of kind k a tracker may run, so that the load is even:
//
//	min(ceil(demand/capacity · trackerCapacity), trackerCapacity)
//
// The demand is that of all pools, each within its limit (Hadoop 1.0.3,
// CapBasedLoadManager with a maximal difference of 0).
func (f *Fair) loadCap(v *slots.View, t slots.TrackerID, k slots.Kind) int32 {
	return slots.ShareOfLoad(f.Order.Demand(v, k).All, v.CapacityAt(t, k), v.Capacity(k))
}

// nextKind returns the kind of the next task. If neither kind is rejected, it is map if the
// tracker runs no more maps than reduces, so that neither kind starves (Hadoop 1.0.3,
// FairScheduler.assignTasks).
func nextKind(v *slots.View, t slots.TrackerID, rejected [2]bool) slots.Kind {
	if rejected[slots.Map] || !rejected[slots.Reduce] && v.RunningAt(t, slots.Map) > v.RunningAt(t, slots.Reduce) {
		return slots.Reduce
	}
	return slots.Map
}

// LoadNumbers returns the numbers by which the load manager decides for kind k on the visited
// tracker (loadCap).
func (f *Fair) LoadNumbers(v *slots.View, k slots.Kind) []slots.Number {
	t, all := v.Tracker(), f.Order.Demand(v, k).All
	return []slots.Number{
		slots.Whole(fmt.Sprintf("%v demand", k), all),
		policy.Ratio(policy.LoadName(k), int64(all), v.Capacity(k)),
		slots.Whole(fmt.Sprintf("%v slots that tracker %d may use", k, t), f.loadCap(v, t, k)),
		slots.Whole(fmt.Sprintf("%vs that run there", k), v.RunningAt(t, k)),
	}
}

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
func (p *preemption) tasksToPreempt(v *slots.View, id slots.PoolID, k slots.Kind, level policy.Level) (missing int32) {
	for int(id) >= len(p.clocks[k]) {
		p.clocks[k] = append(p.clocks[k], clock{-1, -1})
	}
	c := &p.clocks[k][id]
	pool := v.Pool(id)
	demand := p.demands[id]
	running, least := pool.Running(k), min(demand.Min, demand.Demand)
	set(&c.min, v.Now(), running < least)
	set(&c.half, v.Now(), starvedForFairShare(running, demand, level))

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
