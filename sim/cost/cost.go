// Package cost holds the cost models of the simulator. Cost models compute how long attempts copy
// and work. Alone is L0 and L1, Shared is L2, and Measured is the cost of a real machine. A model
// pushes queued events into the queue, as the driver does.
//
// L0 and L1: a map takes its map_time. A reduce first copies each map output as it
// becomes available, at the net bandwidth of its tracker, which it has for itself
// (Flow). Then it takes its reduce_time. L0 is L1 with outputs of no bytes.
//
// Memory: 16 bytes for each available output, and 8 for each slot. The package is pure.
package cost

import (
	"iter"
	"time"

	"mrlocal/sim/events"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Task is the attempt on a slot, as cost models see it. The driver owns the Tasks, one for
// each slot, and sets the first group of fields.
type Task struct {
	Slot       slots.SlotID
	Tracker    slots.TrackerID
	Job        int32 // its index in the file
	Kind       slots.Kind
	Gen        uint32        // generation of the slot, for queued events about the attempt
	Started    time.Duration // start of the attempt
	Base, Took time.Duration // time of its work: as the file has it, and on this tracker

	// CPU and CopyTime are results: CPU time of the work, and time spent copying
	// without waits for outputs.
	CPU, CopyTime time.Duration
}

// Activity says what an attempt does.
type Activity uint8

const (
	Idle     Activity = iota // nothing any more: it has ended
	Copying                  // a reduce copies what is available and waits for more
	CopyRest                 // a reduce copies the rest: all outputs are available
	Held                     // a reduce has copied everything, and does not work yet
	Working                  // a map, or a reduce that has copied everything
)

// Host is the simulation that a model is part of. A model calls its methods during a call of its
// own.
type Host interface {
	Phase(id slots.SlotID, p slots.Phase) // the attempt on a slot is in another phase
	End(id slots.SlotID)                  // its work is done

	// Detail reports a step of the kvbuffer of a map: OpBuffer, OpSpillStart or OpSpillEnd.
	// first and second are the values of the event.
	Detail(id slots.SlotID, op trace.Op, first, second int64)
}

// Config connects a model with its simulation.
type Config struct {
	Queue      *events.Queue
	Handlers   *events.Handlers // a model sets those of its own events
	Host       Host
	File       *workload.File   // a model does not change it
	Slots      []slots.Slot     // of all trackers
	Capacities slots.Capacities // of trackers that do not have the whole of each resource

	BytesPerSecond int64        // that a reduce copies at most; 0: copying takes no time
	Note           func(string) // prints a warning of one line
}

// Alone is L0 and L1: every attempt has all resources that it needs for itself.
type Alone struct {
	Config
	Flows
	ends []time.Duration // by slot: end of the work of its attempt
}

// NewAlone returns the model for the jobs of a file.
func NewAlone(c Config) *Alone {
	return &Alone{Config: c, Flows: NewFlows(&c), ends: make([]time.Duration, len(c.Slots))}
}

// Set sets the activity of an attempt from now on. It pushes an EndCopy or EndAttempt event for
// the end of CopyRest or Working. It returns true if CopyRest is over at once.
func (m *Alone) Set(now time.Duration, t *Task, to Activity) (over bool) {
	switch f := m.Flow(t.Job); to {
	case CopyRest:
		at := f.Copied(t.Started)
		if at <= now {
			return true
		}
		m.Queue.Push(at, events.EndCopy, int32(t.Slot), t.Gen)
	case Held:
		t.CopyTime = f.Copying(f.Maps)
	case Working:
		m.ends[t.Slot] = Later(now, t.Took)
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		m.Queue.Push(m.ends[t.Slot], events.EndAttempt, int32(t.Slot), t.Gen)
	}
	return false
}

// Lose calls drop, which removes lost outputs from a flow. A Flow is all the state of copies.
func (m *Alone) Lose(_ time.Duration, _ iter.Seq[*Task], drop func()) { drop() }

// Describe does nothing, because there are neither kvbuffers nor shared cores.
func (m *Alone) Describe(time.Duration, *report.Report, func(id slots.JobID) (job int32, maps int64)) {
}

// Done returns the share of its copy, or else of its work, that an attempt has done.
func (m *Alone) Done(now time.Duration, t *Task, copying bool) float64 {
	if copying {
		return DoneCopying(m.Flow(t.Job), func(f *Flow) time.Duration { return f.Reached(t.Started, now) })
	}
	return DoneWorking(t.Took, m.ends[t.Slot]-now)
}

// DoneCopying returns the share of a copy that is done. reached returns the part that is copied,
// in the time that it takes alone. It is called only if copying takes time.
func DoneCopying(f *Flow, reached func(f *Flow) time.Duration) float64 {
	all := f.Copying(f.Maps)
	switch {
	case f.Maps == 0:
		return 1
	case all == 0:
		return float64(f.There) / float64(f.Maps)
	}
	return float64(reached(f)) / float64(all)
}

// DoneWorking returns the share of the work that is done, if left of all is still to do.
func DoneWorking(all, left time.Duration) float64 {
	if all <= 0 {
		return 1
	}
	return 1 - float64(left)/float64(all)
}
