package dynamicmr

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
)

// Slot weights [DynamicMR14, "slot weights"]. The counts of Algorithms 1 and 2 in weight are in package dhfs.

// weigh returns what n tasks or slots of kind k weigh.
func weigh(v *slots.View, k slots.Kind, n int32) int32 { return v.Weights().Times(k, n) }

// mayStillLend returns the weight of the slots of kind k that may be lent in addition to those
// that are lent already.
func mayStillLend(v *slots.View, o *policy.Options, k slots.Kind) int32 {
	return max(weigh(v, k, dhfs.Percentage(o, k).Of(v.Capacity(k)))-v.LentBy(k), 0)
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
