// Package spill is the kvbuffer. It collects the records that one map attempt emits, and sorts
// or combines them. Records that do not fit in its memory are spilled. The result is a
// shuffle.MapOutput.
//
//	Emit, EmitSpans, Take -> Buffer -> (segment on disk)* -> shuffle.MapOutput
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
// In both ways a Buffer starts small and may grow by the rule of Dynamic Split [Split11]. If it
// may not grow, it spills at its spill mark and collects further records during the spill. The
// last load stays in memory, where merges read it, until the memory budget evicts it.
//
// # Memory
//
// A Buffer takes all its memory as chunks of Options.Lease. It keeps two chunks for its whole
// life: one to sort with and one to write with. The other chunks belong to a load:
//
//	Buffer ── load ── chunks   records, blocks taken, the table; the arena numbers them
//	             └─── index    entries, 16,384 to a chunk
//	rotate: the load goes to a spill, which frees it; a new, empty load follows
//	Close:  the load goes to the MapOutput, under a lease of the MapOutput's own
package spill

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/shuffle/rule"
)

// Buffer is the kvbuffer of one map attempt. It is the jobs.Emitter and the jobs.Taker of the
// mapper. Only one goroutine may use it; its spills run on Options.Background. The caller ends
// it with Close or Discard.
//
// Errors are sticky: after the first error the Buffer drops every record, and Err and Close
// return that error.
type Buffer struct {
	o     Options
	lease *membudget.Lease

	// The place of the next record. These fields are empty after an error, so that every
	// record then takes the slow path (makeRoom).
	data     []byte         // the chunk being filled
	off      int            // next free byte of data
	dataAddr uint64         // address of data[0] in the arena of the load
	cur      []record.Entry // the index chunk being filled
	n        int            // entries in cur
	room     int64          // bytes until the spill mark; may be negative after Take
	counted  int            // records until the kill flag is polled again

	// Fields of hash-combining.
	sums      sums
	deltaRoom [8]byte // the value of a sum that is inserted
	touched   byte    // keeps the compiler from removing the reads that warm the cache

	load    *load
	seed    seed            // hash function of every table of this buffer
	divider *record.Divider // divides entries by partition for the reduces to sort; nil: this buffer sorts
	mode    mode
	part    func(key []byte, parts int) int // nil: one partition, or Options.Cuts gives the partition
	keyRoom []byte                          // reused memory for Options.AppendKey

	// Invariant: heldBytes <= max(capacityBytes, leastHeldBytes). Three things are excepted: a
	// record longer than a chunk, blocks that were taken, and two chunks while the buffer may grow.
	heldBytes     atomic.Int64 // chunks of the load and of a spill under way
	capacityBytes int64        // abs in the rule of Dynamic Split
	markBytes     int64        // the spill mark: SpillPercent of the capacity
	mayGrow       bool
	doneBytes     int64 // stored bytes of the split that were read, up to the end of the block that is mapped
	blockBytes    int64 // stored bytes of that block
	totalBytes    int64 // tfs: all stored bytes of the split; 0: not known

	// The chunk that the block being mapped lies in (Lend).
	lent struct {
		loan   *membudget.Loan // nil: no block is lent
		data   []byte          // of the block
		seal   invariant.Seal  // of the block, if it was taken
		wanted bool            // entries of the load refer to the block
	}

	sorting    sorting
	combiner   *shuffle.Combining // of Options.Combiner; made at the first spill
	writer     *shuffle.Writer    // made at the first spill
	writerRoom *membudget.Chunk
	arranging  *membudget.Chunk   // scratch for arrange; nil: not used yet, or the lease had no memory
	out        *shuffle.MapOutput // nil: Close or Discard has ended the buffer
	spill      struct {
		done chan struct{} // closed by the spill under way; nil: none
		err  error         // error of that spill; it is read after done is closed
	}
	combineMu sync.Mutex // guards combining and the spill counts in stats, to which spills add
	combining struct{ in, out int64 }
	stats     Stats
	err       error
}

// mode is how a buffer collects.
type mode uint8

const (
	sortMode mode = iota
	sumMode       // hash-combining with jobs.Sum
	foldMode      // hash-combining with any other Folder
)

const (
	// reserveChunks is how many chunks of the lease a buffer leaves free for the input of the
	// attempt.
	reserveChunks = 2

	// copyBlockBytes: a block of at most this length is copied. Keeping it would hold a chunk
	// that is several times as long. A longer block is copied too if its records together take
	// no more than this.
	copyBlockBytes = membudget.ChunkBytes / 4

	// pollEmits is the number of records between two polls of the kill flag.
	pollEmits = 4096

	// leastHeldBytes may be held whatever the capacity is: two chunks for a spill under way,
	// and two for the load.
	leastHeldBytes = 4 * membudget.ChunkBytes

	// arrangeBytes is the scratch of arrange: 64 bytes for each record of an index chunk. If
	// the records are longer, they are not arranged.
	arrangeBytes = 4 * membudget.ChunkBytes
)

// NewBuffer makes an empty buffer. It takes two chunks of o.Lease, one to sort with and one to
// write with, and keeps them until the buffer ends. It fails if an option is wrong, or if the
// lease grants less than LeastBytes.
func NewBuffer(o Options) (*Buffer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	b := &Buffer{o: o, lease: o.Lease, seed: newSeed(o.Seed), mayGrow: !o.NoGrowth, counted: pollEmits}
	// A table of sums holds each sum in its slot. Other accumulators lie outside of the slots.
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
	b.out = shuffle.NewMapOutput(o.Parts, o.Codec, o.CreateTemp, o.Notify)
	b.divider = b.newDivider()
	b.setCapacity(o.StartBytes)
	b.begin()
	o.Notify(shuffle.Event{Kind: shuffle.Begin, Bytes: b.capacityBytes, ToBytes: b.markBytes})
	return b, nil
}

// setCapacity sets the capacity. The bytes that the load has collected count against the new
// spill mark.
func (b *Buffer) setCapacity(bytes int64) {
	// No field counts the collected bytes. They are the difference of the mark and room.
	used := b.markBytes - b.room
	b.capacityBytes = bytes
	b.markBytes = rule.MarkBytes(bytes, b.o.SpillPercent)
	b.room = b.markBytes - used
}

// begin starts an empty load.
func (b *Buffer) begin() {
	b.load = &load{}
	b.load.table.sums, b.load.table.seed = b.mode == sumMode, b.seed
	b.leaveChunks()
	b.room = b.markBytes
}

// leaveChunks leaves the chunks being filled. The next record takes the slow path.
func (b *Buffer) leaveChunks() {
	b.data, b.off = nil, 0
	b.cur, b.n = nil, 0
}

// SetProgress sets how many of the stored bytes of the split were read, up to the end of the block
// that is mapped next. If totalBytes is 0, the size is not known, and the buffer does not grow.
func (b *Buffer) SetProgress(doneBytes, totalBytes int64) {
	b.blockBytes = doneBytes - b.doneBytes
	b.doneBytes, b.totalBytes = doneBytes, totalBytes
}

// Err returns the first error. It includes the error of a background spill that has ended. It
// does not wait for a spill under way.
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

// fail makes err the sticky error, unless there is one. It empties the chunks being filled, so
// that every later record takes the slow path and is dropped there.
func (b *Buffer) fail(err error) {
	b.err = cmp.Or(b.err, err)
	b.leaveChunks()
	b.room = 0
	b.load.table = table{}
}

// Emit adds a record. It copies key and value, or folds value into the accumulator of key. The
// caller keeps both slices. Errors are sticky (Err). If the attempt is killed, Emit panics with
// jobs.ErrKilled.
//
// hot: runs once for each record that a mapper emits.
func (b *Buffer) Emit(key, value []byte) {
	if b.mode != sortMode {
		b.fold(key, value)
		return
	}
	need := len(key) + len(value) + record.MaxHeaderBytes
	// One test covers a full index chunk, a full data chunk, the spill mark, and a sticky
	// error. After an error there is no room in any of them.
	if b.n == len(b.cur) || need > len(b.data)-b.off || int64(need) > b.room {
		if !b.makeRoom(need, key, value) {
			b.emitAlone(key, value)
			return
		}
	}
	code := uint64(record.CodeEmitted)
	if b.part != nil {
		p := b.part(key, b.o.Parts)
		// The user's partitioner may return any number. The conversion to uint makes negative
		// numbers large, so one comparison refuses them too.
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

// alive polls the kill flag, and makes jobs.ErrKilled the error if the attempt is killed. It
// returns false after an error and after the end of the buffer.
func (b *Buffer) alive() bool {
	if b.out == nil {
		b.o.Late()
		return false
	}
	if b.err == nil && b.o.Killed() {
		b.fail(jobs.ErrKilled)
	}
	return b.err == nil
}

// stopIfKilled panics with jobs.ErrKilled if the attempt is killed. The engine recovers the
// panic. User code that ignores the error and never returns would otherwise keep its core
// forever. After the end of the buffer it does nothing.
func (b *Buffer) stopIfKilled() {
	if b.out != nil && b.o.Killed() {
		panic(jobs.ErrKilled)
	}
}

// flush is called when the load gets no further chunk. It waits for the spill under way, or
// spills the load. It fails if neither can free memory.
func (b *Buffer) flush() {
	b.countEntries()
	switch {
	// The spill frees its load at its end, and the caller then tries to take a chunk again.
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

// drop frees the chunks of a load without records and begins a new load. Such a load holds, for
// example, a taken block whose records all went to segments of their own.
func (b *Buffer) drop() {
	b.free(b.load)
	b.begin()
}

// emitAlone adds a record for which makeRoom found no room, because it is longer than a chunk.
// The record gets memory of its own if the capacity allows that. Otherwise it is written to a
// segment of its own, without a copy in memory. After an error emitAlone drops the record.
func (b *Buffer) emitAlone(key, value []byte) {
	if b.err != nil || b.out == nil {
		b.stopIfKilled()
		return
	}
	need := int64(len(key)) + int64(len(value)) + record.MaxHeaderBytes
	if need > 1<<32-1 {
		b.fail(fmt.Errorf("kvbuffer: a record of %d bytes: longer than 4 GiB", need))
		return
	}
	if need > b.room {
		b.atMark(need, key, value)
	}
	if b.err == nil && need <= b.room && b.emitBig(key, value, need) {
		return
	}
	if b.err == nil {
		b.spillAlone(key, value)
	}
}

// emitBig stores a record of need bytes in memory of its own. It returns false if there is
// none.
func (b *Buffer) emitBig(key, value []byte, need int64) bool {
	if b.n == len(b.cur) && !b.nextIndex() || !b.reserve(reserveChunks+(need+record.SegMask)/record.SegBytes) {
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

// spillFolded is spillAlone for a record that the stats already count. It spills the load
// first, because runs keep the order of arrival.
func (b *Buffer) spillFolded(key, value []byte) {
	b.countEntries()
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
	err = b.segment(func(w *shuffle.Writer) error {
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

// Close ends the buffer. It waits for the spill under way and sorts the last load. The load
// stays in memory, unless Options.OnDisk is set. Close returns the output, which the caller
// owns and releases. If Close returns the first error instead, the caller still has to Discard
// the buffer.
func (b *Buffer) Close() (*shuffle.MapOutput, error) {
	b.addPending()
	b.countEntries()
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
		b.err = b.keep()
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.end(), nil
}

// Discard waits for the spill under way, and frees the load and the output. It may follow an
// error of Close. After a successful Close it does nothing.
func (b *Buffer) Discard() {
	if b.out == nil {
		return
	}
	b.wait()
	b.fail(jobs.ErrKilled)
	b.free(b.load)
	b.end().Release()
}

// end gives back the chunks for sorting, writing and arranging. The other chunks belong to the
// output by now, or are free. It returns the output.
func (b *Buffer) end() *shuffle.MapOutput {
	if b.writer != nil {
		b.writer.Close()
	}
	b.lease.Free(b.sorting.scratch)
	b.lease.Free(b.writerRoom)
	if b.arranging != nil {
		b.lease.Free(b.arranging)
	}
	out := b.out
	// A mapper that still emits must not reach memory that belongs to others by now.
	b.leaveChunks()
	b.load = &load{}
	b.out = nil
	return out
}

// free gives back all chunks of l. Entries and addresses of l are invalid afterwards.
func (b *Buffer) free(l *load) {
	// l.chunks includes taken blocks. Reclaim has moved them to the lease of the buffer.
	for _, chunks := range [][]*membudget.Chunk{l.chunks, l.index} {
		for _, c := range chunks {
			b.lease.Free(c)
		}
	}
	b.heldBytes.Add(-l.heldBytes)
	l.chunks, l.index = nil, nil
	l.full = nil
	l.heldBytes = 0
}
