package slots

import (
	"time"

	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// Policy decides which task goes on which free slot. Decide is one heartbeat
// of one tracker (v.Tracker): it reads v and grants through d, which applies a
// grant at once, so v already shows it. A policy keeps no running counts of its
// own, only orderings of what v.Changed reports; it must be deterministic and
// keep neither v nor d.
type Policy interface {
	Traits() Traits
	Decide(v *View, d *Decision)
}

// Traits are the constants of a policy. New asks for them once, and a policy
// always gives the same. The zero value keeps slots typed and lends none.
type Traits struct {
	Name string

	// Lends: the policy may start a task on a slot of the other home kind. If it
	// is not set, the Ledger refuses such a grant.
	Lends bool

	// Borrows: the papers' percentages bound what is lent. BorrowMap is the share
	// of map slots that reduces may borrow, BorrowReduce the share of reduce slots
	// that maps may borrow.
	Borrows                 bool
	BorrowMap, BorrowReduce PPM

	// Weights of tasks: a tracker runs no more than its home slots weigh together.
	// The zero value sets no bound.
	Weights demand.Weights

	// OwnSlowstart: Slowstart replaces the run's. At 0 the policy decides by itself
	// when the reduces of a job start.
	OwnSlowstart bool
	Slowstart    PPM

	// ByDemand: the policy places tasks by what they need (demand.Profile). A
	// report then lists what each job is taken to need.
	ByDemand bool

	// Options are recorded with the configuration, as JSON, so that a replay can
	// make the same policy. nil: the policy has none of its own.
	Options any
}

// Opener is a policy that opens extra slots (Decision.Resize): how many a tracker
// with so many home slots of each kind should have of them, where there may be at
// most so many. For all others a real run has none: each takes its share of the
// memory, open or not.
type Opener interface {
	Extra(home [2]int32, most int) int
}

// NothingToGrant is a policy that can tell in O(1) that it would grant nothing on any
// tracker now, so that AssignAll need not visit those with idle slots.
type NothingToGrant interface {
	NothingToGrant(v *View) bool
}

// Speculator is a policy that starts copies of running tasks. It tells whether
// some task of kind k is worth one now; then trackers with idle slots are visited
// though nothing pends. For all others copies are none of AssignAll's business.
type Speculator interface {
	Speculates(v *View, k Kind) bool
}

// Resetter is a policy that keeps orderings or what it learnt. New calls Reset,
// so that one value may serve one run after another (never two at once).
type Resetter interface {
	Reset()
}

// PhaseGate is a policy that says when a reduce may leave its copy phase
// (Decision.Advance), before or after it has its data. One that has it and may
// not go on is told to be in PhaseHeld. For all other policies a reduce leaves
// its copy phase when it has its data.
type PhaseGate interface {
	HoldsCopy() bool
}

// Fact is a fact as a policy that learns sees it.
type Fact = trace.Event

// Observer is a policy that learns from the Ledger's own facts, in their order,
// each after the Ledger has taken it in.
type Observer interface {
	Observe(f Fact)
}

// Grant asks the Ledger to start a task.
type Grant struct {
	Slot        SlotID // NoSlot: the Ledger picks an idle one of the visited tracker, of the task's own kind first
	Job         JobID
	Kind        Kind
	Task        TaskID // NoTask: the Ledger picks, failed ones first
	Speculative bool   // Task runs already and shall run once more
	Rule        Rule

	// Rehome makes a slot of the other home kind one of the task's kind, from now
	// on, so that it is not lent. Only a policy that lends may (Traits.Lends).
	Rehome bool

	// HomeSlot: left to the Ledger, the slot is none of the extra ones.
	HomeSlot bool

	// Locality is the least locality that the map must have here. Of those
	// that have it the Ledger takes the most local one; a map that failed
	// before goes first, wherever its input is (SPEC 1.10).
	Locality Level
}

// Refusal is why a grant was not applied.
type Refusal uint8

const (
	Granted            Refusal = iota
	RefusedSlot                // busy, not open, of another tracker, or none is free
	RefusedJob                 // unknown or not running
	RefusedTask                // nothing pending, or the named task is not
	RefusedGate                // the job's reduces are not ready
	RefusedTyped               // the policy does not lend slots
	RefusedDeadlock            // every map-capable slot would hold a waiting reduce
	RefusedSameHost            // a speculative copy beside the attempt it copies, or where the task failed
	RefusedAllowance           // more slots would be lent than the policy's percentage allows
	RefusedLocality            // no pending map is as near as asked for
	RefusedFailedHere          // what is pending failed on this tracker before, and may do better elsewhere
	RefusedBlacklisted         // too many of the job's attempts failed on this tracker
	RefusedWeight              // the tracker's weight has no room for the task
	RefusedSingle              // a copy of a map whose input is for one attempt at a time
)

var refusalNames = [...]string{"granted", "slot", "job", "task", "gate", "typed", "deadlock-guard", "same-host", "allowance", "locality", "failed-here", "blacklisted", "weight", "single"}

func (r Refusal) String() string { return refusalNames[r] }

// bug reports whether only a wrong policy can meet r.
func (r Refusal) bug() bool {
	return r == RefusedSlot || r == RefusedJob || r == RefusedTask || r == RefusedTyped || r == RefusedAllowance
}

// Decision takes a policy's answer.
type Decision struct {
	l       *Ledger
	refused Refusal
}

// Grant starts a task, or says no (see Refused). A grant that only a wrong
// policy can ask for panics in checked builds.
func (d *Decision) Grant(g Grant) bool {
	d.refused = d.l.grant(g)
	if d.l.explaining != nil {
		d.l.explained(g, d.refused)
	}
	return d.refused == Granted
}

// Started is what the last grant that was applied started.
func (d *Decision) Started() Start { return d.l.orders.Starts[len(d.l.orders.Starts)-1] }

// Refused is why the last grant was not applied.
func (d *Decision) Refused() Refusal { return d.refused }

// Reclaim kills the attempt on s; it counts as KILLED, not FAILED.
func (d *Decision) Reclaim(s SlotID) {
	if sl := d.l.slotAt(s); sl != nil && sl.busy {
		d.l.kill(sl, trace.RuleReclaim)
		if d.l.explaining != nil {
			d.l.reclaimed(s)
		}
	}
}

// Advance lets the reduce on s leave its copy phase.
func (d *Decision) Advance(s SlotID) { d.l.advanceReduce(s) }

// Resize says how many slots of a tracker are open: of home kind map, of home
// kind reduce, and extra ones. Busy slots drain, idle ones close at once.
func (d *Decision) Resize(t TrackerID, mapOpen, reduceOpen, extraOpen int) {
	d.l.resize(t, [homes]int{mapOpen, reduceOpen, extraOpen})
}

// WakeAt asks for an Assign at time t (absolute) if none comes before.
func (d *Decision) WakeAt(t time.Duration) {
	if d.l.wake < 0 || t < d.l.wake {
		d.l.wake = t
	}
}

// Probe asks to be told, once, the progress of all running attempts before the
// first Assign from time t (absolute) on. Drivers that tell progress all the time
// need not listen.
func (d *Decision) Probe(t time.Duration) {
	if o := &d.l.orders; o.Probe < 0 || t < o.Probe {
		o.Probe = t
	}
}

// Start is an order to run an attempt on a slot.
type Start struct {
	Attempt AttemptID
	Slot    SlotID
	Lent    bool
	Rule    Rule

	Locality Level // of a map whose input has a place
}

// Orders are what a driver obeys, at once and whole. The slices are valid until
// the next Assign.
type Orders struct {
	Starts   []Start
	Kills    []AttemptID   // to end soon; the driver reports each with Finish
	Advances []AttemptID   // reduces that may leave their copy phase
	Wake     time.Duration // call Assign again at this time; negative: no need
	Probe    time.Duration // tell the progress of what runs before the first Assign from this time on; negative: no need
}
