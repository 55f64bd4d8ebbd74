package task

import (
	"context"

	"mrlocal/slots"
)

// Gate holds a reduce in its copy phase until it is opened (slots.PhaseGate).
type Gate chan struct{}

// Open lets the reduce go on. It may be called again, by the coordinator alone.
func (g Gate) Open() {
	select {
	case <-g:
	default:
		close(g)
	}
}

// pass waits until the gate is open. The reduce has been handed all map outputs,
// and leases nothing meanwhile.
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
