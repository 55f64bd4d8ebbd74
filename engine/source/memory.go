package source

import (
	"context"
	"fmt"

	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
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

// Enough returns err, which wraps room, with the bound that would be enough. A bound
// of limitBytes has room for roomBytes only. Room grows at least as fast as the
// bound, because what tasks keep for themselves grows more slowly. If there seems to
// be enough room, Enough adds what else was held.
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

// Room estimates, before the maps of a job start, whether its temporary files will fit on the disk.
type Room struct {
	Job      *jobs.Job
	Plan     *input.Plan // nil: the job reads no file
	First    *Held       // the beginning of a stream; nil: there is none
	Budget   *membudget.Budget
	Temp     *disk.TempRoot // nil: nothing is known
	MaxBytes int64          // Options.MaxTempBytes
	Fits     bool           // the job is likely to fit in memory
	Plain    bool           // spills are not compressed
	Note     func(string)
}

// mostShrink is by how much compression makes temporary files smaller at best, as far as the
// estimate goes. Only then is a job refused that may do after all.
const mostShrink = 4

// Check returns an options error for a job whose map outputs cannot fit in memory and in the
// temporary directories. It notes a job whose outputs may not fit. ratio is what Sample has
// returned; 0: there was no sample yet.
func (r *Room) Check(ctx context.Context, ratio float64) error {
	// How much a combiner leaves depends on all of the input.
	if r.Temp == nil || r.Fits || r.Job.NewReducer == nil || r.Plan == nil || r.Job.NewFolder != nil || r.Job.NewCombiner != nil {
		return nil
	}
	room, known := r.Temp.RoomBytes()
	if !known || r.MaxBytes == 0 && r.Plan.Bytes < room { // the usual case takes no sample
		return nil
	}
	if ratio == 0 {
		lease, err := r.Budget.Reserve(ctx, SampleLeaseBytes)
		if err != nil {
			return err
		}
		defer lease.Close()
		s, err := sample(r.Job, r.Plan, r.First, lease)
		if err != nil {
			return err
		}
		ratio = s.ratio()
	}
	// Compressed inputs count as stored, so they need more than that. At worst nothing stays in
	// memory; at best all of it is used.
	most := int64(ratio * float64(r.Plan.Bytes))
	least := most - r.Budget.Limit()
	if !r.Plain {
		least /= mostShrink
	}
	const mib = 1 << 20
	does := fmt.Sprintf("%dMiB would do, or more of Options.MemoryBytes", (most+most/16)/mib+1)
	switch {
	case most <= room:
		return nil
	case least <= room:
		r.Note(fmt.Sprintf("temporary files may take %dMiB, but only %dMiB are allowed or free; %s", most/mib+1, room/mib, does))
		return nil
	case r.MaxBytes > 0 && room == r.MaxBytes:
		return errs.Optionf(fmt.Sprintf("Options.MaxTempBytes %d", room), "too little for map outputs of about %dMiB; %s", most/mib+1, does)
	}
	if err := r.Temp.Check(); err != nil { // it has waited until now (Options.TempAtNeed)
		return err
	}
	return errs.Optionf("Options.TempDirs", "%dMiB are free, too little for map outputs of about %dMiB; directories with %s", room/mib, most/mib+1, does)
}
