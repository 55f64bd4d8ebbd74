package dhfs

import (
	"fmt"

	"mrlocal/slots"
	"mrlocal/slots/policy"
)

// base is what both policies have: the order of pools and jobs, the options, and the numbers that the
// algorithms read.
//
// The numbers are in weight, where the paper counts slots, and copies of running tasks count as pending
// tasks. Only package dynamicmr has slot weights and copies [DynamicMR14, "slot weights"]: a task of a
// kind weighs as much as a home slot of the kind, and a tracker runs no more than its home slots weigh
// together. Without weights each task weighs 1, and the numbers are the paper's.
type base struct {
	Order   policy.Order
	Options policy.Options
}

// Phase returns the phase of kind k.
func (b *base) Phase(v *slots.View, k slots.Kind) Phase {
	w := v.Weights()
	return Phase{
		Pending: w.Times(k, b.Order.Demand(v, k).Startable), Used: v.Used(k), Capacity: w.Times(k, v.Capacity(k)),
		Lending: b.lending(v, k),
	}
}

// lending returns what the slots of kind k lend. Nothing is left if the rest is less than the weight of a
// task. The paper's Algorithm 2 has no percentages; here they bound it too [DHFS13, "lent by tracker"].
func (b *base) lending(v *slots.View, k slots.Kind) Lending {
	w, lent := v.Weights(), v.LentBy(k)
	most := w.Times(k, Percentage(&b.Options, k).Of(v.Capacity(k)))
	if most-lent < w.Of(k.Other()) {
		most = lent
	}
	return Lending{Borrowed: lent, Most: most}
}

// Phases returns both phases, for the decision whether tasks of kind borrower borrow. It counts copies
// only for the borrowing phase. A possible copy does not keep a slot from being lent, because it may not
// start on every tracker. The slot could be idle while tasks are pending. If both maps and reduces could
// borrow by these counts, maps do.
func (b *base) Phases(v *slots.View, borrower slots.Kind) (maps, reduces Phase) {
	maps, reduces = b.Phase(v, slots.Map), b.Phase(v, slots.Reduce)
	m, r := b.Order.Demand(v, slots.Map), b.Order.Demand(v, slots.Reduce)
	if m.Startable == m.Pending && r.Startable == r.Pending {
		return maps, reduces // there are no copies
	}
	lender := reduces
	lender.Pending = v.Weights().Times(slots.Reduce, r.Pending)
	if s, _ := Algorithm1(maps, lender); borrower == slots.Map || s == MapBorrows {
		return maps, lender
	}
	maps.Pending = v.Weights().Times(slots.Map, m.Pending)
	return maps, reduces
}

// atTracker returns how many slots of kind k the visited tracker has and uses. It counts whole slots,
// because the share of the load is rounded up to whole slots. So a task may exceed the share, but not the
// tracker's weight.
func atTracker(v *slots.View, k slots.Kind) (capacity, used int32) {
	return v.CapacityAt(v.Tracker(), k), v.UsedAt(v.Tracker(), k) / v.Weights().Of(k)
}

// fits reports whether a task has room in the visited tracker's unused slots of a kind.
func fits(v *slots.View, task, of slots.Kind) bool {
	t := v.Tracker()
	return v.Weights().Times(of, v.CapacityAt(t, of))-v.UsedAt(t, of) >= v.Weights().Of(task)
}

// noRoom says why the visited tracker has no room for a task of kind k, whatever slots are idle; "" if it
// has. Without weights an idle slot is all that a task needs.
func noRoom(v *slots.View, k slots.Kind) string {
	w, room := v.Weights(), v.RoomAt(v.Tracker())
	if !w.Bound() || room >= w.Of(k) {
		return ""
	}
	return fmt.Sprintf("the tracker has room for a weight of %d, and a %v weighs %d", room, k, w.Of(k))
}

// own returns how many slots of kind k there are, and how many tasks of kind k use. Tasks on slots of the
// other kind use none of their own kind.
func own(v *slots.View, k slots.Kind) (capacity, used int32) {
	w := v.Weights()
	return w.Times(k, v.Capacity(k)), w.Times(k, v.Running(k)) - v.LentBy(k.Other())
}

// Load returns the variables of line 1 of Algorithm 2. They are sums of slot weights.
func (b *base) Load(v *slots.View) Load {
	w, t := v.Weights(), v.Tracker()
	return Load{
		SlotsDemand:     w.Sum([2]int32{b.Order.Demand(v, slots.Map).All, b.Order.Demand(v, slots.Reduce).All}),
		SlotsCapacity:   w.Sum([2]int32{v.Capacity(slots.Map), v.Capacity(slots.Reduce)}),
		TrackerCapacity: w.Sum([2]int32{v.CapacityAt(t, slots.Map), v.CapacityAt(t, slots.Reduce)}),
		TrackerRunning:  w.Sum([2]int32{v.RunningAt(t, slots.Map), v.RunningAt(t, slots.Reduce)}),
	}
}
