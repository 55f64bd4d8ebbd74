package mrlocal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/jobs"
)

// These are the ways in which a function of the user may not return.
var waysOut = map[string]struct {
	leave func()
	text  string // of the error
}{
	"panics":             {func() { panic("boo") }, "panic: boo"},
	"ends its goroutine": {runtime.Goexit, "runtime.Goexit"},
}

// openFiles counts the open file descriptors of the process; 0: the system does not tell.
func openFiles() int {
	if r, w, err := os.Pipe(); err == nil { // with the first pipe, the Go runtime opens two files for good
		r.Close()
		w.Close()
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// failedRun runs a chain that has to fail with texts in its error. The run must end soon, and leave
// nothing behind: no file of the result, and no open file. It returns what Stderr got.
func failedRun(t *testing.T, o mrlocal.Options, chain jobs.Chain, texts ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	if o.Stderr == nil {
		o.Stderr = &stderr
	}
	dir, open := t.TempDir(), openFiles()
	if o.OutputDir == "" {
		o.OutputFile = filepath.Join(dir, "out")
	} else {
		o.OutputDir = filepath.Join(dir, "out")
	}
	ended := make(chan error, 1)
	go func() {
		err := errors.New("the goroutine of the caller has ended")
		defer func() { ended <- err }()
		_, err = mrlocal.RunChain(t.Context(), chain, o)
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, mrlocal.ErrJobFailed) || strings.Contains(err.Error(), "internal error") {
			t.Errorf("the error: %v", err)
		}
		for _, text := range texts {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("the error %v does not have %q", err, text)
			}
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run hangs")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	for tries := 0; openFiles() > open; tries++ {
		if tries == 100 {
			t.Errorf("%d files are still open", openFiles()-open)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return stderr.String()
}

// releaser is a jobs.Releaser of two functions.
type releaser struct{ release, finish func() }

func (r releaser) Release(split io.Reader, w io.Writer) (jobs.Verdict, error) {
	_, err := io.Copy(w, split)
	r.release()
	return jobs.Continue, err
}

func (r releaser) Finish(io.Writer) error { r.finish(); return nil }

// TestAReleaserThatDoesNotReturnFailsItsJob, wherever it is called.
func TestAReleaserThatDoesNotReturnFailsItsJob(t *testing.T) {
	for how, way := range waysOut {
		for at, r := range map[string]releaser{
			"release": {way.leave, func() {}},
			"finish":  {func() {}, way.leave},
		} {
			t.Run(at+" "+how, func(t *testing.T) {
				job := mapOnly(func(b jobs.Block, out jobs.Emitter) error { out.Emit(b.Data, nil); return nil })
				job.NewReleaser = func() jobs.Releaser { return r }
				o := mrlocal.Options{JobOptions: input(t, strings.Repeat("a b c\n", 1000)), Config: mrlocal.Config{Attempts: 2}}
				o.BlockBytes = 1000
				stderr := failedRun(t, o, jobs.Chain{job}, "map-only", way.text)
				// Without a panic there is no stack, and an attempt that has not called the Releaser may fail first.
				if how == "panics" && !(strings.Contains(stderr, way.text) && strings.Contains(stderr, "usercode_test.go")) {
					t.Errorf("no stack: %s", stderr)
				}
			})
		}
	}
}

// closing is a mapper and a reducer with a Close.
type closing struct {
	begun *atomic.Int64
	work  func()
	close func() error
}

func (c closing) Begin(jobs.OwnAttempt) { c.begun.Add(1) }
func (c closing) Close() error          { return c.close() }
func (c closing) Map(b jobs.Block, out jobs.Emitter) error {
	c.work()
	out.Emit(b.Data, b.Data)
	return nil
}

func (c closing) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	c.work()
	out.Emit(key, nil)
	return nil
}

// TestUserCodeThatEndsItsGoroutineGivesBackWhatItHas: its input is closed, and so is it.
func TestUserCodeThatEndsItsGoroutineGivesBackWhatItHas(t *testing.T) {
	exits := jobs.Job{
		AppendKey: func([]byte, []byte) []byte { runtime.Goexit(); return nil },
		NewFolder: func() jobs.Folder { return exitFolder{} },
		Partition: func([]byte, int) int { runtime.Goexit(); return 0 },
	}
	for at, change := range map[string]func(j *jobs.Job, c *closing){
		"map":                   func(_ *jobs.Job, c *closing) { c.work = runtime.Goexit },
		"map of a map-only job": func(j *jobs.Job, c *closing) { c.work, j.NewReducer = runtime.Goexit, nil },
		"partition":             func(j *jobs.Job, _ *closing) { j.Partition = exits.Partition },
		"fold":                  func(j *jobs.Job, _ *closing) { j.NewFolder = exits.NewFolder },
		"close":                 func(_ *jobs.Job, c *closing) { c.close = func() error { runtime.Goexit(); return nil } },
		"append key": func(j *jobs.Job, c *closing) {
			j.AppendKey = exits.AppendKey
			m := *c
			j.NewMapper = func() jobs.Mapper { return taking{m} }
		},
	} {
		t.Run(at, func(t *testing.T) {
			var begun, closed atomic.Int64
			c := closing{begun: &begun, work: func() {}, close: func() error { closed.Add(1); return nil }}
			job := jobs.Job{Name: "exits", NewReducer: func() jobs.Reducer { return jobs.NewSum() }}
			change(&job, &c)
			if job.NewMapper == nil {
				job.NewMapper = func() jobs.Mapper { return c }
			}
			o := mrlocal.Options{JobOptions: input(t, strings.Repeat("a b c\n", 1000)), Config: mrlocal.Config{MapSlots: 2, Attempts: 2}}
			o.BlockBytes, o.Reducers = 1000, 2
			if job.NewReducer == nil {
				o.Reducers = 0
			}
			failedRun(t, o, jobs.Chain{job}, "exits", "runtime.Goexit")
			if at != "close" && (begun.Load() == 0 || begun.Load() != closed.Load()) {
				t.Errorf("%d mappers were begun, %d closed", begun.Load(), closed.Load())
			}
		})
	}
}

type exitFolder struct{}

func (exitFolder) Fold([]byte, []byte) []byte { runtime.Goexit(); return nil }

// taking is a closing whose Map passes the whole block on.
type taking struct{ closing }

func (taking) Map(b jobs.Block, out jobs.Emitter) error {
	out.(jobs.Taker).Take(b, []jobs.Span{{Len: uint32(len(b.Data))}})
	return nil
}

// TestACombinerThatEndsTheGoroutineOfASpillFailsTheJob: the records of the spill must not be lost.
func TestACombinerThatEndsTheGoroutineOfASpillFailsTheJob(t *testing.T) {
	job := jobs.Job{Name: "combines", NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(_ jobs.Block, out jobs.Emitter) error {
			for i := range 100_000 {
				out.Emit(binary.BigEndian.AppendUint64(nil, uint64(i)), make([]byte, 8))
			}
			return nil
		})
	}, NewReducer: func() jobs.Reducer { return jobs.NewSum() }}
	var calls atomic.Int64
	job.NewCombiner = func() jobs.Reducer {
		return jobs.ReducerFunc(func(key []byte, _ *jobs.Values, out jobs.Emitter) error {
			if calls.Add(1) == 1 { // in the first spill
				runtime.Goexit()
			}
			out.Emit(key, make([]byte, 8))
			return nil
		})
	}
	o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 1}, SortBufferBytes: 256 << 10}
	o.NoGrowth, o.Reducers = true, 2
	failedRun(t, o, jobs.Chain{job}, "combines", "runtime.Goexit")
}

// closedOnce is a combiner that notes what is called after its Close.
type closedOnce struct {
	began, late chan struct{} // closed by the first Reduce, and by a call after Close
	closed      atomic.Bool
}

func (c *closedOnce) Begin(jobs.OwnAttempt) {}
func (c *closedOnce) Close() error          { c.closed.Store(true); return nil }
func (c *closedOnce) Reduce(key []byte, _ *jobs.Values, out jobs.Emitter) error {
	if c.began != nil {
		close(c.began)
		c.began = nil
		time.Sleep(20 * time.Millisecond) // the mapper fails meanwhile
	}
	if c.closed.Load() && c.late != nil {
		close(c.late)
		c.late = nil
	}
	out.Emit(key, make([]byte, 8))
	return nil
}

// TestACombinerIsClosedAfterItsLastSpill, even if the mapper ends while the spill calls the combiner.
func TestACombinerIsClosedAfterItsLastSpill(t *testing.T) {
	for how, ends := range map[string]func() error{
		"an error": func() error { return errors.New("boom") }, "a panic": func() error { panic("boom") }, "runtime.Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(how, func(t *testing.T) {
			began, late := make(chan struct{}), make(chan struct{})
			combiner := &closedOnce{began: began, late: late}
			job := jobs.Job{Name: "fails", NewMapper: func() jobs.Mapper {
				return jobs.MapperFunc(func(_ jobs.Block, out jobs.Emitter) error {
					for i := 0; ; i++ {
						select {
						case <-began:
							return ends()
						default:
							out.Emit(binary.BigEndian.AppendUint64(nil, uint64(i)), make([]byte, 8))
						}
					}
				})
			}, NewReducer: func() jobs.Reducer { return jobs.NewSum() }, NewCombiner: func() jobs.Reducer { return combiner }}
			o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 1}, SortBufferBytes: 256 << 10, Stderr: io.Discard}
			o.NoGrowth, o.Reducers, o.Stdout = true, 2, io.Discard
			if _, err := mrlocal.Run(t.Context(), job, o); !errors.Is(err, mrlocal.ErrJobFailed) {
				t.Error(err)
			}
			if !combiner.closed.Load() {
				t.Error("the combiner was not closed")
			}
			select {
			case <-late:
				t.Error("the combiner was called after its Close")
			default:
			}
		})
	}
}

// TestAnErrorOfCloseFailsTheAttempt, and the task is tried again.
func TestAnErrorOfCloseFailsTheAttempt(t *testing.T) {
	boom := errors.New("boom")
	for at, job := range map[string]func(c closing) jobs.Job{
		"a mapper": func(c closing) jobs.Job {
			return jobs.Job{NewMapper: func() jobs.Mapper { return c }, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} }}
		},
		"a mapper of a map-only job": func(c closing) jobs.Job { return jobs.Job{NewMapper: func() jobs.Mapper { return c }} },
		"a reducer": func(c closing) jobs.Job {
			return jobs.Job{NewMapper: func() jobs.Mapper { return plain }, NewReducer: func() jobs.Reducer { return c }}
		},
		"a combiner": func(c closing) jobs.Job {
			return jobs.Job{
				NewMapper: func() jobs.Mapper { return plain }, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
				NewCombiner: func() jobs.Reducer { return c },
			}
		},
	} {
		for how, fails := range map[string]func() error{"fails": func() error { return boom }, "panics": func() error { panic(boom) }} {
			t.Run(at+" "+how, func(t *testing.T) {
				var begun, calls atomic.Int64
				c := closing{begun: &begun, work: func() {}}
				c.close = func() error {
					if calls.Add(1) == 1 {
						return fails()
					}
					return nil
				}
				j := job(c)
				j.Name = "closes"
				o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 2}, Stderr: io.Discard}
				if j.NewReducer != nil {
					o.Reducers = 1
				}
				o.OutputFile = filepath.Join(t.TempDir(), "out")
				if _, err := mrlocal.Run(t.Context(), j, o); err != nil {
					t.Error(err)
				}
				if begun.Load() != 2 || calls.Load() != 2 {
					t.Errorf("%d attempts, %d calls of Close", begun.Load(), calls.Load())
				}
				c.close = fails
				j = job(c)
				j.Name, o.OutputFile = "closes", ""
				failedRun(t, o, jobs.Chain{j}, "closes", "close: ", "boom")
			})
		}
	}
}

// plain emits each block.
var plain = jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error { out.Emit(b.Data, b.Data); return nil })

// leavingWriter is a writer that does not return from Write.
type leavingWriter struct{ leave func() }

func (w leavingWriter) Write(p []byte) (int, error) { w.leave(); return len(p), nil }

// TestAWriterOfStacksThatDoesNotReturnChangesNothing: the run fails with the error of the job.
func TestAWriterOfStacksThatDoesNotReturnChangesNothing(t *testing.T) {
	for how, way := range waysOut {
		t.Run(how, func(t *testing.T) {
			o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 1}, Stderr: leavingWriter{way.leave}}
			failedRun(t, o, jobs.Chain{mapOnly(func(jobs.Block, jobs.Emitter) error { panic("boo") })}, "map-only", "map: panic: boo")
		})
	}
}

// TestConvergedThatDoesNotReturnFailsItsJob: the coordinator itself calls it.
func TestConvergedThatDoesNotReturnFailsItsJob(t *testing.T) {
	for how, way := range waysOut {
		t.Run(how, func(t *testing.T) {
			rounds := jobs.Job{Name: "rounds", NewMapper: func() jobs.Mapper { return plain }, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} }}
			first, last := rounds, rounds
			rounds.Rereads, rounds.Rounds, last.Rereads = true, 3, true
			rounds.Converged = func([]byte, []byte) bool { way.leave(); return true }
			o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 1}}
			stderr := failedRun(t, o, jobs.Chain{first, rounds, last}, "rounds", way.text)
			if how == "panics" && !strings.Contains(stderr, "usercode_test.go") {
				t.Errorf("no stack: %s", stderr)
			}
		})
	}
}

// TestBeginThatEndsItsGoroutineFailsAJobWithoutFiles: such a job is opened by the coordinator itself.
func TestBeginThatEndsItsGoroutineFailsAJobWithoutFiles(t *testing.T) {
	err := errors.New("the goroutine of the caller has ended")
	done := make(chan struct{})
	go func() {
		defer close(done)
		job := jobs.Job{Name: "begins", NoInput: true, Maps: 1, Begin: func(int) (jobs.Job, error) { runtime.Goexit(); return jobs.Job{}, nil }}
		job.NewMapper = func() jobs.Mapper { return plain }
		_, err = mrlocal.Run(t.Context(), job, mrlocal.Options{})
	}()
	<-done
	if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "runtime.Goexit") {
		t.Error(err)
	}
}

// readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestStandardInputThatBreaksTheRulesOfAReaderFailsTheJob, and the process goes on.
func TestStandardInputThatBreaksTheRulesOfAReaderFailsTheJob(t *testing.T) {
	for how, c := range map[string]struct {
		read func(p []byte) (int, error)
		text string
	}{
		"panics":                      {func([]byte) (int, error) { panic("boo") }, "reads: (standard input): read: panic: boo"},
		"ends its goroutine":          {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, "reads: user code: has ended its goroutine by runtime.Goexit"},
		"returns less than 0":         {func([]byte) (int, error) { return -1, nil }, "reads: (standard input): read: returned -1 bytes"},
		"returns more than it may":    {func(p []byte) (int, error) { return len(p) + 1, nil }, "reads: (standard input): read: returned"},
		"returns an error of its own": {func([]byte) (int, error) { return 0, errors.New("boo") }, "boo"},
	} {
		for kind, reducer := range map[string]func() jobs.Reducer{"": func() jobs.Reducer { return jobs.NewSum() }, " into a map-only job": nil} {
			for _, ordered := range []bool{false, true} {
				t.Run(how+kind, func(t *testing.T) {
					job := jobs.Job{Name: "reads", NewMapper: func() jobs.Mapper { return plain }, NewReducer: reducer, Ordered: ordered && reducer != nil}
					for _, text := range []string{"", strings.Repeat("a b c\n", 1<<20)} {
						o := mrlocal.Options{Config: mrlocal.Config{Attempts: 1}}
						o.Inputs, o.Stdin = []string{"-"}, io.MultiReader(strings.NewReader(text), readerFunc(c.read))
						failedRun(t, o, jobs.Chain{job}, c.text)
					}
				})
			}
		}
	}
}

// TestUserCodeIsNoKill: user code may know jobs.ErrKilled. Only the engine kills, so each attempt counts.
func TestUserCodeIsNoKill(t *testing.T) {
	for how, fail := range map[string]func() error{
		"returns it":     func() error { return jobs.ErrKilled },
		"wraps it":       func() error { return fmt.Errorf("x: %w", jobs.ErrKilled) },
		"panics with it": func() error { panic(jobs.ErrKilled) },
	} {
		for at, change := range map[string]func(j *jobs.Job, calls *atomic.Int64){
			"map": func(j *jobs.Job, calls *atomic.Int64) {
				j.NewMapper = func() jobs.Mapper { return killing{func() error { calls.Add(1); return fail() }} }
			},
			"reduce": func(j *jobs.Job, calls *atomic.Int64) {
				j.NewReducer = func() jobs.Reducer { return killing{func() error { calls.Add(1); return fail() }} }
			},
		} {
			t.Run(at+" "+how, func(t *testing.T) {
				var calls atomic.Int64
				job := jobs.Job{Name: "kills", NewMapper: func() jobs.Mapper { return killing{func() error { return nil }} }, NewReducer: func() jobs.Reducer { return jobs.NewSum() }}
				change(&job, &calls)
				o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 3}}
				o.Reducers = 1
				failedRun(t, o, jobs.Chain{job}, "kills")
				if n := calls.Load(); n != 3 {
					t.Errorf("%d attempts, want 3", n)
				}
			})
		}
	}
}

// killing calls work as a Mapper, which emits a record, and as a Reducer.
type killing struct{ work func() error }

func (k killing) Map(_ jobs.Block, out jobs.Emitter) error {
	out.Emit([]byte("k"), []byte("1"))
	return k.work()
}
func (k killing) Reduce(_ []byte, _ *jobs.Values, _ jobs.Emitter) error { return k.work() }
