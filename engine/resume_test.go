package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/sort"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// stopper cancels a run at its n-th map attempt. It wraps the mappers of a chain.
type stopper struct {
	maps   atomic.Int64
	at     int64
	cancel context.CancelCauseFunc
}

var errStop = errors.New("stop")

func (s *stopper) wrap(chain jobs.Chain) jobs.Chain {
	newMapper := chain[0].NewMapper
	chain[0].NewMapper = func() jobs.Mapper { return stoppedMapper{newMapper(), s} }
	return chain
}

type stoppedMapper struct {
	jobs.Mapper
	s *stopper
}

func (m stoppedMapper) Begin(a jobs.OwnAttempt) {
	// A sample calls Begin too. It has no one to show a status to.
	if a.Status != nil && m.s.maps.Add(1) == m.s.at {
		m.s.cancel(errStop)
	}
	if user, ok := m.Mapper.(jobs.Attempter); ok {
		user.Begin(a)
	}
}

func (m stoppedMapper) Flush(out jobs.Emitter) error {
	if user, ok := m.Mapper.(jobs.Flusher); ok {
		return user.Flush(out)
	}
	return nil
}

// resumable is a run that a test stops and then resumes.
type resumable struct {
	t     *testing.T
	chain func() jobs.Chain
	o     engine.Options
}

func newResumable(t *testing.T, chain func() jobs.Chain, inputs ...string) *resumable {
	return &resumable{t, chain, engine.Options{
		JobOptions: engine.JobOptions{Inputs: inputs, BlockBytes: 32 << 10, Reducers: 3}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 16 << 20,
		TempDirs: []string{t.TempDir()}, ResumeDir: filepath.Join(t.TempDir(), "kept"), ResumeSettings: []string{"the job=x", "the version=1"},
	}}
}

// stop runs until map attempt n begins. It returns the bytes of the result, which are few or none.
func (r *resumable) stop(n int64) {
	r.t.Helper()
	ctx, cancel := context.WithCancelCause(r.t.Context())
	s := &stopper{at: n, cancel: cancel}
	o := r.o
	o.Stdout = &bytes.Buffer{}
	if _, err := engine.RunChain(ctx, s.wrap(r.chain()), o); !errors.Is(err, errStop) {
		r.t.Fatalf("error %v, want the cause", err)
	}
}

// journal returns the path of the journal.
func (r *resumable) journal() string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.o.ResumeDir, "*", "journal"))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("journals %v, %v", found, err)
	}
	return found[0]
}

// goOn runs to the end, compares the result, and returns the report.
func (r *resumable) goOn(want []byte) *engine.Report {
	r.t.Helper()
	got, report := must(r.t, r.chain(), r.o)
	if !bytes.Equal(want, got) {
		r.t.Errorf("differs from the reference: %d bytes, want %d", len(got), len(want))
	}
	if _, err := os.Stat(r.o.ResumeDir); !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("%s is left: %v", r.o.ResumeDir, err)
	}
	return report
}

func TestARunGoesOnAndMapsNothingAgain(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	files := []jobtest.File{{Path: "a", Data: text(71, 900_000)}, {Path: "b", Data: text(72, 100_000)}}
	writeFiles(t, files)
	for name, chain := range chains(t) {
		if chain()[0].NewReducer == nil {
			continue
		}
		want, err := jobtest.Reference(chain(), files)
		if err != nil {
			t.Fatal(err)
		}
		for _, slow := range []bool{false, true}[2-testkit.Rounds(2):] {
			t.Run(name, func(t *testing.T) {
				r := newResumable(t, chain, files[0].Path, files[1].Path)
				whole, _ := must(t, chain(), r.o)
				if !bytes.Equal(want, whole) {
					t.Fatal("differs from the reference without a stop")
				}
				if slow { // slots and policy may differ: map outputs do not depend on them
					r.o.Policy = newPolicy(t, "fair")
				}
				r.stop(9)
				r.stop(5)
				r.o.Config.MapSlots, r.o.MemoryBytes = 2, 32<<20
				r.o.Faults = []setup.Fault{{Tracker: -1, Task: 1, Fail: 1}}
				report := r.goOn(want)
				if note := "faults: map task 1 is restored, so it fails only if it has to run again"; !slices.Contains(report.Notes, note) {
					t.Errorf("notes %q, want %q", report.Notes, note)
				}
				c := report.Jobs[0].Counters
				if done := c.ResumedMaps; done < 8 || c.LaunchedMaps+done != int64(report.Jobs[0].Maps) {
					t.Errorf("%d maps were done, %d were launched, of %d", done, c.LaunchedMaps, report.Jobs[0].Maps)
				}
				if c.MapInputBytes != 1_000_000 && c.MapInputBytes != int64(len(files[0].Data)+len(files[1].Data)) {
					t.Errorf("%d bytes were mapped", c.MapInputBytes)
				}
			})
		}
	}
}

func TestADamagedOutputRunsItsMapAgain(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(73, 600_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	want, err := jobtest.Reference(chain(), files)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(path string) error{
		"a block": func(path string) error {
			return change(path, 200)
		},
		"the footer": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return change(path, info.Size()-20)
		},
		"cut short": func(path string) error { return os.Truncate(path, 100) },
		"gone":      os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			r := newResumable(t, chain, files[0].Path)
			r.o.Attempts = 1 // a damaged output is not a failure of the map
			r.stop(8)
			outputs, err := filepath.Glob(filepath.Join(filepath.Dir(r.journal()), "map-*"))
			if err != nil || len(outputs) < 3 {
				t.Fatalf("outputs %v, %v", outputs, err)
			}
			if err := damage(outputs[1]); err != nil {
				t.Fatal(err)
			}
			var notes []string
			r.o.Note = func(s string) { notes = append(notes, s) }
			report := r.goOn(want)
			if c := report.Jobs[0].Counters; c.LaunchedMaps+c.ResumedMaps != int64(report.Jobs[0].Maps) || c.ResumedMaps < 5 {
				t.Errorf("%d maps were done, %d were launched, of %d", c.ResumedMaps, c.LaunchedMaps, report.Jobs[0].Maps)
			}
			if all := strings.Join(notes, "\n"); !strings.Contains(all, "runs again") {
				t.Errorf("notes:\n%s", all)
			}
		})
	}
}

// change flips bits of the byte at an offset.
func change(path string, at int64) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[at] ^= 0x15
	return os.WriteFile(path, data, 0o600)
}

func TestWhatDoesNotFitAJournalIsRefused(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(74, 300_000)}, {Path: "b", Data: text(75, 300_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	want, err := jobtest.Reference(chain(), files)
	if err != nil {
		t.Fatal(err)
	}
	r := newResumable(t, chain, files[0].Path, files[1].Path)
	r.stop(6)
	refused := func(what string, o engine.Options) {
		t.Helper()
		report, err := engine.RunChain(t.Context(), chain(), o)
		if !errs.IsUsage(err) || report != nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	for what, f := range map[string]func(o *engine.Options){
		"Options.Reducers was 3 and is 4":                         func(o *engine.Options) { o.Reducers = 4 },
		"Options.BlockBytes was 32768 and is 16384":               func(o *engine.Options) { o.BlockBytes = 16 << 10 },
		"the version was 1 and is 2":                              func(o *engine.Options) { o.ResumeSettings = []string{"the job=x", "the version=2"} },
		"the job was x and is y":                                  func(o *engine.Options) { o.ResumeSettings = []string{"the job=y", "the version=1"} },
		"-k was not given and is 2 3":                             func(o *engine.Options) { o.ResumeSettings = append(o.ResumeSettings, "-k=2", "-k=3") },
		`Options.ResumeSettings: "x": not of the form name=value`: func(o *engine.Options) { o.ResumeSettings = append(o.ResumeSettings, "x") },
		"Options.NoDecode was not given and is given":             func(o *engine.Options) { o.NoDecode = true },
		"Options.Codec was auto and is zstd":                      func(o *engine.Options) { o.Codec = 3 },
		"2 input files and has 1":                                 func(o *engine.Options) { o.Inputs = o.Inputs[:1] },
		"stands where":                                            func(o *engine.Options) { o.Inputs = []string{o.Inputs[1], o.Inputs[0]} },
		"Options.OutputDir was not given and is given":            func(o *engine.Options) { o.OutputDir = filepath.Join(t.TempDir(), "out") },
	} {
		o := r.o
		o.ResumeSettings = o.ResumeSettings[:2:2]
		f(&o)
		refused(what, o)
	}
	info, err := os.Stat(files[1].Path)
	if err != nil {
		t.Fatal(err)
	}
	past := info.ModTime()
	// The files are renamed and back. Writing them again would change their ctime.
	dir := filepath.Dir(files[1].Path)
	if err := errors.Join(os.Rename(dir, dir+".was"), os.Mkdir(dir, 0o700), os.Symlink(filepath.Join(dir+".was", filepath.Base(files[0].Path)), files[0].Path)); err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(files[1].Data)
	other[6000] ^= 1
	// The same length, time and sample.
	if err := errors.Join(os.WriteFile(files[1].Path, other, 0o600), os.Chtimes(files[1].Path, past, past)); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		refused(files[1].Path+": it was changed or replaced since", r.o)
	}
	// The same length and the same time, other bytes: the sample shows it.
	if err := errors.Join(change(files[1].Path, 0), os.Chtimes(files[1].Path, past, past)); err != nil {
		t.Fatal(err)
	}
	refused(files[1].Path+": its bytes have changed", r.o)
	if err := errors.Join(change(files[1].Path, 0), os.Chtimes(files[1].Path, past, past.Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	refused(files[1].Path+": it was written to since", r.o)
	if err := os.WriteFile(files[1].Path, append(files[1].Data, 'x'), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(files[1].Path+": it had", r.o)
	if err := errors.Join(os.RemoveAll(dir), os.Rename(dir+".was", dir)); err != nil {
		t.Fatal(err)
	}
	if c := r.goOn(want).Jobs[0].Counters; c.ResumedMaps < 5 { // the refusals have left it as it was
		t.Errorf("%d maps were done", c.ResumedMaps)
	}
}

func TestJobsThatCannotGoOnAreRefusedByName(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(76, 100_000)}})
	lines := build(t, grep.New, grep.Options{Patterns: []string{"slot"}, Lines: true})
	sorting := build(t, sort.New, sort.Options{})
	for what, run := range map[string]func(o engine.Options) error{
		"grep has no reduces here": func(o engine.Options) error {
			_, err := engine.RunChain(t.Context(), lines, o)
			return err
		},
		"(standard input): is read as a stream": func(o engine.Options) error {
			o.Inputs, o.Stdin = []string{"-"}, strings.NewReader("a\n")
			_, err := engine.RunChain(t.Context(), sorting, o)
			return err
		},
		"a batch cannot go on": func(o engine.Options) error {
			_, err := engine.RunBatch(t.Context(), []engine.BatchJob{{Chain: sorting, JobOptions: o.JobOptions}}, o)
			return err
		},
		"lies in the input directory": func(o engine.Options) error {
			o.ResumeDir = filepath.Join(in, "kept")
			_, err := engine.RunChain(t.Context(), sorting, o)
			return err
		},
	} {
		dir := t.TempDir()
		if err := run(engine.Options{JobOptions: engine.JobOptions{Inputs: []string{in}}, ResumeDir: filepath.Join(dir, "kept")}); !errs.IsUsage(err) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
		empty(t, dir)
	}
	if entries, err := os.ReadDir(in); err != nil || len(entries) != 1 {
		t.Errorf("left in the input: %v, %v", entries, err)
	}
}

func TestAJournalIsReadUpToATornRecord(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(77, 500_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	want, err := jobtest.Reference(chain(), files)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 6 {
		r := newResumable(t, chain, files[0].Path)
		r.stop(8)
		path := r.journal()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		head := len(bytes.Join(lines[:4], nil))
		cut := head + rng.IntN(len(data)-head)
		torn := append(data[:cut:cut], "torn"...)
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := bytes.Count(data[head:cut], []byte("\n"))
		r.stop(3) // its records follow the whole ones
		c := r.goOn(want).Jobs[0].Counters
		if c.ResumedMaps < int64(whole)+2 {
			t.Errorf("cut at %d of %d: %d maps were done, want %d", cut, len(data), c.ResumedMaps, whole+2)
		}
	}
}

func TestADamagedOrForeignJournalIsRefused(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(78, 300_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	r := newResumable(t, chain, files[0].Path)
	r.stop(4)
	path := r.journal()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"has format 4":             line(`{"mrlocal_journal":4}`),
		"is damaged":               "",
		"or is not one of mrlocal": "some notes\n",
		"its journal is damaged":   "0" + string(data),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.RunChain(t.Context(), chain(), r.o); !errs.IsUsage(err) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	for at := range 400 { // any bit of the head
		if at >= len(data) {
			break
		}
		if at%4 >= testkit.Rounds(4) {
			continue
		}
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		if bytes.Count(damaged[:at+1], []byte("\n")) > 3 {
			break
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.RunChain(t.Context(), chain(), r.o); !errs.IsUsage(err) {
			t.Fatalf("byte %d: error %v", at, err)
		}
	}
}

// line makes a line of a journal.
func line(text string) string {
	return fmt.Sprintf("%08x %s\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)), text)
}

// Copies of slow attempts, a lost tracker and injected failures change neither the result
// nor what a run that goes on finds.
func TestARunGoesOnWhateverWentWrong(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	files := []jobtest.File{{Path: "a", Data: text(79, 500_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	want, err := jobtest.Reference(chain(), files)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		r := newResumable(t, chain, files[0].Path)
		r.o.Config = setup.Config{Trackers: 3, MapSlots: 2, ReduceSlots: 1, Slow: []setup.Slow{{Tracker: 2, Factor: slots.One / 10}}, Faults: []setup.Fault{{Tracker: 1, At: 5 * time.Millisecond}, {Tracker: -1, Fail: 1}}}
		r.o.MemoryBytes = 18 * engine.LeastBytesPerSlot
		r.o.Policy = newCopier(time.Millisecond)
		r.stop(12)
		r.goOn(want)
	}
}
