package fair

import (
	"fmt"

	"mrlocal/slots"
	"mrlocal/slots/policy"
)

// LoadNumbers are what the load manager looks at for kind k on the visited tracker.
func (f *Fair) LoadNumbers(v *slots.View, k slots.Kind) []slots.Number {
	t, all := v.Tracker(), f.Order.Total[k].All
	return []slots.Number{
		slots.Whole(fmt.Sprintf("%v demand", k), all),
		policy.Ratio(policy.LoadName(k), int64(all), v.Capacity(k)),
		slots.Whole(fmt.Sprintf("%v slots that tracker %d may use", k, t), f.loadCap(v, t, k)),
		slots.Whole(fmt.Sprintf("%vs that run there", k), v.RunningAt(t, k)),
	}
}

// decline says why this visit starts nothing more of kind k.
func (f *Fair) decline(v *slots.View, d *slots.Decision, k slots.Kind) {
	reason := f.Order.Stopped(v, k)
	switch {
	case reason != "":
	case v.FreeHome(v.Tracker(), k) == 0:
		reason = fmt.Sprintf("no %v slot of the tracker is free", k)
	default:
		reason = "the tracker's share of the load is used up"
	}
	d.Decline(k, reason, f.LoadNumbers(v, k)...)
}
