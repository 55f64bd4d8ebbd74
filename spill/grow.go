package spill

import (
	"mrlocal/internal/membudget"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/shuffle/rule"
)

// makeRoom makes room for a record of up to need bytes in the chunks being filled. It takes
// chunks, grows the buffer, or spills. It returns false after an error, after the end, and for
// a record that is longer than a chunk. The record is made of key and value.
func (b *Buffer) makeRoom(need int, key, value []byte) bool {
	if !b.alive() || need > membudget.ChunkBytes {
		return false
	}
	if int64(need) > b.room {
		b.atMark(int64(need), key, value)
	}
	for b.err == nil && (b.n == len(b.cur) || need > len(b.data)-b.off) {
		if b.n == len(b.cur) && !b.nextIndex() || need > len(b.data)-b.off && !b.nextData() {
			b.flush()
		}
	}
	return b.err == nil
}

// nextIndex begins the next index chunk. It returns false if there is no memory. With a divider
// it first divides the chunk that is full.
func (b *Buffer) nextIndex() bool {
	c, ok := b.chunk()
	if ok {
		b.countEntries()
		if b.divider != nil {
			b.divide()
		}
		b.load.index = append(b.load.index, c)
		b.cur, b.n = record.EntriesIn(c.Data, record.ChunkEntries), 0
		// The slice spans the whole chunk. load.entries says how much of the last one is in
		// use.
		b.load.full = append(b.load.full, b.cur)
	}
	return ok
}

// nextData begins the next chunk of records. It returns false if there is no memory.
func (b *Buffer) nextData() bool {
	c, ok := b.chunk()
	if ok {
		b.useData(c)
	}
	return ok
}

// useData makes c, which the lease holds, the chunk being filled. The arena assigns it the next
// addresses, so addresses ascend in the order of arrival.
func (b *Buffer) useData(c *membudget.Chunk) {
	b.load.chunks = append(b.load.chunks, c)
	b.dataAddr = b.load.arena.Add(c.Data)
	b.data = c.Data
	b.off = 0
}

// countEntries brings load.entries up to date. Emit and Take only count in the index chunk
// being filled (n).
func (b *Buffer) countEntries() {
	if n := len(b.load.index); n > 0 {
		b.load.entries = (n-1)*record.ChunkEntries + b.n
	}
}

// chunk takes a chunk for the load, and leaves reserveChunks of the lease to the input. It
// keeps the invariant of heldBytes, but never refuses a load its first two chunks. The lease
// may grow beyond its floor, because the capacity was granted before. It returns false if the
// capacity is used up and may not grow, or if the lease has no memory.
func (b *Buffer) chunk() (*membudget.Chunk, bool) {
	most := b.capacityBytes
	if b.mayGrow {
		// The rule of growth counts what is used. Two chunks are used in part: of records, and of the
		// index.
		most += 2 * membudget.ChunkBytes
	}
	// heldBytes is atomic, because a spill under way frees its chunks on another thread.
	over := b.heldBytes.Load()+membudget.ChunkBytes > max(most, leastHeldBytes)
	if over && !(b.mayGrow && b.grow(membudget.ChunkBytes, nil, nil)) && !b.load.slim() || !b.reserve(reserveChunks+1) {
		return nil, false
	}
	c, ok := b.lease.Chunk()
	if ok {
		b.hold(c)
	}
	return c, ok
}

// hold adds c to the held bytes of the load and of the buffer.
func (b *Buffer) hold(c *membudget.Chunk) {
	b.load.heldBytes += int64(len(c.Data))
	b.heldBytes.Add(int64(len(c.Data)))
}

// reserve makes the given number of chunks available in the lease, and grows the lease if
// necessary. It returns false if the budget refuses that.
func (b *Buffer) reserve(chunks int64) bool {
	short := chunks*membudget.ChunkBytes - b.lease.Available()
	return short <= 0 || b.lease.Grow(short)
}

// atMark is called when a record of need bytes, made of key and value, would pass the spill mark.
// The buffer grows by the rule of Dynamic Split, or spills.
func (b *Buffer) atMark(need int64, key, value []byte) {
	if b.mayGrow && b.grow(need, key, value) {
		return
	}
	b.countEntries()
	if !b.load.empty() {
		b.rotate()
	}
}

// processedBytes returns pfs: the stored bytes of the split that the mapper had processed before
// the record. They end where the key or the value lies in the block that is lent. The whole block
// counts if neither is a part of it, as for keys that the mapper has made.
func (b *Buffer) processedBytes(key, value []byte) int64 {
	block := b.lent.data
	at := max(offsetIn(block, key), offsetIn(block, value))
	if at < 0 {
		return b.doneBytes
	}
	// Stored bytes and bytes of the block differ if the input is compressed.
	return b.doneBytes - b.blockBytes + int64(float64(b.blockBytes)*float64(at)/float64(len(block)))
}

// offsetIn returns where part begins in data, or -1 if it is empty or not a slice of data. Slices of
// one array differ in their capacity by what lies between their beginnings.
func offsetIn(data, part []byte) int {
	at := cap(data) - cap(part)
	if len(part) == 0 || at < 0 || at >= len(data) || &data[at] != &part[0] {
		return -1
	}
	return at
}

// grow applies the rule of Dynamic Split [Split11, dynamic buffer enlargement]. abs bytes are
// allocated after pfs of the tfs bytes of the split were processed. The whole split then needs x
// bytes: pfs : tfs = abs : x. The buffer grows to x if x < afm * threshold, where afm is the
// free memory for each map.
//
// The size of a table does not follow the input. So a table doubles instead, unless
// Options.TablesInProportion is set. After the first refusal the buffer never grows again, and
// only spills. grow returns false if the buffer did not grow.
func (b *Buffer) grow(need int64, key, value []byte) bool {
	abs := b.capacityBytes
	g := rule.Growth{
		AbsBytes: abs, PfsBytes: b.processedBytes(key, value), TfsBytes: b.totalBytes, Doubles: b.mode != sortMode && !b.o.TablesInProportion,
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
		b.o.Notify(shuffle.Event{Kind: shuffle.Refuse, Bytes: x, ToBytes: afm})
		return false
	}
	b.stats.Expansions++
	b.setCapacity(x)
	b.o.Notify(shuffle.Event{Kind: shuffle.Grow, Bytes: abs, ToBytes: x})
	return true
}

const (
	// shrinkRecordMax: a load with a longer record, in bytes, is not copied.
	shrinkRecordMax = 64 << 10

	// shrinkHeldMax: a load that holds more bytes and is not a table has mostly full chunks. It is
	// not copied.
	shrinkHeldMax = 16 * membudget.ChunkBytes
)

// shrunk copies the records of a sorted load, in order, to memory of exactly their size. It
// returns nil if a copy does not pay, or if there is no room for it next to the load.
//
// The copy pays in two cases. In the first, the load takes at least twice the memory of the
// copy. Then a small map has hardly filled its chunks, and thousands of such outputs fit in
// memory once copied. In the second, the load is a table: reduces cannot sort entries of
// slots, and merging costs more than sorting (shuffle.Merge.sortTogether). Merges also read a copy
// from front to back.
func (b *Buffer) shrunk(l *load, slices []record.Slice) *copier {
	held, records := 0, 0
	for _, chunks := range [][]*membudget.Chunk{l.chunks, l.index} {
		for _, c := range chunks {
			held += len(c.Data)
		}
	}
	for _, s := range slices {
		records += len(s.Entries)
	}
	dataBytes, longest := b.sorting.slotBytes, b.sorting.longestSlot
	if l.table.keys == 0 {
		if held > shrinkHeldMax {
			return nil
		}
		dataBytes, longest = record.CopiedBytes(&l.arena, slices)
	}
	if l.table.keys == 0 && held < 2*(dataBytes+records*record.EntryBytes) || longest > shrinkRecordMax {
		return nil
	}
	c := newCopier(b, records, dataBytes)
	if !c.copy(&l.arena, slices) {
		b.free(&c.load)
		return nil
	}
	return c
}

// copier writes a sorted run to memory. It takes its chunks from the lease of the buffer, and
// grows the lease if necessary.
type copier struct {
	lease   *membudget.Lease
	load    load
	records int // to come; -1: not known, so whole chunks are taken
	left    int // bytes of the records that are still to come

	entries []record.Entry // the index chunk being filled
	n       int            // entries in use in entries
	data    []byte         // the chunk being filled
	off     int            // next free byte of data
	addr    uint64         // address of data[0] in the arena of load

	slices []record.Slice // one for each index chunk; Ends has only the partitions that have ended in it
	stats  []record.PartStat
	part   int
	full   bool // there was no memory for a record; all later records are refused
}

// newCopier makes a copier for the given number of records, which take dataBytes together. If
// records is -1, their number is not known, and dataBytes is ignored.
func newCopier(b *Buffer, records, dataBytes int) *copier {
	return &copier{lease: b.lease, records: records, left: dataBytes, stats: make([]record.PartStat, b.o.Parts)}
}

// copy adds all records of slices, whose addresses refer to a. It returns false if there is no
// memory for the whole copy.
func (c *copier) copy(a *record.Arena, slices []record.Slice) bool {
	var m shuffle.Merger
	for p := range c.stats {
		if len(slices) == 1 {
			record.Walk(a, slices[0].Part(p), c.add)
		} else {
			for m.OverSlices(a, slices, p); m.Next() && c.add(m.Key, m.Value); {
			}
		}
		if c.full {
			return false
		}
		c.endPart()
	}
	return true
}

// add copies the next record. It returns false if there is no memory for it; then it also
// refuses all later records.
func (c *copier) add(key, value []byte) bool {
	need := record.EmittedBytes(key, value)
	if c.full || c.n == len(c.entries) && !c.nextIndex() || need > len(c.data)-c.off && !c.nextData(need) {
		c.full = true
		return false
	}
	c.entries[c.n] = record.Entry{Prefix: record.PrefixOf(key), Ref: (c.addr+uint64(c.off))<<record.CodeBits | record.CodeEmitted}
	c.n++
	c.off += record.PutEmitted(c.data[c.off:], key, value)
	c.left -= need
	c.stats[c.part].Count(key, value)
	return true
}

// nextIndex takes memory for the entries of all records, or for a chunk of entries if the
// number of records is not known. It returns false if there is no memory.
func (c *copier) nextIndex() bool {
	c.endIndex()
	records := c.records
	if records < 0 {
		records = record.ChunkEntries
	}
	chunk, _, ok := c.lease.Take(int64(records * record.EntryBytes))
	if ok {
		c.load.index = append(c.load.index, chunk)
		c.entries, c.n = record.EntriesIn(chunk.Data, records), 0
		c.slices = append(c.slices, record.Slice{Ends: make([]int, c.part, len(c.stats))})
	}
	return ok
}

// endIndex completes the slice of the index chunk being filled.
func (c *copier) endIndex() {
	if len(c.slices) == 0 {
		return
	}
	s := &c.slices[len(c.slices)-1]
	s.Entries = c.entries[:c.n]
	for len(s.Ends) < len(c.stats) {
		s.Ends = append(s.Ends, c.n)
	}
}

// nextData takes memory of at least need bytes for the next records. It returns false if there
// is none. If the size of the whole copy is known, it takes no more than the records still
// need.
func (c *copier) nextData(need int) bool {
	bytes := membudget.ChunkBytes
	if c.records >= 0 {
		bytes = min(c.left, membudget.ChunkBytes)
	}
	chunk, _, ok := c.lease.Take(int64(max(need, bytes)))
	if ok {
		c.load.chunks = append(c.load.chunks, chunk)
		c.addr = c.load.arena.Add(chunk.Data)
		c.data = chunk.Data
		c.off = 0
	}
	return ok
}

// endPart ends the current partition. Later records belong to the next one.
func (c *copier) endPart() {
	c.part++
	if len(c.slices) > 0 {
		s := &c.slices[len(c.slices)-1]
		s.Ends = append(s.Ends, c.n)
	}
}

// keep makes the copy the run in memory of the output of b, which then owns the copy.
func (c *copier) keep(b *Buffer) {
	c.endIndex()
	b.adopt(&c.load, c.slices, c.stats, nil)
}
