package spill

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"mrlocal/internal/disk"
	"mrlocal/internal/machine"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
	"mrlocal/spill/rule"
	"mrlocal/spill/runs"
)

// rotate hands the load to a spill, which owns it from then on, and starts an empty
// one. It waits for the spill before: at most one is under way.
func (b *Buffer) rotate() {
	if b.wait(); b.err != nil {
		return
	}
	l := b.load
	b.stopDividing(l)
	b.begin()
	b.stats.Records += l.records
	b.o.Notify(runs.Event{Kind: runs.SpillStart, Bytes: b.markBytes, Records: l.records})
	done := make(chan struct{})
	b.spill.done = done
	defer b.spends(&b.spill.held)()
	b.o.Background(func() {
		defer close(done)
		begun, cpu := time.Now(), machine.ThreadCPU()
		b.spill.err = b.spillLoad(l)
		b.spill.took, b.spill.cpu = time.Since(begun), machine.ThreadCPU()-cpu
	})
}

// spends returns a function that adds to d the time since spends was called.
func (b *Buffer) spends(d *time.Duration) func() {
	begun := time.Now()
	return func() { *d += time.Since(begun) }
}

// wait waits for the spill under way, if there is one, and takes its error over.
func (b *Buffer) wait() {
	if b.spill.done == nil {
		return
	}
	// The channel orders the memory: what the spill has written is visible from here on.
	begun := time.Now()
	<-b.spill.done
	b.spill.done = nil
	b.bookSpill(time.Since(begun))
	if err := b.spill.err; err != nil {
		b.fail(err)
	}
}

// bookSpill adds the time of the spill that has ended to that of sorts and spills. The goroutine of
// the buffer has waited for the spill before. A spill beside the mapper shares its core. So it
// counts with the processor time that it took, or with the time that the mapper stood still if that
// is more: then the disk was slow.
func (b *Buffer) bookSpill(waited time.Duration) {
	s := &b.spill
	counts := max(min(s.cpu, s.took), s.held+waited)
	if s.took > 0 {
		sorted := time.Duration(float64(counts) * float64(s.sorted) / float64(s.took))
		b.stats.SortTime += sorted
		b.stats.SpillTime += counts - sorted
	}
	s.sorted, s.took, s.cpu, s.held = 0, 0, 0, 0
}

// spillLoad sorts a load, combines it, writes it as a segment and frees it. It runs
// on Options.Background: besides the load it uses only sorting, the writer and the
// counts under combineMu, which the buffer leaves alone until wait.
func (b *Buffer) spillLoad(l *load) error {
	defer b.sorting.giveBack()
	defer b.free(l)
	begun := time.Now()
	slices, err := b.sorting.sort(l)
	b.spill.sorted = time.Since(begun)
	if err != nil {
		return err
	}
	combine := b.combineWith(l, slices)
	return b.segment(func(w *runs.Writer) error {
		if combine == nil {
			return runs.WriteSorted(w, &l.arena, slices, b.o.Parts, nil)
		}
		return runs.WriteSorted(w, &l.arena, slices, b.o.Parts, func(m *runs.Merger) error { return combine(m, w.Add) })
	})
}

// combineWith returns what runs the combiner over one partition; nil where
// there is no combiner. It counts what hash-combining has combined.
func (b *Buffer) combineWith(l *load, slices []record.Slice) func(*runs.Merger, func(key, value []byte)) error {
	if b.mode != sortMode {
		distinct := int64(0)
		for _, s := range slices {
			distinct += int64(len(s.Entries))
		}
		b.countCombined(l.records, distinct)
		return nil
	}
	if b.o.Combiner == nil {
		return nil
	}
	combiner := b.o.Combiner()
	return func(m *runs.Merger, add func(key, value []byte)) error {
		in, out, err := runs.Combine(m, combiner, add)
		b.countCombined(in, out)
		return err
	}
}

// countCombined adds to the counts of the combiner.
func (b *Buffer) countCombined(in, out int64) {
	b.combineMu.Lock()
	defer b.combineMu.Unlock()
	b.combining.in += in
	b.combining.out += out
}

// segment writes the next run of the output to its temporary file.
func (b *Buffer) segment(write func(w *runs.Writer) error) (err error) {
	if b.writer == nil {
		if b.writer, err = runs.NewWriter(b.writerRoom.Data, b.o.Codec); err != nil {
			return err
		}
	}
	// One spill at a time uses the Writer, and so its chunk.
	w := b.writer
	if err := b.out.AppendSegment(w, write); err != nil {
		return err
	}
	b.combineMu.Lock()
	b.stats.Spills++
	b.stats.SpilledRecords += w.TotalRecords
	b.stats.SpilledBytes += w.TotalBytes
	b.combineMu.Unlock()
	b.o.Notify(runs.Event{Kind: runs.SpillEnd, Bytes: w.TotalBytes, Records: w.TotalRecords})
	return nil
}

// keep makes what was collected last the output's run in memory. It sorts the
// load, unless the reduces do, and combines it where there is a combiner.
func (b *Buffer) keep() error {
	l := b.load
	b.stats.Records += l.records
	if l.empty() {
		b.free(l)
		return nil
	}
	if b.o.Combiner != nil {
		return b.keepCombined(l)
	}
	// The entries stay unsorted, so this map has no sort at all.
	if b.keepDivided(l) {
		return nil
	}
	b.stopDividing(l)
	slices, err := b.sortNow(l)
	if err != nil {
		return err
	}
	b.combineWith(l, slices)
	if c := b.shrunk(l, slices); c != nil {
		b.free(l)
		c.keep(b)
		return nil
	}
	b.adopt(l, slices, record.CountParts(&l.arena, slices, b.o.Parts), nil)
	return nil
}

// sortNow sorts a load on the goroutine of the buffer.
func (b *Buffer) sortNow(l *load) ([]record.Slice, error) {
	defer b.spends(&b.stats.SortTime)()
	return b.sorting.sort(l)
}

// adopt makes a load the output's run in memory. Its chunks go over to a lease
// of the output's own. unsorted is nil for slices that are sorted.
func (b *Buffer) adopt(l *load, slices []record.Slice, stats []record.PartStat, unsorted *record.Unsorted) {
	lease, _ := b.lease.Budget().TryReserve(0) // 0 bytes are always granted
	b.lease.Transfer(lease, l.chunks...)
	b.lease.Transfer(lease, l.index...)
	b.out.Keep(&runs.MemoryRun{Arena: l.arena, Slices: slices, Lease: lease, Unsorted: unsorted, InTable: l.table.keys > 0}, stats)
	l.chunks, l.index = nil, nil
}

// keepCombined runs the combiner over the last load. The result stays in
// memory where there is room for it beside the load; else it becomes a segment.
func (b *Buffer) keepCombined(l *load) error {
	defer b.free(l)
	slices, err := b.sortNow(l)
	if err != nil {
		return err
	}
	combine := b.combineWith(l, slices)
	c := newCopier(b, -1, 0)
	// If the copy does not fit, the combiner runs once more, and must not count twice.
	in, out := b.combining.in, b.combining.out
	for p := range b.o.Parts {
		var m runs.Merger
		m.OverSlices(&l.arena, slices, p)
		if err := combine(&m, func(key, value []byte) { c.add(key, value) }); err != nil {
			b.free(&c.load)
			return err
		}
		if c.full {
			break
		}
		c.endPart()
	}
	if c.full { // again, to disk
		b.free(&c.load)
		b.combining.in, b.combining.out = in, out
		return b.segment(func(w *runs.Writer) error {
			return runs.WriteSorted(w, &l.arena, slices, b.o.Parts, func(m *runs.Merger) error { return combine(m, w.Add) })
		})
	}
	c.keep(b)
	return nil
}

// Options describe the kvbuffer of one map attempt. Parts and Lease are required.
type Options struct {
	Parts int // partitions, 1 to 1,048,576

	// Cuts divides keys by range: Parts-1 keys in ascending order. A key that is equal
	// to a cut belongs to the right of it. The partitions are then found in the sorted
	// order. nil: Partition chooses the partition.
	Cuts [][]byte

	// Partition returns the partition of a key, 0 to parts-1. It is not called if Cuts
	// is set. nil: a hash of the key chooses the partition.
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

	// Ranges, shared by the maps of a job with one partition, makes what is sorted late sorted
	// by several threads; nil: it is sorted as one.
	Ranges *record.Ranges

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
	CreateTemp func() (*disk.TempFile, error) // called at the first spill; nil: a spill fails

	// Background runs a spill on a helper thread of the slot; nil: on the goroutine
	// of the caller. Notify may be called from that thread.
	Background func(spill func())
	Killed     func() bool      // polled every few thousand records; Emit panics with runs.ErrKilled then; nil: never
	Notify     func(runs.Event) // nil: events are dropped
}

const (
	// LeastBytes is a lease that is enough for any buffer.
	LeastBytes = 6 * membudget.ChunkBytes

	// maxParts is how many partitions the code of an entry can tell apart.
	maxParts = 1 << 20
)

// withDefaults returns o with the default for each field that is not set. Functions that are nil
// do nothing; a spill then runs on the caller's goroutine.
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
	o.lateLeastBytes = cmp.Or(o.lateLeastBytes, shrinkHeldMax+1)
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

// validate returns what no Buffer can work with. It runs after withDefaults.
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

	// Of all sorts, and of all writing and keeping of what was sorted, combiners included.
	SortTime, SpillTime time.Duration
}
