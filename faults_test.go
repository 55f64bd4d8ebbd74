//go:build faults

package mrlocal_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/disk"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots/policy/fifo"
	"mrlocal/spill"
)

var (
	sweepWhole = flag.Bool("sweep", false, "let each call fail, not a sample of them")
	sweepNth   = flag.Int64("nth", 0, "let only the `n`-th call fail, to look at one run")
)

// faultJobs are three jobs. Each function makes a new chain, because a Releaser has a state.
func faultJobs(t *testing.T) map[string]func() jobs.Chain {
	chain := func(c jobs.Chain, err error) jobs.Chain {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return map[string]func() jobs.Chain{
		"wordcount": func() jobs.Chain { return chain(wordcount.New(wordcount.Options{})) },
		"sort":      func() jobs.Chain { return chain(sort.New(sort.Options{})) },
		"grep": func() jobs.Chain {
			return chain(grep.New(grep.Options{Patterns: []string{"a"}, Lines: true}))
		},
	}
}

// faultBench is a folder with an input, and places for results and temporary files.
type faultBench struct {
	dir, input, temp, place string
	parts                   bool   // the result is a directory
	kept                    string // Options.ResumeDir; "": none
	chain                   func() jobs.Chain
}

func newFaultBench(t *testing.T, parts bool, chain func() jobs.Chain) *faultBench {
	t.Helper()
	dir := t.TempDir()
	b := &faultBench{dir: dir, input: filepath.Join(dir, "in"), temp: filepath.Join(dir, "temp"), place: filepath.Join(dir, "place"), parts: parts, chain: chain}
	for _, d := range []string{b.input, b.temp, b.place} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for f := range 2 {
		var text bytes.Buffer
		for text.Len() < 200<<10 {
			fmt.Fprintf(&text, "%x %x\n", r.Uint64(), r.Uint32())
		}
		if err := os.WriteFile(filepath.Join(b.input, fmt.Sprint(f)), text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// options returns options with which all but the last sorted run of each map go to disk.
func (b *faultBench) options(place string) mrlocal.Options {
	o := mrlocal.Options{
		JobOptions:  mrlocal.JobOptions{Inputs: []string{b.input}, BlockBytes: 128 << 10, Reducers: 2},
		Policy:      fifo.New(),
		MemoryBytes: 16 << 20, SortBufferBytes: 32 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true, Codec: shuffle.None}, MergeFactor: 3, TempDirs: []string{b.temp},
	}
	o.MapSlots, o.ReduceSlots, o.ResumeDir = 1, 1, b.kept
	if o.OutputFile = filepath.Join(place, "result"); b.parts {
		o.OutputDir, o.OutputFile, o.Overwrite = o.OutputFile, "", true
	}
	return o
}

// run runs the job with the injected fault.
func (b *faultBench) run(t *testing.T, f disk.Fault, watch func(disk.Event)) error {
	t.Helper()
	disk.Inject(f, watch)
	_, err := mrlocal.RunChain(t.Context(), b.chain(), b.options(b.place))
	return err
}

// result returns the result in place; ok is false if there is none.
func (b *faultBench) result(place string) (text []byte, ok bool) {
	path := filepath.Join(place, "result")
	if !b.parts {
		text, err := os.ReadFile(path)
		return text, err == nil
	}
	if _, err := os.Stat(filepath.Join(path, "_SUCCESS")); err != nil {
		return nil, false
	}
	parts, _ := filepath.Glob(filepath.Join(path, "part-*"))
	for _, p := range parts {
		part, err := os.ReadFile(p)
		if err != nil {
			return nil, false
		}
		text = append(text, part...)
	}
	return text, true
}

// left returns the files in temp and place, except the result.
func (b *faultBench) left(t *testing.T) (names []string) {
	t.Helper()
	for _, dir := range []string{b.temp, b.place} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, whole := b.result(b.place); e.Name() != "result" || !whole {
				names = append(names, filepath.Join(filepath.Base(dir), e.Name()))
			}
		}
	}
	return names
}

func openDescriptors() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// settled waits until at most as many goroutines run as before the test.
func settled(before int) bool {
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// Each call of the file system fails, once or from then on. The result is right, or the run fails
// and leaves no files.
func TestEachCallThatFailsLeavesARightResultOrNone(t *testing.T) {
	for name, chain := range faultJobs(t) {
		for _, parts := range []bool{false, true} {
			for op := disk.Open; op <= disk.Mkdir; op++ {
				t.Run(fmt.Sprintf("%s/parts=%v/%v", name, parts, op), func(t *testing.T) {
					b := newFaultBench(t, parts, chain)
					if err := b.run(t, disk.Fault{}, nil); err != nil {
						t.Fatal(err)
					}
					calls, _ := disk.Counts(op)
					want, ok := b.result(b.place)
					if !ok {
						t.Fatal("no result without a fault")
					}
					ran := 0
					for _, n := range sample(calls) {
						for _, once := range []bool{true, false} {
							b.failing(t, disk.Fault{Op: op, N: n, Once: once, Half: n%2 == 0}, want)
							if ran++; t.Failed() {
								t.FailNow()
							}
						}
					}
					t.Logf("%d runs over %d calls", ran, calls)
				})
			}
		}
	}
}

// sample returns the numbers of the calls that fail: all, or a few that are evenly spaced. With -short they are two.
func sample(calls int64) (ns []int64) {
	most := int64(5)
	if testing.Short() {
		most = 2
	}
	switch {
	case *sweepNth > 0:
		return []int64{*sweepNth}
	case *sweepWhole || calls <= most:
		for n := range calls {
			ns = append(ns, n+1)
		}
		return ns
	}
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for i := range most {
		ns = append(ns, 1+i*calls/most+r.Int64N(max(1, calls/most)))
	}
	return ns
}

// failing runs the job with a fault, and then checks the result and the files.
func (b *faultBench) failing(t *testing.T, f disk.Fault, want []byte) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(b.place, "result")); err != nil {
		t.Fatal(err)
	}
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors()
	err := b.run(t, f, nil)
	disk.Inject(disk.Fault{}, nil)
	got, there := b.result(b.place)
	switch {
	case err == nil && !there:
		t.Errorf("%v: success without a result", f)
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%v: success with %d bytes, not the %d right ones", f, len(got), len(want))
	case err != nil && there:
		t.Errorf("%v: a result is there although the run has failed: %v", f, err)
	case err != nil && !isCause(err):
		t.Errorf("%v: the error does not name the cause: %v", f, err)
	}
	left := b.left(t)
	if (f.Op == disk.Unlink || f.Op == disk.Read && !f.Once) && len(left) > 0 { // CleanTemp finds the files that could not be listed or removed
		disk.CleanTemp([]string{b.temp}, false)
		for _, dir := range []string{b.place, filepath.Join(b.place, "result")} {
			_, _ = output.Clean(dir, false, true)
		}
		left = b.left(t)
	}
	if len(left) > 0 {
		t.Errorf("%v: left behind: %q (%v)", f, left, err)
		os.RemoveAll(b.temp)
		os.Mkdir(b.temp, 0o777)
	}
	if !settled(goroutines) {
		buf := make([]byte, 1<<20)
		t.Errorf("%v: goroutines are left:\n%s", f, buf[:runtime.Stack(buf, true)])
	}
	if after := openDescriptors(); after > descriptors {
		t.Errorf("%v: %d descriptors before, %d after", f, descriptors, after)
	}
}

// isCause reports whether an error is due to a fault.
func isCause(err error) bool {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE} {
		if errors.Is(err, cause) || strings.Contains(err.Error(), cause.Error()) {
			return true
		}
	}
	return false
}

// Each call fails, once or from then on, while a run keeps a journal. The result is right or there
// is none. The same command then goes on to the right result, and leaves no files.
func TestAFaultLeavesAJournalThatGoesOn(t *testing.T) {
	for name, chain := range faultJobs(t) {
		if chain()[0].NewReducer == nil || name != "sort" && !*sweepWhole {
			continue // it has no journal, or makes the same calls as another job
		}
		for op := disk.Open; op <= disk.Mkdir; op++ {
			t.Run(fmt.Sprintf("%s/%v", name, op), func(t *testing.T) {
				b := newFaultBench(t, false, chain)
				b.kept = filepath.Join(b.dir, "kept")
				if err := b.run(t, disk.Fault{}, nil); err != nil {
					t.Fatal(err)
				}
				calls, _ := disk.Counts(op)
				want, _ := b.result(b.place)
				ran, restored := 0, int64(0)
				for _, n := range sample(calls) {
					for _, once := range []bool{true, false} {
						restored += b.goesOn(t, disk.Fault{Op: op, N: n, Once: once, Half: n%2 == 0}, want)
						if ran++; t.Failed() {
							t.FailNow()
						}
					}
				}
				t.Logf("%d runs over %d calls; %d maps were not run again", ran, calls, restored)
			})
		}
	}
}

// goesOn runs the job with a fault, checks the result and the files, and runs the job again without
// the fault. It returns how many maps the second run has restored.
func (b *faultBench) goesOn(t *testing.T, f disk.Fault, want []byte) (restored int64) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(b.place, "result")); err != nil {
		t.Fatal(err)
	}
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors()
	err := b.run(t, f, nil)
	got, there := b.result(b.place)
	switch {
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%v: success with %d bytes, not the %d right ones", f, len(got), len(want))
	case err != nil && there:
		t.Errorf("%v: a result is there although the run has failed: %v", f, err)
	case err != nil && !isCause(err):
		t.Errorf("%v: the error does not name the cause: %v", f, err)
	}
	disk.Inject(disk.Fault{}, nil)
	report, again := mrlocal.RunChain(t.Context(), b.chain(), b.options(b.place))
	if again != nil {
		t.Errorf("%v: %v; the next run: %v", f, err, again)
		return 0
	}
	if got, _ := b.result(b.place); !bytes.Equal(got, want) {
		t.Errorf("%v: %v; the next run has %d bytes, not the %d right ones", f, err, len(got), len(want))
	}
	for _, j := range report.Jobs {
		restored += j.Counters.ResumedMaps
	}
	left := b.left(t)
	// The directory above stays, empty, if its removal fails.
	if entries, err := os.ReadDir(b.kept); err == nil && (f.Op != disk.Unlink || len(entries) > 0) {
		left = append(left, fmt.Sprintf("kept with %d files", len(entries)))
	}
	if len(left) > 0 {
		t.Errorf("%v: left behind: %q (%v)", f, left, err)
	}
	if !settled(goroutines) {
		t.Errorf("%v: goroutines are left", f)
	}
	if after := openDescriptors(); after > descriptors {
		t.Errorf("%v: %d descriptors before, %d after", f, descriptors, after)
	}
	return restored
}

// After a power cut there is the whole result or none, whatever share of the data without a sync is
// on the disk. The same command then succeeds.
func TestAPowerCutLeavesTheWholeResultOrNone(t *testing.T) {
	for name, chain := range faultJobs(t) {
		for _, parts := range []bool{false, true} {
			for _, replaces := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/parts=%v/replaces=%v", name, parts, replaces), func(t *testing.T) {
					b := newFaultBench(t, parts, chain)
					old := []byte("old\n")
					switch path := filepath.Join(b.place, "result"); {
					case replaces && parts:
						os.Mkdir(path, 0o777)
						os.WriteFile(filepath.Join(path, "_SUCCESS"), nil, 0o666)
						os.WriteFile(filepath.Join(path, "part-r-00000"), old, 0o666)
					case replaces:
						os.WriteFile(path, old, 0o666)
					}
					c := &crashes{b: b, synced: map[uint64]int64{}, into: t.TempDir()}
					c.existing(t)
					err := b.run(t, disk.Fault{}, c.after)
					disk.Inject(disk.Fault{}, nil)
					if err := errors.Join(err, c.err); err != nil {
						t.Fatal(err)
					}
					want, _ := b.result(b.place)
					for i, place := range c.copies {
						got, there := b.result(place)
						if there && !bytes.Equal(got, want) && !(replaces && bytes.Equal(got, old)) {
							t.Errorf("%s: %d bytes, not the %d right ones", c.events[i], len(got), len(want))
						}
						if replaces && !there {
							t.Errorf("%s: what was replaced is gone", c.events[i])
						}
						if !*sweepWhole && rand.IntN(4) > 0 {
							continue
						}
						b.place = place
						if err := b.run(t, disk.Fault{}, nil); err != nil {
							t.Errorf("%s: the next run: %v", c.events[i], err)
						}
						if got, _ := b.result(place); !bytes.Equal(got, want) {
							t.Errorf("%s: the next run has a wrong result", c.events[i])
						}
					}
					t.Logf("%d power cuts", len(c.copies))
				})
			}
		}
	}
}

// crashes copies a place as power cuts would leave it. All names are there. Of the data all synced
// bytes are there, and a share of the rest.
type crashes struct {
	b      *faultBench
	synced map[uint64]int64 // bytes by inode
	into   string
	copies []string
	events []string
	err    error
}

// existing notes all files that exist as synced.
func (c *crashes) existing(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(c.b.place, func(path string, d fs.DirEntry, err error) error {
		if info, err := os.Stat(path); err == nil {
			c.synced[inode(info)] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// after is called after each sync and rename.
func (c *crashes) after(e disk.Event) {
	if e.Op == disk.Sync {
		if info, err := e.File.Stat(); err == nil && info.Mode().IsRegular() {
			c.synced[inode(info)] = info.Size()
		}
	}
	for _, percent := range []int64{0, 50, 100} {
		to := filepath.Join(c.into, fmt.Sprint(len(c.copies)))
		c.err = errors.Join(c.err, c.copy(to, percent))
		c.copies = append(c.copies, to)
		c.events = append(c.events, fmt.Sprintf("%v of %s, %d %% of what is not synced", e.Op, filepath.Base(e.Path), percent))
	}
}

// copy copies the place, with a share of the bytes of each file that are not synced.
func (c *crashes) copy(to string, percent int64) error {
	return filepath.WalkDir(c.b.place, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(c.b.place, path)
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, rel), 0o777)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		synced := min(c.synced[inode(info)], int64(len(data)))
		keep := synced + (int64(len(data))-synced)*percent/100
		return os.WriteFile(filepath.Join(to, rel), slices.Clip(data[:keep]), 0o666)
	})
}
