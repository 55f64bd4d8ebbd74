// Package view turns the events of a run into a model that pictures and tables draw:
// lanes, bars, phases, loans, buffers, decisions, and curves of use and fair share.
//
// A Model takes events one by one. So it serves a recorded run (Load), a simulated one and a real
// one that is still going on. It is a trace.Sink. Its tables grow at their ends only, in the order
// of events. So a page that shows a live run asks for what is new since the event that it knows
// (AppendJSON). Everything that can be computed from the tables is computed when it is asked for:
// Totals, Segments, Curves, Shuffle.
//
// The package is pure: it reads no clock, starts no goroutine and opens no file. It
// compiles to WebAssembly.
//
// Memory: a row takes 16 to 104 bytes, and an event makes two rows at most. Options.MostRows
// bounds the rows. One goroutine owns a Model.
//
// Neighbours: trace has the events, slots/explain the reasons of decisions. The packages
// below view write a model as SVG, Chrome trace, CSV, Prometheus text and HTML.
package view

import (
	"time"

	"mrlocal/trace"
)

// Never stands for a time that has not come.
const Never time.Duration = -1

// None stands in a field for the index of a job, slot or bar if there is no such thing.
const None int32 = -1

// Options say how much a Model keeps.
type Options struct {
	MostRows int // rows of all tables together; 0: 4,000,000
}

const defaultMostRows = 4_000_000

// Model is a run as pictures need it. Its fields are to be read only. Times count from the
// start of the run. Tables are in the order of their Seq, the number of an event.
type Model struct {
	Policy string
	Seed   uint64
	Lanes  []Lane      // a row of a picture each, by tracker, core and slot
	Pools  []DrawnPool // those of the configuration first, then in the order of their first jobs
	Jobs   []DrawnJob  // by number
	Rules  []string    // Rules[0] is "", for no rule

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
	Lost    uint64        // events that never came, because a lossy reader was slow
	Last    time.Duration // the time of the last event
	Ended   bool          // there are no more events
	Dropped int           // rows that were left out beyond Options.MostRows

	collector
}

// Lane is a slot.
type Lane struct {
	Slot, Tracker int32
	Core          int32 // -1: its thread is not bound
	Home          trace.Kind
	Extra         bool // closed until a policy opens it
}

// DrawnPool is a group of jobs that shares the slots with other pools.
type DrawnPool struct {
	Name                  string
	WeightPPM             int64
	MinMaps, MinReduces   int32
	mostMaps, mostReduces int32 // running at once; 0: no limit
}

// JobState is what has become of a job.
type JobState uint8

const (
	JobRunning JobState = iota // or waiting
	JobSucceeded
	JobFailed
	JobKilled
)

var jobStateNames = [...]string{"running", "succeeded", "failed", "killed"}

func (s JobState) String() string { return nameOf(jobStateNames[:], int(s)) }

// DrawnJob is one job. A time is Never if the event did not happen.
type DrawnJob struct {
	Name, User string
	Pool       int32 // index into Model.Pools

	Submit, Start, MapsDone, Finish time.Duration
	Deadline                        time.Duration // Never: it has none
	Admit                           time.Duration // Never: it did not wait for a limit of running jobs

	Maps, Reduces                 int32 // known so far
	MapsFinished, ReducesFinished int32 // tasks, not attempts
	RunningMaps, RunningReduces   int32 // attempts
	GateOpen                      bool  // its reduces may start
	State                         JobState
	Changed                       uint64 // number of the event that changed it last
}

// How says how an attempt ended.
type How uint8

const (
	Running How = iota
	Succeeded
	Failed
	Killed
	LostWithTracker
)

var howNames = [...]string{"running", "ok", "failed", "killed", "lost"}

func (h How) String() string { return nameOf(howNames[:], int(h)) }

// Bar is an attempt on a slot.
type Bar struct {
	Seq         uint64
	From        time.Duration
	To          time.Duration // Never: it runs
	Slot        int32
	Job         int32
	Task        int32
	N           int32 // number of the attempt within its task, from 0
	Rule        int32 // index into Model.Rules
	Kind        trace.Kind
	How         How
	Lent        bool // the task is not of the home kind of the slot
	Moved       bool // the slot has another home kind than at the start, and its row has that one as label
	Speculative bool
	only        bool // no other attempt of the task ran when it started

	// Of an attempt that has ended.
	InBytes, OutBytes, CopyBytes int64
	CPU                          time.Duration
}

// End is the end of a bar.
type End struct {
	Seq   uint64
	At    time.Duration
	Bar   int32 // index into Model.Bars
	How   How
	first bool // the task was not done before
	last  bool // no other attempt of the task runs
}

// PhaseStart says that an attempt enters a phase.
type PhaseStart struct {
	Seq   uint64
	At    time.Duration
	Bar   int32
	Phase trace.Phase
}

// Decision is a decision of the Ledger, or what follows from a fact. Job, Slot and Bar are
// None where the decision is about no such thing.
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

// BufferStep is what happens to a kvbuffer.
type BufferStep uint8

const (
	BufferBegin  BufferStep = iota // Bytes: its size, ToBytes: its spill mark
	BufferGrow                     // Bytes: its size before (0: not recorded), ToBytes: the new one
	BufferRefuse                   // Bytes: the size that it asked for, ToBytes: free memory (0: not recorded)
	BufferEvict                    // Bytes and ToBytes: bytes and records of a map output that is written to disk
)

var stepNames = [...]string{"begin", "grow", "refuse", "evict"}

func (s BufferStep) String() string { return nameOf(stepNames[:], int(s)) }

// Buffer is a step in the life of a kvbuffer.
type Buffer struct {
	Seq            uint64
	At             time.Duration
	Bar            int32
	Step           BufferStep
	Bytes, ToBytes int64
}

// Fetch says that a reduce has copied the outputs of Maps maps: of Map and those after it,
// or, if Map is None, of any.
type Fetch struct {
	Seq       uint64
	At        time.Duration
	Bar       int32
	Map, Maps int32
	Bytes     int64
}

// Status is what the user's code said about an attempt.
type Status struct {
	Seq  uint64
	At   time.Duration
	Bar  int32
	Text string
}

// Usage is the CPU time that the process has used since the start of the run, and what it
// holds of memory and temporary files.
type Usage struct {
	Seq                    uint64
	At                     time.Duration
	CPU                    time.Duration
	MemoryBytes, TempBytes int64 // of buffers, and of temporary files
}

// Loss is the loss of a tracker.
type Loss struct {
	Seq     uint64
	At      time.Duration
	Tracker int32
}

// nameOf returns "?" for a number that has no name.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "?"
}
