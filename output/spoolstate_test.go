package output

import (
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesOfSpoolsAreOrdered(t *testing.T) { testkit.CheckStates(t, released) }
