package dhfs

// Algorithm 2 of [DHFS13], the dynamic task assignment under PD-DHFS. Each pool is
// selfish: it uses map slots and reduce slots for its own maps and reduces before
// another pool gets them. The steps, by the lines of the paper:
//
//	   1  Compute the slots demand of all pools, the running tasks of the tracker, and
//	      its current slots capacity: its part of the load.
//	   3  If the tracker runs as much as its current slots capacity, stop.
//	   5  For each free slot up to that capacity:
//	   6  Sort the pools by their distance below their min share and fair share.
//	   7  For each pool, try in turn:
//	   9    case 1, a map if map slots are idle                      (MAP_ON_MAP)
//	  14    case 2, a reduce if reduce slots are idle                (REDUCE_ON_REDUCE)
//	  19    case 3, a map on a reduce slot                           (MAP_ON_REDUCE)
//	  24    case 4, a reduce on a map slot                           (REDUCE_ON_MAP)
//	  29  If no pool had a task: for each pool, case 5, a map away from its input
//	                                                                 (NON_LOCAL_MAP)
//
// Pools are sorted by their maps and reduces together [DHFS13, "combined key"]:
// poolKey in slots/policy/order.go is that key.
// foundTask, "no pool had a task", is reset for each slot [DHFS13, "found-task
// reset"]. A map whose job waits for a local slot may start in case 5 only [DHFS13,
// "visited for map"].

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
)

// Load holds the variables of line 1, in slots.
type Load struct {
	SlotsDemand     int32 // totalSlotsDemand: the demand of all pools, each within its limits
	SlotsCapacity   int32 // totalSlotsCapacity
	TrackerCapacity int32 // trackerSlotsCapacity
	TrackerRunning  int32 // trackerRunningTasksNum
}

// CurrentCapacity returns trackerCurrentSlotsCapacity, which the paper leaves open. Here it is
// the tracker's even part of the load [DHFS13, "tracker capacity"]:
//
//	min(ceil(totalSlotsDemand/totalSlotsCapacity · trackerSlotsCapacity), trackerSlotsCapacity)
func (l Load) CurrentCapacity() int32 {
	return slots.ShareOfLoad(l.SlotsDemand, l.TrackerCapacity, l.SlotsCapacity)
}

// Within reports whether the tracker runs less than its part of the load (l. 3).
func (l Load) Within() bool { return l.TrackerRunning < l.CurrentCapacity() }

// Decide is one heartbeat: slot after slot (l. 5).
func (p *PD) Decide(v *slots.View, d *slots.Decision) {
	p.Order.Begin(v)
	for v.FreeAt(v.Tracker()) > 0 && p.Next(v, d) {
	}
	p.End(v, d)
}

// Next is lines 6 to 34: it starts one task, and reports whether one started.
func (p *PD) Next(v *slots.View, d *slots.Decision) bool {
	return p.fromPools(v, d) || p.nonLocalMap(v, d)
}

// fromPools is lines 6 to 27. It starts a task of the first pool that has one for cases 1 to
// 4, and reports whether one started. Two rankings by the same key replace the scan of pools:
// one of the pools with maps and one of the pools with reduces. The first pool of the paper is
// the first of both.
func (p *PD) fromPools(v *slots.View, d *slots.Decision) bool {
	for {
		pool, k, ok := p.nextCase(v)
		if !ok {
			return false
		}
		if p.assignTask(v, d, pool, k, false) {
			return true
		}
	}
}

// nextCase returns the first pool that has a task for the tracker, and the kind of
// that task. If a pool is first with both kinds, it gets a map (l. 9), unless only reduce
// slots are idle (l. 14).
func (p *PD) nextCase(v *slots.View) (pool slots.PoolID, k slots.Kind, ok bool) {
	m, haveMap := p.firstPool(v, slots.Map)
	r, haveReduce := p.firstPool(v, slots.Reduce)
	switch {
	case !haveMap && !haveReduce:
		return 0, 0, false
	case !haveReduce:
		return m, slots.Map, true
	case !haveMap:
		return r, slots.Reduce, true
	case m != r && p.Order.Before(v, r, slots.Reduce, m):
		return r, slots.Reduce, true
	case m == r && !idle(v, slots.Map) && idle(v, slots.Reduce):
		return r, slots.Reduce, true
	}
	return m, slots.Map, true
}

// firstPool returns the first pool with a task of kind k, if the tracker may run one. The
// task takes an idle slot of its kind (l. 9, l. 14) or borrows a slot (l. 19, l. 24).
func (p *PD) firstPool(v *slots.View, k slots.Kind) (slots.PoolID, bool) {
	if !p.Counts.Load(v).Within() && (k == slots.Reduce || !stranded(v)) {
		return 0, false
	}
	if !idle(v, k) && !p.mayLend(v, k.Other()) {
		return 0, false
	}
	return p.Order.First(v, k)
}

// idle reports whether the tracker has "idle map slots" (l. 9) or "idle reduce slots" (l. 14),
// by the paper's counts [DHFS13, "idle by count"].
func idle(v *slots.View, k slots.Kind) bool {
	return v.RunningAt(v.Tracker(), k) < v.CapacityAt(v.Tracker(), k)
}

// mayLend reports whether one more slot of kind k may be lent.
func (p *PD) mayLend(v *slots.View, k slots.Kind) bool { return p.Counts.Lending(v, k).Left() > 0 }

// assignTask starts a task of kind k of a pool, and reports whether it did. The slot is of its
// own kind by the paper's counts (cases 1 and 2) or borrowed (cases 3 and 4). If anywhere is
// true, a map starts even if its job waits for a local slot.
func (p *PD) assignTask(v *slots.View, d *slots.Decision, pool slots.PoolID, k slots.Kind, anywhere bool) bool {
	rule, move := borrowRule(k), slots.MoveAlways
	if idle(v, k) {
		rule, move = RuleOwnSlots, slots.MoveNever
	}
	return p.Order.Try(v, d, pool, policy.Offer{Kind: k, Rule: rule, Move: move},
		func(slots.PoolID) []slots.Number { return p.Numbers(v, pool, k) }, anywhere)
}

// nonLocalMap is lines 29 to 34, case 5. No pool has a task for the slot but maps that wait for
// a nearer slot. Then a map of the first pool gets it. nonLocalMap reports whether one started.
func (p *PD) nonLocalMap(v *slots.View, d *slots.Decision) bool {
	if policy.TimeOr(p.Options.LocalityDelay, 0) == 0 || !p.Order.Recall(v, slots.RefusedLocality) {
		return false
	}
	for {
		pool, ok := p.firstPool(v, slots.Map)
		if !ok {
			return false
		}
		if p.assignTask(v, d, pool, slots.Map, true) {
			return true
		}
	}
}
