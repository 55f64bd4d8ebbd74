package dhfs

import (
	"fmt"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// demandName is the paper's name of a kind's slots demand.
func demandName(k slots.Kind) string { return k.String() + "SlotsDemand" }

// loads returns the numbers of line 1 of Algorithm 1: demands and load factors of both kinds.
func (p *PI) loads(v *slots.View) (all []slots.Number) {
	for k := range slots.Kind(trace.Kinds) {
		f := p.Counts.Phase(v, k)
		all = append(all, slots.Whole(demandName(k), f.SlotsDemand()), policy.Ratio(policy.LoadName(k), int64(f.SlotsDemand()), f.Capacity))
	}
	return all
}

// OwnNumbers returns the numbers that a grant of kind k on a slot of its own kind depends on.
func (p *PI) OwnNumbers(v *slots.View, k slots.Kind) []slots.Number {
	return append(p.loads(v), slots.Whole(fmt.Sprintf("available %v slots of tracker %d", k, v.Tracker()), p.available(v, k, 0)))
}

// borrowNumbers returns the numbers that a grant of kind k on a borrowed slot depends on
// (l. 10-12, or l. 15-17). extra is how many slots of the other kind it may borrow.
func (p *PI) borrowNumbers(v *slots.View, k slots.Kind, extra int32) []slots.Number {
	other := k.Other()
	lender := p.Counts.Phase(v, other)
	return append(p.loads(v),
		slots.Whole("extra "+demandName(k), extra),
		policy.Ratio("updated "+policy.LoadName(other), int64(lender.SlotsDemand()+extra), lender.Capacity),
		slots.Whole(fmt.Sprintf("%v slots that may still be lent", other), lender.Lending.Left()),
		slots.Whole(fmt.Sprintf("available %v slots of tracker %d", other, v.Tracker()), p.available(v, other, extra)))
}

// whyNoSlot returns in words why Algorithm 1 has no slot on the visited tracker for a task of
// kind k that may start. Reasons of the whole cluster come before those of the tracker: if
// nothing can be granted anywhere, AssignAll visits only one tracker.
func (p *PI) whyNoSlot(v *slots.View, k slots.Kind) string {
	t, other := v.Tracker(), k.Other()
	maps, reduces := p.Counts.Phases(v, k)
	borrower, lender := maps, reduces
	if k == slots.Reduce {
		borrower, lender = reduces, maps
	}
	capacity, used := p.Counts.Tracker(v, k)
	switch {
	case v.FreeAt(t) > 0 && used < capacity && p.available(v, k, 0) <= 0:
		return policy.LoadUsedUp
	case lender.lacks() >= 0:
		return fmt.Sprintf("%s %s: no slot is unused", policy.LoadName(other), policy.Ratio("", int64(lender.SlotsDemand()), lender.Capacity).Value())
	case p.Counts.NoRoom(v, k) != "":
		return p.Counts.NoRoom(v, k)
	case borrower.lacks() <= 0:
		return fmt.Sprintf("%s is at most 1: the %v slots of other trackers are enough", policy.LoadName(k), k)
	case lender.Lending.Left() == 0:
		return allLent(v, &p.Options, other)
	case v.FreeAt(t) == 0:
		return "no slot of the tracker is free"
	}
	return policy.LoadUsedUp
}

// allLent says in words that no more slots of kind k may be lent.
func allLent(v *slots.View, o *policy.Options, k slots.Kind) string {
	switch allowed := Percentage(o, k).Of(v.Capacity(k)); allowed {
	case 0:
		return fmt.Sprintf("no %v slot may be lent", k)
	case 1:
		return fmt.Sprintf("the one %v slot that may be lent is lent", k)
	default:
		return fmt.Sprintf("all %d %v slots that may be lent are lent", allowed, k)
	}
}

// loadNumbers returns the numbers of line 1 of Algorithm 2.
func (p *PD) loadNumbers(v *slots.View) []slots.Number {
	l := p.Counts.Load(v)
	return []slots.Number{
		slots.Whole("totalSlotsDemand", l.SlotsDemand),
		slots.Whole("trackerRunningTasksNum", l.TrackerRunning),
		slots.Whole("trackerCurrentSlotsCapacity", l.CurrentCapacity()),
	}
}

// Numbers returns the numbers that a case of Algorithm 2 depends on, for a task of kind k of a
// pool.
func (p *PD) Numbers(v *slots.View, pool slots.PoolID, k slots.Kind) []slots.Number {
	t, other := v.Tracker(), k.Other()
	all := append(p.loadNumbers(v),
		policy.Ratio(fmt.Sprintf("running %vs per %v slot of the tracker", k, k), int64(v.RunningAt(t, k)), v.CapacityAt(t, k)))
	if !idle(v, k) {
		all = append(all, slots.Whole(fmt.Sprintf("%v slots that may still be lent", other), p.Counts.Lending(v, other).Left()))
	}
	for each := range slots.Kind(trace.Kinds) {
		all = append(all, slots.Whole(demandName(each)+" of the pool", policy.ShareDemandOf(v.Pool(pool), each).Demand))
	}
	return all
}

// whyNoSlot returns in words why Algorithm 2 has no slot on the visited tracker for a task of kind k that
// may start. Reasons of the whole cluster come first, as in Algorithm 1.
func (p *PD) whyNoSlot(v *slots.View, k slots.Kind) string {
	switch {
	case v.FreeAt(v.Tracker()) > 0 && !p.Counts.Load(v).Within():
		return policy.LoadUsedUp
	case p.Counts.NoRoom(v, k) != "":
		return p.Counts.NoRoom(v, k)
	case !p.mayLend(v, k.Other()):
		return allLent(v, &p.Options, k.Other())
	}
	return "no slot of the tracker is free"
}
