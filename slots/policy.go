package slots

import (
	"time"

	"mrlocal/trace"
)

// Policy decides which task runs on which free slot. A policy must be deterministic:
// the same views lead to the same grants. It may keep orderings (Ranking) of what
// View.Changed reports, but no counts of its own; the View has all of them.
//
// A policy with state is a pointer, and serves one run at a time: drivers refuse it while it serves
// another run. A policy that embeds another Policy has the methods below. It has none of the
// optional abilities of the other policy, unless it passes them on.
type Policy interface {
	// Traits returns the constants of the policy.
	Traits() Traits

	// Reset forgets the run before. New calls it, so that one value can serve one run after
	// another. A policy without state has an empty Reset.
	Reset()

	// Decide is one heartbeat of the tracker v.Tracker. It reads v and grants
	// through d. The Ledger applies each grant at once, so v shows it when Grant
	// returns. Decide must keep neither v nor d, nor anything taken from them.
	Decide(v *View, d *Decision)
}

// Traits are the constants of a policy. New asks for them once. The zero value is a
// policy that never puts a task on a slot of the other kind.
type Traits struct {
	Name string

	// Lends: the policy may start a task on a slot of the other home kind.
	// Otherwise the Ledger refuses such a grant.
	Lends bool

	// Borrows: the policy has the percentages of DHFS, and the Ledger refuses grants
	// that exceed them. BorrowMap is the share of map slots that reduces may
	// borrow, BorrowReduce the share of reduce slots that maps may borrow.
	Borrows                 bool
	BorrowMap, BorrowReduce PPM

	// Weights of tasks: a tracker runs no more than its home slots weigh together.
	// The zero value sets no bound.
	Weights Weights

	// OwnSlowstart: Slowstart replaces Config.Slowstart. With Slowstart 0 the policy
	// decides when the reduces of a job start.
	OwnSlowstart bool
	Slowstart    PPM

	// ByDemand: the policy places tasks by what they need (Profile), and
	// reports list the profile of each job.
	ByDemand bool

	// Uses are the settings of pools and jobs that the policy uses. Drivers note the
	// settings of a run that its policy ignores.
	Uses Settings

	// Sharing says which fair shares of pools the policy gives. Pictures show these shares.
	Sharing Sharing

	// Rules explains the policy's own rules in the terms of its source. An explanation
	// shows the words of a rule after its name. A rule that is missing here is shown by
	// its name alone.
	Rules map[Rule]string

	// Options are recorded with the configuration, as JSON, so that a replay can
	// make the same policy. nil: the policy has none.
	Options any
}

// Sharing says how the fair shares of pools are defined.
type Sharing uint8

const (
	NoShares Sharing = iota // there are none: the policy does not share by weight and min share
	PerKind                 // pools share the slots of each kind [DHFS13, section II-A]
	Together                // pools share all slots, by maps and reduces together [DHFS13, "combined key"]
)

var sharingNames = [...]string{"none", "per-kind", "together"}

// String returns the sharing as a word.
func (s Sharing) String() string { return sharingNames[s] }

// The interfaces below are optional abilities of a Policy. New looks for them.

// Opener is a policy that opens extra slots (Decision.Resize). Extra returns how many
// extra slots a tracker should have, given its home slots of each kind and the most
// extra slots that are possible. Drivers of real runs make no extra slots for other
// policies, because each slot takes its share of the memory, open or not.
type Opener interface {
	Extra(home [2]int32, most int) int
}

// Selective is a policy that can say, without a visit, on which trackers it may grant
// something in the state v. NextVisit returns the first of them from t on, or -1 if there
// is none. AssignAll skips the other trackers. Some policies know only whether they would
// grant anything on some tracker. They return t if so, and -1 if not.
type Selective interface {
	NextVisit(v *View, t TrackerID) TrackerID
}

// Speculator is a policy that starts speculative attempts. Speculates reports whether
// some running task of kind k is worth one in the state v. If so, AssignAll visits
// trackers with free slots although no task is pending.
type Speculator interface {
	Speculates(v *View, k Kind) bool
}

// PhaseGate is a policy that decides when a reduce leaves its copy phase
// (Decision.Advance), before or after the reduce has all its data. A reduce that has
// its data and may not go on is in PhaseHeld. Under other policies, or if HoldsCopy
// returns false, a reduce leaves the phase when it has its data. A run fails if nothing but
// reduces in PhaseHeld is left and no wake-up is due (Decision.WakeAt).
type PhaseGate interface {
	HoldsCopy() bool
}

// Observer is a policy that learns from facts. Observe gets each fact in order, after
// the Ledger's state includes it. It gets no progress, which View.Progress has. The table in trace/ops.go says which
// fields of a fact are used.
type Observer interface {
	Observe(f Fact)
}

// Fact is an event whose class is trace.Fact.
type Fact = trace.Event

// Grant asks the Ledger to start an attempt on the tracker that is being visited.
type Grant struct {
	Slot        SlotID // NoSlot: the Ledger picks a free slot, one of the task's own kind first
	Job         JobID
	Kind        Kind
	Task        TaskID // NoTask: the Ledger picks a pending task, failed ones first
	Speculative bool   // Task runs already; start another attempt of it
	Rule        Rule   // the reason, for the event file and explanations
	Move        Move   // whether the grant counts as a move

	// Rehome turns a slot of the other home kind into one of the task's kind for
	// good, so that it is not lent. Only a policy with Traits.Lends may do so.
	Rehome bool

	// HomeSlot: if the Ledger picks the slot, it picks no extra slot.
	HomeSlot bool

	// Locality is the least locality that the map must have on the tracker. If the
	// Ledger picks the task, it takes the nearest map that has it. A map that
	// failed before goes first wherever its input is, as in Hadoop 1.0.3,
	// JobInProgress.findNewMapTask.
	Locality Level
}

// GrantOf returns a Grant of a pending task of a job. The Ledger picks the task, and a free slot for it.
func GrantOf(job JobID, k Kind, r Rule) Grant {
	return Grant{Slot: NoSlot, Job: job, Kind: k, Task: NoTask, Rule: r}
}

// Move says whether a grant counts as a move, a figure of the papers
// [DHFS13, "counts and identities"].
type Move uint8

const (
	MoveIfLent Move = iota // the grant is a move if its slot is lent
	MoveAlways             // it is a move: the task borrows by the paper's counts, whatever slot it gets
	MoveNever              // it is not a move: by the paper's counts the task has a slot of its own kind
)

// Refusal is the reason why the Ledger did not apply a grant.
type Refusal uint8

const (
	Granted            Refusal = iota // the grant was applied
	RefusedSlot                       // the slot is busy, closed or of another tracker, or no slot is free
	RefusedJob                        // the job is unknown or has ended
	RefusedTask                       // no task is pending, or the named one is not
	RefusedGate                       // the gate of the job's reduces is closed
	RefusedTyped                      // the slot is of the other kind, and the policy does not lend
	RefusedDeadlock                   // every slot that a map may use would hold a waiting reduce
	RefusedSameHost                   // a speculative attempt where the task runs already or has failed
	RefusedAllowance                  // more slots would be lent than the policy's percentage allows
	RefusedLocality                   // no pending map has the locality that was asked for
	RefusedFailedHere                 // the pending tasks failed on this tracker, and may run on another
	RefusedBlacklisted                // too many attempts of the job failed on this tracker
	RefusedWeight                     // the weight of the tracker has no room for the task
	RefusedSingle                     // a speculative attempt of a map whose input only one attempt can read
)

var refusalNames = [...]string{"granted", "slot", "job", "task", "gate", "typed", "deadlock-guard", "same-host", "allowance", "locality", "failed-here", "blacklisted", "weight", "single"}

// String returns the word that scripts and messages use.
func (r Refusal) String() string { return refusalNames[r] }

// refusalBugs describes the bug of the policy, for each refusal that only a bug can cause.
var refusalBugs = [...]string{
	RefusedSlot:      "the slot was not free on the visited tracker",
	RefusedJob:       "the job was unknown or had ended",
	RefusedTask:      "the task was not pending",
	RefusedTyped:     "the slot was of the other kind, and the policy has no Traits.Lends",
	RefusedAllowance: "more slots would have been lent than Traits.BorrowMap and BorrowReduce allow",
}

// bug reports whether only a bug in the policy can be the cause of r.
func (r Refusal) bug() bool { return int(r) < len(refusalBugs) && refusalBugs[r] != "" }

// Decision takes the answers of a policy during one visit. It belongs to the Ledger and is
// valid until Decide returns.
type Decision struct {
	l       *Ledger
	refused Refusal // result of the last call of Grant
}

// Grant starts an attempt and returns true. If the Ledger refuses g, Grant does nothing and
// returns false, and Refused returns the reason. In checked builds Grant panics if only a
// bug in the policy can be the reason.
func (d *Decision) Grant(g Grant) bool {
	d.refused = d.l.grant(g)
	granted := d.refused == Granted
	d.l.explain(func(e *Explanation) {
		if e.Grant, e.Refused = g, d.refused; granted {
			e.Start = d.Started()
		}
	})
	return granted
}

// Started returns the start that the last successful Grant led to. It panics if none
// succeeded during this Assign.
func (d *Decision) Started() Start { return d.l.orders.Starts[len(d.l.orders.Starts)-1] }

// Refused returns the result of the last call of Grant.
func (d *Decision) Refused() Refusal { return d.refused }

// Reclaim kills the attempt on s, if there is one. The attempt counts as killed, not as
// failed, and its task is pending again once it has ended.
func (d *Decision) Reclaim(s SlotID) {
	if sl := d.l.slotAt(s); sl != nil && sl.Busy {
		d.l.kill(sl, trace.RuleReclaim)
		d.l.explain(func(e *Explanation) { e.Reclaimed = s })
	}
}

// Advance lets the reduce on s leave its copy phase. It is for a PhaseGate.
func (d *Decision) Advance(s SlotID) { d.l.advanceReduce(s) }

// Resize sets how many slots of a tracker are open: of home kind map, of home kind
// reduce, and extra ones. The slots with the lowest ids stay open. A free slot closes
// at once; a busy one closes when its attempt ends.
func (d *Decision) Resize(t TrackerID, mapOpen, reduceOpen, extraOpen int) {
	d.l.resize(t, [slotLists]int{mapOpen, reduceOpen, extraOpen}, trace.RuleResize)
}

// WakeAt asks for an Assign at time t, counted from the start of the run, unless one
// comes before. The earliest such time counts.
func (d *Decision) WakeAt(t time.Duration) { Earlier(&d.l.wake, t) }

// Probe asks the driver to report the progress of all running attempts once, before the
// first Assign at or after time t. t counts from the start of the run; the earliest such time
// counts. A Probe does not lead to an Assign by itself. Drivers report progress only after
// a Probe. A driver with heartbeats then reports it at each heartbeat.
func (d *Decision) Probe(t time.Duration) { Earlier(&d.l.orders.Probe, t) }

// Earlier sets at to t if t is earlier, or if at is negative. A negative time stands for none.
func Earlier(at *time.Duration, t time.Duration) {
	if *at < 0 || t < *at {
		*at = t
	}
}

// Start is an order to run an attempt on a slot.
type Start struct {
	Attempt AttemptID
	Slot    SlotID
	Lent    bool // the slot's home kind is the other one

	Locality Level // of a map whose input has a place
}

// Orders are what a driver has to do at once after an Assign. The slices belong to the
// Ledger and are valid until the next Assign.
type Orders struct {
	Starts   []Start
	Kills    []AttemptID   // attempts to end; the driver reports the end of each with Finish
	Advances []AttemptID   // reduces that may leave their copy phase
	Wake     time.Duration // call Assign again at this time of the run; negative: not needed

	// Probe is a time of the run; negative: none. The driver reports the progress of the
	// running attempts before the first Assign from that time on for which Due is true.
	Probe time.Duration
}
