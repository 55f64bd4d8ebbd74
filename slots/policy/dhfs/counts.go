package dhfs

import (
	"mrlocal/slots"
	"mrlocal/slots/policy"
)

// base is what both policies have.
type base struct {
	Order   policy.Order
	Options policy.Options
	Counts  Counts // set before the first Decide; Reset sets the paper's counts if it is nil
}

// reset prepares b for the next run.
func (b *base) reset(s slots.Sharing, w policy.Wait) {
	if b.Order = policy.NewOrder(s, w); b.Counts == nil {
		b.Counts = &counts{b}
	}
}

// Counts are the numbers that the algorithms read.
type Counts interface {
	// Phase returns the phase of kind k.
	Phase(v *slots.View, k slots.Kind) Phase

	// Phases returns both phases, for the decision whether tasks of kind borrower borrow.
	Phases(v *slots.View, borrower slots.Kind) (maps, reduces Phase)

	// Lending returns what the slots of kind k lend.
	Lending(v *slots.View, k slots.Kind) Lending

	// Tracker returns how many slots of kind k the visited tracker has and uses.
	Tracker(v *slots.View, k slots.Kind) (capacity, used int32)

	// Fits reports whether a task has room in the visited tracker's idle slots of a kind.
	Fits(v *slots.View, task, of slots.Kind) bool

	// NoRoom says why the visited tracker has no room for a task of kind k, whatever slots
	// are idle; "" if it has.
	NoRoom(v *slots.View, k slots.Kind) string

	// Own returns how many slots of kind k there are, and how many tasks of kind k use.
	Own(v *slots.View, k slots.Kind) (capacity, used int32)

	// Load returns the variables of line 1 of Algorithm 2.
	Load(v *slots.View) Load
}

// counts are the numbers of both algorithms, as the paper counts.
type counts struct{ *base }

func (c *counts) Phase(v *slots.View, k slots.Kind) Phase {
	return Phase{Pending: c.Order.Pending(k), Used: v.Used(k), Capacity: v.Capacity(k), Lending: c.Lending(v, k)}
}

func (c *counts) Phases(v *slots.View, _ slots.Kind) (maps, reduces Phase) {
	return c.Phase(v, slots.Map), c.Phase(v, slots.Reduce)
}

// Lending implements Counts. The paper's Algorithm 2 has no percentages; here they bound
// it too [DHFS13, "lent by tracker"].
func (c *counts) Lending(v *slots.View, k slots.Kind) Lending {
	return Lending{Borrowed: v.LentBy(k), Most: Percentage(&c.Options, k).Of(v.Capacity(k))}
}

func (*counts) Tracker(v *slots.View, k slots.Kind) (capacity, used int32) {
	return v.CapacityAt(v.Tracker(), k), v.UsedAt(v.Tracker(), k)
}

// Fits implements Counts: one slot is idle.
func (*counts) Fits(v *slots.View, _, of slots.Kind) bool {
	return v.UsedAt(v.Tracker(), of) < v.CapacityAt(v.Tracker(), of)
}

// NoRoom implements Counts: idle slots are all that a task needs.
func (*counts) NoRoom(*slots.View, slots.Kind) string { return "" }

// Own implements Counts. Tasks on slots of the other kind use none of their own kind.
func (*counts) Own(v *slots.View, k slots.Kind) (capacity, used int32) {
	return v.Capacity(k), v.Running(k) - v.LentBy(k.Other())
}

func (c *counts) Load(v *slots.View) Load {
	t := v.Tracker()
	return Load{
		SlotsDemand:     c.Order.Demand(v, slots.Map).All + c.Order.Demand(v, slots.Reduce).All,
		SlotsCapacity:   v.Capacity(slots.Map) + v.Capacity(slots.Reduce),
		TrackerCapacity: v.CapacityAt(t, slots.Map) + v.CapacityAt(t, slots.Reduce),
		TrackerRunning:  v.RunningAt(t, slots.Map) + v.RunningAt(t, slots.Reduce),
	}
}
