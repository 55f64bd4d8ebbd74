package policy

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// PIDHFS is the pool-independent dynamic Hadoop fair scheduler: Algorithm 1 of
// seed 000, with the resolutions A1 to A9 of SPEC 5.1. Pools share the slots of
// each phase fairly, as under Fair; when one phase has too few slots while the
// other has slots unused, the first borrows.
//
// All its arithmetic is on the papers' counts (SPEC D4), not on the identities
// of slots: which slot a task lands on is the Ledger's business. Quantities are
// recomputed after every single grant, so that several trackers cannot lend the
// same slot twice (A6).
type PIDHFS struct {
	options Options
	order   order
}

// NewPIDHFS returns a PIDHFS.
func NewPIDHFS(o Options) *PIDHFS { return &PIDHFS{options: o} }

// Reset implements slots.Resetter.
func (p *PIDHFS) Reset() { p.order = order{} }

// Name implements slots.Policy.
func (*PIDHFS) Name() string { return "pi-dhfs" }

// Lends implements slots.Lender.
func (p *PIDHFS) Lends() bool { return p.options.BorrowMap > 0 || p.options.BorrowReduce > 0 }

// Borrow implements slots.Borrower.
func (p *PIDHFS) Borrow() (ofMapSlots, ofReduceSlots slots.PPM) {
	return p.options.BorrowMap, p.options.BorrowReduce
}

// Decide is one heartbeat: tasks on slots of their own type first, maps before
// reduces, then what may be borrowed (A7).
func (p *PIDHFS) Decide(v *slots.View, d *slots.Decision) {
	for v.FreeAt(v.Tracker()) > 0 {
		if !p.own(v, d, slots.Map) && !p.own(v, d, slots.Reduce) &&
			!p.borrow(v, d, slots.Map) && !p.borrow(v, d, slots.Reduce) {
			return
		}
	}
}

// Sated implements slots.Sated: no slot of a pending task's own type is left in
// the cluster, and nothing may be borrowed.
func (p *PIDHFS) Sated(v *slots.View) bool {
	for k := range slots.Kind(trace.Kinds) {
		if v.Pending(k) > 0 && (v.Used(k) < v.Capacity(k) || p.extraDemand(v, k) > 0) {
			return false
		}
	}
	return true
}

// own starts a task of kind k where the tracker has slots of that type
// available.
func (p *PIDHFS) own(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	return v.Pending(k) > 0 && available(v, v.Tracker(), k, 0) > 0 && p.order.grant(v, d, k, trace.RuleOwnSlots)
}

// borrow starts a task of kind k on the count of the other type, within the
// cluster's allowance.
func (p *PIDHFS) borrow(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	if v.Pending(k) == 0 {
		return false
	}
	extra := p.extraDemand(v, k)
	rule := trace.RuleMapBorrows
	if k == slots.Reduce {
		rule = trace.RuleReduceBorrows
	}
	return extra > 0 && available(v, v.Tracker(), k.Other(), extra) > 0 && p.order.grant(v, d, k, rule)
}

// scenario is which phase has too few slots. The paper numbers the cases in two
// ways, so they are named here (A1).
type scenario uint8

const (
	enough        scenario = iota // NONE: both phases have enough
	mapBorrows                    // maps have too few, reduces leave some unused
	reduceBorrows                 // the mirror
	saturated                     // both have too few
)

func (s scenario) String() string {
	return [...]string{"NONE", "MAP_BORROWS", "REDUCE_BORROWS", "SATURATED"}[s]
}

// slotsDemand is mapSlotsDemand or reduceSlotsDemand: pending tasks plus used
// slots, not running tasks, so that lent slots do not look idle (D5, A3).
func slotsDemand(v *slots.View, k slots.Kind) int32 { return v.Pending(k) + v.Used(k) }

// compare is Algorithm 1, lines 3 to 14: load factors against 1, as integers; a
// load factor of exactly 1 borrows nothing (A2).
func compare(v *slots.View) scenario {
	m, r := slotsDemand(v, slots.Map)-v.Capacity(slots.Map), slotsDemand(v, slots.Reduce)-v.Capacity(slots.Reduce)
	switch {
	case m > 0 && r < 0:
		return mapBorrows
	case m < 0 && r > 0:
		return reduceBorrows
	case m >= 0 && r >= 0:
		return saturated
	}
	return enough
}

// extraDemand is how many slots of the other type tasks of kind k may borrow
// now: extraReduceSlotsDemand (line 11) or extraMapSlotsDemand (line 16).
//
//	min(max(floor(otherCapacity · percentage) - alreadyBorrowed, 0), demand - capacity)
//
// alreadyBorrowed is counted tracker by tracker (A4).
func (p *PIDHFS) extraDemand(v *slots.View, k slots.Kind) int32 {
	other, percentage := slots.Reduce, p.options.BorrowReduce
	want := mapBorrows
	if k == slots.Reduce {
		other, percentage, want = slots.Map, p.options.BorrowMap, reduceBorrows
	}
	if compare(v) != want {
		return 0
	}
	allowance := max(percentage.Of(v.Capacity(other))-v.LentBy(other), 0)
	return min(allowance, slotsDemand(v, k)-v.Capacity(k))
}

// available is line 18: the slots of type k that tracker t may give away now,
// where extra of the type are lent besides its own demand:
//
//	min(ceil((demand + extra)/capacity · trackerCapacity), trackerCapacity) - used at t
//
// a load factor like FIFO's, which spreads a light load evenly over trackers.
func available(v *slots.View, t slots.TrackerID, k slots.Kind, extra int32) int32 {
	own, all := int64(v.CapacityAt(t, k)), int64(v.Capacity(k))
	if all == 0 {
		return 0
	}
	demand := int64(slotsDemand(v, k)) + int64(extra)
	return int32(min((demand*own+all-1)/all, own)) - v.UsedAt(t, k)
}
