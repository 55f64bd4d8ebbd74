package term

import (
	"os"
	"testing"

	"mrlocal/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Transitions{M: m}.Run()) }

func TestStatesAreOrdered(t *testing.T) { testkit.CheckStates(t, shownReported) }
