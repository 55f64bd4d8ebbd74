// Package fair is Hadoop 1.x's Fair Scheduler on static, typed slots. It is the
// baseline HFS of [DHFS13]. Two more policies add one rule to it: under delay jobs wait
// for slots at their input, and late copies slow tasks. deficit.go is the policy
// fair-deficit, the Fair Scheduler of Hadoop 0.20, which is the one that [OMO21] changed.
//
// For each kind, each free slot goes to the pool that is farthest below its min
// share, else below its fair share. Inside a pool it goes to a job in the same way.
// preempt.go kills tasks for pools that starve.
//
// Memory: a policy owns a few words per job and pool.
package fair

import (
	"cmp"
	"fmt"
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
