package spill

import (
	"errors"
	"fmt"

	"mrlocal/internal/membudget"
	"mrlocal/internal/tempdir"
	"mrlocal/jobs"
	"mrlocal/spill/rule"
	"mrlocal/spill/runs"
)

// Options describe the kvbuffer of one map attempt. Parts and Lease are required.
type Options struct {
	Parts int // partitions, 1 to 1,048,576

	// Cuts, when not nil, divides keys by range: Parts-1 ascending keys, and a key
	// equal to a cut belongs to the right of it. The partitions are then found in
	// the sorted order. Without Cuts, Partition returns the partition of a key, 0
	// to parts-1; nil: a hash of the key tells it.
	Cuts      [][]byte
	Partition func(key []byte, parts int) int

	AppendKey func(dst, record []byte) []byte // jobs.Job.AppendKey
	Folder    jobs.Folder                     // not nil: the buffer combines by hash
	Combiner  func() jobs.Reducer             // run over every sorted run; not together with Folder

	// Seed chooses the hash function of the table that combines. The result does not
	// depend on it. A run draws it at random, so that no input can have many keys of
	// one hash.
	Seed uint64

	// SortLate says that all outputs of the job together are likely to fit in
	// memory. The reduces then sort (docs/adr/0010), if everything did fit.
	SortLate bool

	// lateLeastBytes: a load that holds less is sorted at once. 0: so little that
	// shrunk may copy it.
	lateLeastBytes int64

	// The capacity is how many bytes of chunks the records and their index may
	// take. The buffer spills when it has collected SpillPercent of it.
	StartBytes      int64   // capacity at the start; 0: what the lease grants
	SpillPercent    float64 // 0 to 1, as a share of the capacity; 0: 0.80
	Growth          bool    // the rule of Dynamic Split may enlarge the capacity
	GrowthThreshold float64 // of that rule; 0: 0.8

	// TablesInProportion applies pfs : tfs = abs : x to buffers that combine by hash too,
	// which otherwise double [Split11, "buffer terms"].
	TablesInProportion bool

	// Lease gives all memory; it needs LeastBytes, and the caller closes it.
	// AfmBytes returns the memory that each map may count on: (bound - leased) /
	// running maps, in bytes. It is called at the spill mark. nil: what the budget
	// has free.
	Lease    *membudget.Lease
	AfmBytes func() int64

	OnDisk     bool // nothing stays in memory, and the output is synced in the end (runs.MapOutput.Store)
	Codec      runs.Codec
	CreateTemp func() (*tempdir.File, error) // called at the first spill; nil: a spill fails

	// Background runs a spill on a helper thread of the slot; nil: on the goroutine
	// of the caller. Notify may be called from that thread.
	Background func(spill func())
	Killed     func() bool      // polled every few thousand records; nil: never
	Notify     func(runs.Event) // nil: events are dropped
}

const (
	// LeastBytes is a lease that is enough for any buffer.
	LeastBytes = 6 * membudget.ChunkBytes

	// maxParts is how many partitions the code of an entry can tell apart.
	maxParts = 1 << 20
)

func (o Options) withDefaults() Options {
	if o.StartBytes <= 0 {
		o.StartBytes = o.Lease.Granted()
	}
	if o.SpillPercent <= 0 || o.SpillPercent > 1 {
		o.SpillPercent = rule.SpillPercent
	}
	if o.GrowthThreshold <= 0 {
		o.GrowthThreshold = rule.GrowthThreshold
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

// Stats are the counts of a buffer.
type Stats struct {
	Records, Bytes               int64 // emitted or taken; bytes of keys and values
	CombineIn, CombineOut        int64
	SpilledRecords, SpilledBytes int64 // written to segments; bytes as stored
	Expansions, Refusals, Spills int64
}
