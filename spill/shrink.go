package spill

import "mrlocal/internal/membudget"

const (
	// pieceMax is the most that a piece of a chunk is taken for.
	pieceMax = membudget.ChunkBytes / 2

	// shrinkRecordMax: runs with longer records are left as they are.
	shrinkRecordMax = 64 << 10
)

// shrunk copies a sorted load, record by record in order, to memory of its
// size, if it holds at least twice that: the output of a small map, which has
// hardly begun its chunks, and tables. Thousands of small maps then fit in
// memory, and merges read the copy from front to back. It reports false where
// that does not pay or there is no room for it beside the load.
func (b *Buffer) shrunk(l *load, slices []sortedSlice) (*load, []sortedSlice, bool) {
	records, dataBytes, longest := 0, 0, 0
	for _, s := range slices {
		records += len(s.entries)
		for i := range s.entries {
			key, value := l.arena.record(s.entries[i].ref)
			n := emittedBytes(key, value)
			dataBytes += n
			longest = max(longest, n)
		}
	}
	held := 0
	for _, chunks := range [][]*membudget.Chunk{l.chunks, l.index} {
		for _, c := range chunks {
			held += len(c.Data)
		}
	}
	if held < 2*(dataBytes+records*entryBytes) || longest > shrinkRecordMax {
		return nil, nil, false
	}
	c := copying{lease: b.lease, left: dataBytes}
	index, ok := c.take(records*entryBytes, true)
	if ok {
		c.load.index = append(c.load.index, index)
		c.load.entries = records
		c.entries = entriesOf(index, records)
		ok = c.copy(&l.arena, slices, b.o.Parts)
	}
	if !ok {
		b.free(&c.load)
		return nil, nil, false
	}
	return &c.load, []sortedSlice{{c.entries, c.ends}}, true
}

// copying is a run in memory as shrunk writes it.
type copying struct {
	lease   *membudget.Lease
	load    load
	entries []entry
	n       int
	ends    []int
	left    int // bytes of records not copied yet
	data    []byte
	off     int
	addr    uint64
}

func (c *copying) copy(a *arena, slices []sortedSlice, parts int) bool {
	var m merger
	for p := range parts {
		for m.overSlices(a, slices, p); m.next(); {
			if !c.add(m.key, m.value) {
				return false
			}
		}
		c.ends = append(c.ends, c.n)
	}
	return true
}

func (c *copying) add(key, value []byte) bool {
	need := emittedBytes(key, value)
	if need > len(c.data)-c.off {
		chunk, ok := c.take(max(need, min(c.left, membudget.ChunkBytes)), false)
		if !ok {
			return false
		}
		c.load.chunks = append(c.load.chunks, chunk)
		c.data, c.off, c.addr = chunk.Data, 0, c.load.arena.add(chunk.Data)
	}
	c.entries[c.n] = entry{prefixOf(key), (c.addr+uint64(c.off))<<codeBits | codeEmitted}
	c.n++
	c.off += putEmitted(c.data[c.off:], key, value)
	c.left -= need
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
