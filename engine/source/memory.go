package source

import (
	"fmt"

	"mrlocal/internal/membudget"
)

// RoomError says that a record, or records that must be in memory together, need
// more than the attempt's lease. The attempt starts again with a larger floor, and
// holds nothing while it waits for that.
type RoomError struct {
	Bytes int64
	What  string
	held  int64 // bytes of what else was in the lease, such as a kvbuffer
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("%s needs %d bytes of memory at once; raise Options.MemoryBytes", e.What, e.Bytes)
}

// Enough returns err, which wraps room, with the bound that would do, where a
// bound of limitBytes has only room for roomBytes. Room grows at least as fast
// as the bound, because what tasks keep for themselves grows more slowly. Where room
// is missing although there seems to be enough, what else was held is added.
func (e *RoomError) Enough(err error, limitBytes, roomBytes int64) error {
	if roomBytes <= 0 {
		return err
	}
	share := float64(limitBytes) / float64(roomBytes)
	bytes := int64(share * float64(e.Bytes))
	if bytes <= limitBytes {
		bytes = max(int64(share*float64(e.Bytes+e.held)), limitBytes)
	}
	return fmt.Errorf("%w to %dMiB", err, bytes>>20+1)
}

// Memory is the leased memory of an attempt, for input blocks.
type Memory struct{ Lease *membudget.Lease }

// Get returns a chunk of at least n bytes. It grows the lease if it must, and fails
// with a *RoomError. Small files get parts of a chunk, because a kvbuffer may hold
// very many of them.
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
	// A decoder's window is there at the same time. Other memory may be free again by then.
	window := m.Lease.Charged()
	room := &RoomError{Bytes: charged + window, What: "an input block", held: m.Lease.Granted() - m.Lease.Available() - window}
	if n > membudget.ChunkBytes {
		room.Bytes, room.What = room.Bytes+membudget.ChunkBytes, fmt.Sprintf("a record of %d bytes", n)
	}
	return nil, room
}

// bigSlackBytes is how much rounding to pages may add to a large chunk.
const bigSlackBytes = 64 << 10

// Charge accounts for memory that a decoder keeps on the Go heap. Where the lease
// cannot grow, a floor that was raised for the window has the room.
func (m Memory) Charge(bytes int64) (release func(), err error) {
	grown := int64(0)
	if m.Lease.Grow(bytes) {
		grown = bytes
	}
	if !m.Lease.Charge(bytes) {
		m.Lease.Shrink(grown)
		return nil, &RoomError{Bytes: bytes, What: "a decoder's window"}
	}
	return func() { m.Lease.Discharge(bytes); m.Lease.Shrink(grown) }, nil
}

// Put gives a chunk back.
func (m Memory) Put(c *membudget.Chunk) { m.Lease.Free(c) }
