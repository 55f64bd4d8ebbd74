package output

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// TestOfRunsThatWriteTheSameOutputAtOnceOneGetsIt: the other runs are refused. When the first
// one has ended, the next run gets the output.
func TestOfRunsThatWriteTheSameOutputAtOnceOneGetsIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files cannot be locked: the last run wins")
	}
	w := newKit(t, 1<<20)
	w.write("old/_SUCCESS", "")
	for what, spec := range map[string]Spec{
		"a new file": {File: w.path("file")}, "a new directory": {Dir: w.path("new")}, "a directory that is replaced": {Dir: w.path("old"), Overwrite: true},
	} {
		for round := range 50 { // the runs begin together, with a different delay in each round
			const runs = 4
			targets, begun := make([]*Target, runs), make([]error, runs)
			for i := range targets {
				target, err := Open(spec)
				must(t, err)
				targets[i] = target
			}
			var all sync.WaitGroup
			for i := range targets {
				all.Go(func() { begun[i] = targets[i].Start() })
			}
			all.Wait()
			got := 0
			for i, err := range begun {
				switch {
				case err == nil:
					got++
					_, err := Open(spec)
					if spec.Dir != "" && !spec.Overwrite && (err == nil || !strings.Contains(err.Error(), "is being written by another run")) {
						t.Errorf("%s: a run that comes later gets %v", what, err)
					}
				case !errors.Is(err, errs.BadOptions) || !strings.Contains(err.Error(), "another run") && !strings.Contains(err.Error(), "exists already"):
					t.Errorf("%s: run %d: %v", what, i, err)
				}
			}
			if got != 1 {
				t.Fatalf("%s, round %d: %d runs of %d have it: %v", what, round, got, runs, begun)
			}
			for _, target := range targets {
				must(t, target.Abort())
			}
		}
	}
	mustList(t, w.list(), "old", "old/_SUCCESS")
}

// TestARunThatOthersAlwaysOvertakeIsRefused: it does not build the result under another name.
func TestARunThatOthersAlwaysOvertakeIsRefused(t *testing.T) {
	w := newKit(t, 1<<20)
	tries := map[string]int{}
	err := claim("out", w.path("out"), func(pending string) error {
		tries[pending]++
		return disk.ErrLocked
	})
	if !errors.Is(err, errs.BadOptions) || !strings.Contains(err.Error(), "is being written by another run") {
		t.Error(err)
	}
	if len(tries) != 1 {
		t.Errorf("made %v", tries)
	}
}
