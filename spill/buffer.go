package spill

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
	"mrlocal/spill/runs"
)

// Buffer is the kvbuffer of one map attempt: the jobs.Emitter and jobs.Taker
// that a mapper is given. It is used by one goroutine; its spills run on
// Options.Background. End it with Close or Discard.
type Buffer struct {
	o     Options
	lease *membudget.Lease

	// Where the next record goes; all empty once there is an error.
	data     []byte         // chunk being filled
	off      int            // in data
	dataAddr uint64         // of data
	cur      []record.Entry // index chunk being filled
	n        int            // entries in cur
	room     int64          // bytes until the spill mark
	counted  int            // of emits, until somebody looks up

	// Of hash-combining with sums.
	sums      sums
	deltaRoom [8]byte
	touched   byte // only keeps looks ahead from being optimised away

	load    *load
	divider *record.Divider // nil: what is collected is sorted at once
	mode    mode
	part    func(key []byte, parts int) int // nil: one part, or cuts
	keyRoom []byte                          // of AppendKey

	heldBytes     atomic.Int64 // by the load and by a spill under way
	capacityBytes int64        // abs of the Dynamic Split rule
	markBytes     int64
	mayGrow       bool
	doneBytes     int64 // pfs
	totalBytes    int64 // tfs

	lent struct {
		chunk *membudget.Chunk
		from  *membudget.Lease
		taken bool
	}

	sorting    sorting
	writer     *runs.Writer
	writerRoom *membudget.Chunk // the writer's memory
	out        *runs.MapOutput
	spill      struct {
		done chan struct{} // closed by the spill under way; nil: none
		err  error         // of it; read after done
	}
	combineMu sync.Mutex // the counts below, which spills add to
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
	// reserveChunks of the lease are left to the attempt's input.
	reserveChunks = 2

	// copyBlockBytes: a block up to this long is copied, not kept, because it
	// would keep a chunk several times its length; so are records that together
	// take no more.
	copyBlockBytes = membudget.ChunkBytes / 4

	pollEmits = 4096

	// leastHeldBytes may always be held: a spill and a load of two chunks each.
	leastHeldBytes = 4 * membudget.ChunkBytes
)

// NewBuffer makes an empty buffer.
func NewBuffer(o Options) (*Buffer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	b := &Buffer{o: o, lease: o.Lease, mayGrow: o.Growth, counted: pollEmits}
	switch o.Folder.(type) {
	case nil:
	case jobs.Sum:
		b.mode = sumMode
	default:
		b.mode = foldMode
	}
	byHash := false
	if o.Cuts == nil && o.Parts > 1 {
		b.part, byHash = o.Partition, o.Partition == nil
		if byHash {
			b.part = hashPartition
		}
	}
	scratch, ok := b.lease.Chunk()
	if ok {
		b.writerRoom, ok = b.lease.Chunk()
	}
	if !ok {
		return nil, fmt.Errorf("kvbuffer: a lease of %d bytes, want %d: %w", b.lease.Granted(), LeastBytes, membudget.ErrNoRoom)
	}
	b.sorting = sorting{parts: o.Parts, cuts: o.Cuts, byHash: byHash, part: b.part, lease: b.lease, scratch: scratch}
	b.sorting.sorter.Scratch = record.EntriesOf(scratch, record.ChunkEntries)
	b.out = runs.NewMapOutput(o.Parts, o.Codec, o.CreateTemp, o.Notify)
	b.divider = b.newDivider()
	b.setCapacity(o.StartBytes)
	b.begin()
	return b, nil
}

func (b *Buffer) setCapacity(bytes int64) {
	used := b.markBytes - b.room
	b.capacityBytes = bytes
	b.markBytes = max(1, int64(float64(bytes)*b.o.SpillPercent))
	b.room = b.markBytes - used
}

// begin starts an empty load.
func (b *Buffer) begin() {
	b.load = &load{}
	b.load.table.sums = b.mode == sumMode
	b.data, b.off, b.cur, b.n = nil, 0, nil, 0
	b.room = b.markBytes
}

// SetProgress tells how much of the split's stored bytes has been read: pfs and
// tfs of the Dynamic Split rule. A total of 0 is unknown: no growth.
func (b *Buffer) SetProgress(doneBytes, totalBytes int64) {
	b.doneBytes, b.totalBytes = doneBytes, totalBytes
}

// Err is the first error, of a spill in the background too.
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

// Stats counts what went through; exact after Close.
func (b *Buffer) Stats() Stats {
	b.combineMu.Lock()
	defer b.combineMu.Unlock()
	s := b.stats
	s.CombineIn, s.CombineOut = b.combining.in, b.combining.out
	return s
}

var errDiscarded = errors.New("kvbuffer: discarded")

// fail makes err sticky. From then on every record takes the slow path, and
// is dropped there.
func (b *Buffer) fail(err error) {
	if b.err == nil {
		b.err = err
	}
	b.data, b.off, b.cur, b.n, b.room = nil, 0, nil, 0, 0
	b.load.table = table{}
}

// Emit adds a record; both slices are copied.
//
// hot: once a record that a mapper emits.
func (b *Buffer) Emit(key, value []byte) {
	if b.mode != sortMode {
		b.fold(key, value)
		return
	}
	need := len(key) + len(value) + record.MaxHeaderBytes
	if b.n == len(b.cur) || need > len(b.data)-b.off || int64(need) > b.room {
		if !b.makeRoom(need) {
			b.emitAlone(key, value)
			return
		}
	}
	code := uint64(record.CodeEmitted)
	if b.part != nil {
		p := b.part(key, b.o.Parts)
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
// filled. It reports false when there is an error, and for a record that is
// longer than a chunk.
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

// alive polls for errors and the kill flag.
func (b *Buffer) alive() bool {
	if b.err == nil && b.o.Killed() {
		b.fail(runs.ErrKilled)
	}
	return b.err == nil && !b.ended
}

func (b *Buffer) nextIndex() bool {
	c, ok := b.chunk()
	if ok {
		b.note()
		if b.divider != nil {
			b.divide()
		}
		b.load.index = append(b.load.index, c)
		b.cur, b.n = record.EntriesOf(c, record.ChunkEntries), 0
		b.load.full = append(b.load.full, b.cur)
	}
	return ok
}

func (b *Buffer) nextData() bool {
	c, ok := b.chunk()
	if ok {
		b.useData(c)
	}
	return ok
}

func (b *Buffer) useData(c *membudget.Chunk) {
	b.load.chunks = append(b.load.chunks, c)
	b.data, b.off, b.dataAddr = c.Data, 0, b.load.arena.Add(c.Data)
}

// note publishes how many entries the load has.
func (b *Buffer) note() {
	if n := len(b.load.index); n > 0 {
		b.load.entries = (n-1)*record.ChunkEntries + b.n
	}
}

// chunk takes one that leaves the attempt's input its own. It may be granted
// beyond the floor, because the capacity was promised; what is held, by a spill
// under way too, keeps to the capacity, but for what any load needs.
func (b *Buffer) chunk() (*membudget.Chunk, bool) {
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

// reserve makes so many chunks available.
func (b *Buffer) reserve(chunks int64) bool {
	short := chunks*membudget.ChunkBytes - b.lease.Available()
	return short <= 0 || b.lease.Grow(short)
}

// atMark is where the collected bytes, with need more, reach the spill mark:
// the buffer grows by the Dynamic Split rule, or spills.
func (b *Buffer) atMark(need int64) {
	if b.mayGrow && b.grow(need) {
		return
	}
	b.note()
	if !b.load.empty() {
		b.rotate()
	}
}

// grow applies the Dynamic Split rule (seed 002; SPEC 4.3 S5, A29): with abs
// bytes allocated after pfs of tfs bytes of the split, pfs : tfs = abs : x, and
// the buffer grows to x when x < afm * threshold. A table doubles while the rule
// allows it. The first refusal is the last question.
//
// The block being mapped counts as read already, so the projection is always
// a little short: at least a sixteenth is added.
func (b *Buffer) grow(need int64) bool {
	if b.doneBytes <= 0 || b.totalBytes <= 0 {
		return false
	}
	abs := b.capacityBytes
	x := int64(float64(abs) * float64(b.totalBytes) / float64(b.doneBytes))
	if b.mode != sortMode {
		x = 2 * abs
	}
	x = max(x, abs+abs/16, int64(float64(b.markBytes-b.room+need)/b.o.SpillPercent)+1)
	if float64(x) >= float64(b.o.AfmBytes())*b.o.GrowthThreshold || !b.lease.Grow(x-abs) {
		b.mayGrow = false
		b.stats.Refusals++
		b.o.Notify(runs.Event{Kind: runs.Refuse, Bytes: x})
		return false
	}
	b.stats.Expansions++
	b.setCapacity(x)
	b.o.Notify(runs.Event{Kind: runs.Grow, Bytes: x})
	return true
}

// flush is where there is no chunk left: the spill under way is waited for, or
// what is collected is spilled.
func (b *Buffer) flush() {
	b.note()
	switch {
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

// drop frees what an empty load holds, such as taken blocks whose records all
// went to spills of their own.
func (b *Buffer) drop() {
	b.free(b.load)
	b.begin()
}

// emitAlone takes a record that is longer than a chunk: with memory of its own
// where the capacity allows it, else it goes straight to a spill of its own,
// without being copied.
func (b *Buffer) emitAlone(key, value []byte) {
	if b.err != nil || b.ended {
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

// emitBig stores a record in a chunk of its own.
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

// spillFolded is spillAlone for what was counted before.
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

// Close sorts what is left, which stays in memory, and waits for spills.
func (b *Buffer) Close() (*runs.MapOutput, error) {
	b.addPending()
	b.note()
	b.wait()
	if b.err == nil && b.lent.taken {
		b.err = errors.New("kvbuffer: closed while a block is lent")
	}
	if b.err == nil {
		b.err = b.keep()
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.end(), nil
}

// Discard drops everything. It may follow an error of Close.
func (b *Buffer) Discard() {
	if b.ended {
		return
	}
	b.wait()
	b.fail(errDiscarded)
	b.free(b.load)
	b.end().Release()
}

// end gives back what only collecting needed.
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
	b.data, b.cur = nil, nil
	return b.out
}

func (b *Buffer) free(l *load) {
	for _, chunks := range [][]*membudget.Chunk{l.chunks, l.index} {
		for _, c := range chunks {
			b.lease.Free(c)
		}
	}
	b.heldBytes.Add(-l.heldBytes)
	l.chunks, l.index, l.full, l.heldBytes = nil, nil, nil, 0
}
