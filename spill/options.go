package spill

import (
	"errors"
	"fmt"
	"os"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/runs"
)

// Options describe the kvbuffer of one map attempt. Parts and Lease are
// required.
type Options struct {
	Parts int

	// Cuts, when not nil, partitions by range: there are Parts-1 of them,
	// ascending, and a key equal to a cut goes to the right of it. Partitions
	// are then found by cutting the sorted order. Otherwise Partition says
	// where a key belongs, and without it HashPartition.
	Cuts      [][]byte
	Partition func(key []byte, parts int) int

	AppendKey func(dst, record []byte) []byte // jobs.Job.AppendKey
	Folder    jobs.Folder                     // makes the buffer a hash-combining one
	Combiner  func() jobs.Reducer             // run over every sorted run; not with Folder

	// SortLate: all outputs of the job together are likely to fit in memory;
	// then the reduces sort, all runs of a partition at once.
	SortLate bool

	lateLeastBytes int64 // smaller loads are sorted at once; 0: what shrunk does not look at

	StartBytes      int64   // capacity at the start; 0: what the lease grants
	SpillPercent    float64 // the spill mark as a share of the capacity; 0: 0.80
	Growth          bool    // the Dynamic Split rule may enlarge the capacity
	GrowthThreshold float64 // of that rule; 0: 0.8

	// Lease is where all memory comes from; it needs LeastBytes. AfmBytes is
	// asked at the spill mark: (bound - leased) / running maps, the memory a
	// map may count on; nil: what the budget has free.
	Lease    *membudget.Lease
	AfmBytes func() int64

	Codec      runs.Codec
	CreateTemp func() (*os.File, error) // called at the first spill

	// Background runs a spill on a helper of the slot; nil: on the caller's
	// goroutine. Notify may be called from there.
	Background func(spill func())
	Killed     func() bool      // polled every few thousand records; nil: never
	Notify     func(runs.Event) // nil: nobody wants to know
}

const (
	defaultSpillPercent    = 0.80
	defaultGrowthThreshold = 0.8

	// LeastBytes of a lease are enough for any buffer.
	LeastBytes = 6 * membudget.ChunkBytes

	// maxParts is what the entry of an emitted record has room for.
	maxParts = 1 << 20
)

func (o Options) withDefaults() Options {
	if o.StartBytes <= 0 {
		o.StartBytes = o.Lease.Granted()
	}
	if o.SpillPercent <= 0 || o.SpillPercent > 1 {
		o.SpillPercent = defaultSpillPercent
	}
	if o.GrowthThreshold <= 0 {
		o.GrowthThreshold = defaultGrowthThreshold
	}
	if o.lateLeastBytes == 0 {
		o.lateLeastBytes = shrinkHeldMax + 1
	}
	if o.Background == nil {
		o.Background = func(spill func()) { spill() }
	}
	if o.Killed == nil {
		o.Killed = func() bool { return false }
	}
	if o.Notify == nil {
		o.Notify = func(runs.Event) {}
	}
	if o.AfmBytes == nil {
		o.AfmBytes = o.Lease.Budget().Free
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Lease == nil:
		return errors.New("kvbuffer: no lease")
	case o.Parts < 1 || o.Parts > maxParts:
		return fmt.Errorf("kvbuffer: %d partitions: want 1 to %d", o.Parts, maxParts)
	case o.Cuts != nil && len(o.Cuts) != o.Parts-1:
		return fmt.Errorf("kvbuffer: %d cuts for %d partitions", len(o.Cuts), o.Parts)
	case o.Folder != nil && o.Combiner != nil:
		return errors.New("kvbuffer: a folder and a combiner")
	}
	return nil
}

// Stats are a buffer's counts; exact after Close.
type Stats struct {
	Records, Bytes               int64 // emitted or taken: keys and values
	CombineIn, CombineOut        int64
	SpilledRecords, SpilledBytes int64 // to disk; bytes as stored
	Expansions, Refusals, Spills int64
}
