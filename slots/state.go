package slots

import (
	"time"

	"mrlocal/internal/order"
	"mrlocal/slots/demand"
	"mrlocal/slots/locality"
)

// State is how a job stands. Event files have the same words.
type State uint8

const (
	Running State = iota
	Succeeded
	Failed // a task failed MaxAttempts times
	Killed // Abort
)

func (s State) String() string {
	return [...]string{"running", "succeeded", "failed", "killed"}[s]
}

type taskState uint8

const (
	taskPending taskState = iota
	taskRunning
	taskDone    // committed
	taskDropped // not needed any more; an attempt of it may still run
)

// task is one map or reduce task: 20 bytes.
type task struct {
	state  taskState
	failed int32     // failed attempts and lost outputs
	n      int32     // attempts started: the next one's number
	head   SlotID    // its live attempts, linked by slot.next
	done   TrackerID // where it was committed; -1: nowhere
}

// side is a job's map side or reduce side.
type side struct {
	tasks   []task // by TaskID, as far as anything has happened
	total   int32  // tasks known so far
	ready   int32  // tasks [0, ready) may start
	next    int32  // tasks [next, ready) were never started; some may be dropped
	pending int32  // tasks that may start, whatever the gate says
	running int32  // live attempts
	done    int32  // committed or dropped
	shown   int32  // pending as pool and totals have it: 0 while the gate is closed

	again     []TaskID // pending again without having failed, the oldest first; entries may be stale
	againHead int
	retry     []TaskID // pending again after a failure, the oldest first; entries may be stale

	counts AttemptCounts
}

// AttemptCounts are a job's attempts of one kind, as Hadoop's job counters
// count them.
type AttemptCounts struct {
	Started     int64
	Failed      int64
	Killed      int64
	Lent        int64 // started on a slot of the other home kind
	Moves       int64 // started by a borrowing rule
	Speculative int64
	LostOutputs int64
	Local       int64 // maps started on a tracker that has their input
	GroupLocal  int64 // maps started in a group that has it
}

type ledgerJob struct {
	id     JobID
	spec   JobSpec
	pool   *ledgerPool
	state  State
	sealed bool // the number of maps is final
	gate   bool // reduces are ready
	dirty  bool // in Ledger.changed

	admitted bool   // within the running-job limits
	blocked  *limit // what it waited for last

	waiting bool  // has unfinished maps: its running reduces are waiting reduces
	held    int32 // its reduces on map-capable slots

	side     [2]side
	places   locality.Index
	failures failures
	times    JobTimes

	failedBy AttemptID
}

// JobTimes are when a job did what; negative: not yet.
type JobTimes struct {
	Submit, Start, MapsDone, Finish time.Duration
}

// complete: nothing of the job is left to do. A job with reduces is complete
// with them, whatever became of a map whose output was lost afterwards.
func (j *ledgerJob) complete() bool {
	if r := &j.side[Reduce]; r.total > 0 {
		return r.done == r.total
	}
	return j.mapsDone()
}

func (j *ledgerJob) mapsDone() bool { return j.sealed && j.side[Map].done == j.side[Map].total }

// gateOpen is SPEC 1.8: finishedMaps >= ceil(slowstart * maps), which a lost
// map output may close again. It needs the final number of maps.
func (j *ledgerJob) gateOpen(slowstart PPM) bool {
	if slowstart == 0 {
		return true
	}
	return j.sealed && j.side[Map].done >= slowstart.CeilOf(j.side[Map].total)
}

func (j *ledgerJob) live() int32 { return j.side[Map].running + j.side[Reduce].running }

// know says that there are n tasks at least.
func (s *side) know(n int32) { s.total = max(s.total, n) }

// at is task t, which is kept from the first time anything happens to it: until
// then it pends, or is not ready. The pointer is valid until the next at.
func (s *side) at(t TaskID) *task {
	for int(t) >= len(s.tasks) {
		s.tasks = append(s.tasks, task{head: NoSlot, done: -1})
	}
	return &s.tasks[t]
}

// open makes tasks [0, n) startable. Those dropped before stay so.
func (s *side) open(n int32) {
	s.know(n)
	if n <= s.ready {
		return
	}
	s.pending += n - s.ready
	for ; int(s.ready) < len(s.tasks) && s.ready < n; s.ready++ {
		if s.tasks[s.ready].state != taskPending {
			s.pending--
		}
	}
	s.ready = n
}

// pick returns the task to start next of those that never failed, or NoTask.
func (s *side) pick() TaskID {
	for s.againHead < len(s.again) {
		t := s.again[s.againHead]
		if s.tasks[t].state == taskPending && s.tasks[t].failed == 0 {
			return t
		}
		s.againHead++
	}
	s.again, s.againHead = s.again[:0], 0
	for ; s.next < s.ready; s.next++ {
		if int(s.next) >= len(s.tasks) || s.tasks[s.next].state == taskPending && s.tasks[s.next].failed == 0 {
			return TaskID(s.next)
		}
	}
	return NoTask
}

// pool is a pool's live counts.
type ledgerPool struct {
	Pool
	id      PoolID
	pending [2]int32
	running [2]int32

	at       time.Duration // counts are accrued up to here
	limit    limit
	slotTime time.Duration // slot-time of its attempts
	wantTime time.Duration // time with demand
}

// SlotState says whether a slot takes tasks.
type SlotState uint8

const (
	SlotOpen SlotState = iota
	SlotDraining
	SlotClosed
)

// homes are the lists that slots are kept in: by home kind, and the extra ones.
const (
	homeExtra = 2
	homes     = 3
)

// phases is how many there are.
const phases = int(PhaseHeld) + 1

type ledgerSlot struct {
	Slot
	state SlotState

	busy        bool
	lent        bool
	killing     bool
	speculative bool
	advanced    bool // a reduce that may leave its copy phase
	rule        Rule
	attempt     AttemptID
	phase       Phase
	progress    PPM
	started     time.Duration
	seq         int64  // grants before this one: the newest has the largest
	next        SlotID // next live attempt of the same task

	times SlotTimes
}

// SlotTimes are a slot's life so far, without the attempt that runs on it.
type SlotTimes struct {
	Busy, Lent    time.Duration
	Starts, Moves int64
}

func (s *ledgerSlot) list() int {
	if s.Extra {
		return homeExtra
	}
	return int(s.Home)
}

// tracker is a tracker's live counts. Capacities are its open home slots.
type tracker struct {
	id      TrackerID
	slots   []SlotID
	cap     [2]int32
	open    int32 // open slots, the extra ones too
	running [2]int32
	phases  [phases]int32 // attempts by phase
	free    [homes]order.IDs[SlotID]
	tally   demand.Tally // the papers' used and lent slots
	keeps   int32        // for waiting reduces, at most: what leaves room for a map; 0 where nothing has weights
	lost    bool
}

func (t *tracker) freeSlots() int32 {
	return int32(len(t.free[Map]) + len(t.free[Reduce]) + len(t.free[homeExtra]))
}
