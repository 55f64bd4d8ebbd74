// Package spill is the kvbuffer: it collects, sorts or combines the records that one map
// attempt emits. It spills what does not fit in its memory. What it leaves is a runs.MapOutput.
//
//	Emit, EmitSpans, Take -> Buffer -> (segment on disk)* -> runs.MapOutput
//
// A Buffer collects in one of two ways:
//
//   - Sorting: it appends records to chunks, or refers to blocks that it was
//     given whole, and keeps an entry of 16 bytes for each record. It sorts the
//     entries, not the records. If all outputs of the job are likely to fit in
//     memory, it only divides the entries by partition, and the reduces sort
//     them (docs/adr/0010).
//   - Hash-combining: it folds each value into the accumulator of its key, and
//     sorts only the distinct keys.
//
// Either way a Buffer starts small and may grow by the rule of Dynamic Split
// [Split11]. Otherwise it spills at its mark, and goes on collecting meanwhile.
// What it holds at the end stays in memory, where merges read it, until the
// memory budget evicts it.
//
// # Memory
//
// All memory is chunks of the lease that a Buffer is given. The Buffer keeps
// two of them for its whole life, to sort and to write with. The other chunks
// belong to a load:
//
//	Buffer ── load ── chunks   records, blocks taken, the table; the arena numbers them
//	             └─── index    entries, 16,384 to a chunk
//	rotate: the load goes to a spill, which frees it; a new, empty load follows
//	Close:  the load goes to the MapOutput, under a lease of the MapOutput's own
//
// Neighbours: package record holds records in memory and sorts their entries.
// Package runs writes, keeps and merges sorted runs. Package rule says when a buffer
// spills and grows. Package engine/task drives all of them, and passes MapOutputs to
// reduces (Shuffle).
package spill

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
	"mrlocal/spill/rule"
	"mrlocal/spill/runs"
)

// Buffer is the kvbuffer of one map attempt: the jobs.Emitter and jobs.Taker
// that a mapper is given. One goroutine uses it; its spills run on
// Options.Background. Close or Discard ends it.
//
// Errors are sticky: after the first one every record is dropped, and Err and
// Close return it.
type Buffer struct {
	o     Options
	lease *membudget.Lease

	// Where the next record goes. All are empty after an error, so that every
	// record then takes the slow path (makeRoom).
	data     []byte         // the chunk being filled
	off      int            // in data
	dataAddr uint64         // of data
	cur      []record.Entry // the index chunk being filled
	n        int            // entries in cur
	room     int64          // bytes until the spill mark; may be negative after Take
	counted  int            // records until the kill flag is polled again

	// Of hash-combining.
	sums      sums
	deltaRoom [8]byte // the value of a sum that is inserted
	touched   byte    // keeps the compiler from removing reads that only fill the cache

	load    *load
	seed    seed            // of every table
	divider *record.Divider // nil: what is collected is sorted here
	mode    mode
	part    func(key []byte, parts int) int // nil: one part, or Options.Cuts
	keyRoom []byte                          // for AppendKey

	// Invariant: heldBytes <= max(capacityBytes, leastHeldBytes), but for one
	// record longer than a chunk and for blocks that were taken.
	heldBytes     atomic.Int64 // chunks of the load and of a spill under way
	capacityBytes int64        // abs in the rule of Dynamic Split
	markBytes     int64        // the spill mark: SpillPercent of the capacity
	mayGrow       bool
	doneBytes     int64 // pfs: stored bytes of the split that were read
	totalBytes    int64 // tfs: all of them; 0: not known

	// The chunk that the block being mapped lies in (Lend).
	lent struct {
		loan   *membudget.Loan // nil: no block is lent
		wanted bool            // entries refer to it
	}

	sorting    sorting
	writer     *runs.Writer // made at the first spill
	writerRoom *membudget.Chunk
	arranging  *membudget.Chunk // for arrange; nil: it has not begun, or there is no memory
	out        *runs.MapOutput
	spill      struct {
		done   chan struct{} // closed by the spill under way; nil: none
		err    error         // of that spill; read after done, as the next two
		sorted time.Duration // what it took to sort, by the clock
		took   time.Duration // what it took in all
		cpu    time.Duration // of its thread
		held   time.Duration // how long it has kept the goroutine of the buffer
	}
	combineMu sync.Mutex // of the counts below, to which spills add
	combining struct{ in, out int64 }
	stats     Stats
	err       error
	ended     bool
}

// mode is how a buffer collects.
type mode uint8

const (
	sortMode mode = iota
	sumMode       // hash-combining with jobs.Sum
	foldMode      // hash-combining with any other Folder
)

const (
	// reserveChunks of the lease are left to the input of the attempt.
	reserveChunks = 2

	// copyBlockBytes: a block up to this long is copied. Keeping it would keep a
	// chunk that is several times as long. The same holds for a block whose
	// records take no more than this.
	copyBlockBytes = membudget.ChunkBytes / 4

	// pollEmits records pass between two looks at the kill flag.
	pollEmits = 4096

	// leastHeldBytes may always be held: a spill and a load of two chunks each.
	leastHeldBytes = 4 * membudget.ChunkBytes

	// arrangeBytes are enough for the records of an index chunk, if they have 64 bytes each.
	arrangeBytes = 4 * membudget.ChunkBytes
)

// NewBuffer makes an empty buffer. It takes two chunks of the lease, one to sort
// with and one to write with, until the buffer ends. It fails when an option is
// wrong or the lease has less than LeastBytes.
func NewBuffer(o Options) (*Buffer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	b := &Buffer{o: o, lease: o.Lease, seed: newSeed(o.Seed), mayGrow: o.Growth, counted: pollEmits}
	// Sums have a table with the sum in the slot; other accumulators lie outside of it.
	switch o.Folder.(type) {
	case nil:
	case jobs.Sum, jobs.Summer:
		b.mode = sumMode
	default:
		b.mode = foldMode
	}
	if o.Cuts == nil && o.Parts > 1 {
		if b.part = o.Partition; b.part == nil {
			b.part = HashPartition
		}
	}
	scratch, ok := b.lease.Chunk()
	if ok {
		b.writerRoom, ok = b.lease.Chunk()
	}
	if !ok {
		return nil, fmt.Errorf("kvbuffer: a lease of %d bytes, want %d: %w", b.lease.Granted(), LeastBytes, membudget.ErrNoRoom)
	}
	b.sorting = sorting{parts: o.Parts, cuts: o.Cuts, part: b.part, lease: b.lease, scratch: scratch}
	b.sorting.sorter.Scratch = record.EntriesIn(scratch.Data, record.ChunkEntries)
	b.out = runs.NewMapOutput(o.Parts, o.Codec, o.CreateTemp, o.Notify)
	b.divider = b.newDivider()
	b.setCapacity(o.StartBytes)
	b.begin()
	o.Notify(runs.Event{Kind: runs.Begin, Bytes: b.capacityBytes, ToBytes: b.markBytes})
	return b, nil
}

// setCapacity makes the capacity so many bytes. What the load has collected
// already counts against the new spill mark.
func (b *Buffer) setCapacity(bytes int64) {
	// room alone counts what is used, so it moves with the mark.
	used := b.markBytes - b.room
	b.capacityBytes = bytes
	b.markBytes = rule.MarkBytes(bytes, b.o.SpillPercent)
	b.room = b.markBytes - used
}

// begin starts an empty load.
func (b *Buffer) begin() {
	b.load = &load{}
	b.load.table.sums, b.load.table.seed = b.mode == sumMode, b.seed
	b.data, b.off, b.cur, b.n = nil, 0, nil, 0
	b.room = b.markBytes
}

// SetProgress says how many stored bytes of the split were read, of how many:
// pfs and tfs in the rule of Dynamic Split. A total of 0 means that it is not
// known; the buffer then does not grow.
func (b *Buffer) SetProgress(doneBytes, totalBytes int64) {
	b.doneBytes, b.totalBytes = doneBytes, totalBytes
}

// Err returns the first error, also that of a spill in the background.
func (b *Buffer) Err() error {
	if b.err == nil && b.spill.done != nil {
		select {
		case <-b.spill.done:
			b.wait()
		default:
		}
	}
	return b.err
}

// Stats returns the counts of the buffer. They are exact after Close.
func (b *Buffer) Stats() Stats {
	b.combineMu.Lock()
	defer b.combineMu.Unlock()
	s := b.stats
	s.CombineIn, s.CombineOut = b.combining.in, b.combining.out
	return s
}

var errDiscarded = errors.New("kvbuffer: discarded")

// fail makes err sticky. From then on every record takes the slow path and is
// dropped there.
func (b *Buffer) fail(err error) {
	if b.err == nil {
		b.err = err
	}
	b.data, b.off, b.cur, b.n, b.room = nil, 0, nil, 0, 0
	b.load.table = table{}
}

// Emit adds a record. It copies both slices, or folds value into the accumulator
// of key.
//
// hot: once a record that a mapper emits.
func (b *Buffer) Emit(key, value []byte) {
	if b.mode != sortMode {
		b.fold(key, value)
		return
	}
	need := len(key) + len(value) + record.MaxHeaderBytes
	// One test covers the index, the chunk and the mark, and errors, which empty all three.
	if b.n == len(b.cur) || need > len(b.data)-b.off || int64(need) > b.room {
		if !b.makeRoom(need) {
			b.emitAlone(key, value)
			return
		}
	}
	code := uint64(record.CodeEmitted)
	if b.part != nil {
		p := b.part(key, b.o.Parts)
		// A partition of the user's own may be wrong. The conversion catches negative ones too.
		if uint(p) >= uint(b.o.Parts) {
			b.fail(partError(p, b.o.Parts))
			return
		}
		code += uint64(p)
	}
	size := record.PutEmitted(b.data[b.off:], key, value)
	b.cur[b.n] = record.Entry{Prefix: record.PrefixOf(key), Ref: (b.dataAddr+uint64(b.off))<<record.CodeBits | code}
	b.n++
	b.off += size
	b.room -= int64(size) + record.EntryBytes
	b.load.records++
	b.stats.Bytes += int64(len(key) + len(value))
}

// makeRoom makes room for a record of up to need bytes in the chunks being
// filled: it takes chunks, grows the buffer, or spills. It reports false when
// there is an error, and for a record that is longer than a chunk.
func (b *Buffer) makeRoom(need int) bool {
	if !b.alive() || need > membudget.ChunkBytes {
		return false
	}
	if int64(need) > b.room {
		b.atMark(int64(need))
	}
	for b.err == nil && (b.n == len(b.cur) || need > len(b.data)-b.off) {
		if b.n == len(b.cur) && !b.nextIndex() || need > len(b.data)-b.off && !b.nextData() {
			b.flush()
		}
	}
	return b.err == nil
}

// alive polls the kill flag. It reports false after an error and at the end.
func (b *Buffer) alive() bool {
	if b.err == nil && b.o.Killed() {
		b.fail(runs.ErrKilled)
	}
	return b.err == nil && !b.ended
}

// stop ends the user code that is calling, if its attempt is killed: it panics with
// runs.ErrKilled, which the engine recovers. Code that never returns by itself would keep its
// core for ever.
func (b *Buffer) stop() {
	if b.o.Killed() {
		panic(runs.ErrKilled)
	}
}

// nextIndex begins the next index chunk. It reports false where there is no
// memory.
func (b *Buffer) nextIndex() bool {
	c, ok := b.chunk()
	if ok {
		b.note()
		if b.divider != nil {
			b.divide()
		}
		b.load.index = append(b.load.index, c)
		b.cur, b.n = record.EntriesIn(c.Data, record.ChunkEntries), 0
		// full holds the whole chunk; entries says how much of the last one is in use.
		b.load.full = append(b.load.full, b.cur)
	}
	return ok
}

// nextData begins the next chunk of records. It reports false where there is no
// memory.
func (b *Buffer) nextData() bool {
	c, ok := b.chunk()
	if ok {
		b.useData(c)
	}
	return ok
}

// useData makes c, which the lease holds, the chunk being filled. The arena gives
// it the next addresses: they ascend in the order of arrival.
func (b *Buffer) useData(c *membudget.Chunk) {
	b.load.chunks = append(b.load.chunks, c)
	b.data, b.off, b.dataAddr = c.Data, 0, b.load.arena.Add(c.Data)
}

// note sets the number of entries of the load, which Emit and Take only count in
// the index chunk being filled.
func (b *Buffer) note() {
	if n := len(b.load.index); n > 0 {
		b.load.entries = (n-1)*record.ChunkEntries + b.n
	}
}

// chunk takes a chunk for the load and leaves reserveChunks to the input. The
// lease may grow beyond its floor for it, because the capacity was promised. What
// the load and a spill under way hold keeps to the capacity, except for the two
// chunks that any load needs.
func (b *Buffer) chunk() (*membudget.Chunk, bool) {
	// A spill under way frees its chunks on another thread, so the count is atomic.
	over := b.heldBytes.Load()+membudget.ChunkBytes > max(b.capacityBytes, leastHeldBytes)
	if over && !(b.mayGrow && b.grow(membudget.ChunkBytes)) && !b.load.slim() {
		return nil, false
	}
	if !b.reserve(reserveChunks + 1) {
		return nil, false
	}
	c, ok := b.lease.Chunk()
	if ok {
		b.hold(c)
	}
	return c, ok
}

// hold counts a chunk that the load gets.
func (b *Buffer) hold(c *membudget.Chunk) {
	b.load.heldBytes += int64(len(c.Data))
	b.heldBytes.Add(int64(len(c.Data)))
}

// reserve makes so many chunks of the lease available, if it can.
func (b *Buffer) reserve(chunks int64) bool {
	short := chunks*membudget.ChunkBytes - b.lease.Available()
	return short <= 0 || b.lease.Grow(short)
}

// atMark is called when the collected bytes, with need more, reach the spill
// mark: the buffer grows by the rule of Dynamic Split, or spills.
func (b *Buffer) atMark(need int64) {
	if b.mayGrow && b.grow(need) {
		return
	}
	b.note()
	if !b.load.empty() {
		b.rotate()
	}
}

// grow applies the rule of Dynamic Split [Split11, dynamic buffer enlargement].
// With abs bytes allocated after pfs of the tfs bytes of the split were read, the
// whole split needs x bytes: pfs : tfs = abs : x. The buffer grows to x when
// x < afm * threshold, where afm is the free memory for each map. The size of a
// table does not follow the input; unless Options.TablesInProportion is set, a table
// doubles while the rule allows that. After the first refusal the buffer does not ask
// again, and only spills.
func (b *Buffer) grow(need int64) bool {
	abs := b.capacityBytes
	g := rule.Growth{
		AbsBytes: abs, PfsBytes: b.doneBytes, TfsBytes: b.totalBytes, Doubles: b.mode != sortMode && !b.o.TablesInProportion,
		LeastBytes: int64(float64(b.markBytes-b.room+need)/b.o.SpillPercent) + 1,
	}
	x := g.NeedsBytes()
	if x == 0 {
		return false
	}
	afm := b.o.AfmBytes()
	if !rule.MayGrow(x, afm, b.o.GrowthThreshold) || !b.lease.Grow(x-abs) {
		b.mayGrow = false
		b.stats.Refusals++
		b.o.Notify(runs.Event{Kind: runs.Refuse, Bytes: x, ToBytes: afm})
		return false
	}
	b.stats.Expansions++
	b.setCapacity(x)
	b.o.Notify(runs.Event{Kind: runs.Grow, Bytes: abs, ToBytes: x})
	return true
}

// flush is called when there is no chunk left: it waits for the spill under way,
// or spills what is collected.
func (b *Buffer) flush() {
	b.note()
	switch {
	// The spill frees its load, and then there may be chunks again.
	case b.spill.done != nil:
		b.wait()
	case !b.load.empty():
		b.rotate()
	case !b.load.slim():
		b.drop()
	default:
		b.fail(fmt.Errorf("kvbuffer: %d of %d bytes leased are free: %w", b.lease.Available(), b.lease.Granted(), membudget.ErrNoRoom))
	}
}

// drop frees what an empty load holds, for example taken blocks whose records all
// went to segments of their own.
func (b *Buffer) drop() {
	b.free(b.load)
	b.begin()
}

// emitAlone adds a record that is longer than a chunk. It gets memory of its own
// where the capacity allows that. Else it is written to a segment of its own
// without being copied.
func (b *Buffer) emitAlone(key, value []byte) {
	if b.err != nil || b.ended {
		b.stop()
		return
	}
	need := int64(len(key)) + int64(len(value)) + record.MaxHeaderBytes
	if need > 1<<32-1 {
		b.fail(fmt.Errorf("kvbuffer: a record of %d bytes: longer than 4 GiB", need))
		return
	}
	if need > b.room {
		b.atMark(need)
	}
	if b.err == nil && need <= b.room && b.emitBig(key, value, need) {
		return
	}
	if b.err == nil {
		b.spillAlone(key, value)
	}
}

// emitBig stores a record in memory of its own. It reports false where there is
// none.
func (b *Buffer) emitBig(key, value []byte, need int64) bool {
	if b.n == len(b.cur) && !b.nextIndex() {
		return false
	}
	if !b.reserve(reserveChunks + (need+record.SegMask)/record.SegBytes) {
		return false
	}
	big, ok := b.lease.Big(need)
	if ok {
		b.hold(big)
		b.useData(big)
		b.Emit(key, value)
		b.data, b.off = nil, 0
	}
	return ok
}

// spillAlone writes one record as a segment of its own.
func (b *Buffer) spillAlone(key, value []byte) {
	b.stats.Records++
	b.stats.Bytes += int64(len(key) + len(value))
	b.spillFolded(key, value)
}

// spillFolded is spillAlone for a record that the stats count already. What was
// collected before is spilled first, because runs keep the order of arrival.
func (b *Buffer) spillFolded(key, value []byte) {
	b.note()
	if !b.load.empty() {
		b.rotate()
	}
	if b.wait(); b.err != nil {
		return
	}
	part, err := b.partition(key)
	if err != nil {
		b.fail(err)
		return
	}
	defer b.spends(&b.stats.SpillTime)()
	err = b.segment(func(w *runs.Writer) error {
		for p := range b.o.Parts {
			if p == part {
				w.Add(key, value)
			}
			w.EndPart()
		}
		return nil
	})
	if err != nil {
		b.fail(err)
	}
}

// Close sorts what is left, which stays in memory unless Options.OnDisk is set, waits for
// spills, and gives back what only collecting needed. It returns the output, which the caller
// releases, or the first error; then the caller still has to Discard the buffer.
func (b *Buffer) Close() (*runs.MapOutput, error) {
	b.addPending()
	b.note()
	b.wait()
	if b.err == nil && b.lent.wanted {
		b.err = errors.New("kvbuffer: closed while a block is lent")
	}
	// The journal keeps whole files, so nothing may stay in memory.
	if b.err == nil && b.o.OnDisk && !b.load.empty() {
		b.rotate()
		b.wait()
	}
	if b.err == nil {
		begun, sorted := time.Now(), b.stats.SortTime
		b.err = b.keep()
		b.stats.SpillTime += time.Since(begun) - (b.stats.SortTime - sorted)
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.end(), nil
}

// Discard frees everything. It may follow an error of Close.
func (b *Buffer) Discard() {
	if b.ended {
		return
	}
	b.wait()
	b.fail(errDiscarded)
	b.free(b.load)
	b.end().Release()
}

// end gives back the chunks for sorting and writing and drops the references to
// the others.
func (b *Buffer) end() *runs.MapOutput {
	if b.ended {
		return b.out
	}
	b.ended = true
	if b.writer != nil {
		b.writer.Close()
	}
	b.lease.Free(b.sorting.scratch)
	b.lease.Free(b.writerRoom)
	if b.arranging != nil {
		b.lease.Free(b.arranging)
	}
	b.data, b.cur = nil, nil
	return b.out
}

// free gives back all chunks of a load. Entries and addresses of it are void then.
func (b *Buffer) free(l *load) {
	// Taken blocks lie among chunks too: their lease is the buffer's since Reclaim.
	for _, chunks := range [][]*membudget.Chunk{l.chunks, l.index} {
		for _, c := range chunks {
			b.lease.Free(c)
		}
	}
	b.heldBytes.Add(-l.heldBytes)
	l.chunks, l.index, l.full, l.heldBytes = nil, nil, nil, 0
}
