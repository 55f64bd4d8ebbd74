// Package trace records what happens in a run, as one sequence of events.
//
// A Stream numbers Events. The Ledger (package slots) appends every fact that it
// receives and every decision that it makes. The engine and the simulator append
// what happens inside a task: spills, growth of buffers, evictions. So a run has
// one timeline, and progress displays, event files, gantts, tests and replays are
// all readers of it.
//
// An Event has a fixed size and holds no pointer, so appending one allocates
// nothing. Texts (names of jobs, pools, users and rules) are in a table of the
// Stream; an event refers to them by number.
//
// Ownership: a Stream belongs to one goroutine, that of the coordinator. Its readers
// (Sink) run on that goroutine, which waits for them.
package trace

import (
	"fmt"
	"time"
)

// Kind is the kind of a task, and the home kind of a slot.
type Kind uint8

const (
	// Digests of facts contain the numbers of kinds and phases, so these must not change.
	Map Kind = iota
	Reduce
)

// Kinds is how many kinds there are; arrays by Kind have this length.
const Kinds = 2

// Other returns the other kind.
func (k Kind) Other() Kind { return k ^ 1 }

// FirstPhase returns the phase in which an attempt of kind k starts.
func (k Kind) FirstPhase() Phase {
	if k == Map {
		return PhaseCompute
	}
	return PhaseCopy
}

// String returns the name of the kind in event files: map or reduce.
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

// Phase says what an attempt is doing. A map computes or is in an I/O period
// [Split11, dynamic slot request of map task]. A reduce copies, sorts and reduces
// (Hadoop 1.0.3, ReduceTask). A reduce that has copied everything is held as long as the
// policy does not let it go on.
type Phase uint8

const (
	PhaseNone Phase = iota
	PhaseCompute
	PhaseIO
	PhaseCopy
	PhaseSort
	PhaseReduce
	PhaseHeld // last, although it comes before PhaseSort, because digests contain the numbers
)

// String returns the name of the phase in event files.
func (p Phase) String() string { return nameOf(phaseNames[:], uint8(p)) }

// Rule is the name of the reason for a decision, in the terms of a paper. Each policy has
// its own rules, as constants of its package. The rules here are those of the Ledger, and those
// that it counts. A rule must be valid UTF-8.
type Rule string

const (
	RuleNone          Rule = ""               // no reason; event files have noRule
	RuleDeadlockGuard Rule = "deadlock-guard" // a reduce ends so that a map can run
	RuleLostRace      Rule = "lost-race"      // another attempt of the task finished first
	RuleDropped       Rule = "dropped"        // the task is not needed any more
	RuleJobEnded      Rule = "job-ended"      // the job failed, was cancelled or is complete
	RuleLostTracker   Rule = "lost-tracker"   // the tracker went away
	RuleGraylisted    Rule = "graylisted"     // several jobs blacklisted the tracker
	RuleReclaim       Rule = "reclaim"        // the policy has the attempt killed
	RuleResize        Rule = "resize"         // the policy changed the number of open slots, or their home kind

	// RulePreScheduled is the rule of DynamicMR's Slot PreScheduling. A tracker gets a map beyond its
	// share of an even load, because the input is there. The rule is here because reports and
	// exports count its starts.
	RulePreScheduled Rule = "pre-scheduled"
)

// String returns the rule as event files have it.
func (r Rule) String() string {
	if r == RuleNone {
		return noRule
	}
	return string(r)
}

// Flags are the boolean fields of an Event.
type Flags uint8

const (
	OK          Flags = 1 << iota // finish: the attempt is committed; gate: the gate is open
	Killed                        // finish: the attempt was killed, so it does not count as failed
	Lent                          // the task's kind is not the slot's home kind
	Sealed                        // submit, ready: the number of maps is final
	Speculative                   // start: a copy of a running task
	Unplaced                      // submit: the input of the maps is on no tracker in particular
	Single                        // submit: each map runs one attempt at a time
)

// Event is a fact, a decision or a detail of a run. Op decides which fields are used. The
// table of ops lists them, with the names of A to F in event files.
type Event struct {
	Seq uint64        // from 1 without gaps; the Stream sets it
	At  time.Duration // since the run's start

	Op    Op
	Kind  Kind
	Phase Phase
	Flags Flags

	Job, Task, N, Slot int32 // N: the attempt's number within its task, from 0
	Ref                int32 // number of its texts in the Stream's table, such as the rule of a decision; 0: none

	A, B, C, D, E, F int64
}

// Has reports whether all of f are set.
func (e *Event) Has(f Flags) bool { return e.Flags&f == f }

// Set sets f if on is true. It never clears a flag.
func (e *Event) Set(f Flags, on bool) {
	if on {
		e.Flags |= f
	}
}

// nameOf returns name i, or "?" for a number that has no name.
func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "?"
}

// MarshalText returns the name of the kind, for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind. It fails for any other text.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("trace: kind %q: neither map nor reduce", text)
}

// Op says what happened. Digests contain the numbers of facts, so their order must not
// change.
type Op uint8

const (
	OpNone Op = iota

	// Facts that the Ledger receives.
	OpSubmit      // a job is submitted
	OpReady       // more maps of a job are known, or may start
	OpDrop        // a task is not needed any more
	OpPhase       // an attempt enters a phase
	OpProgress    // the progress of an attempt, after a Probe of the policy
	OpFinish      // an attempt has ended
	OpLostOutput  // the output of a committed map is gone
	OpLostTracker // a tracker is gone
	OpAbort       // a job is cancelled, or its driver lets it fail
	OpDemand      // what a task of a job needs in a phase
	OpRestore     // the output of a map is left from a killed run
	OpPlace       // a tracker has the input of a map

	// OpAssign is a driver's question for orders. The decisions up to the next
	// fact are the Ledger's answer.
	OpAssign

	// Decisions of the Ledger, and results of a fact.
	OpStart    // an attempt starts
	OpLend     // its slot is lent to it
	OpReturn   // a lent slot is free again
	OpKill     // an attempt has to end
	OpAdvance  // a reduce may leave its copy phase
	OpOpen     // a slot takes tasks from now on
	OpDrain    // a slot closes when its attempt ends
	OpClose    // a slot takes no more tasks
	OpHome     // a slot changes its home kind
	OpGate     // a job's reduces may start, or may not any more
	OpAdmit    // a job that waited for a running-job limit may run
	OpMapsDone // the last map of a job is done
	OpJobEnd   // a job has ended

	// Steps inside a task or the setup of a job, which a driver reports.
	OpSpillStart // a map begins to write a spill
	OpSpillEnd   // the spill is written
	OpGrow       // a kvbuffer grows
	OpRefuse     // a kvbuffer may not grow
	OpEvict      // a segment in memory is written to disk
	OpMergeEnd   // a pass of a merge is done
	OpSample     // a job's input was sampled for its cuts
	OpBuffer     // a map has its kvbuffer
	OpFetch      // a reduce has copied outputs of maps
	OpUsage      // what the process uses
	OpCores      // how the cores of the machine spent the time since the last such event
	OpSeen       // the progress of an attempt, for displays; the Ledger does not get it
	OpTimes      // only in files of earlier versions: a map is done
	OpStatus     // the user's code reports the status of an attempt
	OpWait       // the job that is submitted waited for another one

	numOps
)

// Ops is the number of Ops, with OpNone.
const Ops = numOps

// Class says what a replay does with an event.
type Class uint8

const (
	Detail   Class = iota // it ignores the event: the Ledger neither receives nor makes it
	Fact                  // it gives the event to the Ledger
	Ask                   // it asks the Ledger for orders, which leads to decisions
	Decision              // it compares the event with the next decision of the Ledger
)

// String returns the name of the Op in event files.
func (o Op) String() string { return o.shape().name }

// Class returns the class of o.
func (o Op) Class() Class { return o.shape().class }

// shape returns the shape of o, or that of OpNone for a number that is not an Op.
func (o Op) shape() *shape {
	if o < numOps {
		return &shapes[o]
	}
	return &shapes[OpNone]
}

// parts are the fields of an Event that an Op uses, apart from flags and A to F.
type parts uint16

const (
	hasJob parts = 1 << iota
	hasKind
	hasTask
	hasN
	hasSlot
	hasPhase
	hasRule // the only text that Ref refers to

	ofTask    = hasJob | hasKind | hasTask
	ofAttempt = ofTask | hasN | hasSlot
)

// shape says which fields the events of an Op have in an event file.
type shape struct {
	name     string
	class    Class
	parts    parts
	flags    Flags
	values   []string // names of A, B, ... in order
	optional int      // how many values at the end are left out if they are 0
	words    []string // not nil: A is an index of these, and the file has the word
	texts    []string // names of the texts that Ref refers to
}

// isOptional reports whether value i is left out if it is 0. Older files do not have it.
func (s *shape) isOptional(i int) bool { return i >= len(s.values)-s.optional }

// shapes has the shape of each Op. Names and fields are part of the format of event files
// (docs/formats.md).
var shapes = [numOps]shape{
	OpNone: {name: "none"},

	OpSubmit: {name: "submit", class: Fact, parts: hasJob, flags: Sealed | Unplaced | Single,
		values: []string{"maps", "reduces", "ready", "priority", "weight", "deadline"}, texts: []string{"name", "pool", "user"}},
	OpReady:       {name: "ready", class: Fact, parts: hasJob, flags: Sealed, values: []string{"ready", "maps"}},
	OpDrop:        {name: "drop", class: Fact, parts: ofTask},
	OpPhase:       {name: "phase", class: Fact, parts: ofAttempt | hasPhase},
	OpProgress:    {name: "progress", class: Fact, parts: ofAttempt, values: []string{"ppm", "billionths"}, optional: 1},
	OpFinish:      {name: "finish", class: Fact, parts: ofAttempt, flags: OK | Killed, values: []string{"in_bytes", "out_bytes", "cpu_ns", "copy_bytes", "copy_ns"}},
	OpLostOutput:  {name: "lost-output", class: Fact, parts: ofTask},
	OpLostTracker: {name: "lost-tracker", class: Fact, values: []string{"tracker"}},
	OpAbort:       {name: "abort", class: Fact, parts: hasJob, values: []string{"failed"}, optional: 1},
	OpDemand:      {name: "demand", class: Fact, parts: hasJob | hasPhase, values: []string{"cpu", "io", "mem"}},
	OpRestore:     {name: "restore", class: Fact, parts: ofTask},
	OpPlace:       {name: "place", class: Fact, parts: ofTask, values: []string{"tracker"}},

	OpAssign: {name: "assign", class: Ask, values: []string{"tracker", "orders", "wake", "facts"}},

	OpStart: {name: "start", class: Decision, parts: ofAttempt | hasRule, flags: Lent | Speculative,
		values: []string{"locality"}, words: levelNames[:]},
	OpLend:     {name: "lend", class: Decision, parts: ofAttempt | hasRule},
	OpReturn:   {name: "return", class: Decision, parts: ofAttempt | hasRule},
	OpKill:     {name: "kill", class: Decision, parts: ofAttempt | hasRule},
	OpAdvance:  {name: "advance", class: Decision, parts: ofAttempt | hasRule},
	OpOpen:     {name: "open", class: Decision, parts: hasSlot | hasRule},
	OpDrain:    {name: "drain", class: Decision, parts: hasSlot | hasRule},
	OpClose:    {name: "close", class: Decision, parts: hasSlot | hasRule},
	OpHome:     {name: "home", class: Decision, parts: hasSlot | hasKind | hasRule},
	OpGate:     {name: "gate", class: Decision, parts: hasJob, flags: OK},
	OpAdmit:    {name: "admit", class: Decision, parts: hasJob},
	OpMapsDone: {name: "maps-done", class: Decision, parts: hasJob},
	OpJobEnd:   {name: "job-end", class: Decision, parts: hasJob, values: []string{"state"}, words: stateNames[:]},

	OpSpillStart: {name: "spill-start", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpSpillEnd:   {name: "spill-end", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpGrow:       {name: "grow", parts: ofAttempt, values: []string{"bytes", "to_bytes"}},
	OpRefuse:     {name: "refuse", parts: ofAttempt, values: []string{"bytes", "free_bytes"}},
	OpEvict:      {name: "evict", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpMergeEnd:   {name: "merge-end", parts: ofAttempt, values: []string{"runs", "bytes"}},
	OpSample:     {name: "sample", parts: hasJob, values: []string{"places", "keys"}},
	OpBuffer:     {name: "buffer", parts: ofAttempt, values: []string{"bytes", "mark_bytes"}},
	OpFetch:      {name: "fetch", parts: ofAttempt, values: []string{"map", "maps", "bytes"}},
	OpUsage:      {name: "usage", values: []string{"cpu_ns", "memory_bytes", "temp_bytes", "bound_bytes"}, optional: 1},
	OpCores:      {name: "cores", values: []string{"user_ns", "sys_ns", "iowait_ns", "idle_ns"}},
	OpSeen:       {name: "seen", parts: ofAttempt, values: []string{"ppm"}},
	OpTimes:      {name: "times", parts: ofAttempt},
	OpStatus:     {name: "status", parts: ofAttempt, texts: []string{"text"}},
	OpWait:       {name: "wait", parts: hasJob, values: []string{"for", "submit"}, optional: 1},
}

// stateNames are a job's states, numbered as package slots has them.
var stateNames = [...]string{"running", "succeeded", "failed", "killed"}

// levelNames are levels of locality, numbered as package slots has them.
var levelNames = [...]string{"any", "group", "tracker"}

// kindNames are in the order of kinds.
var kindNames = [Kinds]string{"map", "reduce"}

// phaseNames are in the order of phases.
var phaseNames = [...]string{"none", "compute", "io", "copy", "sort", "reduce", "held"}

// flagNames are in the order of the bits of Flags.
var flagNames = [...]string{"ok", "killed", "lent", "sealed", "speculative", "unplaced", "single"}
