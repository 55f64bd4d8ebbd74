package policy

import (
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy/settings"
)

// borrower is the part of a DHFS policy that its percentages decide, and slot
// weights: quantities are in weight, where each task and slot weighs 1 if nothing
// else is said. The papers' counts are that. pi-dhfs and pd-dhfs have no weights,
// dynamicmr may.
type borrower struct {
	options settings.Options
	weights demand.Weights
}

// traits are those of a policy of this name. Where nothing is lent a tracker's
// home slots bound what it runs, and weights do not count.
func (b *borrower) traits(name string) slots.Traits {
	o := &b.options
	t := slots.Traits{Name: name, Borrows: true, BorrowMap: o.BorrowMap, BorrowReduce: o.BorrowReduce, Lends: o.BorrowMap > 0 || o.BorrowReduce > 0}
	if t.Lends {
		t.Weights = b.weights
	}
	return t
}

// Extra implements slots.Opener: the slots that light tasks need to fill up what a
// tracker's home slots weigh.
func (b *borrower) Extra(home [2]int32, most int) int {
	return min(int(b.traits("").Weights.Slots(home)-home[slots.Map]-home[slots.Reduce]), most)
}

// openExtra opens them at the visited tracker, as far as there are any.
func (b *borrower) openExtra(v *slots.View, d *slots.Decision) {
	if !v.Weights().Bound() {
		return
	}
	t := v.Tracker()
	home := [2]int32{slots.Map: v.CapacityAt(t, slots.Map), slots.Reduce: v.CapacityAt(t, slots.Reduce)}
	most := len(v.SlotsOf(t)) - int(home[slots.Map]+home[slots.Reduce])
	if n := b.Extra(home, most); int(v.OpenExtra(t)) < n {
		d.Resize(t, int(home[slots.Map]), int(home[slots.Reduce]), n)
	}
}

// capacity is what the slots of kind k weigh, of all trackers.
func capacity(v *slots.View, k slots.Kind) int32 { return v.Weights().Times(k, v.Capacity(k)) }

// capacityAt is what the slots of kind k of a tracker weigh.
func capacityAt(v *slots.View, t slots.TrackerID, k slots.Kind) int32 {
	return v.Weights().Times(k, v.CapacityAt(t, k))
}

// lendable reports whether slots of kind k may be lent for a task of the other
// kind, whatever is unused.
func (b *borrower) lendable(v *slots.View, k slots.Kind) bool {
	return allowanceLeft(b.options, v, k) >= v.Weights().Of(k.Other())
}

// allowanceLeft is max(floor(capacity · percentage) - alreadyBorrowed, 0) of the
// slots of kind k, in weight.
func allowanceLeft(o settings.Options, v *slots.View, k slots.Kind) int32 {
	return max(v.Weights().Times(k, percentage(o, k).Of(v.Capacity(k)))-v.LentBy(k), 0)
}

// percentage is percentageOfBorrowedMapSlots or percentageOfBorrowedReduceSlots.
func percentage(o settings.Options, k slots.Kind) slots.PPM {
	if k == slots.Map {
		return o.BorrowMap
	}
	return o.BorrowReduce
}
