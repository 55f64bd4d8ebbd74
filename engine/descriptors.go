package engine

import "mrlocal/internal/machine"

const (
	// reservedFDs are for the standard streams, the runtime, the events file,
	// outputs and their directories.
	reservedFDs = 16
	// fdsOfAttempt are an attempt's least: its input or two files of a merge,
	// the file that it spills to, its part, one to spare.
	fdsOfAttempt = 5
)

// divideFDs divides the descriptors the process may hold. Where they are too
// few for all slots at once, attempts wait for a turn.
func (r *run) divideFDs(slotCount int) {
	free := machine.FDLimit() - reservedFDs
	atOnce := max(1, min(slotCount, free/fdsOfAttempt))
	r.fdsPerTask = max(fdsOfAttempt, free/atOnce)
	if atOnce < slotCount {
		r.fdTurns = make(chan struct{}, atOnce)
	}
}

// takeFDs waits until the attempt may open files; it holds nothing yet that
// another one could wait for.
func (a *attempt) takeFDs() error {
	if a.run.fdTurns == nil {
		return nil
	}
	a.waiting.Store(true)
	defer a.waiting.Store(false)
	select {
	case a.run.fdTurns <- struct{}{}:
		a.hasFDs.Store(true)
		return nil
	case <-a.ctx.Done():
		return errKilled
	}
}

// leaveFDs ends the attempt's turn; again is harmless.
func (a *attempt) leaveFDs() {
	if a.hasFDs.CompareAndSwap(true, false) {
		<-a.run.fdTurns
	}
}
