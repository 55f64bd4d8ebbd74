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
// table in ops.go lists them, with the names of A to F in event files.
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
