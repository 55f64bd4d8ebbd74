package engine

import (
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
