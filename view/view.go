// Package view turns the events of a run into a Model for pictures and tables. A Model has lanes,
// bars, phases, loans, kvbuffers, decisions, and curves of use and fair share.
//
// A Model is a trace.Sink that takes events one by one. So it serves a recorded run (Load), a
// simulated run, and a real run that has not ended. Its tables grow only at their ends, in the
// order of events. So a page that shows a live run asks only for the rows after the last event
// that it has (AppendJSON). Totals, EachSegment, Curves and Shuffle compute their results from
// the tables at each call.
//
// The package is pure: it reads no clock, starts no goroutine and opens no file. It
// compiles to WebAssembly.
//
// Memory: a row takes 16 to 104 bytes, and an event makes two rows at most. mostRows
// bounds the rows. A Model is not safe for use by several goroutines at once.
package view

import (
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Never stands for the time of an event that has not happened.
const Never = trace.Never

// None stands for a missing index of a job, slot or bar.
const None int32 = -1

// mostRows bounds the rows of all tables of a model together.
const mostRows = 4_000_000

// Model is a run, prepared for pictures. Users read its fields and never change them. Times
// count from the start of the run. Tables are in the order of Seq, the number of the event that
// made a row.
type Model struct {
	Policy  string
	Sharing slots.Sharing // the fair shares of the policy; slots.NoShares: it has none, or they are unknown
	Seed    uint64
	Slots   []trace.Slot // by number
	Lanes   []trace.Slot // sorted by tracker, core and slot: the rows of a picture
	Pools   []slots.Pool // pools of the configuration first, then the others in the order of their first jobs
	Jobs    []DrawnJob   // by job number
	Rules   []string     // names of rules; Rules[0] is "", for no rule

	Bars      []Bar
	Ends      []End
	Phases    []PhaseStart
	Decisions []Decision
	Spills    []Spill
	Buffers   []Buffer
	Fetches   []Fetch
	Statuses  []Status
	Usages    []Usage
	Losses    []Loss

	Seq     uint64        // the number of the last event
	Last    time.Duration // the time of the last event
	Ended   bool          // Close was called: no more events follow
	Dropped int           // rows that were left out because of mostRows

	collector
}

// DrawnJob is one job. A time is Never if its event has not happened.
type DrawnJob struct {
	Name, User string
	Pool       int32 // index into Model.Pools

	Submit, Start, MapsDone, Finish time.Duration // Start: of the first attempt
	Due                             time.Duration // with After: the job could not be submitted before this time
	Deadline                        time.Duration // Never: the job has no deadline
	Admit                           time.Duration // end of waiting for a limit on running jobs; Never: it did not wait, or still waits

	After            []int32 // numbers of the jobs for which it waited, as the events have them
	Priority, Weight int64   // Weight: within the pool, in parts per million

	Maps, Reduces int32              // tasks that are known so far
	Sealed        bool               // there are no more maps than these
	Finished      [trace.Kinds]int32 // finished tasks
	Running       [trace.Kinds]int32 // running attempts, copies among them
	GateOpen      bool               // the job's reduces may start
	State         slots.State
	Changed       uint64 // number of the last event that changed this struct
}

// Bar is an attempt on a slot.
type Bar struct {
	trace.Span
	Rule int32 // index into Model.Rules

	// These are 0 until the attempt has ended.
	InBytes, OutBytes, CopyBytes int64         // read, written, and copied from maps
	CPU                          time.Duration // CPU time of the attempt
}

// End is the end of a bar.
type End struct {
	Seq uint64
	At  time.Duration
	Bar int32 // index into Model.Bars
	How trace.How
}

// PhaseStart is the start of a phase of an attempt.
type PhaseStart struct {
	Seq   uint64
	At    time.Duration
	Bar   int32
	Phase trace.Phase
}

// Decision is a decision of the Ledger, or a change of state that follows from a fact, such as
// the end of a job. Job, Slot and Bar are None if the decision is not about one.
type Decision struct {
	Seq                  uint64
	At                   time.Duration
	Op                   trace.Op
	Job, Slot, Bar, Rule int32
}

// Spill is a spill of a map, from its start to the event Seq.
type Spill struct {
	Seq            uint64
	From, To       time.Duration
	Bar            int32
	Bytes, Records int64
}

// BufferStep is a kind of change of a kvbuffer. It decides what Bytes and ToBytes of a Buffer are.
type BufferStep uint8

const (
	BufferBegin  BufferStep = iota // Bytes: the first size, ToBytes: the spill mark
	BufferGrow                     // Bytes: the old size, ToBytes: the new size
	BufferRefuse                   // Bytes: the refused size, ToBytes: free memory
	BufferEvict                    // a map output is written to disk; Bytes: its bytes, ToBytes: its number of records
)

var stepNames = [...]string{"begin", "grow", "refuse", "evict"}

// String returns the step as a word.
func (s BufferStep) String() string { return stepNames[s] }

// Buffer is a change of the kvbuffer of an attempt.
type Buffer struct {
	Seq            uint64
	At             time.Duration
	Bar            int32
	Step           BufferStep
	Bytes, ToBytes int64
}

// Fetch is a copy of map outputs to a reduce: of Maps maps, beginning with number Map. If Map is
// None, it is not known which maps they were. Bytes is the sum of all of them.
type Fetch struct {
	Seq       uint64
	At        time.Duration
	Bar       int32
	Map, Maps int32
	Bytes     int64
}

// Status is a status text that the user's code has set for an attempt.
type Status struct {
	Seq  uint64
	At   time.Duration
	Bar  int32
	Text string
}

// Usage is a measurement of what the process uses.
type Usage struct {
	Seq         uint64
	At          time.Duration
	CPU         time.Duration // CPU time since the start of the run
	MemoryBytes int64         // memory of buffers
	TempBytes   int64         // size of temporary files
	BoundBytes  int64         // of the memory of buffers; 0: not known
}

// Loss is the loss of a tracker.
type Loss struct {
	Seq     uint64
	At      time.Duration
	Tracker int32
}
