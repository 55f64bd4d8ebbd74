package spill

import (
	"cmp"
	"errors"
	"fmt"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/shuffle/rule"
)

// rotate hands the load to a spill, which then owns it, and begins an empty load. It first
// waits for the previous spill: at most one is under way.
func (b *Buffer) rotate() {
	if b.wait(); b.err != nil {
		return
	}
	l := b.load
	b.stopDividing(l)
	b.begin()
	b.stats.Records += l.records
	b.o.Notify(shuffle.Event{Kind: shuffle.SpillStart, Bytes: b.markBytes, Records: l.records})
	done := make(chan struct{})
	b.spill.done = done
	b.o.Background(func() {
		defer close(done)
		b.spill.err = guard.ErrEnded // unless spillLoad returns
		b.spill.err = b.spillLoad(l)
	})
}

// wait waits for the spill under way, if there is one, and makes its error the buffer's.
func (b *Buffer) wait() {
	if b.spill.done == nil {
		return
	}
	// The channel orders the memory: what the spill has written is visible from here on.
	<-b.spill.done
	b.spill.done = nil
	if err := b.spill.err; err != nil {
		b.fail(err)
	}
}

// spillLoad sorts a load, combines it, writes it as a segment and frees it. It runs on
// Options.Background. It may use the load, sorting, the writer, the combiner, and the counts that
// combineMu guards. The goroutine of the buffer does not use the first four until wait returns.
func (b *Buffer) spillLoad(l *load) error {
	defer b.sorting.giveBack()
	defer b.free(l)
	slices, err := b.sort(l)
	if err != nil {
		return err
	}
	combine := b.combineWith(l, slices)
	return b.segment(func(w *shuffle.Writer) error {
		if combine == nil {
			return shuffle.WriteSorted(w, &l.arena, slices, b.o.Parts, nil)
		}
		return shuffle.WriteSorted(w, &l.arena, slices, b.o.Parts, func(m *shuffle.Merger) error { return combine(m, w.Add) })
	})
}

// combineWith returns a function that runs the combiner over one partition; nil if there is no
// combiner. For a buffer that combines by hash, it also counts what the table has combined.
func (b *Buffer) combineWith(l *load, slices []record.Slice) func(*shuffle.Merger, func(key, value []byte)) error {
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
	return func(m *shuffle.Merger, add func(key, value []byte)) error {
		return b.o.Guard("combine", func() error {
			if b.combiner == nil {
				b.combiner = shuffle.NewCombining(b.o.Combiner(), b.o.Late, guard.Failed("combiner"))
			}
			in, out, err := b.combiner.Partition(m, add)
			b.countCombined(in, out)
			return err
		})
	}
}

// countCombined adds to the numbers of records before and after the combiner.
func (b *Buffer) countCombined(in, out int64) {
	b.combineMu.Lock()
	defer b.combineMu.Unlock()
	b.combining.in += in
	b.combining.out += out
}

// segment writes the next run of the output to its temporary file.
func (b *Buffer) segment(write func(w *shuffle.Writer) error) (err error) {
	if b.writer == nil {
		if b.writer, err = shuffle.NewWriter(b.writerRoom.Data, b.o.Codec); err != nil {
			return err
		}
	}
	// At most one spill runs at a time, so the Writer and its chunk are not shared.
	w := b.writer
	if err := b.out.AppendSegment(w, write); err != nil {
		return err
	}
	b.combineMu.Lock()
	b.stats.Spills++
	b.stats.SpilledRecords += w.TotalRecords
	b.stats.SpilledBytes += w.TotalBytes
	b.combineMu.Unlock()
	b.o.Notify(shuffle.Event{Kind: shuffle.SpillEnd, Bytes: w.TotalBytes, Records: w.TotalRecords})
	return nil
}

// keep makes the last load the run in memory of the output. It combines the load if there is a
// combiner. Otherwise it leaves the load unsorted if the reduces can sort it, or sorts it, and
// copies it if that saves memory.
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
	if b.keepDivided(l) {
		return nil
	}
	b.stopDividing(l)
	slices, err := b.sort(l)
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

// sort sorts a load.
func (b *Buffer) sort(l *load) (slices []record.Slice, err error) {
	err = b.dividing(func() (err error) {
		slices, err = b.sorting.sort(l)
		return err
	})
	return slices, err
}

// dividing calls work, which may call the partitioner. It guards one of the user's.
func (b *Buffer) dividing(work func() error) error {
	if b.o.Partition == nil {
		return work()
	}
	return b.o.Guard("partition", work)
}

// adopt makes a load the run in memory of the output. The load's chunks move to a lease that
// the output owns. unsorted is nil if the slices are sorted.
func (b *Buffer) adopt(l *load, slices []record.Slice, stats []record.PartStat, unsorted *record.Unsorted) {
	lease, _ := b.lease.Budget().TryReserve(0) // 0 bytes are always granted
	b.lease.Transfer(lease, l.chunks...)
	b.lease.Transfer(lease, l.index...)
	b.out.Keep(&shuffle.MemoryRun{Arena: l.arena, Slices: slices, Lease: lease, Unsorted: unsorted, InTable: l.table.keys > 0}, stats)
	l.chunks, l.index = nil, nil
}

// keepCombined runs the combiner over the last load. The result stays in memory if there is
// room for it next to the load. Otherwise the combiner runs again, and the result becomes a
// segment.
func (b *Buffer) keepCombined(l *load) error {
	defer b.free(l)
	slices, err := b.sort(l)
	if err != nil {
		return err
	}
	combine := b.combineWith(l, slices)
	c := newCopier(b, -1, 0)
	// If the copy does not fit, the combiner runs a second time, which must not count twice.
	in, out := b.combining.in, b.combining.out
	for p := range b.o.Parts {
		var m shuffle.Merger
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
	if c.full { // run it again, to disk
		b.free(&c.load)
		b.combining.in, b.combining.out = in, out
		return b.segment(func(w *shuffle.Writer) error {
			return shuffle.WriteSorted(w, &l.arena, slices, b.o.Parts, func(m *shuffle.Merger) error { return combine(m, w.Add) })
		})
	}
	c.keep(b)
	return nil
}

// KVBuffer holds the settings of all kvbuffers of a run. The capacity of a kvbuffer bounds the
// bytes of its chunks of records and entries.
type KVBuffer struct {
	SpillPercent    float64       // the buffer spills when it has collected this share of the capacity, in a run at least 0.1; 0: 0.80
	NoGrowth        bool          // else the rule of Dynamic Split may enlarge the capacity
	GrowthThreshold float64       // of that rule: the share of the free memory that a buffer may grow to; 0: 0.8
	Codec           shuffle.Codec // of segments

	// TablesInProportion applies pfs : tfs = abs : x also to buffers that combine by hash
	// [Split11, "buffer terms"]. By default such a buffer doubles.
	TablesInProportion bool
}

// leastSpillPercent is the least SpillPercent of a run. Below it small spills would make very many
// runs to merge (docs/adr/0036).
const leastSpillPercent = 0.1

// Check returns an options error if no run can use the settings. They have their defaults.
func (k *KVBuffer) Check() error {
	switch p, t := k.SpillPercent, k.GrowthThreshold; {
	case !(p >= leastSpillPercent && p <= 1): // NaN too
		return errs.Fieldf("Options.SpillPercent", "%v: must be at least %v and at most 1", p, leastSpillPercent)
	case !(t > 0 && t <= 1):
		return errs.Fieldf("Options.GrowthThreshold", "%v: must be above 0 and at most 1", t)
	case k.Codec > shuffle.Zstd:
		return errs.Fieldf("Options.Codec", "%d: no such codec", k.Codec)
	}
	return nil
}

// Options are the options of the kvbuffer of one map attempt. Parts and Lease are required.
// Every other field may be zero.
type Options struct {
	Parts int // number of partitions, 1 to 1,048,576

	// Cuts divides keys by range: Parts-1 keys in ascending order. A key that is equal to a cut
	// belongs to the partition on its right. The buffer finds the partitions in the sorted
	// order. nil: Partition chooses the partition.
	Cuts [][]byte

	// Partition returns the partition of a key, 0 to parts-1. The buffer does not call it if
	// Cuts is set. nil: HashPartition.
	Partition func(key []byte, parts int) int

	AppendKey func(dst, record []byte) []byte // jobs.Job.AppendKey; nil: a taken record is its own key
	Folder    jobs.Folder                     // not nil: the buffer combines by hash
	Combiner  func() jobs.Reducer             // makes the one reducer that runs over every sorted run; not together with Folder

	// Seed chooses the hash function of the table that combines. The result does not depend on
	// it. The engine draws it at random for each run, so that no input can have many keys of
	// one hash.
	Seed uint64

	// SortLate says that all outputs of the job together are likely to fit in memory. Outputs
	// that did fit are then sorted by the reduces (docs/adr/0010).
	SortLate bool

	// Ranges lets several threads sort an output late, range by range. The maps of a job with
	// one partition share it. nil: one thread sorts it.
	Ranges *record.Ranges

	// lateLeastBytes: a load that holds less is sorted at once. 0: the size above which shrunk
	// copies no load.
	lateLeastBytes int64

	StartBytes int64 // capacity at the start; 0: what the lease grants
	KVBuffer

	// Lease gives all memory. It must grant at least LeastBytes. The caller closes it. AfmBytes
	// returns the free memory for each map, in bytes: (bound - leased) / running maps. The
	// buffer calls it at the spill mark.
	Lease    *membudget.Lease
	AfmBytes func() int64

	OnDisk     bool                           // nothing stays in memory, so that shuffle.MapOutput.Store can keep the whole output
	CreateTemp func() (*disk.TempFile, error) // called at the first spill; nil: a spill fails

	// Guard calls user code outside of Emit and Take: the combiner and the partitioner. It makes a
	// panic of that code an error. what names the code.
	Guard func(what string, call func() error) error

	// Background runs a spill, usually on a helper thread of the slot. Notify may be called from that
	// thread.
	Background func(spill func())
	Late       func()      // called for each call of an emitting method after the end of the buffer
	Killed     func() bool // polled every few thousand records; if it is true, Emit panics with jobs.ErrKilled
	Notify     func(shuffle.Event)
}

const (
	// LeastBytes is the smallest lease that is enough for every buffer.
	LeastBytes = 6 * membudget.ChunkBytes

	// maxParts is the number of partitions that the code of an entry can hold.
	maxParts = 1 << 20
)

// withDefaults returns o with the default for each field that is not set. o.Lease must be set.
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
	return o
}

// validate returns an error if no buffer can work with o. It runs before withDefaults.
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
	CombineIn, CombineOut        int64 // records before and after the combiner or the Folder
	SpilledRecords, SpilledBytes int64 // written to segments; bytes as stored
	Expansions, Refusals, Spills int64 // growth by the rule of Dynamic Split, growth refused, segments
}
