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
	"time"

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

// State is the state of a job. A job that waits is Running too. Event files use the same words.
type State uint8

const (
	Running   State = iota
	Succeeded       // all its tasks are done
	Failed          // a task failed Config.MaxAttempts times
	Killed          // Abort was called
)

// String returns the word that event files and reports use.
func (s State) String() string {
	return [...]string{"running", "succeeded", "failed", "killed"}[s]
}

// taskState is the state of a task. A task goes from pending to running to done; a
// failure, a kill or the loss of its output brings it back to pending. A pending or
// running task may be dropped.
type taskState uint8

const (
	taskPending taskState = iota // not started, or to be started again
	taskRunning                  // has attempts, none of them committed
	taskDone                     // an attempt is committed, or the output is restored; others may still run
	taskDropped                  // not needed any more; attempts may still run
)

// ledgerTask is one map or reduce: 20 bytes.
type ledgerTask struct {
	state  taskState
	failed int32     // failed attempts and lost outputs
	n      int32     // attempts so far, which is the number of the next one
	head   SlotID    // the first slot with a running attempt of it; ledgerSlot.next has the others
	done   TrackerID // the tracker that committed it; noTracker: none did, or the output is restored
}

// noTracker stands for "none". A restored output lies on no tracker, so no loss concerns it.
const noTracker TrackerID = -1

// jobSide is the maps of a job or its reduces.
type jobSide struct {
	tasks   []ledgerTask // by TaskID, up to the last one that anything has happened to
	total   int32        // tasks that are known
	ready   int32        // tasks [0, ready) may start
	next    int32        // tasks [next, ready) were never started, but some may be dropped
	pending int32        // tasks that may start, apart from the gate
	running int32        // running attempts
	done    int32        // tasks that are done or dropped
	visible int32        // the pending tasks that pool and totals count: 0 while the gate is closed

	// Tasks that are pending again, the oldest first. An entry is stale if its task
	// is not pending any more. failedTasks have failed before, requeued have not.
	requeued     []TaskID
	requeuedHead int
	failedTasks  []TaskID

	counts AttemptCounts
}

// ledgerJob is the state of a job.
type ledgerJob struct {
	id      JobID
	spec    JobSpec
	pool    *ledgerPool
	state   State
	sealed  bool // the number of maps is final
	gate    bool // the reduces may start
	changed bool // the job is in Ledger.changed

	admitted bool   // by the running-job limits
	blocked  *limit // the limit that it waits for

	clock   taskClock
	waiting bool  // it has unfinished maps, so its running reduces are waiting reduces
	held    int32 // its reduces on map-capable slots

	side     [2]jobSide
	places   mapIndex
	failures jobFailures
	times    JobTimes

	failedBy AttemptID // if state is Failed
}

// complete reports whether the job has nothing left to do. A job with reduces is complete
// with its last reduce, even if the output of a map was lost afterwards.
func (j *ledgerJob) complete() bool {
	if r := &j.side[Reduce]; r.total > 0 {
		return r.done == r.total
	}
	return j.mapsDone()
}

// mapsDone reports whether no map of the job is left to run. It may become false again if
// the output of a map is lost.
func (j *ledgerJob) mapsDone() bool { return j.sealed && j.side[Map].done == j.side[Map].total }

// live returns how many attempts of the job run.
func (j *ledgerJob) live() int32 { return j.side[Map].running + j.side[Reduce].running }

// raiseTotal makes n or more tasks known.
func (s *jobSide) raiseTotal(n int32) { s.total = max(s.total, n) }

// task returns task t. s.tasks grows up to t at the first call. So a job with a million maps
// uses no memory for maps that have not started. A task beyond s.tasks is pending, or not
// ready. The pointer is valid until the next call.
func (s *jobSide) task(t TaskID) *ledgerTask {
	for int(t) >= len(s.tasks) {
		s.tasks = append(s.tasks, ledgerTask{head: NoSlot, done: -1})
	}
	return &s.tasks[t]
}

// makeReady lets tasks [0, n) start, except those that are dropped.
func (s *jobSide) makeReady(n int32) {
	s.raiseTotal(n)
	if n <= s.ready {
		return
	}
	// Tasks of s.tasks that are not pending were dropped or restored before they were ready.
	s.pending += n - s.ready
	for ; int(s.ready) < len(s.tasks) && s.ready < n; s.ready++ {
		if s.tasks[s.ready].state != taskPending {
			s.pending--
		}
	}
	s.ready = n
}

// pick returns the next of the pending tasks that never failed, or NoTask. Tasks that were
// killed or lost their output come first. It drops stale entries, so its cost is amortised
// O(1).
func (s *jobSide) pick() TaskID {
	for s.requeuedHead < len(s.requeued) {
		t := s.requeued[s.requeuedHead]
		if s.tasks[t].state == taskPending && s.tasks[t].failed == 0 {
			return t
		}
		s.requeuedHead++
	}
	s.requeued, s.requeuedHead = s.requeued[:0], 0
	for ; s.next < s.ready; s.next++ {
		if int(s.next) >= len(s.tasks) || s.tasks[s.next].state == taskPending && s.tasks[s.next].failed == 0 {
			return TaskID(s.next)
		}
	}
	return NoTask
}

// ledgerPool is the state of a pool.
type ledgerPool struct {
	Pool
	id      PoolID
	pending [2]int32
	running [2]int32
	limit   limit
	use     *meteredPool
}

// SlotState says whether a slot takes tasks.
type SlotState uint8

const (
	SlotOpen     SlotState = iota // it takes tasks
	SlotDraining                  // it is busy, and closes when its attempt ends
	SlotClosed                    // it takes no tasks
)

// Slots are kept in three lists: those of home kind Map, of home kind Reduce, and the
// extra ones. The index of a home list is its Kind.
const (
	homeExtra = 2
	slotLists = 3
)

// numPhases is the number of phases, for arrays by Phase.
const numPhases = int(PhaseHeld) + 1

// ledgerSlot is the state of a slot. The fields behind SlotView describe its attempt, but for times.
type ledgerSlot struct {
	SlotView
	rule     Rule // of the grant
	progress Steps
	use      meteredAttempt
	seq      int64  // grants before this one, so that the newest attempt has the largest
	next     SlotID // of the next running attempt of the same task, or NoSlot

	times SlotTimes // of attempts that have ended; Starts includes the running one
}

// list returns the list that the slot belongs to.
func (s *ledgerSlot) list() int {
	if s.Extra {
		return homeExtra
	}
	return int(s.Home)
}

// tracker is the state of a tracker. All counts are kept up to date in place.
type tracker struct {
	id         TrackerID
	slots      []SlotID
	cap        [2]int32 // open home slots
	open       int32    // open slots, extra ones included
	running    [2]int32
	phases     [numPhases]int32             // running attempts by phase
	free       [slotLists]order.IDs[SlotID] // free open slots
	tally      Tally                        // the papers' used and lent slots
	reduceRoom int32                        // weight that waiting reduces may have so that a map still fits; 0 without weights
	lost       bool
	heard      time.Duration // of its latest heartbeat
}

// freeSlots returns how many open slots are free, whatever the weights allow.
func (t *tracker) freeSlots() int32 {
	return int32(len(t.free[Map]) + len(t.free[Reduce]) + len(t.free[homeExtra]))
}
