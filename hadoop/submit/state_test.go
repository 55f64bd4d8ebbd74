package submit

import (
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesAreOrdered(t *testing.T) { testkit.CheckStates(t, jobCounted) }
