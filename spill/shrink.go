package spill

import (
	"mrlocal/internal/membudget"
	"mrlocal/spill/record"
	"mrlocal/spill/runs"
)

const (
	// pieceMax is the most bytes that a piece of a chunk is taken for.
	pieceMax = membudget.ChunkBytes / 2

	// shrinkRecordMax: a run with a longer record is not copied.
	shrinkRecordMax = 64 << 10

	// shrinkHeldMax: a load that takes more and is no table has mostly filled its
	// chunks.
	shrinkHeldMax = 16 * membudget.ChunkBytes
)

// shrunk copies a sorted load, record by record in order, to memory of exactly its size.
// It does so if the load is a table, or takes at least twice that memory. The second is
// true of the output of a small map, which has hardly begun its chunks. Thousands of
// small maps then fit in memory, and merges read the copy from front to back. A table is
// copied however full it is, because reduces cannot sort entries that stand for slots,
// and merging costs more than sorting (Merge.sortWhole). It returns nil where copying
// does not pay or there is no room for the copy beside the load.
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

// copier writes a run in memory, record by record in order. Its chunks are of
// the buffer's lease, which it grows beyond what the load takes.
type copier struct {
	lease   *membudget.Lease
	load    load
	records int // that will come; -1: not known, whole chunks are taken
	left    int // bytes of the records that are yet to come

	entries []record.Entry // the index chunk being filled
	n       int            // entries in it
	data    []byte         // the chunk being filled
	off     int            // in data
	addr    uint64         // of data

	slices []record.Slice // one for each index chunk; Ends only of partitions that have ended in it
	stats  []record.PartStat
	part   int
	full   bool // there was no memory for a record
}

// newCopier makes a copier of so many records, which take dataBytes; -1: their
// number is not known.
func newCopier(b *Buffer, records, dataBytes int) *copier {
	return &copier{lease: b.lease, records: records, left: dataBytes, stats: make([]record.PartStat, b.o.Parts)}
}

// copy adds all records of slices. It reports false where there is no memory.
func (c *copier) copy(a *record.Arena, slices []record.Slice) bool {
	var m runs.Merger
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

// add adds the next record. It reports false where there is no memory for it,
// and from then on.
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

// nextIndex takes memory for the entries of all records, or, where their number
// is not known, of a chunk.
func (c *copier) nextIndex() bool {
	c.endIndex()
	records := c.records
	if records < 0 {
		records = record.ChunkEntries
	}
	chunk, ok := c.take(records * record.EntryBytes)
	if ok {
		c.load.index = append(c.load.index, chunk)
		c.entries, c.n = record.EntriesIn(chunk.Data, records), 0
		c.slices = append(c.slices, record.Slice{Ends: make([]int, c.part, len(c.stats))})
	}
	return ok
}

// endIndex makes the index chunk being filled a slice.
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

// nextData takes a chunk for the next records, of at least need bytes. It returns false if there
// is no room. If the size of the whole copy is known, no chunk is larger than what is left.
func (c *copier) nextData(need int) bool {
	bytes := membudget.ChunkBytes
	if c.records >= 0 {
		bytes = min(c.left, membudget.ChunkBytes)
	}
	chunk, ok := c.take(max(need, bytes))
	if ok {
		c.load.chunks = append(c.load.chunks, chunk)
		c.data, c.off, c.addr = chunk.Data, 0, c.load.arena.Add(chunk.Data)
	}
	return ok
}

// endPart ends a partition.
func (c *copier) endPart() {
	c.part++
	if len(c.slices) > 0 {
		s := &c.slices[len(c.slices)-1]
		s.Ends = append(s.Ends, c.n)
	}
}

// take takes so many bytes, contiguous: a piece of a chunk, a chunk, or more.
func (c *copier) take(bytes int) (*membudget.Chunk, bool) {
	charge := int64(max(bytes, membudget.ChunkBytes) + membudget.ChunkBytes/64)
	if bytes == membudget.ChunkBytes {
		charge = membudget.ChunkBytes
	}
	if c.lease.Available() < charge && !c.lease.Grow(charge) {
		return nil, false
	}
	switch {
	case bytes <= pieceMax:
		return c.lease.Piece(bytes)
	case bytes <= membudget.ChunkBytes:
		return c.lease.Chunk()
	}
	return c.lease.Big(int64(bytes))
}

// keep makes the copy the run in memory of the buffer's output.
func (c *copier) keep(b *Buffer) {
	c.endIndex()
	b.adopt(&c.load, c.slices, c.stats, nil)
}
