package feed

import (
	"fmt"

	"mrlocal/internal/errs"
	"mrlocal/internal/membudget"
)

// RoomError is the error of a record, or of several records that must be in memory together, for
// which the attempt's lease is too small. The attempt starts again with a larger floor, and holds
// no lease while it waits for the floor.
type RoomError struct {
	Bytes int64  // needed at once
	What  string // what needs them, for the message
	held  int64  // bytes of all else in the lease, such as a kvbuffer
}

func (e *RoomError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the text.
func (e *RoomError) Unwrap() error {
	return errs.Errorf("%s needs %d bytes of memory at once; raise %s", e.What, e.Bytes, errs.Field("Options.MemoryBytes"))
}

// Enough adds to err, which wraps e, the bound of memory that would be enough. A bound of
// limitBytes leaves roomBytes for such a record. The room grows at least in proportion to the
// bound, because floors and buffers of tasks grow more slowly. If roomBytes seem to be enough
// already, Enough counts all else that was in the lease too.
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

// Get returns a chunk of at least n bytes, which the caller gives back with Put. It grows the
// lease if it must. It fails with a *RoomError. Up to half a chunk it returns a part of one,
// because a kvbuffer may hold the blocks of very many small files.
func (m Memory) Get(n int) (*membudget.Chunk, error) {
	if c, _, ok := m.Lease.Take(int64(n)); ok {
		return c, nil
	}
	charged := int64(membudget.ChunkBytes)
	if n > membudget.ChunkBytes {
		charged = int64(n) + bigSlackBytes
	}
	// The next attempt needs the window of a decoder (Charge) at the same time as the chunk. All
	// else in the lease may need less by then.
	window := m.Lease.Charged()
	room := &RoomError{Bytes: charged + window, What: "an input block", held: m.Lease.Granted() - m.Lease.Available() - window}
	if n > membudget.ChunkBytes {
		room.Bytes, room.What = room.Bytes+membudget.ChunkBytes, fmt.Sprintf("a record of %d bytes", n)
	}
	return nil, room
}

// bigSlackBytes is the most that rounding to pages adds to a large chunk.
const bigSlackBytes = 64 << 10

// Charge counts the window that a decoder keeps on the Go heap against the lease. It fails with a
// *RoomError. The attempt then starts again with a floor that has room for the window. release
// counts the window off again.
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
