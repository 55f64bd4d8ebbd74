package policy

import (
	"mrlocal/slots"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// Fair is Hadoop 1.x's Fair Scheduler on static, typed slots: the baseline HFS
// of the DHFS paper. Per kind, each free slot goes to the pool that is farthest
// below its min share, else below its fair share; inside a pool likewise to a
// job (SPEC 1.3, 1.5). Maps may wait for slots near their data (SPEC 1.6), and
// pools that starve have tasks of others killed where they are configured so
// (SPEC 1.7).
type Fair struct {
	options settings.Options
	extras  extras
	order   order
	preempt preemption
}

// NewFair returns a Fair.
func NewFair(o settings.Options) *Fair {
	f := &Fair{options: o}
	f.Reset()
	return f
}

// Reset implements slots.Resetter.
func (f *Fair) Reset() {
	f.preempt = preemption{}
	f.order = order{delay: delay{wait: f.options.LocalityDelay, starving: f.preempt.starves}, copies: f.extras.newCopies(f.idle)}
}

// Traits implements slots.Policy.
func (*Fair) Traits() slots.Traits { return slots.Traits{Name: "fair"} }

// NothingToGrant implements slots.NothingToGrant: of each kind nothing may start, or no slot is
// left in the cluster.
func (f *Fair) NothingToGrant(v *slots.View) bool {
	f.order.update(v)
	for k := range slots.Kind(trace.Kinds) {
		if f.order.total[k].startable > 0 && v.Running(k) < v.Capacity(k) {
			return false
		}
	}
	return true
}

// Decide is assignTasks (SPEC 1.5): task after task, until both kinds are
// rejected.
func (f *Fair) Decide(v *slots.View, d *slots.Decision) {
	f.order.begin(v)
	f.assignTasks(v, d)
	if d.Explaining() {
		for k := range slots.Kind(trace.Kinds) {
			f.decline(v, d, k)
		}
	}
	f.order.restore(v, d)
	f.preempt.check(v, d, f.order.updates)
}

func (f *Fair) assignTasks(v *slots.View, d *slots.Decision) {
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
		if k == slots.Map && f.preSchedules(v, t) {
			rejected[k] = !f.order.preSchedule(v, d, f.extraIdle(v, t), func() []slots.Number { return f.loadNumbers(v, t, slots.Map) })
			continue
		}
		numbers := func() []slots.Number { return f.loadNumbers(v, t, k) }
		if !f.order.grant(v, d, offer{k, trace.RuleNone, numbers}) {
			rejected[k] = true
		}
	}
}

// fits: something may start and the load manager gives the tracker more of kind
// k (CapBasedLoadManager).
func (f *Fair) fits(v *slots.View, t slots.TrackerID, k slots.Kind) bool {
	return f.order.total[k].startable > 0 && v.FreeHome(t, k) > 0 &&
		(v.RunningAt(t, k) < f.loadCap(v, t, k) || k == slots.Map && f.preSchedules(v, t))
}

// preSchedules: the tracker has had its part of the load of maps, and has slots
// beyond it.
func (f *Fair) preSchedules(v *slots.View, t slots.TrackerID) bool {
	return f.extras.preSchedules && v.RunningAt(t, slots.Map) >= f.loadCap(v, t, slots.Map) && f.extraIdle(v, t) > 0
}

func (f *Fair) extraIdle(v *slots.View, t slots.TrackerID) int32 {
	k := slots.Map
	return dynamicmr.ExtraIdle(f.order.total[k].all, v.CapacityAt(t, k), v.Capacity(k), v.RunningAt(t, k))
}

// idle is how many slots tasks of kind k could have now.
func (f *Fair) idle(v *slots.View, k slots.Kind) int32 { return v.Capacity(k) - v.Running(k) }

// loadCap is CapBasedLoadManager with max diff 0 (SPEC 1.5):
// min(ceil(demand/capacity · trackerCapacity), trackerCapacity), where demand is
// the pools', each capped by its limit.
func (f *Fair) loadCap(v *slots.View, t slots.TrackerID, k slots.Kind) int32 {
	return slots.ShareOfLoad(f.order.total[k].all, v.CapacityAt(t, k), v.Capacity(k))
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
