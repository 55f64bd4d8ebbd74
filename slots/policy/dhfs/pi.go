package dhfs

// Algorithm 1 of [DHFS13], the dynamic task assignment under PI-DHFS. Pools share
// the slots of each phase fairly. A phase with too few slots borrows from one
// that leaves slots unused. The steps, by the lines of the paper:
//
//	   1  Compute the used slots, the slots demand and the load factor of each phase:
//	      demand = pending tasks + used slots, load factor = demand / capacity.
//	   3  Case 1: both load factors are at most 1. Nothing is borrowed.
//	   6  Case 2: both load factors are at least 1. Nothing is borrowed.
//	   9  Case 3: maps leave slots unused and reduces have too few.
//	  10  Count the map slots that are lent already. Reduces may borrow more, up to the
//	  11  percentage of the map slots less that count, and up to the slots that they lack.
//	  12  Update the load factor of the map slots by that.
//	  14  Case 4 is the mirror of case 3: maps borrow reduce slots (lines 14 to 17).
//	  18  By the updated load factors, compute how many map slots and reduce slots are
//	      available on the tracker.
//
// The paper numbers the cases in two orders; here they have names [DHFS13, "named
// scenarios"]. Integers replace load factors, so that nothing is rounded: load > 1
// is demand > capacity. A phase with a load factor of exactly 1 borrows nothing [DHFS13,
// "load of one"]. The policy runs the algorithm again before each grant, so that several
// trackers cannot lend the same slot [DHFS13, "borrow allowance"].

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Phase holds the paper's variables of one phase: of maps and map slots, or of
// reduces and reduce slots. All are numbers of tasks or slots in the cluster, or weights
// (package dynamicmr).
type Phase struct {
	Pending  int32 // pending tasks, each pool's within its limit
	Used     int32 // clusterUsed…Slots
	Capacity int32 // cluster…Capacity
	Lending  Lending
}

// Lending says how many slots a phase lends to the other one, and how many it may lend.
//
// It is a struct of its own for speed, because Algorithm 1 runs before each grant. The
// compiler keeps a struct of up to four fields in registers.
type Lending struct {
	Borrowed int32 // currentBorrowed…Slots: slots of this phase that the other phase uses
	Most     int32 // floor(cluster…Capacity · percentageOfBorrowed…Slots)
}

// Left returns how many more slots the other phase may borrow.
func (l Lending) Left() int32 { return max(l.Most-l.Borrowed, 0) }

// SlotsDemand returns mapSlotsDemand or reduceSlotsDemand [DHFS13, Alg. 1, l. 1]. It
// counts used slots, not running tasks, because a lent slot is used by the other phase.
func (p Phase) SlotsDemand() int32 { return p.Pending + p.Used }

// lacks returns how many slots the phase lacks. Above 0, its load factor is above 1. Below 0,
// the phase leaves slots unused.
func (p Phase) lacks() int32 { return p.SlotsDemand() - p.Capacity }

// Scenario is the case that holds.
type Scenario uint8

const (
	Enough        Scenario = iota // case 1, ENOUGH: both phases have enough slots
	Saturated                     // case 2, SATURATED: both phases have too few
	ReduceBorrows                 // case 3, REDUCE_BORROWS: reduces borrow map slots
	MapBorrows                    // case 4, MAP_BORROWS: maps borrow reduce slots
)

// Algorithm1 is lines 3 to 17. It returns the case that holds. extra is how many more slots of
// the other phase the borrowing phase may use than it has borrowed already.
func Algorithm1(maps, reduces Phase) (s Scenario, extra int32) {
	m, r := maps.lacks(), reduces.lacks()
	switch {
	case m <= 0 && r <= 0: // l. 3
		return Enough, 0
	case m >= 0 && r >= 0: // l. 6
		return Saturated, 0
	case m < 0 && r > 0: // l. 9
		return ReduceBorrows, extraDemand(reduces, maps)
	}
	return MapBorrows, extraDemand(maps, reduces) // l. 14
}

// extraDemand returns extraReduceSlotsDemand (l. 10-11) or extraMapSlotsDemand
// (l. 15-16). Borrowed slots are counted tracker by tracker [DHFS13, "lent by
// tracker"].
func extraDemand(borrower, lender Phase) int32 {
	return min(lender.Lending.Left(), borrower.lacks())
}

// Available is line 18. It returns how many slots of a phase a tracker may grant now. The
// tracker has capacity slots of the phase and uses used of them. extra slots are lent
// in addition to the phase's own demand (l. 12, l. 17).
//
//	min(ceil((demand + extra)/clusterCapacity · capacity), capacity) - used
//
// So a light load is spread evenly over the trackers [DHFS13, "borrow allowance"].
func Available(p Phase, extra, capacity, used int32) int32 {
	return slots.ShareOfLoad(p.SlotsDemand()+extra, capacity, p.Capacity) - used
}

// Decide is one heartbeat. Tasks get slots of their own kind first, maps before reduces, and
// then they borrow [DHFS13, "own type first"].
func (p *PI) Decide(v *slots.View, d *slots.Decision) {
	p.Order.Begin(v)
	for v.FreeAt(v.Tracker()) > 0 && p.Next(v, d) {
	}
	p.End(v, d)
}

// Next starts one task, and reports whether one started.
func (p *PI) Next(v *slots.View, d *slots.Decision) bool {
	return p.own(v, d, slots.Map) || p.own(v, d, slots.Reduce) ||
		p.borrow(v, d, slots.Map) || p.borrow(v, d, slots.Reduce)
}

// own starts a task of kind k, if slots of its own kind are available on the
// visited tracker. It reports whether a task started.
func (p *PI) own(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	if p.Order.Demand(v, k).Startable == 0 || !p.Has(v, k, k, 0) {
		return false
	}
	return p.Order.Grant(v, d, policy.Offer{Kind: k, Rule: RuleOwnSlots, Move: slots.MoveNever},
		func(slots.PoolID) []slots.Number { return p.OwnNumbers(v, k) })
}

// borrow starts a task of kind k on a borrowed slot, by the paper's counts, if Algorithm 1 allows
// it. It reports whether a task started.
func (p *PI) borrow(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	if p.Order.Demand(v, k).Startable == 0 {
		return false
	}
	extra := p.extra(v, k)
	if extra <= 0 || !p.Has(v, k, k.Other(), extra) {
		return false
	}
	return p.Order.Grant(v, d, policy.Offer{Kind: k, Rule: borrowRule(k), Move: slots.MoveAlways},
		func(slots.PoolID) []slots.Number { return p.borrowNumbers(v, k, extra) })
}

// extra returns how many slots of the other kind tasks of kind k may borrow now.
func (p *PI) extra(v *slots.View, k slots.Kind) int32 {
	want := [trace.Kinds]Scenario{slots.Map: MapBorrows, slots.Reduce: ReduceBorrows}[k]
	if s, extra := Algorithm1(p.Counts.Phases(v, k)); s == want {
		return extra
	}
	return 0
}

// Has reports whether a task of kind task may have a slot of kind of on the visited tracker:
// one is idle and available. extra is as for Available.
func (p *PI) Has(v *slots.View, task, of slots.Kind, extra int32) bool {
	return p.Counts.Fits(v, task, of) && (p.available(v, of, extra) > 0 || task == slots.Map && stranded(v))
}

// available is Available for kind k on the visited tracker.
func (p *PI) available(v *slots.View, k slots.Kind, extra int32) int32 {
	capacity, used := p.Counts.Tracker(v, k)
	return Available(p.Counts.Phase(v, k), extra, capacity, used)
}
