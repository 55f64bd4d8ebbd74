package output

import (
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesAreOrdered(t *testing.T) {
	testkit.CheckStates(t, committed, aborted)
}
