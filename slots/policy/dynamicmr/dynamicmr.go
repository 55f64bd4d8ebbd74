// Package dynamicmr is DynamicMR: three steps for each idle slot, layered around
// the allocations of [DHFS13].
//
//  1. Dynamic Hadoop slot allocation (DHSA) decides whether the slot may be used, and
//     for which kind and pool. It is pi-dhfs, pd-dhfs or, if it is off, fair.
//  2. Speculative execution performance balancing (SEPB) decides whether a pending task
//     or a copy of a running one takes the slot. It is in policy.Copies.
//  3. Slot PreScheduling gives maps slots at their input that load balancing would not
//     give them.
//
// Slot weights bound what a tracker runs. Package dhfs needs no changes for these steps:
// this package gives Algorithms 1 and 2 other counts, and adds the steps around them.
//
// Paper: Tang, Lee, He: DynamicMR [DynamicMR14]. We have only a retelling of it
// [Vanathi16], which names SEPB and PreScheduling but gives no algorithm. Both are
// reconstructed [DynamicMR14, "reconstructed steps"].
//
// Ownership: a policy owns its Order and serves one Ledger at a time.
package dynamicmr

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
	"mrlocal/slots/policy/fair"
	"mrlocal/trace"
)

// New returns DynamicMR with the steps that o sets. Its jobs do not wait for local slots,
// because Slot PreScheduling replaces delay scheduling.
func New(o policy.Options) slots.Policy {
	o.LocalityDelay = nil
	switch o.DHSA {
	case "pd":
		p := &onPD{dhfs.NewPD(o)}
		p.Counts = &counts{&p.Order, &p.Options}
		return withCopies(&DynamicMR{p, &p.Order, o})
	case "off":
		return newOnFair(o)
	}
	p := &onPI{dhfs.NewPI(o)}
	p.Counts = &counts{&p.Order, &p.Options}
	return withCopies(&DynamicMR{p, &p.Order, o})
}

// DynamicMR is an allocation with slot weights, without copies.
type DynamicMR struct {
	allocation
	order   *policy.Order // of the allocation
	options policy.Options
}

// allocation is the policy of step 1. Next starts one task of a visit, and reports whether one
// started. End ends the visit. idle returns how many slots tasks of kind k could have now.
type allocation interface {
	slots.Policy
	slots.Selective
	Next(v *slots.View, d *slots.Decision) bool
	End(v *slots.View, d *slots.Decision)
	idle(v *slots.View, k slots.Kind) int32
}

// copying is DynamicMR with SEPB. It is a type of its own because only it is a
// slots.Speculator and a slots.Observer.
type copying struct {
	*DynamicMR
	policy.Speculating
}

// withCopies returns d, as a Speculator if SEPB is on.
func withCopies(d *DynamicMR) slots.Policy {
	if !d.options.SEPB {
		return d
	}
	return &copying{d, policy.Speculating{Order: d.order}}
}

// Reset implements slots.Policy.
func (d *DynamicMR) Reset() {
	if d.allocation.Reset(); d.options.SEPB {
		d.order.Copy(policy.NewCopies(&d.options, jobsChecked(&d.options), d.options.PreScheduling, d.idle))
	}
}

// jobsChecked returns, by kind, percentageOfJobsCheckedForPendingMapTasks and
// …ReduceTasks: the share of the running jobs whose pending tasks go before copies
// [DynamicMR14, "sepb"].
func jobsChecked(o *policy.Options) (shares [trace.Kinds]slots.PPM) {
	for k, one := range [trace.Kinds]policy.Override{slots.Map: o.SEPBMapJobs, slots.Reduce: o.SEPBReduceJobs} {
		if shares[k] = o.SEPBJobs; one.Given {
			shares[k] = one.Share
		}
	}
	return shares
}

// Traits implements slots.Policy. If nothing may be lent, a tracker's home slots bound
// what it runs, and weights are not set.
func (d *DynamicMR) Traits() slots.Traits {
	t := d.allocation.Traits()
	t.Name, t.Options = "dynamicmr", d.options
	if t.Lends {
		t.Weights = d.options.SlotWeights
	}
	t.Rules[policy.RuleSpeculative] = d.options.SpeculativeWords() + "; no task that goes before copies needs the slot (SEPB)"
	t.Rules[trace.RulePreScheduled] = preScheduledWords
	return t
}

// preScheduledWords are the words of trace.RulePreScheduled.
const preScheduledWords = "Slot PreScheduling. The tracker has had its even part of the load, and has map slots beyond it. The pool and the job that come first in fair order have a map whose input is there"

// Decide is one heartbeat of the allocation, with the steps of this package around it.
func (d *DynamicMR) Decide(v *slots.View, decision *slots.Decision) {
	d.openExtra(v, decision)
	d.order.Begin(v)
	for v.FreeAt(v.Tracker()) > 0 && d.Next(v, decision) {
	}
	d.End(v, decision)
}

// onPI is pi-dhfs with DynamicMR's steps.
type onPI struct{ *dhfs.PI }

// Next starts one task: a pre-scheduled map only if Algorithm 1 has no slot for a map.
func (p *onPI) Next(v *slots.View, d *slots.Decision) bool {
	return p.preSchedule(v, d) || p.PI.Next(v, d)
}

// preSchedule starts a map at its input if Algorithm 1 has no slot for a map. It reports whether
// one started.
func (p *onPI) preSchedule(v *slots.View, d *slots.Decision) bool {
	k := slots.Map
	if !p.Options.PreScheduling || p.Order.Demand(v, k).Startable == 0 || p.Has(v, k, k, 0) {
		return false
	}
	f, w := p.Counts.Phase(v, k), v.Weights().Of(k)
	if ExtraIdle(f.SlotsDemand(), v.CapacityAt(v.Tracker(), k), f.Capacity, (v.UsedAt(v.Tracker(), k)+w-1)/w) == 0 {
		return false
	}
	return p.Order.GrantLocal(v, d, func(slots.PoolID) []slots.Number { return p.OwnNumbers(v, k) })
}

// idle returns how many slots tasks of kind k could have now. These are the unused slots of their
// own kind. Slots of the other kind count if they may be lent and its pending tasks leave them
// unused.
func (p *onPI) idle(v *slots.View, k slots.Kind) int32 {
	other := k.Other()
	unused := weigh(v, other, v.Capacity(other)-p.Order.Pending(other)) - v.Used(other)
	return (weigh(v, k, v.Capacity(k)) - v.Used(k) + min(mayStillLend(v, &p.Options, other), max(unused, 0))) / v.Weights().Of(k)
}

// onPD is pd-dhfs with DynamicMR's steps.
type onPD struct{ *dhfs.PD }

// Next starts one task: a pre-scheduled map only if Algorithm 2 starts none.
func (p *onPD) Next(v *slots.View, d *slots.Decision) bool {
	return p.PD.Next(v, d) || p.preSchedule(v, d)
}

// preSchedule starts a map at its input if the tracker runs its part of the load
// and has an idle map slot. It reports whether one started.
func (p *onPD) preSchedule(v *slots.View, d *slots.Decision) bool {
	l := p.Counts.Load(v)
	t := v.Tracker()
	k := slots.Map
	if !p.Options.PreScheduling || l.Within() || v.RunningAt(t, k) >= v.CapacityAt(t, k) {
		return false
	}
	if ExtraIdle(l.SlotsDemand, l.TrackerCapacity, l.SlotsCapacity, l.TrackerRunning) < v.Weights().Of(k) {
		return false
	}
	return p.Order.GrantLocal(v, d, func(pool slots.PoolID) []slots.Number { return p.Numbers(v, pool, k) })
}

// idle returns how many slots tasks of kind k could have now. It adds the idle slots of kind k
// and the slots of the other kind that may be lent. The result is at most the number of all
// idle slots.
func (p *onPD) idle(v *slots.View, k slots.Kind) int32 {
	other := k.Other()
	own := weigh(v, k, v.Capacity(k)-v.Running(k)) + v.LentBy(other)
	all := v.Weights().Room([2]int32{v.Capacity(slots.Map), v.Capacity(slots.Reduce)}, [2]int32{v.Running(slots.Map), v.Running(slots.Reduce)})
	return min(own+mayStillLend(v, &p.Options, other), all) / v.Weights().Of(k)
}

// onFair is fair with DynamicMR's steps.
type onFair struct{ *fair.Late }

// Traits implements slots.Policy.
func (p onFair) Traits() slots.Traits {
	t := p.Late.Traits()
	t.Rules[trace.RulePreScheduled] = preScheduledWords
	return t
}

// newOnFair returns fair with the steps that o sets. It has no slot weights, because fair lends
// nothing.
func newOnFair(o policy.Options) slots.Policy {
	p := onFair{fair.NewCopying("dynamicmr", o, o.SEPB, o.PreScheduling, jobsChecked(&o))}
	if !o.PreScheduling {
		return p
	}
	p.BeyondLoad = func(v *slots.View, d *slots.Decision) bool {
		t, k := v.Tracker(), slots.Map
		if ExtraIdle(p.Fair.Order.Demand(v, k).All, v.CapacityAt(t, k), v.Capacity(k), v.RunningAt(t, k)) == 0 {
			return false
		}
		return p.Fair.Order.GrantLocal(v, d, func(slots.PoolID) []slots.Number { return p.LoadNumbers(v, k) })
	}
	return p
}

// ExtraIdle returns how many map slots of a tracker are idle beyond those that load
// balancing allows it to grant now [DynamicMR14, "slot prescheduling"]:
//
//	own - max(used, min(ceil(load/all · own), own))
//
// The tracker has own slots and uses used of them. The cluster has all slots, and load is
// the demand of all pools. Load balancing keeps such slots for a heavier load. If a map at
// its input gets one, the load is less even and locality is better; fairness stays.
func ExtraIdle(load, own, all, used int32) int32 {
	return max(own-max(used, slots.ShareOfLoad(load, own, all)), 0)
}
