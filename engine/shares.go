package engine

import (
	"cmp"

	"golang.org/x/sync/semaphore"

	"mrlocal/internal/machine"
	"mrlocal/jobs"
)

const (
	// reservedFDs is the number of file descriptors for the standard streams, the runtime,
	// the events file, outputs and their directories.
	reservedFDs = 16
	// fdsOfAttempt is the least number of file descriptors that an attempt needs. Two are for
	// its input or for two files of a merge. One each is for the file that it spills to and for
	// its part. One is spare.
	fdsOfAttempt = 5
)

// DivideFDs divides the file descriptors that the process may open among slotCount slots. It
// sets FDsPerTask. If all slots at once would need too many, it sets FDTurns too, so that
// attempts wait for a turn.
func (e *Env) DivideFDs(slotCount int) {
	free := machine.FDLimit() - reservedFDs
	// At least one attempt may run, even if the limit leaves it fewer descriptors than it needs.
	atOnce := max(1, min(slotCount, free/fdsOfAttempt))
	e.FDsPerTask = max(fdsOfAttempt, free/atOnce)
	if atOnce < slotCount {
		e.FDTurns = semaphore.NewWeighted(int64(atOnce))
	}
}

// DivideMemory divides bytes among slotCount slots. It sets SortBufferBytes and FloorBytes,
// and reads Fits. sortBufferBytes is the first size of a kvbuffer that the user wants. If it
// is 0, the first size is a share of its slot's memory, between 4 and 256 MiB.
//
// The floors of all slots fit at once, because none is larger than a slot's share.
func (e *Env) DivideMemory(bytes, slotCount, sortBufferBytes int64) {
	perSlot := bytes / slotCount
	// If map outputs fit in memory, three quarters are left for them. If they do not, a
	// larger kvbuffer leaves fewer sorted runs to merge.
	share := perSlot / 4
	if !e.Fits {
		share = perSlot * 3 / 4
	}
	wanted := cmp.Or(sortBufferBytes, min(max(share, 4<<20), 256<<20))
	e.SortBufferBytes = min(wanted, perSlot-overheadBytes)
	// A small kvbuffer does not make the floor small: reduces have the same floor for their merges.
	e.FloorBytes = min(perSlot, max(e.SortBufferBytes+overheadBytes, 6<<20))
}

// takeFDs waits until the attempt may open files. It is called before the attempt leases
// memory, so that no other attempt can wait for this one meanwhile.
func (a *SlotAttempt) takeFDs() error {
	if a.Env.FDTurns == nil {
		return nil
	}
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	if a.Env.FDTurns.Acquire(a.ctx, 1) != nil {
		return jobs.ErrKilled
	}
	a.hasFDs.Store(true)
	return nil
}

// LeaveFDs ends the attempt's turn, if it has one. It may be called again, and from any
// goroutine.
func (a *SlotAttempt) LeaveFDs() {
	if a.hasFDs.CompareAndSwap(true, false) {
		a.Env.FDTurns.Release(1)
	}
}
