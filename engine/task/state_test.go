package task

import (
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesAreOrdered(t *testing.T) {
	testkit.CheckStates(t, shuffleClosed)
	testkit.CheckStates(t, outputLost)
}
