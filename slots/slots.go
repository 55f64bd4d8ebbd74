// Package slots is the bookkeeping of the control plane: which attempt holds which
// slot, which tasks are pending, and which task goes where. It starts no goroutine,
// takes no lock, reads no clock and touches no file. Time is an argument.
//
// A driver (the engine or the simulator) gives facts to a Ledger (Submit, Ready, Phase, Progress,
// Finish and others). It asks the Ledger for orders (Assign, AssignAll). The Ledger shows its state
// to a Policy as a View, which is always current, and the policy answers through a Decision with
// grants. The Ledger checks each grant and applies it at once. It enforces rules that no policy can
// break. A task has only one attempt at a time unless the policy asks for a speculative one. No
// reduce starts before the gate of its job opens, and a run never deadlocks (guard.go).
// slots/explain gives the facts of a recorded run to a fresh Ledger and expects the same decisions.
//
// Cost: a fact costs O(1), plus O(log n) for each ordering that it changes. An Assign
// costs what has changed since the last one. A task takes at most 32 bytes.
//
// Ownership: a Ledger and all that it hands out belong to the goroutine that calls
// it. The orders of an Assign are valid until the next Assign. A View and a Decision
// are valid until Decide returns.
package slots

import (
	"fmt"

	"mrlocal/internal/order"
	"mrlocal/internal/ppm"
	"mrlocal/trace"
)

// Ids count from 0. The configuration numbers slots and trackers. The Ledger numbers jobs and pools
// in the order in which it learns of them. Tasks are numbered within their job.
type (
	SlotID    int32
	TrackerID int32
	JobID     int32
	PoolID    int32
	TaskID    int32
)

// NoSlot, NoTask and NoJob stand for "none". In a Grant, NoSlot and NoTask leave the
// choice to the Ledger.
const (
	NoSlot SlotID = -1
	NoTask TaskID = -1
	NoJob  JobID  = -1
)

// Kind, Phase and Rule are the types that this package shares with event files.
type (
	Kind  = trace.Kind
	Phase = trace.Phase
	Rule  = trace.Rule
)

const (
	Map    = trace.Map
	Reduce = trace.Reduce

	PhaseNone    = trace.PhaseNone
	PhaseCompute = trace.PhaseCompute
	PhaseIO      = trace.PhaseIO
	PhaseCopy    = trace.PhaseCopy
	PhaseSort    = trace.PhaseSort
	PhaseReduce  = trace.PhaseReduce
	PhaseHeld    = trace.PhaseHeld
)

// PPM is a share in parts per million, an integer, so that the arithmetic of
// capacities is exact.
type PPM = ppm.Share

// One is the share of 100 %.
const One = ppm.One

// Ranking is the ordering that a policy keeps: ids by key, the least key first, the
// smaller id first if keys are equal. Package internal/order has its methods: Keep, Remove, First,
// Len, Each and others.
type Ranking[K any] = order.Ranking[K]

// AttemptID names one attempt at one task.
type AttemptID struct {
	Job  JobID
	Kind Kind
	Task TaskID
	N    int32 // number of the attempt within its task, from 0
}

// String returns the id in words, such as "job 0 map 7 attempt 1", for errors.
func (a AttemptID) String() string {
	return fmt.Sprintf("job %d %s %d attempt %d", a.Job, a.Kind, a.Task, a.N)
}

// Slot describes one slot of a tracker. A task of another kind than Home makes the
// slot lent while it runs.
type Slot struct {
	ID      SlotID
	Tracker TrackerID
	Core    int32 // that the slot's thread is bound to; -1: none
	Home    Kind
	Extra   bool // closed until a policy opens it; not part of any capacity in the papers
	Weight  PPM  // of a home slot under a policy with slot weights; New sets it
}

// Layout describes a cluster of equal trackers. All counts are per tracker.
type Layout struct {
	Trackers    int
	MapSlots    int
	ReduceSlots int
	MaxSlots    int // home and extra slots together; up to MapSlots+ReduceSlots: no extra slots

	Core func(tracker, i int) int32 // core of slot i of a tracker; nil: no slot is bound
}

// Slots returns the slots of all trackers, for Config.Slots. The home slots come
// first, tracker by tracker, map slots before reduce slots. The extra slots follow,
// tracker by tracker, with home kind map.
func (y Layout) Slots() []Slot {
	home := y.MapSlots + y.ReduceSlots
	all := make([]Slot, 0, y.Trackers*max(y.MaxSlots, home))
	// lay appends the slots [from, to) of each tracker. On a tracker, map slots have the lowest
	// numbers and extra slots the highest.
	lay := func(from, to int) {
		for t := range y.Trackers {
			for i := from; i < to; i++ {
				s := Slot{ID: SlotID(len(all)), Tracker: TrackerID(t), Core: -1, Home: Map, Extra: i >= home}
				if i >= y.MapSlots && !s.Extra {
					s.Home = Reduce
				}
				if y.Core != nil {
					s.Core = y.Core(t, i)
				}
				all = append(all, s)
			}
		}
	}
	lay(0, home)
	lay(home, y.MaxSlots)
	return all
}
