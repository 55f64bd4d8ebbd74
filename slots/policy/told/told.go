// Package told is what slot policies can be told, in one struct for all of them,
// whichever packages they live in: a policy takes what concerns it.
//
// A policy that is told more than the Ledger's own configuration has (percentages,
// the locality delay) has its Options in slots.Traits, so that
// they are recorded with the run and a replay is told the same: every field needs
// a name in JSON.
//
// It is plain values. Neighbours: slots/policy makes policies out of names and
// Options, the command line reads them from flags.
package told

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
)

// Options are what policies can be told. Defaults has what holds otherwise.
type Options struct {
	// BorrowMap is percentageOfBorrowedMapSlots: the share of the map slots
	// that reduces may borrow. BorrowReduce is percentageOfBorrowedReduceSlots:
	// the share of the reduce slots that maps may borrow. The Ledger records
	// both (slots.Traits).
	BorrowMap    slots.PPM `json:"-"`
	BorrowReduce slots.PPM `json:"-"`

	// LocalityDelay is how long a job waits for a slot at its data, and once
	// more for one in the same group (SPEC 1.6). 0: not at all. FIFO policies
	// never wait. The Ledger's configuration has it too.
	LocalityDelay time.Duration `json:"-"`

	// Cycle is RAS's control cycle, how often tasks are placed anew. 0: the mean
	// time of a map, between 250 ms and 10 s.
	Cycle time.Duration `json:"cycle_ns,omitempty"`

	// ShuffleMemory: under RAS a reduce that copies holds the memory that it needs
	// to reduce.
	ShuffleMemory bool `json:"shuffle_memory,omitempty"`

	// DHSA is the allocation that dynamicmr starts from: "pi", "pd", or "off",
	// which is fair. Without SEPB it starts no copies of running tasks, without
	// PreScheduling each tracker keeps to its part of the load. SEPBJobs is the
	// share of the running jobs whose pending tasks go before copies: 0 is LATE's
	// job-first, 1 batch-first.
	DHSA          string    `json:"dhsa,omitempty"`
	SEPB          bool      `json:"sepb"`
	SEPBJobs      slots.PPM `json:"sepb_jobs"`
	PreScheduling bool      `json:"prescheduling"`

	// SlotWeights are what tasks weigh under dynamicmr; a tracker runs no more than
	// its home slots weigh together. The zero value sets no bound.
	SlotWeights demand.Weights `json:"slot_weights,omitzero"`

	// CopyAfter is how long an attempt must have run before dynamicmr and late
	// copy it, whatever else they look at: longer than progress takes to be told.
	// 0: 100 ms.
	CopyAfter time.Duration `json:"copy_after_ns,omitempty"`

	// Of a tracker, under dynsplit: how many additional map slots open while maps
	// are in their I/O period, and how many reduces may run, copy, and sort or
	// reduce at a time; 0: any number.
	AdditionalMapSlots int32 `json:"additional_map_slots"`
	ReduceTotal        int32 `json:"reduce_total"`
	ReduceShuffle      int32 `json:"reduce_shuffle"`
	ReduceCompute      int32 `json:"reduce_compute"`
}

// Defaults are the options of who was told nothing.
func Defaults() Options {
	return Options{DHSA: "pi", SEPB: true, SEPBJobs: slots.One, PreScheduling: true, BorrowMap: slots.One, BorrowReduce: slots.One, AdditionalMapSlots: 1}
}
