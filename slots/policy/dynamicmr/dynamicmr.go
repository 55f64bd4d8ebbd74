// Package dynamicmr is DynamicMR: three steps for each idle slot, layered around
// the allocations of [DHFS13].
//
//  1. Dynamic Hadoop slot allocation (DHSA) says whether the slot may be used, and
//     for which kind and pool. It is pi-dhfs, pd-dhfs or, if it is off, fair.
//  2. Speculative execution performance balancing (SEPB) says whether a pending task
//     or a copy of a running one takes the slot. policy.Copies has it.
//  3. Slot PreScheduling lets maps at their input have slots that load balancing
//     would keep back.
//
// Slot weights bound what a tracker runs. Algorithm 1 and Algorithm 2 know nothing
// of all this: this package gives them other counts, and adds steps of its own.
//
// Paper: Tang, Lee, He: DynamicMR [DynamicMR14]. We have only a retelling of it
// [Vanathi16], which names SEPB and PreScheduling and gives no algorithm for either:
// both are reconstructed [DynamicMR14, "reconstructed steps"].
package dynamicmr

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
	"mrlocal/slots/policy/fair"
)

// New returns DynamicMR with the steps that o leaves on. Its jobs do not wait for
// local slots: Slot PreScheduling takes the place of that.
func New(o policy.Options) slots.Policy {
	o.LocalityDelay = 0
	switch o.DHSA {
	case "pd":
		p := newOnPD(o)
		return withCopies(DynamicMR{p, o}, &p.Order)
	case "off":
		return newOnFair(o)
	}
	p := newOnPI(o)
	return withCopies(DynamicMR{p, o}, &p.Order)
}

// DynamicMR is an allocation with slot weights.
type DynamicMR struct {
	allocation
	options policy.Options
}

// allocation is what DynamicMR builds on.
type allocation interface {
	slots.Policy
	slots.NothingToGrant
	slots.Resetter
}

// copying is DynamicMR with SEPB. Without SEPB it is no slots.Speculator, so drivers
// expect no copies.
type copying struct {
	DynamicMR
	policy.Speculating
}

func withCopies(d DynamicMR, o *policy.Order) slots.Policy {
	if !d.options.SEPB {
		return &d
	}
	return &copying{d, policy.Speculating{Order: o}}
}

// newCopies returns the copies of DynamicMR for one Ledger. idle returns how many
// slots tasks of a kind could have now.
func newCopies(o policy.Options, idle func(v *slots.View, k slots.Kind) int32) func() *policy.Copies {
	if !o.SEPB {
		return nil
	}
	return func() *policy.Copies { return policy.NewCopies(&o, o.JobsChecked(), o.PreScheduling, idle) }
}

// Traits implements slots.Policy. If nothing is lent, a tracker's home slots bound
// what it runs, and weights do not count.
func (d *DynamicMR) Traits() slots.Traits {
	t := d.allocation.Traits()
	t.Name, t.Options = "dynamicmr", d.options
	if t.Lends {
		t.Weights = d.options.SlotWeights
	}
	t.Rules[policy.RuleSpeculative] = d.options.SpeculativeWords()
	t.Rules[rulePreScheduled] = preScheduledWords
	return t
}

const rulePreScheduled slots.Rule = "pre-scheduled"

const preScheduledWords = "Slot PreScheduling, where the tracker has had its even part of the load and has map slots beyond it; the pool and the job that come first in fair order have a map whose input is there"

// Decide is one heartbeat.
func (d *DynamicMR) Decide(v *slots.View, decision *slots.Decision) {
	d.openExtra(v, decision)
	d.allocation.Decide(v, decision)
}

// onPI is DynamicMR's steps over pi-dhfs.
type onPI struct {
	*dhfs.PI
	options policy.Options
}

func newOnPI(o policy.Options) *onPI {
	p := &onPI{options: o}
	p.PI = dhfs.NewPICopying(o, newCopies(o, p.idle))
	p.Counts = &counts{&p.Order, &p.options}
	return p
}

// Decide is one heartbeat: pi-dhfs with tasks that fit into the tracker's weight,
// and with pre-scheduled maps after those that Algorithm 1 allows.
func (p *onPI) Decide(v *slots.View, d *slots.Decision) {
	p.Order.Begin(v)
	for v.FreeAt(v.Tracker()) > 0 {
		if !p.own(v, d, slots.Map) && !p.preSchedule(v, d) && !p.own(v, d, slots.Reduce) &&
			!p.borrow(v, d, slots.Map) && !p.borrow(v, d, slots.Reduce) {
			break
		}
	}
	p.End(v, d)
}

func (p *onPI) own(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	return fits(v, k, k) && p.Own(v, d, k)
}

func (p *onPI) borrow(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	return fits(v, k, k.Other()) && p.Borrow(v, d, k)
}

// preSchedule starts a map at its input if Algorithm 1 has no slot for one.
func (p *onPI) preSchedule(v *slots.View, d *slots.Decision) bool {
	k := slots.Map
	if !p.options.PreScheduling || p.Order.Total[k].Startable == 0 || fits(v, k, k) && p.Has(v, k, k, 0) {
		return false
	}
	f, w := p.Counts.Phase(v, k), v.Weights().Of(k)
	if ExtraIdle(f.SlotsDemand(), v.CapacityAt(v.Tracker(), k), f.Capacity, (v.UsedAt(v.Tracker(), k)+w-1)/w) == 0 {
		return false
	}
	return preScheduled(v, d, &p.Order, func(slots.PoolID) []slots.Number { return p.OwnNumbers(v, k) })
}

// idle returns how many slots tasks of kind k could have now, borrowed ones too.
func (p *onPI) idle(v *slots.View, k slots.Kind) int32 {
	other := k.Other()
	unused := weigh(v, other, v.Capacity(other)-p.Order.Total[other].Pending) - v.Used(other)
	return (weigh(v, k, v.Capacity(k)) - v.Used(k) + min(mayStillLend(v, &p.options, other), max(unused, 0))) / v.Weights().Of(k)
}

// onPD is DynamicMR's steps over pd-dhfs.
type onPD struct {
	*dhfs.PD
	options policy.Options
}

func newOnPD(o policy.Options) *onPD {
	p := &onPD{options: o}
	p.PD = dhfs.NewPDCopying(o, newCopies(o, p.idle))
	p.Counts = &counts{&p.Order, &p.options}
	return p
}

// Decide is one heartbeat: pd-dhfs, and then pre-scheduled maps.
func (p *onPD) Decide(v *slots.View, d *slots.Decision) {
	p.Order.Begin(v)
	for v.FreeAt(v.Tracker()) > 0 {
		if !p.FromPools(v, d) && !p.preSchedule(v, d) {
			break
		}
	}
	p.End(v, d)
}

// preSchedule starts a map at its input if the tracker runs its part of the load
// and has an idle map slot.
func (p *onPD) preSchedule(v *slots.View, d *slots.Decision) bool {
	l, t, k := p.Counts.Load(v), v.Tracker(), slots.Map
	if !p.options.PreScheduling || l.Within() || v.RunningAt(t, k) >= v.CapacityAt(t, k) {
		return false
	}
	if ExtraIdle(l.SlotsDemand, l.TrackerCapacity, l.SlotsCapacity, l.TrackerRunning) < v.Weights().Of(k) {
		return false
	}
	return preScheduled(v, d, &p.Order, func(pool slots.PoolID) []slots.Number { return p.Numbers(v, pool, k) })
}

// idle returns how many slots tasks of kind k could have now, borrowed ones too.
func (p *onPD) idle(v *slots.View, k slots.Kind) int32 {
	other := k.Other()
	own := weigh(v, k, v.Capacity(k)-v.Running(k)) + v.LentBy(other)
	all := v.Weights().Room([2]int32{v.Capacity(slots.Map), v.Capacity(slots.Reduce)}, [2]int32{v.Running(slots.Map), v.Running(slots.Reduce)})
	return min(own+mayStillLend(v, &p.options, other), all) / v.Weights().Of(k)
}

// onFair is DynamicMR's steps over fair.
type onFair struct{ *fair.Late }

// Traits implements slots.Policy.
func (p onFair) Traits() slots.Traits {
	t := p.Late.Traits()
	t.Rules[rulePreScheduled] = preScheduledWords
	return t
}

// newOnFair returns DynamicMR's steps over fair.
func newOnFair(o policy.Options) slots.Policy {
	p := onFair{fair.NewCopying("dynamicmr", o, o.SEPB, o.PreScheduling, o.JobsChecked())}
	if !o.PreScheduling {
		return p
	}
	p.BeyondLoad = func(v *slots.View, d *slots.Decision) bool {
		t, k := v.Tracker(), slots.Map
		if ExtraIdle(p.Fair.Order.Total[k].All, v.CapacityAt(t, k), v.Capacity(k), v.RunningAt(t, k)) == 0 {
			return false
		}
		return preScheduled(v, d, &p.Fair.Order, func(slots.PoolID) []slots.Number { return p.LoadNumbers(v, k) })
	}
	return p
}

// preScheduled starts a map of the pool and the job that come first, if one has its
// input on the visited tracker [DynamicMR14, "slot prescheduling"].
func preScheduled(v *slots.View, d *slots.Decision, o *policy.Order, numbers func(pool slots.PoolID) []slots.Number) bool {
	return o.GrantLocal(v, d, policy.Offer{Kind: slots.Map, Rule: rulePreScheduled}, numbers)
}

// ExtraIdle is how many map slots of a tracker are idle beyond those that load
// balancing lets it give away now [DynamicMR14, "slot prescheduling"]:
//
//	own - max(used, min(ceil(demand/all · own), own))
//
// The tracker has own slots and uses used of them; all is the slots of the cluster,
// demand what all pools want. Such slots are kept for a heavier load. A map at its
// input may have one: that trades an even load for locality, and keeps fairness.
func ExtraIdle(demand, own, all, used int32) int32 {
	return max(own-max(used, slots.ShareOfLoad(demand, own, all)), 0)
}
