package sim

import (
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesAreOrdered(t *testing.T) {
	testkit.CheckStates(t, jobDropped, jobEnded)
	testkit.CheckStates(t, attemptGone)
}
