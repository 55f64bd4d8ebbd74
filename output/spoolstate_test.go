package output

import (
	"errors"
	"testing"

	"mrlocal/internal/testkit"
)

func TestStatesOfSpoolsAreOrdered(t *testing.T) { testkit.CheckStates(t, released) }

// TestAPartThatWasAbortedDoesNotCommit: the next job of a chain would read a spool that was released.
func TestAPartThatWasAbortedDoesNotCommit(t *testing.T) {
	w := newKit(t, 4<<20)
	spools := NewSpools(1, w.memory, nil)
	defer spools.Release()
	lost, err := spools.Part(0, 0)
	must(t, err)
	lost.Abort()
	if err := lost.Commit(); !errors.Is(err, ErrAborted) || spools.Parts()[0] != nil {
		t.Errorf("Commit after Abort: %v, part %v", err, spools.Parts()[0])
	}
	won, err := spools.Part(0, 1)
	must(t, err)
	must(t, won.Commit())
	won.Abort()
	if p := spools.Parts()[0]; p == nil || p.Bytes() != 0 {
		t.Errorf("Abort after Commit has dropped the part: %v", p)
	}
}
