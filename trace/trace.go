// Package trace records what happens in a run, as one sequence of events.
//
// A Stream numbers Events. The Ledger (package slots) appends every fact that it
// receives and every decision that it makes. The engine and the simulator append
// what happens inside a task: spills, growth of buffers, evictions. So a run has
// one timeline, and progress displays, event files, gantts, tests and replays are
// all readers of it.
//
// An Event has a fixed size and holds no pointer, so appending one allocates
// nothing. Texts (names of jobs, pools and users) stand in a table of the Stream;
// an event refers to them by number.
//
// Ownership: a Stream belongs to one goroutine, the coordinator's. Exact readers
// (Sink) run on that goroutine, and it waits for them. A lossy reader (Follow) may
// run on any goroutine; it loses events when it is slow, and sees the loss as a gap
// in their numbers.
//
// Neighbours: slots defines what the facts and decisions mean, and slots/replay
// decides a recorded run again. The words that all of them share (Kind, Phase,
// Rule) stand here, because this package is below the others. docs/formats.md
// describes event files.
package trace

import (
	"fmt"
	"time"
)

// Kind is the kind of a task, and the home kind of a slot.
type Kind uint8

const (
	Map Kind = iota
	Reduce
)

// Kinds is how many kinds there are; arrays by Kind have this length.
const Kinds = 2

// Other returns the other kind.
func (k Kind) Other() Kind { return k ^ 1 }

func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

// Phase is what an attempt is doing. A map computes or is in an I/O period
// [Split11, dynamic slot request of map task]. A reduce copies, sorts and reduces
// (Hadoop 1.0.3, ReduceTask). Between copying and sorting a reduce is held if the
// policy decides when it goes on.
type Phase uint8

const (
	PhaseNone Phase = iota
	PhaseCompute
	PhaseIO
	PhaseCopy
	PhaseSort
	PhaseReduce
	PhaseHeld // last, because digests of facts contain these numbers
)

func (p Phase) String() string { return nameOf(phaseNames[:], uint8(p)) }

// Rule is why a decision was made, in the terms of the papers. docs/policies.md lists
// all rules and the policies that have them.
type Rule uint8

const (
	RuleNone          Rule = iota
	RuleFIFO               // the first job in order of priority and submission
	RuleMinShare           // the pool farthest below its min share
	RuleFairShare          // the pool farthest below its fair share
	RuleOwnSlots           // DHFS: slots of the task's own kind are available, by the papers' counts
	RuleMapBorrows         // PI-DHFS, MAP_BORROWS: maps borrow unused reduce slots
	RuleReduceBorrows      // PI-DHFS, REDUCE_BORROWS: reduces borrow unused map slots
	RuleSpeculative        // a copy of a task that is running already
	RuleDeadlockGuard      // the Ledger: a reduce ends so that a map can run
	RuleLostRace           // another attempt of the task finished first
	RuleDropped            // the task is not needed any more
	RuleJobEnded           // the job failed, was cancelled or is complete
	RuleLostTracker        // the tracker went away
	RuleReclaim            // the policy took the slot back
	RuleDeficit            // fair-deficit: the job with the largest deficit
	RuleFewest             // the job with the fewest containers for its weight
	RuleLazyStart          // OMO, Algorithm 1: the job's reduce stage begins now
	RuleConsecutive        // OMO, Principle 1: a reduce of a stage that has begun
	RuleBatchFinish        // OMO, Algorithm 2: the job's last maps run in one wave
	RuleRampUp             // YARN: the finished maps allow this share of the reduces
	RuleRemainingWork      // FRESH: the kind with too few containers for its remaining work
	RuleSplit              // Dynamic Split: the kind of a job that is farthest below its share of the slots
	RuleAdditional         // Dynamic Split: one more map while a map is in its I/O period
	RuleLowestUtility      // RAS: the placement has the task here, and its job has the lowest utility
	RulePreScheduled       // DynamicMR: a map runs at its input, on a slot beyond the tracker's share of the load
	RuleResize             // the policy changed the number of open slots, or their home kind
	numRules
)

func (r Rule) String() string { return nameOf(ruleNames[:], uint8(r)) }

// Borrows reports whether a grant by this rule counts as a move in the papers,
// whatever slot the task gets.
func (r Rule) Borrows() bool { return r == RuleMapBorrows || r == RuleReduceBorrows }

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

// Event is one thing that happened. Op decides which fields are used; the table in
// ops.go lists them, and names A to F as event files do.
type Event struct {
	Seq uint64        // from 1 without gaps; the Stream sets it
	At  time.Duration // since the run's start

	Op    Op
	Kind  Kind
	Phase Phase
	Rule  Rule
	Flags Flags

	Job, Task, N, Slot int32 // N: the attempt's number within its task, from 0
	Ref                int32 // number of texts in the Stream's table; 0: none

	A, B, C, D, E, F int64
}

// Has reports whether all of f are set.
func (e *Event) Has(f Flags) bool { return e.Flags&f == f }

// nameOf returns "?" for a number that has no name.
func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "?"
}

// MarshalText returns the name of the kind, for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("trace: kind %q: neither map nor reduce", text)
}
