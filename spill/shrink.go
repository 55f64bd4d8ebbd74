package spill

import (
	"mrlocal/internal/membudget"
	"mrlocal/spill/run"
)

const (
	// pieceMax is the most that a piece of a chunk is taken for.
	pieceMax = membudget.ChunkBytes / 2

	// shrinkRecordMax: runs with longer records are left as they are.
	shrinkRecordMax = 64 << 10

	// shrinkHeldMax: what takes more and is no table fills its chunks.
	shrinkHeldMax = 16 * membudget.ChunkBytes
)

// shrunk copies a sorted load, record by record in order, to memory of its
// size, if it holds at least twice that: the output of a small map, which has
// hardly begun its chunks, and tables. Thousands of small maps then fit in
// memory, and merges read the copy from front to back. It reports false where
// that does not pay or there is no room for it beside the load.
func (b *Buffer) shrunk(l *load, slices []run.Slice) (*load, []run.Slice, bool) {
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
	if l.table.Keys == 0 {
		if held > shrinkHeldMax {
			return nil, nil, false
		}
		dataBytes, longest = run.CopiedBytes(&l.arena, slices)
	}
	if held < 2*(dataBytes+records*run.EntryBytes) || longest > shrinkRecordMax {
		return nil, nil, false
	}
	c := copying{lease: b.lease, stats: make([]run.PartStat, b.o.Parts), left: dataBytes}
	index, ok := c.take(records*run.EntryBytes, true)
	if ok {
		c.load.index = append(c.load.index, index)
		c.load.entries = records
		c.entries = run.EntriesOf(index, records)
		ok = c.copy(&l.arena, slices, b.o.Parts)
	}
	if !ok {
		b.free(&c.load)
		return nil, nil, false
	}
	for p := range c.stats {
		b.out.stats[p].Add(c.stats[p])
	}
	return &c.load, []run.Slice{{Entries: c.entries, Ends: c.ends}}, true
}

// copying is a run in memory as shrunk writes it.
type copying struct {
	lease   *membudget.Lease
	load    load
	entries []run.Entry
	n       int
	ends    []int
	stats   []run.PartStat
	left    int // bytes of records not copied yet
	data    []byte
	off     int
	addr    uint64
}

func (c *copying) copy(a *run.Arena, slices []run.Slice, parts int) bool {
	var m run.Merger
	for p := range parts {
		if len(slices) == 1 {
			if !run.Walk(a, slices[0].Part(p), c.add) {
				return false
			}
			c.ends = append(c.ends, c.n)
			continue
		}
		for m.OverSlices(a, slices, p); m.Next(); {
			if !c.add(m.Key, m.Value) {
				return false
			}
		}
		c.ends = append(c.ends, c.n)
	}
	return true
}

func (c *copying) add(key, value []byte) bool {
	need := run.EmittedBytes(key, value)
	if need > len(c.data)-c.off {
		chunk, ok := c.take(max(need, min(c.left, membudget.ChunkBytes)), false)
		if !ok {
			return false
		}
		c.load.chunks = append(c.load.chunks, chunk)
		c.data, c.off, c.addr = chunk.Data, 0, c.load.arena.Add(chunk.Data)
	}
	c.entries[c.n] = run.Entry{Prefix: run.PrefixOf(key), Ref: (c.addr+uint64(c.off))<<run.CodeBits | run.CodeEmitted}
	c.n++
	c.off += run.PutEmitted(c.data[c.off:], key, value)
	c.left -= need
	c.stats[len(c.ends)].Count(key, value)
	return true
}

// take takes a piece, a chunk or, where it has to be contiguous, more.
func (c *copying) take(bytes int, contiguous bool) (*membudget.Chunk, bool) {
	charge := int64(max(bytes, membudget.ChunkBytes) + membudget.ChunkBytes/64)
	if c.lease.Available() < charge && !c.lease.Grow(charge) {
		return nil, false
	}
	switch {
	case bytes <= pieceMax:
		return c.lease.Piece(bytes)
	case bytes <= membudget.ChunkBytes || !contiguous:
		return c.lease.Chunk()
	}
	return c.lease.Big(int64(bytes))
}
