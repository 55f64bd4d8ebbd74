// Package trace is everything observable about a run, in one order.
//
// A Stream numbers Events. The Ledger (package slots) appends every fact it is
// told and every decision it makes; the engine and the simulator append what
// happens below a task: spills, growth, evictions, copies. So there is one
// true timeline, and progress displays, event files, ASCII gantts, tests and
// replays are all readers of it.
//
// An Event is fixed-size and holds no pointer: appending one allocates
// nothing. Texts (names of jobs and pools) live in the Stream's table and are
// referred to by number.
//
// Ownership: a Stream belongs to one goroutine, the coordinator's. Exact
// readers (Sink) run on it, and it waits for them; a lossy reader (Follow)
// may live on any goroutine, loses events when it is slow and is told how
// many.
//
// Neighbours: slots defines what the facts and decisions mean and replays a
// recorded stream; the vocabulary they share (Kind, Phase, Rule) lives here
// because this package is below all others.
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

// Other is the other kind.
func (k Kind) Other() Kind { return k ^ 1 }

func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

// Phase is what an attempt is doing. A map computes or is in an I/O period
// (Dynamic Split's words); a reduce copies, sorts, reduces (Hadoop's). Between
// copying and sorting it is held where the policy says when it may go on.
type Phase uint8

const (
	PhaseNone Phase = iota
	PhaseCompute
	PhaseIO
	PhaseCopy
	PhaseSort
	PhaseReduce
	PhaseHeld // behind the others: digests of facts have the numbers
)

func (p Phase) String() string { return nameOf(phaseNames[:], uint8(p)) }

// Rule is why a decision was made, in the papers' own terms. docs/policies.md
// lists each with its clause.
type Rule uint8

const (
	RuleNone          Rule = iota
	RuleFIFO               // the first job in order of priority and submission
	RuleMinShare           // the pool farthest below its min share
	RuleFairShare          // the pool farthest below its fair share
	RuleOwnSlots           // DHFS: own-type slots are available by the papers' counts
	RuleMapBorrows         // PI-DHFS, MAP_BORROWS: maps borrow unused reduce slots
	RuleReduceBorrows      // PI-DHFS, REDUCE_BORROWS: reduces borrow unused map slots
	RuleSpeculative        // a copy of a task that is running already
	RuleDeadlockGuard      // the Ledger's: maps must be able to go on
	RuleLostRace           // another attempt of the task finished first
	RuleDropped            // the task is not needed any more
	RuleJobEnded           // the job failed, was cancelled or is complete
	RuleLostTracker        // the tracker went away
	RuleReclaim            // the policy took the slot back
	RuleDeficit            // fair-deficit: the job that is owed most
	RuleFewest             // the job with the fewest containers for its weight
	RuleLazyStart          // OMO, Algorithm 1: the job's reduce stage begins now
	RuleConsecutive        // OMO, Principle 1: a reduce of a stage that has begun
	RuleBatchFinish        // OMO, Algorithm 2: the job's last maps in one go
	RuleRampUp             // YARN: the share of reduces that the maps done allow
	RuleRemainingWork      // FRESH: the kind with too few containers for its remaining work
	RuleSplit              // Dynamic Split: the kind of a job that is farthest below its share of the slots
	RuleAdditional         // Dynamic Split: a map beside one in its I/O period
	RuleLowestUtility      // RAS: placed here, and of the job with the lowest utility
	RulePreScheduled       // DynamicMR: a map takes a slot at its input beyond the tracker's part of the load
	RuleResize             // the policy changed how many slots are open, or their home kind
	numRules
)

func (r Rule) String() string { return nameOf(ruleNames[:], uint8(r)) }

// Borrows reports whether a grant by this rule is one of the papers' moves,
// whatever slot it lands on.
func (r Rule) Borrows() bool { return r == RuleMapBorrows || r == RuleReduceBorrows }

// Flags are the yes-or-no parts of an Event.
type Flags uint8

const (
	OK          Flags = 1 << iota // finish: the attempt is committed; gate: it is open
	Killed                        // finish: the attempt was killed, and did not fail
	Lent                          // the task's kind is not the slot's home kind
	Sealed                        // submit, ready: the number of maps is final
	Speculative                   // start: a copy of a running task
	Unplaced                      // submit: the input of its maps has no place
	Single                        // submit: its maps run one attempt at a time
)

// Event is one thing that happened. Which of its fields count depends on Op;
// the table in ops.go says so, and gives A to F their names in event files.
type Event struct {
	Seq uint64        // from 1, set by the Stream
	At  time.Duration // since the run's start

	Op    Op
	Kind  Kind
	Phase Phase
	Rule  Rule
	Flags Flags

	Job, Task, N, Slot int32 // N: the attempt's number within its task, from 0
	Ref                int32 // texts in the Stream's table; 0: none

	A, B, C, D, E, F int64
}

// Has reports whether all of f are set.
func (e *Event) Has(f Flags) bool { return e.Flags&f == f }

func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "?"
}

// MarshalText makes kinds readable in configurations.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("trace: kind %q: neither map nor reduce", text)
}
