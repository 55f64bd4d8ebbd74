package dynamicmr

import (
	"fmt"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
)

// Slot weights [DynamicMR14, "slot weights"]: a task of a kind weighs as much as a
// home slot of the kind. A tracker runs no more than its home slots weigh
// together. The counts below are in weight, where the papers count slots. Without
// weights each task weighs 1, and both are the same.

// weigh returns what n tasks or slots of kind k weigh.
func weigh(v *slots.View, k slots.Kind, n int32) int32 { return v.Weights().Times(k, n) }

// mayStillLend returns the weight of the slots of kind k that may be lent in addition to those
// that are lent already.
func mayStillLend(v *slots.View, o *policy.Options, k slots.Kind) int32 {
	return max(weigh(v, k, dhfs.Percentage(o, k).Of(v.Capacity(k)))-v.LentBy(k), 0)
}

// counts are the numbers of both algorithms in weight, with copies of running tasks as
// pending tasks. It implements dhfs.Counts.
type counts struct {
	order   *policy.Order
	options *policy.Options
}

// Phase implements dhfs.Counts. It counts copies as pending tasks.
func (c *counts) Phase(v *slots.View, k slots.Kind) dhfs.Phase {
	w := v.Weights()
	return dhfs.Phase{
		Pending: w.Times(k, c.order.Demand(v, k).Startable), Used: v.Used(k), Capacity: w.Times(k, v.Capacity(k)),
		Lending: c.Lending(v, k),
	}
}

// Lending implements dhfs.Counts. Nothing is left if the rest is less than the weight of a task.
func (c *counts) Lending(v *slots.View, k slots.Kind) dhfs.Lending {
	w, lent := v.Weights(), v.LentBy(k)
	most := w.Times(k, dhfs.Percentage(c.options, k).Of(v.Capacity(k)))
	if most-lent < w.Of(k.Other()) {
		most = lent
	}
	return dhfs.Lending{Borrowed: lent, Most: most}
}

// Phases implements dhfs.Counts. It counts copies only for the borrowing phase. A possible
// copy does not keep a slot from being lent, because it may not start on every tracker. The
// slot could be idle while tasks are pending. If both maps and reduces could borrow by these
// counts, maps do.
func (c *counts) Phases(v *slots.View, borrower slots.Kind) (maps, reduces dhfs.Phase) {
	maps, reduces = c.Phase(v, slots.Map), c.Phase(v, slots.Reduce)
	m, r := c.order.Demand(v, slots.Map), c.order.Demand(v, slots.Reduce)
	if m.Startable == m.Pending && r.Startable == r.Pending {
		return maps, reduces // there are no copies
	}
	lender := reduces
	lender.Pending = weigh(v, slots.Reduce, c.order.Pending(slots.Reduce))
	if s, _ := dhfs.Algorithm1(maps, lender); borrower == slots.Map || s == dhfs.MapBorrows {
		return maps, lender
	}
	maps.Pending = weigh(v, slots.Map, c.order.Pending(slots.Map))
	return maps, reduces
}

// Tracker implements dhfs.Counts. It returns whole slots, because the share of the load is
// rounded up to whole slots. So a task may exceed the share, but not the tracker's weight.
func (*counts) Tracker(v *slots.View, k slots.Kind) (capacity, used int32) {
	return v.CapacityAt(v.Tracker(), k), v.UsedAt(v.Tracker(), k) / v.Weights().Of(k)
}

// Fits implements dhfs.Counts: the unused slots have the weight of the task.
func (*counts) Fits(v *slots.View, task, of slots.Kind) bool {
	t := v.Tracker()
	return weigh(v, of, v.CapacityAt(t, of))-v.UsedAt(t, of) >= v.Weights().Of(task)
}

// NoRoom implements dhfs.Counts.
func (*counts) NoRoom(v *slots.View, k slots.Kind) string {
	w, room := v.Weights(), v.RoomAt(v.Tracker())
	if !w.Bound() || room >= w.Of(k) {
		return ""
	}
	return fmt.Sprintf("the tracker has room for a weight of %d, and a %v weighs %d", room, k, w.Of(k))
}

// Own implements dhfs.Counts.
func (*counts) Own(v *slots.View, k slots.Kind) (capacity, used int32) {
	return weigh(v, k, v.Capacity(k)), weigh(v, k, v.Running(k)) - v.LentBy(k.Other())
}

// Load implements dhfs.Counts. Its numbers are sums of slot weights.
func (c *counts) Load(v *slots.View) dhfs.Load {
	w, t := v.Weights(), v.Tracker()
	return dhfs.Load{
		SlotsDemand:     w.Sum([2]int32{c.order.Demand(v, slots.Map).All, c.order.Demand(v, slots.Reduce).All}),
		SlotsCapacity:   w.Sum([2]int32{v.Capacity(slots.Map), v.Capacity(slots.Reduce)}),
		TrackerCapacity: w.Sum([2]int32{v.CapacityAt(t, slots.Map), v.CapacityAt(t, slots.Reduce)}),
		TrackerRunning:  w.Sum([2]int32{v.RunningAt(t, slots.Map), v.RunningAt(t, slots.Reduce)}),
	}
}

// Extra implements slots.Opener. It returns the number of extra slots that light tasks need to
// use the whole weight of a tracker's home slots.
func (d *DynamicMR) Extra(home [2]int32, most int) int {
	if !d.allocation.Traits().Lends {
		return 0
	}
	return min(int(d.options.SlotWeights.Slots(home)-home[slots.Map]-home[slots.Reduce]), most)
}

// openExtra opens the extra slots of the visited tracker, if slot weights are set.
func (d *DynamicMR) openExtra(v *slots.View, decision *slots.Decision) {
	if !v.Weights().Bound() {
		return
	}
	t := v.Tracker()
	home := [2]int32{slots.Map: v.CapacityAt(t, slots.Map), slots.Reduce: v.CapacityAt(t, slots.Reduce)}
	most := len(v.SlotsOf(t)) - int(home[slots.Map]+home[slots.Reduce])
	if n := min(int(v.Weights().Slots(home)-home[slots.Map]-home[slots.Reduce]), most); int(v.OpenExtra(t)) < n {
		decision.Resize(t, int(home[slots.Map]), int(home[slots.Reduce]), n)
	}
}
