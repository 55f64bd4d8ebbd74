package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/shuffle"
	stat "mrlocal/shuffle/record"
	"mrlocal/slots/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plan returns the plan of a file of 64 splits, and the description of the run for its journal.
func plan(t *testing.T) (*input.Plan, Run) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte(strings.Repeat("x\n", 32<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := input.NewPlan([]string{path}, input.Options{BlockBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := sort.New(sort.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, Run{Job: &chain[0]}
}

func open(t *testing.T, dir string, p *input.Plan, r Run) *Journal {
	t.Helper()
	j, err := Open(dir, p, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(false) })
	return j
}

// outputs returns the maps of which the journal has an output.
func outputs(j *Journal, parts int) map[int]bool {
	found := map[int]bool{}
	for task := range j.Outputs(parts, func(string) {}) {
		found[task] = true
	}
	return found
}

func TestMapsThatCommitAtOnceAreAllFoundAgain(t *testing.T) {
	p, r := plan(t)
	dir := filepath.Join(t.TempDir(), "kept")
	j := open(t, dir, p, r)
	if j.Division() != nil {
		t.Error("a new journal has a division")
	}
	want := Division{Parts: 3, Spread: 7, Cuts: [][]byte{[]byte("a"), {0xff, 0}}}
	if err := j.Begin(want); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for task := range 64 {
		group.Go(func() {
			out := shuffle.Stored{Parts: make([]stat.PartStat, 3)} // without a record, and so without a file
			if err := j.Commit(task, out, &report.Counters{MapInputRecords: int64(task)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := j.Close(false); err != nil {
		t.Fatal(err)
	}
	if err := j.Commit(1, shuffle.Stored{}, &report.Counters{}); err == nil {
		t.Error("a closed journal takes a record")
	}
	j = open(t, dir, p, r)
	if d := j.Division(); d == nil || fmt.Sprint(*d) != fmt.Sprint(want) {
		t.Errorf("division %+v, want %+v", d, want)
	}
	found := j.Outputs(3, func(string) {})
	for task := range 64 {
		if o := found[task]; o == nil || o.Counters.MapInputRecords != int64(task) || o.Counters.ResumedMaps != 1 {
			t.Errorf("map %d: %+v", task, o)
		}
	}
	if err := j.Close(true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	p, r := plan(t)
	dir := t.TempDir()
	open(t, dir, p, r)
	if j, err := Open(dir, p, r); !errs.IsUsage(err) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("%v, %v", j, err)
	}
}

// A journal that is cut or changed anywhere behind its head gives the records before the place.
func TestADamagedRecordEndsTheJournal(t *testing.T) {
	p, r := plan(t)
	dir := t.TempDir()
	j := open(t, dir, p, r)
	if err := j.Begin(Division{Parts: 1}); err != nil {
		t.Fatal(err)
	}
	head := j.bytes
	var ends []int64
	for task := range 5 {
		if err := j.Commit(task, shuffle.Stored{Parts: make([]stat.PartStat, 1)}, &report.Counters{}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, j.bytes)
	}
	path := filepath.Join(j.kept.Path, "journal")
	j.Close(false)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range testkit.Rounds(300) {
		at := head + rng.Int64N(int64(len(whole))-head)
		text := append([]byte(nil), whole...)
		if i%3 == 0 {
			text = text[:at]
		} else {
			text[at] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir, p, r)
		want := 0
		for ; want < len(ends) && ends[want] <= at; want++ {
		}
		if found := outputs(j, 1); len(found) != want {
			t.Fatalf("damaged at %d: %v, want the first %d", at, found, want)
		}
		if err := j.Commit(63, shuffle.Stored{Parts: make([]stat.PartStat, 1)}, &report.Counters{}); err != nil {
			t.Fatal(err)
		}
		j.Close(false)
		j = open(t, dir, p, r)
		if found := outputs(j, 1); len(found) != want+1 || !found[63] {
			t.Fatalf("damaged at %d, and written to: %v, want the first %d and 63", at, found, want)
		}
		j.Close(false)
	}
}

func TestFilesThatNoRecordNamesAreRemoved(t *testing.T) {
	p, r := plan(t)
	dir := t.TempDir()
	j := open(t, dir, p, r)
	if err := j.Begin(Division{Parts: 1}); err != nil {
		t.Fatal(err)
	}
	f, err := j.Create()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	j.Close(false)
	open(t, dir, p, r)
	if _, err := os.Stat(f.Name()); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}

func TestNoRecordFollowsAWriteThatHasFailed(t *testing.T) {
	p, r := plan(t)
	j := open(t, t.TempDir(), p, r)
	if err := j.Begin(Division{Parts: 1}); err != nil {
		t.Fatal(err)
	}
	whole := j.file
	j.file, _ = disk.OpenRead(whole.Name()) // may not be written
	for range 2 {
		if err := j.Commit(0, shuffle.Stored{}, &report.Counters{}); err == nil || !strings.Contains(err.Error(), "resume directory") {
			t.Errorf("error %v", err)
		}
		j.file.Close()
		j.file = whole // it can be written again, but a failed write may have left bytes in it
	}
}

func TestAJobWithoutReducesIsRefused(t *testing.T) {
	p, r := plan(t)
	r.Job = &jobs.Job{Name: "lines"}
	if _, err := Open(t.TempDir(), p, r); !errs.IsUsage(err) || !strings.Contains(err.Error(), "lines has no reduces") {
		t.Errorf("error %v", err)
	}
}

func TestAnInputThatChangedUnderItsOldTimeIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no ctime here")
	}
	p, r := plan(t)
	dir := t.TempDir()
	j := open(t, dir, p, r)
	if err := j.Begin(Division{Parts: 1}); err != nil {
		t.Fatal(err)
	}
	j.Close(false)
	path := p.Files[0].Path
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("y"), 6000) // between the places of the sample
	if err := errors.Join(err, f.Close(), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	now, err := input.NewPlan([]string{path}, input.Options{BlockBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Open(dir, now, r); err == nil || !strings.Contains(err.Error(), "was changed or replaced since") {
		t.Errorf("Open: %v", err)
	}
}

// If an output is missing, its sync fails, and the next Commit fails too.
func TestAnOutputIsSyncedWhenItsTimeHasCome(t *testing.T) {
	for _, c := range []struct {
		name string
		wait time.Duration
		want bool
	}{{"at once", 0, true}, {"after a day", 24 * time.Hour, false}} {
		t.Run(c.name, func(t *testing.T) {
			p, r := plan(t)
			j := open(t, t.TempDir(), p, r)
			j.wait = c.wait
			if err := j.Begin(Division{Parts: 1}); err != nil {
				t.Fatal(err)
			}
			missing := shuffle.Stored{Path: filepath.Join(j.kept.Path, "map-missing"), Parts: make([]stat.PartStat, 1)}
			failed := false
			for task := 0; task < 40 && !failed; task++ {
				failed = j.Commit(task, missing, &report.Counters{}) != nil
				time.Sleep(5 * time.Millisecond)
			}
			if failed != c.want {
				t.Errorf("a commit has failed: %t, want %t", failed, c.want)
			}
		})
	}
}
