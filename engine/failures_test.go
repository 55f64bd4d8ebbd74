package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/sort"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// failing returns a job that calls mapper and reducer.
func failing(mapper func(b jobs.Block, out jobs.Emitter) error, reducer func() error) jobs.Chain {
	return jobs.Chain{{
		Name:       "failing",
		NewMapper:  func() jobs.Mapper { return mapFunc(mapper) },
		NewReducer: func() jobs.Reducer { return reduceFunc(reducer) },
	}}
}

type mapFunc func(b jobs.Block, out jobs.Emitter) error

func (f mapFunc) Map(b jobs.Block, out jobs.Emitter) error { return f(b, out) }

type reduceFunc func() error

func (f reduceFunc) Reduce(key []byte, _ *jobs.Values, out jobs.Emitter) error {
	out.Emit(key, nil)
	return f()
}

func emitLines(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line, nil)
	}
	return nil
}

// Only panics have a stack.
func TestAUsersFailureIsTriedAsOftenAsGivenAndLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	var tries atomic.Int64
	for name, chain := range map[string]jobs.Chain{
		"a mapper that panics":  failing(func(jobs.Block, jobs.Emitter) error { tries.Add(1); panic("boom") }, nil),
		"a mapper's error":      failing(func(jobs.Block, jobs.Emitter) error { tries.Add(1); return boom }, nil),
		"a reducer that panics": failing(emitLines, func() error { tries.Add(1); panic("boom") }),
		"a reducer's error":     failing(emitLines, func() error { tries.Add(1); return boom }),
	} {
		t.Run(name, func(t *testing.T) {
			tries.Store(0)
			in, temp, out := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("one\n")}}), t.TempDir(), t.TempDir()
			var stderr bytes.Buffer
			report, err := engine.RunChain(t.Context(), chain, engine.Options{
				JobOptions: engine.JobOptions{Inputs: []string{in}, OutputDir: filepath.Join(out, "result")}, TempDirs: []string{temp}, Stderr: &stderr, Config: setup.Config{Attempts: 4},
			})
			if err == nil || errs.IsUsage(err) || !strings.Contains(err.Error(), "boom") {
				t.Errorf("error %v, want the mapper's or the reducer's", err)
			}
			if tries.Load() != 4 {
				t.Errorf("%d attempts, want 4", tries.Load())
			}
			if c := report.Jobs[0].Counters; c.FailedMaps+c.FailedReduces != 4 {
				t.Errorf("report counts %d failed attempts", c.FailedMaps+c.FailedReduces)
			}
			want := 0
			if strings.Contains(name, "panics") {
				want = 4
			}
			if strings.Count(stderr.String(), "\n    goroutine ") != want || strings.Count(stderr.String(), "failed: ") != want {
				t.Errorf("%d indented stacks are wanted, one for each attempt:\n%s", want, stderr.String())
			}
			empty(t, temp)
			empty(t, out)
		})
	}
}

// The first file's map fails once, and its retry succeeds. Only then does the second one fail four
// times.
func TestAFailedJobNamesTheTaskThatFailedTooOften(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("once\n")}, {Path: "b", Data: []byte("always\n")}})
	var tries atomic.Int64
	chain := failing(func(b jobs.Block, out jobs.Emitter) error {
		if err := emitLines(b, out); string(b.Data) != "once\n" || tries.Add(1) == 1 {
			return errors.Join(err, errors.New(strings.TrimSpace(string(b.Data))))
		}
		return nil
	}, func() error { return nil })
	_, err := engine.RunChain(t.Context(), chain, engine.Options{
		Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, JobOptions: engine.JobOptions{Inputs: []string{in}, BlockBytes: 1, Stdout: io.Discard}, Stderr: io.Discard,
	})
	if tries.Load() != 2 || err == nil || !strings.HasSuffix(err.Error(), ": always") {
		t.Errorf("error %v after %d attempts of the first map, want that of the second map", err, tries.Load())
	}
}

func TestTheTextOfAPanicStaysOnOneLine(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("one\n")}})
	chain := failing(func(jobs.Block, jobs.Emitter) error { panic("first\nsecond\x1b[31m\r\xff") }, nil)
	var stderr bytes.Buffer
	_, err := engine.RunChain(t.Context(), chain, engine.Options{
		JobOptions: engine.JobOptions{Inputs: []string{in}}, TempDirs: []string{t.TempDir()}, Stderr: &stderr,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for line := range strings.Lines(stderr.String()) {
		own, want := strings.HasPrefix(line, "mrlocal: "), `first\nsecond\x1b[31m\r\xff`+"\n"
		if own && !strings.HasSuffix(line, want) || !own && (!strings.HasPrefix(line, "    ") || strings.ContainsAny(line, "\x1b\r")) {
			t.Errorf("a line is %q, and messages should end with %q", line, want)
		}
	}
}

func TestAnAttemptThatFailsOnceIsMadeGood(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("b\na\n")}})
	var tries atomic.Int64
	chain := failing(emitLines, func() error {
		if tries.Add(1) == 2 {
			return errors.New("only once")
		}
		return nil
	})
	got, report := must(t, chain, engine.Options{JobOptions: engine.JobOptions{Inputs: []string{in}}})
	if string(got) != "a\nb\n" {
		t.Errorf("output %q", got)
	}
	if report.Jobs[0].Counters.FailedReduces != 1 {
		t.Errorf("%d failed reduces, want 1", report.Jobs[0].Counters.FailedReduces)
	}
}

func TestCancellingEndsARunSoonAndLeavesNothing(t *testing.T) {
	in, temp, out := writeFiles(t, []jobtest.File{{Path: "a", Data: text(51, 4_000_000)}}), t.TempDir(), t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	chain := failing(func(b jobs.Block, out jobs.Emitter) error {
		cancel(stop)
		return emitLines(b, out)
	}, func() error { return nil })
	begun := time.Now()
	_, err := engine.RunChain(ctx, chain, engine.Options{
		JobOptions: engine.JobOptions{Inputs: []string{in}, OutputDir: filepath.Join(out, "result")}, TempDirs: []string{temp}, SortBufferBytes: 16 << 10, MemoryBytes: 16 << 20, Config: setup.Config{MapSlots: 1, ReduceSlots: 1},
	})
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want the cause", err)
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	empty(t, temp)
	empty(t, out)
}

// TestUserCodeThatEmitsForEverEndsWithItsRun: an attempt that is killed stops inside Emit. The
// deferred calls of the mapper or reducer run, so its thread does not go on behind the run.
func TestUserCodeThatEmitsForEverEndsWithItsRun(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("a b\n")}})
	list := func() jobs.Reducer {
		return jobs.ReducerFunc(func(_ []byte, vs *jobs.Values, _ jobs.Emitter) error {
			for vs.Next() {
			}
			return nil
		})
	}
	spans := []jobs.Span{{Off: 0, Len: 1}}
	for name, c := range map[string]struct {
		reducer func() jobs.Reducer
		emit    func(b jobs.Block, out jobs.Emitter)
	}{
		"a sum":        {func() jobs.Reducer { return jobs.NewSum() }, func(_ jobs.Block, out jobs.Emitter) { out.Emit([]byte("x"), jobs.AppendUint64(nil, 1)) }},
		"a list":       {list, func(_ jobs.Block, out jobs.Emitter) { out.Emit([]byte("x"), nil) }},
		"blocks taken": {list, func(b jobs.Block, out jobs.Emitter) { out.(jobs.Taker).Take(b, spans) }},
		"spans summed": {func() jobs.Reducer { return jobs.NewSum() }, func(b jobs.Block, out jobs.Emitter) { jobs.EmitSpans(out, b.Data, spans, jobs.AppendUint64(nil, 1)) }},
		"map-only":     {nil, func(_ jobs.Block, out jobs.Emitter) { out.Emit([]byte("x"), nil) }},
		"a reducer": {func() jobs.Reducer {
			return jobs.ReducerFunc(func(_ []byte, _ *jobs.Values, out jobs.Emitter) error {
				for {
					out.Emit([]byte("x"), nil)
				}
			})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// The run ends while the endless code runs. A limit of time could end it before.
			begins := func() { time.AfterFunc(100*time.Millisecond, cancel) }
			ended := make(chan struct{}, 9)
			job := jobs.Job{Name: "endless", NewReducer: c.reducer, NewMapper: func() jobs.Mapper {
				return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
					defer func() { ended <- struct{}{} }()
					if c.emit == nil {
						out.Emit([]byte("x"), nil)
						return nil
					}
					for begins(); ; {
						c.emit(b, out)
					}
				})
			}}
			if c.emit == nil {
				reducer := c.reducer
				job.NewReducer = func() jobs.Reducer {
					r := reducer()
					return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
						defer func() { ended <- struct{}{} }()
						begins()
						return r.Reduce(key, vs, out)
					})
				}
			}
			_, err := engine.RunChain(ctx, jobs.Chain{job}, engine.Options{
				JobOptions:  engine.JobOptions{Inputs: []string{in}, OutputFile: filepath.Join(t.TempDir(), "out")},
				MemoryBytes: 64 << 20, // a sort of a full buffer does not look for the end of the run
			})
			if !errors.Is(err, errs.Interrupted) {
				t.Errorf("error %v", err)
			}
			for range map[bool]int{true: 2, false: 1}[c.emit == nil] { // the mapper of a reducer's input ends by itself
				select {
				case <-ended:
				case <-time.After(5 * time.Second):
					t.Fatal("the code goes on")
				}
			}
		})
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
	}
}

func TestALostMapOutputRunsItsMapAgain(t *testing.T) {
	in, temp := writeFiles(t, []jobtest.File{{Path: "a", Data: text(61, 6_000_000)}}), t.TempDir()
	chain := build(t, sort.New, sort.Options{})
	want, err := jobtest.Reference(chain, []jobtest.File{{Path: "a", Data: text(61, 6_000_000)}})
	if err != nil {
		t.Fatal(err)
	}
	var once atomic.Bool
	reducer := chain[0].NewReducer
	chain[0].NewReducer = func() jobs.Reducer {
		if once.CompareAndSwap(false, true) {
			corrupt(t, temp)
		}
		return reducer()
	}
	o := engine.Options{
		JobOptions: engine.JobOptions{Inputs: []string{in}, BlockBytes: 1 << 20, Reducers: 3}, TempDirs: []string{temp}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, SortBufferBytes: 256 << 10,
		KVBuffer: spill.KVBuffer{NoGrowth: true}, MemoryBytes: 16 << 20,
	}
	got, report := must(t, chain, o)
	if !bytes.Equal(want, got) {
		t.Errorf("output differs from the reference: %d bytes, want %d", len(got), len(want))
	}
	if c := report.Jobs[0].Counters; c.LaunchedMaps <= int64(report.Jobs[0].Maps) {
		t.Errorf("%d maps launched for %d map tasks: none ran again", c.LaunchedMaps, report.Jobs[0].Maps)
	} else if c.MapInputBytes != 6_000_000 || c.ReduceInputRecords != c.MapOutputRecords {
		t.Errorf("what was lost counts too: %+v", c)
	}
	once.Store(false)
	o.Attempts = 1
	var out bytes.Buffer
	o.Stdout = &out
	if _, err := engine.RunChain(t.Context(), chain, o); err == nil || !strings.Contains(err.Error(), "sort m-") || out.Len() > 0 {
		t.Errorf("with one attempt a map: error %v, %d bytes", err, out.Len())
	}
}

// corrupt flips a byte in the middle of every file below dir.
func corrupt(t *testing.T, dir string) {
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || info.Size() < 1024 {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		var b [1]byte
		f.ReadAt(b[:], info.Size()/2)
		b[0] ^= 0x40
		_, err = f.WriteAt(b[:], info.Size()/2)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// User code that hangs on a lost tracker delays the end of the run by stopWithin at most. This holds
// whether the job goes on elsewhere or fails.
func TestCodeThatHangsOnALostTrackerDoesNotHoldTheRun(t *testing.T) {
	lose := func(trackers ...int) (all []setup.Fault) {
		for _, tracker := range trackers {
			all = append(all, setup.Fault{Tracker: tracker, At: 300 * time.Millisecond})
		}
		return all
	}
	for name, c := range map[string]struct {
		maps, reduces bool // the first attempt hangs
		faults        []setup.Fault
		want          string // error; "": the job succeeds
		within        time.Duration
	}{
		"a map, and a tracker is left":    {maps: true, faults: lose(1), within: 64 * time.Second}, // the one on tracker 0 times out
		"a reduce, and a tracker is left": {reduces: true, faults: lose(1), within: 64 * time.Second},
		"a map, and no tracker is left":   {maps: true, faults: lose(0, 1), want: "every tracker is lost", within: 2 * time.Second},
		"a reduce, and none is left":      {reduces: true, faults: lose(0, 1), want: "every tracker is lost", within: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := []jobtest.File{{Path: "a", Data: text(195, 10_000)}, {Path: "b", Data: text(196, 10_000)}}
				dir := writeFiles(t, files)
				var maps, reduces atomic.Int64
				hangs := func(begun *atomic.Int64) {
					if begun.Add(1) <= 2 { // on both trackers
						time.Sleep(time.Hour)
					}
				}
				chain := failing(func(b jobs.Block, out jobs.Emitter) error {
					if c.maps {
						hangs(&maps)
					}
					return emitLines(b, out)
				}, func() error {
					if c.reduces {
						hangs(&reduces)
					}
					return nil
				})
				begun := time.Now()
				report, err := engine.RunChain(t.Context(), chain, engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 5000, Stdout: io.Discard, Reducers: 2}, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: c.faults},
					NoPin: true, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()}, TaskTimeout: time.Minute,
				})
				if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if took := time.Since(begun); took > c.within {
					t.Errorf("the run took %v, want at most %v", took, c.within)
				}
				// The makespan ends with the last job.
				if report.MakespanSeconds > report.Jobs[0].FinishS+0.01 {
					t.Errorf("the makespan is %v s, and the job ended at %v s", report.MakespanSeconds, report.Jobs[0].FinishS)
				}
				time.Sleep(2 * time.Hour) // the abandoned threads end
			})
		})
	}
}
