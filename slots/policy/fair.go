package policy

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// Fair is Hadoop 1.x's Fair Scheduler on static, typed slots: the baseline HFS
// of the DHFS paper. Per kind, each free slot goes to the pool that is farthest
// below its min share, else below its fair share; inside a pool likewise to a
// job (SPEC 1.3, 1.5).
type Fair struct {
	order order
}

// NewFair returns a Fair.
func NewFair() *Fair { return &Fair{} }

// Reset implements slots.Resetter.
func (f *Fair) Reset() { f.order = order{} }

// Name implements slots.Policy.
func (*Fair) Name() string { return "fair" }

// Decide is assignTasks (SPEC 1.5): task after task, until both kinds are
// rejected.
func (f *Fair) Decide(v *slots.View, d *slots.Decision) {
	t := v.Tracker()
	rejected := [2]bool{}
	for {
		for k := range slots.Kind(trace.Kinds) {
			rejected[k] = rejected[k] || !f.fits(v, t, k)
		}
		if rejected[slots.Map] && rejected[slots.Reduce] {
			return
		}
		k := f.nextKind(v, t, rejected)
		if !f.order.grant(v, d, k, trace.RuleNone) {
			rejected[k] = true
		}
	}
}

// fits: something is pending and the load manager gives the tracker more of
// kind k (CapBasedLoadManager).
func (f *Fair) fits(v *slots.View, t slots.TrackerID, k slots.Kind) bool {
	return v.Pending(k) > 0 && v.FreeHome(t, k) > 0 && v.RunningAt(t, k) < slots.LoadCap(v, t, k)
}

// nextKind is the type choice: where both are open, maps if the tracker runs no
// more of them than of reduces, so that neither starves.
func (f *Fair) nextKind(v *slots.View, t slots.TrackerID, rejected [2]bool) slots.Kind {
	switch {
	case rejected[slots.Map]:
		return slots.Reduce
	case rejected[slots.Reduce]:
		return slots.Map
	case v.RunningAt(t, slots.Map) <= v.RunningAt(t, slots.Reduce):
		return slots.Map
	}
	return slots.Reduce
}
