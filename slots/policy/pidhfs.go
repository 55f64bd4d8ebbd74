package policy

import (
	"mrlocal/slots"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// PIDHFS is the pool-independent dynamic Hadoop fair scheduler: Algorithm 1 of
// seed 000, with the resolutions A1 to A9 of SPEC 5.1. Pools share the slots of
// each phase fairly, as under Fair; when one phase has too few slots while the
// other has slots unused, the first borrows. With a line of jobs instead of
// pools it is pi-fifo: the paper remarks that its solution serves the FIFO
// scheduler as well (SPEC D12).
//
// All its arithmetic is on the papers' counts (SPEC D4), not on the identities
// of slots: which slot a task lands on is the Ledger's business. Quantities are
// recomputed after every single grant, so that several trackers cannot lend the
// same slot twice (A6).
type PIDHFS struct {
	borrower
	name   string
	shape  shape
	extras extras
	order  order
}

// NewPIDHFS returns a PIDHFS over fair pools.
func NewPIDHFS(o settings.Options) *PIDHFS { return newPI("pi-dhfs", perKind, o, extras{}) }

// NewPIFIFO returns a PIDHFS over one line of all jobs, by priority, submission
// and id. It waits for no local slots, as Hadoop's FIFO scheduler does not.
func NewPIFIFO(o settings.Options) *PIDHFS {
	o.LocalityDelay = 0
	return newPI("pi-fifo", lineUp, o, extras{})
}

func newPI(name string, s shape, o settings.Options, x extras) *PIDHFS {
	p := &PIDHFS{borrower: borrower{o, x.weights}, name: name, shape: s, extras: x}
	p.Reset()
	return p
}

// Reset implements slots.Resetter.
func (p *PIDHFS) Reset() {
	p.order = order{shape: p.shape, delay: delay{wait: p.options.LocalityDelay}, copies: p.extras.newCopies(p.idle)}
}

// Traits implements slots.Policy.
func (p *PIDHFS) Traits() slots.Traits { return p.traits(p.name) }

// Decide is one heartbeat: tasks on slots of their own type first, maps before
// reduces, then what may be borrowed (A7).
func (p *PIDHFS) Decide(v *slots.View, d *slots.Decision) {
	p.openExtra(v, d)
	p.order.begin(v)
	for v.FreeAt(v.Tracker()) > 0 {
		if !p.own(v, d, slots.Map) && !p.own(v, d, slots.Reduce) &&
			!p.borrow(v, d, slots.Map) && !p.borrow(v, d, slots.Reduce) {
			break
		}
	}
	if d.Explaining() {
		p.decline(v, d)
	}
	p.order.restore(v, d)
}

// NothingToGrant implements slots.NothingToGrant: no slot of a pending task's own type is left in
// the cluster, and nothing may be borrowed.
func (p *PIDHFS) NothingToGrant(v *slots.View) bool {
	p.order.update(v)
	for k := range slots.Kind(trace.Kinds) {
		if p.startable(k) > 0 && (v.Used(k) < capacity(v, k) || p.extraDemand(v, k) > 0) {
			return false
		}
	}
	return true
}

// startable is how many tasks of kind k may start, the limits of pools counted.
func (p *PIDHFS) startable(k slots.Kind) int32 { return p.order.total[k].startable }

// own starts a task of kind k where the tracker has slots of that type
// available.
func (p *PIDHFS) own(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	if p.startable(k) == 0 {
		return false
	}
	numbers := func() []slots.Number { return p.ownNumbers(v, k) }
	if !p.hasSlot(v, k, k, 0) {
		return k == slots.Map && p.extras.preSchedules && p.order.preSchedule(v, d, p.extraIdle(v), numbers)
	}
	return p.order.grant(v, d, offer{k, trace.RuleOwnSlots, numbers})
}

// extraIdle are the visited tracker's map slots beyond its part of the load.
func (p *PIDHFS) extraIdle(v *slots.View) int32 {
	t, k, w := v.Tracker(), slots.Map, v.Weights().Of(slots.Map)
	return dynamicmr.ExtraIdle(p.slotsDemand(v, k), v.CapacityAt(t, k), capacity(v, k), (v.UsedAt(t, k)+w-1)/w)
}

// idle is how many slots tasks of kind k could have now, borrowed ones too.
func (p *PIDHFS) idle(v *slots.View, k slots.Kind) int32 {
	other := k.Other()
	return (capacity(v, k) - v.Used(k) + min(allowanceLeft(p.options, v, other), p.unused(v, other))) / v.Weights().Of(k)
}

// borrow starts a task of kind k on the count of the other type, within the
// cluster's allowance.
func (p *PIDHFS) borrow(v *slots.View, d *slots.Decision, k slots.Kind) bool {
	if p.startable(k) == 0 {
		return false
	}
	extra := p.extraDemand(v, k)
	if extra <= 0 || !p.hasSlot(v, k, k.Other(), extra) {
		return false
	}
	return p.order.grant(v, d, offer{k, borrowRule(k), func() []slots.Number { return p.borrowNumbers(v, k, extra) }})
}

// hasSlot reports whether a task may have a slot of a kind on the visited tracker:
// what is idle of that kind there has its weight, and the tracker has not had its
// share of the load.
func (p *PIDHFS) hasSlot(v *slots.View, task, of slots.Kind, extra int32) bool {
	t := v.Tracker()
	return p.idleAt(v, of) >= v.Weights().Of(task) && (p.available(v, t, of, extra) > 0 || task == slots.Map && stranded(v))
}

// idleAt is what is unused of the visited tracker's slots of kind k.
func (p *PIDHFS) idleAt(v *slots.View, k slots.Kind) int32 {
	return capacityAt(v, v.Tracker(), k) - v.UsedAt(v.Tracker(), k)
}

// stranded: maps are pending and none runs. Then the reduces that wait for them
// may use up the share of the load of the only tracker where a map may run that
// failed on all others: for maps the share does not count (A9).
func stranded(v *slots.View) bool { return v.Pending(slots.Map) > 0 && v.Running(slots.Map) == 0 }

func borrowRule(k slots.Kind) slots.Rule {
	if k == slots.Map {
		return trace.RuleMapBorrows
	}
	return trace.RuleReduceBorrows
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
// slots, not running tasks, so that lent slots do not look idle (D5, A3). A task
// that its pool's limit keeps back demands nothing.
func (p *PIDHFS) slotsDemand(v *slots.View, k slots.Kind) int32 {
	return v.Weights().Times(k, p.startable(k)) + v.Used(k)
}

// unused is how many slots of kind k its pending tasks leave for the other kind.
// Copies keep none back: what may start on the visited tracker goes before what
// borrows there, and a copy may not start on every tracker, so that a slot which
// waited for one could idle while tasks are pending.
func (p *PIDHFS) unused(v *slots.View, k slots.Kind) int32 {
	return max(capacity(v, k)-v.Used(k)-v.Weights().Times(k, p.order.total[k].pending), 0)
}

// compare is Algorithm 1, lines 3 to 14: load factors against 1, as integers; a
// load factor of exactly 1 borrows nothing (A2).
func (p *PIDHFS) compare(v *slots.View) scenario {
	m, r := p.slotsDemand(v, slots.Map)-capacity(v, slots.Map), p.slotsDemand(v, slots.Reduce)-capacity(v, slots.Reduce)
	switch {
	case m > 0 && p.unused(v, slots.Reduce) > 0:
		return mapBorrows
	case p.unused(v, slots.Map) > 0 && r > 0:
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
	want := mapBorrows
	if k == slots.Reduce {
		want = reduceBorrows
	}
	if p.compare(v) != want || !p.lendable(v, k.Other()) {
		return 0
	}
	return min(allowanceLeft(p.options, v, k.Other()), p.slotsDemand(v, k)-capacity(v, k))
}

// available is line 18: the slots of type k that tracker t may give away now,
// where extra of the type are lent besides its own demand:
//
//	min(ceil((demand + extra)/capacity · trackerCapacity), trackerCapacity) - used at t
//
// a load factor like FIFO's, which spreads a light load evenly over trackers. It
// is rounded up to whole slots; of what is left a task may overdraw the share, but
// not the tracker's weight.
func (p *PIDHFS) available(v *slots.View, t slots.TrackerID, k slots.Kind, extra int32) int32 {
	share := slots.ShareOfLoad(p.slotsDemand(v, k)+extra, v.CapacityAt(t, k), capacity(v, k))
	return v.Weights().Times(k, share) - v.UsedAt(t, k)
}
