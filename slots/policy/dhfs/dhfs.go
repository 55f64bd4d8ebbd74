// Package dhfs is the Dynamic Hadoop Fair Scheduler: the policies pi-dhfs, pd-dhfs
// and pi-fifo.
//
// Paper: Tang, Lee, He: Dynamic Slot Allocation Technique for MapReduce Clusters,
// CLUSTER 2013 [DHFS13]; its page is docs/papers/dhfs13.md. Algorithm 1 is pi.go,
// Algorithm 2 is pd.go: read each along with the paper. This file has the code that both
// share, and the parts that the paper leaves open. explain.go has the numbers that
// explanations show.
//
// All arithmetic uses the paper's counts of slots, not the identities of slots. The Ledger
// chooses the slot of a task [DHFS13, "counts and identities"]. The order of pools and jobs
// is policy.Order.
//
// Ownership: a policy owns its Order and serves one Ledger at a time.
package dhfs

import (
	"fmt"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// The rules of the policies, by the paper's counts of slots.
const (
	RuleOwnSlots      slots.Rule = "own-slots"      // slots of the task's own kind are available
	RuleMapBorrows    slots.Rule = "map-borrows"    // a map borrows a reduce slot
	RuleReduceBorrows slots.Rule = "reduce-borrows" // a reduce borrows a map slot
)

// PI is the pool-independent dynamic Hadoop fair scheduler [DHFS13, Alg. 1], over
// fair pools, or over one line of jobs [DHFS13, section I].
type PI struct {
	base
	name    string
	sharing slots.Sharing
}

// NewPI returns the policy pi-dhfs.
func NewPI(o policy.Options) *PI {
	return &PI{base: base{Options: o}, name: "pi-dhfs", sharing: slots.PerKind}
}

// NewFIFO returns the policy pi-fifo: Algorithm 1 over one line of all jobs, by
// priority, submission and id [DHFS13, section I]. Its jobs wait for no local slot,
// as in Hadoop's FIFO scheduler.
func NewFIFO(o policy.Options) *PI {
	o.LocalityDelay = nil
	return &PI{base: base{Options: o}, name: "pi-fifo", sharing: slots.NoShares}
}

// Reset implements slots.Policy.
func (p *PI) Reset() {
	p.reset(p.sharing, policy.Wait{Delay: policy.TimeOr(p.Options.LocalityDelay, 0)})
}

// Traits implements slots.Policy.
func (p *PI) Traits() slots.Traits {
	t := traits(p.name, p.Options)
	t.Sharing = p.sharing
	if t.Uses = slots.JobPriority; p.sharing == slots.PerKind {
		t.Uses = slots.PoolSettings
	}
	t.Rules = map[slots.Rule]string{
		RuleOwnSlots:      "slots of the task's own kind are available, by the paper's counts",
		RuleMapBorrows:    "the scenario MAP_BORROWS, where maps have too few slots while reduces leave some unused; so maps borrow reduce slots",
		RuleReduceBorrows: "the scenario REDUCE_BORROWS, where reduces have too few slots while maps leave some unused; so reduces borrow map slots",
	}
	return t
}

// traits returns the traits of a policy that lends slots within the paper's percentages
// [DHFS13, section III-A].
func traits(name string, o policy.Options) slots.Traits {
	return slots.Traits{
		Name: name, Lends: o.BorrowMap > 0 || o.BorrowReduce > 0,
		Borrows: true, BorrowMap: o.BorrowMap, BorrowReduce: o.BorrowReduce,
	}
}

// End ends a visit. It explains why the visit starts nothing more.
func (p *PI) End(v *slots.View, d *slots.Decision) {
	p.Order.End(v, d, func(k slots.Kind) string { return p.whyNoSlot(v, k) }, func(slots.Kind) []slots.Number { return p.loads(v) })
}

// NextVisit implements slots.Selective. It returns -1 if no slot of a pending task's own
// kind is left in the cluster, and nothing may be borrowed.
func (p *PI) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	p.Order.Update(v)
	for k := range slots.Kind(trace.Kinds) {
		if p.Order.Demand(v, k).Startable == 0 {
			continue
		}
		// unused is cheap, and usually false if nothing can be granted.
		if p.unused(v, k) || p.unused(v, k.Other()) && p.extra(v, k) > 0 {
			return t
		}
	}
	return -1
}

// unused reports whether some slots of kind k are unused in the cluster. If none is unused, the
// phase lends nothing, because its demand is at least its used slots.
func (p *PI) unused(v *slots.View, k slots.Kind) bool {
	f := p.Counts.Phase(v, k)
	return f.Used < f.Capacity
}

// Percentage returns percentageOfBorrowedMapSlots or percentageOfBorrowedReduceSlots:
// the share of the slots of kind k that may be lent. It is a share of the capacity,
// not of the unused slots [DHFS13, "percentage of capacity"].
func Percentage(o *policy.Options, k slots.Kind) slots.PPM {
	return [...]slots.PPM{slots.Map: o.BorrowMap, slots.Reduce: o.BorrowReduce}[k]
}

// stranded reports whether maps are pending and none runs. Then a map may exceed a tracker's
// share of the load [DHFS13, "stranded maps"]. For example, a map that failed elsewhere may
// have only one tracker left. Reduces that wait for the map may use up the share of that
// tracker.
func stranded(v *slots.View) bool { return v.Pending(slots.Map) > 0 && v.Running(slots.Map) == 0 }

// borrowRule returns the rule by which a task of kind k borrows.
func borrowRule(k slots.Kind) slots.Rule {
	return [...]slots.Rule{slots.Map: RuleMapBorrows, slots.Reduce: RuleReduceBorrows}[k]
}

// PD is the pool-dependent dynamic Hadoop fair scheduler [DHFS13, Alg. 2].
type PD struct{ base }

// NewPD returns the policy pd-dhfs.
func NewPD(o policy.Options) *PD { return &PD{base{Options: o}} }

// Reset implements slots.Policy.
func (p *PD) Reset() {
	p.reset(slots.Together, policy.Wait{Delay: policy.TimeOr(p.Options.LocalityDelay, 0), Wakeless: true})
}

// Traits implements slots.Policy.
func (p *PD) Traits() slots.Traits {
	t := traits("pd-dhfs", p.Options)
	t.Uses, t.Sharing = slots.PoolSettings, slots.Together
	t.Rules = map[slots.Rule]string{
		RuleOwnSlots:      "the pool farthest below its share, of maps and reduces together, has a task for a slot of the task's own kind",
		RuleMapBorrows:    "the case MAP_ON_REDUCE. The pool farthest below its share has a map to start, and the tracker's map slots are taken. So the map borrows a reduce slot",
		RuleReduceBorrows: "the case REDUCE_ON_MAP. The pool farthest below its share has a reduce to start, and the tracker's reduce slots are taken. So the reduce borrows a map slot",
	}
	return t
}

// End ends a visit. It explains why the visit starts nothing more.
func (p *PD) End(v *slots.View, d *slots.Decision) {
	p.Order.End(v, d, func(k slots.Kind) string { return p.whyNoSlot(v, k) }, func(slots.Kind) []slots.Number { return p.loadNumbers(v) })
}

// NextVisit implements slots.Selective. It returns -1 if no task that may start finds a
// slot of its own kind on any tracker, and nothing more may be lent.
func (p *PD) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	p.Order.Update(v)
	for k := range slots.Kind(trace.Kinds) {
		if p.Order.Demand(v, k).Startable == 0 {
			continue
		}
		if capacity, used := p.Counts.Own(v, k); used < capacity || p.mayLend(v, k.Other()) {
			return t
		}
	}
	return -1
}

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
