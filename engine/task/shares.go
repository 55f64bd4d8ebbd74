package task

import (
	"cmp"

	"mrlocal/internal/machine"
)

const (
	// reservedFDs are descriptors for the standard streams, the runtime, the
	// events file, outputs and their directories.
	reservedFDs = 16
	// fdsOfAttempt are the fewest descriptors that an attempt works with. They
	// are for its input or two files of a merge, the file that it spills to, its
	// part, and a spare one.
	fdsOfAttempt = 5
)

// DivideFDs divides the descriptors that the process may open among slots. If
// they are too few for all slots at once, attempts wait for a turn.
func (e *Env) DivideFDs(slotCount int) {
	free := machine.FDLimit() - reservedFDs
	// One attempt may always run, even if the limit leaves it fewer than it wants.
	atOnce := max(1, min(slotCount, free/fdsOfAttempt))
	e.FDsPerTask = max(fdsOfAttempt, free/atOnce)
	if atOnce < slotCount {
		e.FDTurns = make(chan struct{}, atOnce)
	}
}

// DivideMemory divides bytes among slots. sortBufferBytes is the first size of a
// kvbuffer that the user wants; 0: a share of its slot's memory, between 4 and 256 MiB.
// A quarter leaves room for map outputs, if they fit; three quarters make few runs.
// The floors of all slots fit, because none is larger than a slot's share.
func (e *Env) DivideMemory(bytes, slotCount, sortBufferBytes int64) {
	perSlot := bytes / slotCount
	share := perSlot / 4
	if !e.Fits {
		share = perSlot * 3 / 4
	}
	wanted := cmp.Or(sortBufferBytes, min(max(share, 4<<20), 256<<20))
	e.SortBufferBytes = min(wanted, perSlot-overheadBytes)
	e.FloorBytes = min(perSlot, max(e.SortBufferBytes+overheadBytes, 6<<20))
}

// takeFDs waits until the attempt may open files. The attempt holds nothing yet
// that another one could wait for.
func (a *SlotAttempt) takeFDs() error {
	if a.Env.FDTurns == nil {
		return nil
	}
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	select {
	case a.Env.FDTurns <- struct{}{}:
		a.hasFDs.Store(true)
		return nil
	case <-a.ctx.Done():
		return ErrKilled
	}
}

// LeaveFDs ends the attempt's turn. It may be called again.
func (a *SlotAttempt) LeaveFDs() {
	if a.hasFDs.CompareAndSwap(true, false) {
		<-a.Env.FDTurns
	}
}
