package task

import (
	"context"

	"mrlocal/slots"
)

// Gate keeps a reduce in its copy phase until it is opened (slots.PhaseGate).
type Gate chan struct{}

// Open lets the reduce go on; again is harmless. It belongs to the coordinator.
func (g Gate) Open() {
	select {
	case <-g:
	default:
		close(g)
	}
}

// pass waits, with all that there is to copy, until the gate is open. Nothing is
// leased meanwhile.
func (a *Attempt) pass() error {
	if a.Gate == nil {
		return nil
	}
	select {
	case <-a.Gate:
		return nil
	default:
	}
	a.phase(slots.PhaseHeld)
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	select {
	case <-a.Gate:
		return nil
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	}
}
