package source

import (
	"fmt"

	"mrlocal/internal/membudget"
)

// RoomError says that a record, or records that must be in memory together,
// need more than the attempt's lease; the attempt starts over with a larger
// floor, holding nothing while it waits for it.
type RoomError struct {
	Bytes int64
	What  string
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("%s needs %d bytes of memory at once; raise Options.MemoryBytes", e.What, e.Bytes)
}

// Memory hands out an attempt's leased memory for input blocks.
type Memory struct{ Lease *membudget.Lease }

// Get returns a chunk of at least n bytes, growing the lease where it must.
// Small files get pieces of a chunk: a kvbuffer may keep very many of them.
func (m Memory) Get(n int) (*membudget.Chunk, error) {
	take, charged := m.Lease.Chunk, int64(membudget.ChunkBytes)
	switch {
	case n > membudget.ChunkBytes:
		take, charged = func() (*membudget.Chunk, bool) { return m.Lease.Big(int64(n)) }, int64(n)+bigSlackBytes
	case n <= membudget.ChunkBytes/2:
		take = func() (*membudget.Chunk, bool) { return m.Lease.Piece(n) }
	}
	if c, ok := take(); ok {
		return c, nil
	}
	if m.Lease.Grow(charged) {
		if c, ok := take(); ok {
			return c, nil
		}
	}
	if n > membudget.ChunkBytes {
		return nil, &RoomError{charged + membudget.ChunkBytes, fmt.Sprintf("a record of %d bytes", n)}
	}
	return nil, &RoomError{charged, "an input block"}
}

// bigSlackBytes is what rounding to pages may add to a large chunk.
const bigSlackBytes = 64 << 10

// Charge accounts for memory that a decoder keeps on the Go heap.
func (m Memory) Charge(bytes int64) (release func(), err error) {
	if !m.Lease.Grow(bytes) {
		return nil, &RoomError{bytes, fmt.Sprintf("a decoder's window of %d bytes", bytes)}
	}
	return func() { m.Lease.Shrink(bytes) }, nil
}

// Put gives a chunk back.
func (m Memory) Put(c *membudget.Chunk) { m.Lease.Free(c) }
