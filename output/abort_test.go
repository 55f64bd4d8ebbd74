package output

import (
	"os"
	"sync"
	"testing"
	"time"

	"mrlocal/internal/testkit"
)

// A signal may end a run at any moment. Whatever the writers and Commit are doing, the whole
// result is left, or nothing.
func TestAbortAtAnyMomentLeavesAllOrNothing(t *testing.T) {
	w := newKit(t, 1<<20)
	const count = 4
	for name, spec := range map[string]Spec{
		"directory": {Dir: w.path("out")}, "replaced": {Dir: w.path("old"), Overwrite: true},
		"file": {File: w.path("result")}, "regions": {File: w.path("regions")}, "order": {Dir: w.path("merged")},
	} {
		t.Run(name, func(t *testing.T) {
			rounds := 12 * testkit.Rounds(4)
			outcomes := map[bool]int{}
			whole := time.Second // time of a round that is not aborted
			for round := range rounds {
				if name == "replaced" {
					w.write("old/_SUCCESS", "")
					w.write("old/part-r-00000", "old")
				}
				before := w.list()
				target := w.begin(spec, w.parts(count))
				if name == "regions" {
					_, err := target.SetSizes([]int64{3000, 3000, 3000, 3000})
					must(t, err)
				}
				delay := whole * time.Duration(round) / time.Duration(rounds*2/3)
				if round == 0 {
					delay = whole
				}
				begun := time.Now()
				ended := make(chan struct{})
				abort := time.AfterFunc(delay, func() { target.Abort(); close(ended) }) // may run together with the other Abort
				err := writeAll(target, name == "directory" || name == "replaced", count)
				stopped := abort.Stop()
				if err == nil {
					whole = time.Since(begun)
				}
				target.Abort() // may meet the other one under way
				if !stopped {
					<-ended
				}
				if (target.mu.state == committed) != (err == nil) {
					t.Fatalf("committed: %v, but the error is %v", (target.mu.state == committed), err)
				}
				outcomes[err == nil]++
				checkOutcome(t, w, spec, before, err == nil, count)
			}
			t.Logf("committed %d times, aborted %d times", outcomes[true], outcomes[false])
		})
	}
}

func writeAll(target *Target, byTask bool, count int) error {
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() {
			make := target.Part
			if byTask {
				make = target.Attempt
			}
			p, err := make(i, 0)
			if err != nil {
				return
			}
			p.Write(partText(i, 3000))
			p.Commit()
		})
	}
	group.Wait()
	return target.Commit()
}

func checkOutcome(t *testing.T, w *kit, spec Spec, before []string, committed bool, count int) {
	t.Helper()
	path := spec.Dir + spec.File
	after := w.list()
	if !committed {
		mustList(t, after, before...)
	}
	if t.Failed() {
		t.FailNow()
	}
	if committed {
		info, err := os.Stat(path)
		must(t, err)
		if info.IsDir() {
			if _, err := os.Stat(path + "/_SUCCESS"); err != nil {
				t.Fatal(err)
			}
		} else if info.Size() != int64(count)*3000 {
			t.Fatalf("%d bytes", info.Size())
		}
	}
	for _, name := range after {
		if len(name) > 0 && name[0] == '.' {
			t.Fatalf("%s is left", name)
		}
	}
	must(t, os.RemoveAll(path))
}

func TestAbortIsIdempotentAndDoesNothingAfterCommit(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{File: w.path("a")}, w.parts(0))
	must(t, target.Abort())
	must(t, target.Abort())
	if err := target.Commit(); err == nil {
		t.Error("committed after an abort")
	}
	if err := target.Start(); err == nil {
		t.Error("started after an abort")
	}
	target = w.begin(Spec{File: w.path("b")}, w.parts(0))
	target.Seal(0)
	must(t, target.Commit())
	must(t, target.Abort())
	mustList(t, w.list(), "b")
}

func TestNothingIsMadeBeforeStart(t *testing.T) {
	w := newKit(t, 1<<20)
	for _, spec := range []Spec{{Dir: w.path("out")}, {File: w.path("result")}} {
		target, err := Open(spec)
		must(t, err)
		if _, err := target.Part(0, 0); err == nil {
			t.Error("a part before Start")
		}
		must(t, target.Abort())
	}
	mustList(t, w.list())
}

func TestWhatAKilledRunLeftBesideTheResultIsRemovedByTheNext(t *testing.T) {
	w := newKit(t, 1<<20)
	w.write(".result.mrlocal-0123456789abcdef", "pending")
	w.write(".result.mrlocal-not-ours", "")
	w.write(".other.mrlocal-0123456789abcdef", "")
	w.write("old/_SUCCESS", "")
	w.write(".old.mrlocal-0123456789abcdef/_temporary/task_r_000000/part-r-00000", "")
	w.write(".old.mrlocal-0123456789abcdef/_temporary/.mrlocal", "")
	w.write(".old.mrlocal-fedcba9876543210/_temporary/.mrlocal", "")
	w.write(".old.mrlocal-fedcba9876543210/diary.txt", "")
	target := w.begin(Spec{File: w.path("result")}, w.parts(0))
	target.Seal(0)
	must(t, target.Commit())
	target = w.begin(Spec{Dir: w.path("old"), Overwrite: true}, w.parts(0))
	target.Seal(0)
	must(t, target.Commit())
	mustList(t, w.list(), ".result.mrlocal-not-ours", ".other.mrlocal-0123456789abcdef", "result", "old", "old/_SUCCESS",
		".old.mrlocal-fedcba9876543210", ".old.mrlocal-fedcba9876543210/_temporary",
		".old.mrlocal-fedcba9876543210/_temporary/.mrlocal", ".old.mrlocal-fedcba9876543210/diary.txt")
}

// TestMissingDirectoriesAboveADirectoryAreMade: Start makes them. Abort removes those that it has made, unless
// something else is in them by then.
func TestMissingDirectoriesAboveADirectoryAreMade(t *testing.T) {
	w := newKit(t, 1<<20)
	must(t, os.Mkdir(w.path("a"), 0o777))
	target := w.begin(Spec{Dir: w.path("a/b/c/out")}, w.parts(0))
	target.Seal(0)
	must(t, target.Commit())
	mustList(t, w.list(), "a", "a/b", "a/b/c", "a/b/c/out", "a/b/c/out/_SUCCESS")
	must(t, os.RemoveAll(w.path("a/b")))

	must(t, w.begin(Spec{Dir: w.path("a/b/c/out")}, w.parts(0)).Abort())
	if left, err := os.ReadDir(w.path("a")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	target = w.begin(Spec{Dir: w.path("a/b/c/out")}, w.parts(0))
	w.write("a/b/other", "")
	must(t, target.Abort())
	mustList(t, w.list(), "a", "a/b", "a/b/other")
}
