package policy

import (
	"mrlocal/slots"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// PDDHFS is the pool-dependent dynamic Hadoop fair scheduler: Algorithm 2 of
// seed 000, with the resolutions A10 to A15 of SPEC 5.1. Each pool is selfish:
// it uses map and reduce slots for its own maps and reduces before another pool
// gets them. Slots of both kinds are handed out as a whole; the pool whose maps
// and reduces together are farthest below its min and fair share comes first
// (A14), and tries, in this order:
//
//	MAP_ON_MAP        a map, where the tracker runs fewer maps than it has map slots
//	REDUCE_ON_REDUCE  a reduce, where it runs fewer reduces than reduce slots
//	MAP_ON_REDUCE     a map, on a reduce slot that it borrows
//	REDUCE_ON_MAP     a reduce, on a map slot that it borrows
//	NON_LOCAL_MAP     when no pool has any of these: a map away from its data
//
// The paper numbers them from 1 to 5. The percentages bound the third and the
// fourth: that is our addition (A4), for Algorithm 2 has none.
type PDDHFS struct {
	borrower
	extras extras
	order  order
}

// NewPDDHFS returns a PDDHFS.
func NewPDDHFS(o settings.Options) *PDDHFS { return newPD(o, extras{}) }

func newPD(o settings.Options, x extras) *PDDHFS {
	p := &PDDHFS{borrower: borrower{o, x.weights}, extras: x}
	p.Reset()
	return p
}

// Reset implements slots.Resetter.
func (p *PDDHFS) Reset() {
	p.order = order{shape: together, delay: delay{wait: p.options.LocalityDelay, wakeless: true}, copies: p.extras.newCopies(p.idle)}
}

// Traits implements slots.Policy.
func (p *PDDHFS) Traits() slots.Traits { return p.traits("pd-dhfs") }

// Decide is one heartbeat: slot after slot, while the tracker runs less than its
// part of the load. What was found is told anew for each slot (A11).
func (p *PDDHFS) Decide(v *slots.View, d *slots.Decision) {
	p.openExtra(v, d)
	p.order.begin(v)
	for v.FreeAt(v.Tracker()) > 0 {
		if !p.fromPools(v, d) && !p.nonLocalMap(v, d) && !p.preSchedule(v, d) {
			break
		}
	}
	if d.Explaining() {
		p.decline(v, d)
	}
	p.order.restore(v, d)
}

// NothingToGrant implements slots.NothingToGrant: nothing that may start has a slot of its own
// type anywhere, and nothing more may be lent. Of the slots of a kind,
// running - lent by the other kind are those that tasks of the kind itself use.
func (p *PDDHFS) NothingToGrant(v *slots.View) bool {
	p.order.update(v)
	for k := range slots.Kind(trace.Kinds) {
		own := v.Weights().Times(k, v.Running(k))-v.LentBy(k.Other()) < capacity(v, k)
		if p.order.total[k].startable > 0 && (own || p.lendable(v, k.Other())) {
			return false
		}
	}
	return true
}

// runningTasks is trackerRunningTasksNum, in weight.
func runningTasks(v *slots.View, t slots.TrackerID) int32 {
	return v.Weights().Sum([2]int32{v.RunningAt(t, slots.Map), v.RunningAt(t, slots.Reduce)})
}

// currentSlotsCapacity is trackerCurrentSlotsCapacity, which the paper leaves
// open (A10): min(ceil(totalSlotsDemand/totalCapacity · trackerCapacity), trackerCapacity).
func (p *PDDHFS) currentSlotsCapacity(v *slots.View, t slots.TrackerID) int32 {
	own := capacityAt(v, t, slots.Map) + capacityAt(v, t, slots.Reduce)
	all := capacity(v, slots.Map) + capacity(v, slots.Reduce)
	return slots.ShareOfLoad(p.totalDemand(), own, all)
}

// withinShare is line 5: the tracker runs less than its part of the load.
func (p *PDDHFS) withinShare(v *slots.View, t slots.TrackerID) bool {
	return runningTasks(v, t) < p.currentSlotsCapacity(v, t)
}

// totalDemand is totalSlotsDemand: what all pools want, each within its limits.
func (p *PDDHFS) totalDemand() int32 {
	return p.weights.Sum([2]int32{p.order.total[slots.Map].all, p.order.total[slots.Reduce].all})
}

// fromPools is lines 6 to 27: the first pool that has a task for one of the four
// cases. Two rankings by the same key, of pools with maps and of pools with
// reduces, stand for the scan: the first of both is the first pool of all.
func (p *PDDHFS) fromPools(v *slots.View, d *slots.Decision) bool {
	for {
		pool, k, ok := p.nextCase(v)
		if !ok || p.order.waits() {
			return false
		}
		if p.try(v, d, pool, k, false) {
			return true
		}
	}
}

// nextCase is the first pool that may be given a task, and of which kind.
func (p *PDDHFS) nextCase(v *slots.View) (pool slots.PoolID, k slots.Kind, ok bool) {
	m, haveMap := p.first(v, slots.Map)
	r, haveReduce := p.first(v, slots.Reduce)
	switch {
	case !haveMap && !haveReduce:
		return 0, 0, false
	case !haveReduce:
		return m, slots.Map, true
	case !haveMap:
		return r, slots.Reduce, true
	case m != r:
		a, b := p.order.poolKey(v, m, slots.Map), p.order.poolKey(v, r, slots.Reduce)
		if fairShareLess(&b, &a) {
			return r, slots.Reduce, true
		}
		return m, slots.Map, true
	case !p.ownSlot(v, slots.Map) && p.ownSlot(v, slots.Reduce):
		return r, slots.Reduce, true // MAP_ON_MAP has no slot, REDUCE_ON_REDUCE has
	}
	return m, slots.Map, true
}

// first is the first pool with a task of kind k, where the tracker may run one.
func (p *PDDHFS) first(v *slots.View, k slots.Kind) (slots.PoolID, bool) {
	if !p.withinShare(v, v.Tracker()) && (k == slots.Reduce || !stranded(v)) {
		return 0, false
	}
	if !p.ownSlot(v, k) && !p.lendable(v, k.Other()) {
		return 0, false
	}
	id, ok := p.order.pools[k].First()
	return slots.PoolID(id), ok
}

// ownSlot is the condition of MAP_ON_MAP and REDUCE_ON_REDUCE: by the papers'
// counts, the visited tracker has an idle slot of kind k (A13).
func (p *PDDHFS) ownSlot(v *slots.View, k slots.Kind) bool {
	return v.RunningAt(v.Tracker(), k) < v.CapacityAt(v.Tracker(), k)
}

// try is one of the cases for a pool: on a slot of the task's own type, or on a
// borrowed one.
func (p *PDDHFS) try(v *slots.View, d *slots.Decision, pool slots.PoolID, k slots.Kind, anywhere bool) bool {
	rule := borrowRule(k)
	if p.ownSlot(v, k) {
		rule = trace.RuleOwnSlots
	}
	numbers := func() []slots.Number { return p.numbers(v, pool, k) }
	return p.order.try(v, d, pool, offer{k, rule, numbers}, anywhere)
}

// nonLocalMap is lines 28 to 34, the case NON_LOCAL_MAP: no pool has anything
// for the slot but maps that wait for a nearer one, so the first pool's map
// takes it. Only here is the wait lifted (A12).
func (p *PDDHFS) nonLocalMap(v *slots.View, d *slots.Decision) bool {
	if p.order.delay.wait == 0 || !p.order.recall(v, slots.RefusedLocality) {
		return false
	}
	for {
		pool, ok := p.first(v, slots.Map)
		if !ok {
			return false
		}
		if p.try(v, d, pool, slots.Map, true) {
			return true
		}
	}
}

// preSchedule is Slot PreScheduling: past its part of the load, the tracker has
// map slots for maps whose input it has.
func (p *PDDHFS) preSchedule(v *slots.View, d *slots.Decision) bool {
	if t := v.Tracker(); !p.extras.preSchedules || p.withinShare(v, t) || !p.ownSlot(v, slots.Map) {
		return false
	}
	pool, ok := p.order.pools[slots.Map].First()
	return ok && p.order.preSchedule(v, d, p.extraIdle(v), func() []slots.Number { return p.numbers(v, slots.PoolID(pool), slots.Map) })
}

// extraIdle are the visited tracker's slots beyond its part of the load.
func (p *PDDHFS) extraIdle(v *slots.View) int32 {
	t := v.Tracker()
	own, all := capacityAt(v, t, slots.Map)+capacityAt(v, t, slots.Reduce), capacity(v, slots.Map)+capacity(v, slots.Reduce)
	return dynamicmr.ExtraIdle(p.totalDemand(), own, all, runningTasks(v, t)) / p.weights.Of(slots.Map)
}

// idle is how many slots tasks of kind k could have now, borrowed ones too.
func (p *PDDHFS) idle(v *slots.View, k slots.Kind) int32 {
	other := k.Other()
	own := capacity(v, k) - (v.Weights().Times(k, v.Running(k)) - v.LentBy(other))
	all := v.Weights().Room([2]int32{v.Capacity(slots.Map), v.Capacity(slots.Reduce)}, [2]int32{v.Running(slots.Map), v.Running(slots.Reduce)})
	return min(own+allowanceLeft(p.options, v, other), all) / v.Weights().Of(k)
}
