package engine

import (
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
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
	a := &runningAttempt{SlotAttempt: newSlotAttempt(t.Context(), slots.AttemptID{}, 0, nil, nil, nil)}
	(&coordinator{}).abandon(a)
	if !a.Killed() || a.state != attemptWaiting {
		t.Errorf("killed %v, %v", a.Killed(), a.state)
	}
}
