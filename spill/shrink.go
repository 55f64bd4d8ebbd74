package spill

import (
	"mrlocal/internal/membudget"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
)

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
// slots, and merging costs more than sorting (shuffle.Merge.sortWhole). Merges also read a copy
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
