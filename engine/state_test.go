package engine

import (
	"context"
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesAreOrdered(t *testing.T) {
	testkit.CheckStates(t, runInterrupted)
	testkit.CheckStates(t, chainEnded)
	testkit.CheckStates(t, outputGone)
	testkit.CheckStates(t, jobOver)
	testkit.CheckStates(t, attemptAbandoned, attemptEnded)
}

// The thread of such an attempt runs no user code that could hang.
func TestAnAttemptThatWaitsForItsSourceIsKilledButNotAbandoned(t *testing.T) {
	a := &attempt{}
	a.ctx, a.cancel = context.WithCancelCause(t.Context())
	(&coordinator{}).abandon(a)
	if !a.killed() || a.state != attemptWaiting {
		t.Errorf("killed %v, %v", a.killed(), a.state)
	}
}
