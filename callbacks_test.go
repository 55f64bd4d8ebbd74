package mrlocal_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mrlocal"
	search "mrlocal/input"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/sim"
	"mrlocal/trace"
	"mrlocal/workload"
)

var errBoom = errors.New("boom")

// misdeeds are what a Read or Write of the user may do instead of its work. hang blocks until the
// test has ended.
func misdeeds(hang <-chan struct{}) map[string]func(p []byte) (int, error) {
	return map[string]func(p []byte) (int, error){
		"fails":                 func([]byte) (int, error) { return 0, errBoom },
		"is closed":             func([]byte) (int, error) { return 0, io.ErrClosedPipe },
		"is a broken pipe":      func([]byte) (int, error) { return 0, &os.PathError{Op: "write", Path: "pipe", Err: syscall.EPIPE} },
		"panics":                func([]byte) (int, error) { panic(errBoom) },
		"ends its goroutine":    func([]byte) (int, error) { runtime.Goexit(); return 0, nil },
		"is short":              func(p []byte) (int, error) { return len(p) - 1, nil },
		"is short and says why": func(p []byte) (int, error) { return len(p) - 1, errBoom },
		"counts too much":       func(p []byte) (int, error) { return len(p) + 1, nil },
		"counts below 0":        func([]byte) (int, error) { return -1, nil },
		"hangs":                 func([]byte) (int, error) { <-hang; return 0, errBoom },
	}
}

// callback is a function, a reader or a writer of the user. set makes the options call do for it.
type callback struct {
	set     func(o *mrlocal.Options, j *mrlocal.JobOptions, do func(p []byte) (int, error))
	matters bool // the run fails if it fails
	calls   bool // it has no error or count to return, so only panics and the like count
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// late is a writer that behaves until it has got the given number of bytes.
func late(bytes int, do func(p []byte) (int, error)) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if bytes -= len(p); bytes >= 0 {
			return len(p), nil
		}
		return do(p)
	})
}

// callbacks lists the functions, readers and writers of the user in Options and JobOptions. The
// test's job has a note, a warning and a stack, and writes 2 MB.
func callbacks() map[string]callback {
	type o = *mrlocal.Options
	type j = *mrlocal.JobOptions
	type do = func([]byte) (int, error)
	text := func(f do) func(string) { return func(string) { _, _ = f([]byte("x")) } }
	return map[string]callback{
		"Stdout":        {set: func(_ o, j j, f do) { j.Stdout = writerFunc(f) }, matters: true},
		"Stdout, late":  {set: func(_ o, j j, f do) { j.Stdout = late(1_900_000, f) }, matters: true},
		"packed Stdout": {set: func(_ o, j j, f do) { j.Stdout, j.CompressOutput = writerFunc(f), mrlocal.FormatGzip }, matters: true},
		"Events":        {set: func(o o, _ j, f do) { o.Events = writerFunc(f) }, matters: true},
		"Events, late":  {set: func(o o, j j, f do) { o.Events, j.BlockBytes = late(60_000, f), 1<<10 }, matters: true},
		"Stderr":        {set: func(o o, _ j, f do) { o.Stderr = writerFunc(f) }},
		"Note":          {set: func(o o, _ j, f do) { o.Note = text(f) }, calls: true},
		"Warn":          {set: func(o o, _ j, f do) { o.Warn = text(f) }, calls: true},
		"Progress":      {set: func(o o, _ j, f do) { o.Progress = func(mrlocal.Progress) { _, _ = f([]byte("x")) } }, calls: true},
		"Watch":         {set: func(o o, _ j, f do) { o.Watch = func(*trace.Stream) { _, _ = f([]byte("x")) } }, matters: true, calls: true},
		"a sink of Watch": {set: func(o o, _ j, f do) {
			o.Watch = func(s *trace.Stream) { s.Attach(sinkFunc(func() error { _, err := f([]byte("x")); return err })) }
		}, matters: true},
		"Found.Missing": {set: func(_ o, j j, f do) {
			j.Found = &search.Search{Paths: slices.Values([]string{filepath.Join(j.Inputs[0], "nope"), filepath.Join(j.Inputs[0], "a")}), Missing: func(string, error) { _, _ = f([]byte("x")) }}
			j.Inputs, j.Stdout = nil, io.Discard
		}, matters: true, calls: true},
		"Found.Paths": {set: func(_ o, j j, f do) {
			name := filepath.Join(j.Inputs[0], "a")
			j.Found = &search.Search{Paths: func(yield func(string) bool) { _ = yield(name); _, _ = f([]byte("x")) }, Missing: func(string, error) {}}
			j.Inputs, j.Stdout = nil, io.Discard
		}, matters: true, calls: true},
		"Stdin": {set: func(_ o, j j, f do) {
			j.Inputs, j.Stdin = append(j.Inputs, "-"), io.MultiReader(strings.NewReader("a b\n"), readerFunc(f))
		}, matters: true},
	}
}

type sinkFunc func() error

func (f sinkFunc) Record(*trace.Stream, *trace.Event) error { return f() }

// callbackJob writes 2 MB. Its first attempt panics.
func callbackJob(failed *atomic.Bool) jobs.Job {
	line := bytes.Repeat([]byte("0123456789abcdef"), 32)
	return jobs.Job{Name: "called", NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			if !failed.Swap(true) {
				panic("the first attempt")
			}
			for range bytes.Count(b.Data, []byte("line")) {
				out.Emit(line, nil)
			}
			return nil
		})
	}}
}

// callbackInput has 4,096 lines of 33 bytes, a hidden file, which makes a note, and a file with
// garbage behind it, which makes a warning.
func callbackInput(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("x\n")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	packed.WriteString("garbage")
	for name, data := range map[string][]byte{
		"a": bytes.Repeat([]byte("line 0123456789abcdef 0123456789\n"), 4096), ".hidden": {}, "b.gz": packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCallbacksThatMisbehave: a run succeeds only if its result and its events are written. It ends
// soon after its context, and leaves nothing.
func TestCallbacksThatMisbehave(t *testing.T) {
	in := callbackInput(t)
	hang := make(chan struct{})
	defer close(hang)
	var hanging sync.WaitGroup
	defer hanging.Wait()
	for name, c := range callbacks() {
		for how, do := range misdeeds(hang) {
			hangs, leaves := how == "hangs", how == "panics" || how == "ends its goroutine"
			switch {
			case c.calls && !hangs && !leaves: // it returns nothing that could be wrong
				continue
			case name == "a sink of Watch" && (strings.Contains(how, "counts") || how == "is short" || how == "hangs" || how == "ends its goroutine"):
				continue // a sink runs on the goroutine of the Ledger, and must return
			case name == "Stdin" && how == "is short": // a reader may be short
				continue
			}
			what := name + " " + how
			if hangs { // these runs take more than a second, but no processor
				hanging.Go(func() { checkCallback(t, what, in, c, do, true, false) })
				hanging.Go(func() { checkCallback(t, what+" in a batch", in, c, do, true, true) })
				continue
			}
			checkCallback(t, what, in, c, do, false, false)
			if how == "fails" || how == "panics" {
				checkCallback(t, what+" in a batch", in, c, do, false, true)
			}
		}
	}
}

// checkCallback makes one run with a callback that misbehaves, and checks how it ends.
func checkCallback(t *testing.T, what, in string, c callback, do func([]byte) (int, error), hangs, batch bool) {
	var failed, reached atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := time.Time{}
	dir := t.TempDir()
	o := mrlocal.Options{MemoryBytes: 32 << 20, TempDirs: []string{t.TempDir()}, Config: mrlocal.Config{MapSlots: 2, ReduceSlots: 1, Attempts: 2}}
	j := mrlocal.JobOptions{Inputs: []string{in}, BlockBytes: 32 << 10}
	c.set(&o, &j, func(p []byte) (int, error) {
		if !reached.Swap(true) && hangs {
			time.AfterFunc(20*time.Millisecond, func() { ended = time.Now(); cancel() })
		}
		return do(p)
	})
	result := filepath.Join(dir, "out")
	switch {
	case j.Stdout == nil && hangs:
		j.OutputDir, result = result, filepath.Join(result, "_SUCCESS")
	case j.Stdout == nil:
		j.OutputFile = result
	}
	run := func() (*mrlocal.Report, error) {
		o.JobOptions = j
		return mrlocal.Run(ctx, callbackJob(&failed), o)
	}
	if batch {
		run = func() (*mrlocal.Report, error) {
			return mrlocal.RunBatch(ctx, []mrlocal.BatchJob{{Chain: jobs.Chain{callbackJob(&failed)}, JobOptions: j}}, o)
		}
	}
	timer := time.AfterFunc(30*time.Second, func() { panic(what + " hangs") })
	_, err := run()
	timer.Stop()
	left, _ := os.ReadDir(dir)
	_, whole := os.Stat(result)
	switch {
	case !reached.Load():
		t.Errorf("%s: it is never called: %v", what, err)
	case hangs:
		if took := time.Since(ended); !errors.Is(err, mrlocal.ErrInterrupted) || took > 4*time.Second { // promised is half of it
			t.Errorf("%s: ended after %v: %v", what, took, err)
		}
		if len(left) > 0 && whole != nil {
			t.Errorf("%s: left over: %v", what, left)
		}
	case c.matters:
		if !errors.Is(err, mrlocal.ErrJobFailed) || strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s: %v", what, err)
		}
	case err != nil || whole != nil:
		t.Errorf("%s: %v, %v", what, err, whole)
	}
}

// TestAClosedPipeMayEndARun: with PipeMayClose, if it is a pipe of the system and the result.
func TestAClosedPipeMayEndARun(t *testing.T) {
	for how, c := range map[string]struct {
		err  error
		ends bool
	}{"a pipe of the system": {syscall.EPIPE, true}, "a pipe of package io": {io.ErrClosedPipe, false}, "another error": {errBoom, false}} {
		o := mrlocal.Options{JobOptions: input(t, "a\n")}
		o.Stdout, o.PipeMayClose = writerFunc(func([]byte) (int, error) { return 0, c.err }), true
		if _, err := mrlocal.RunChain(t.Context(), counting(t), o); (err == nil) != c.ends {
			t.Errorf("%s: %v", how, err)
		}
		o.Stdout, o.Events = io.Discard, o.Stdout
		if _, err := mrlocal.RunChain(t.Context(), counting(t), o); !errors.Is(err, c.err) {
			t.Errorf("%s, the events: %v", how, err)
		}
	}
}

// badCounter is a Releaser that panics when it is asked for its records. It fails at once, if fails is set.
type badCounter struct {
	fails   error
	verdict jobs.Verdict
}

func (c badCounter) Release(split io.Reader, w io.Writer) (jobs.Verdict, error) {
	_, err := io.Copy(w, split)
	return c.verdict, errors.Join(err, c.fails)
}
func (badCounter) Finish(io.Writer) error { return nil }
func (badCounter) Records() int64         { panic("no count") }

// TestAReleaserThatCannotCountFailsTheJob, also one that has failed before, or whose verdict is none.
func TestAReleaserThatCannotCountFailsTheJob(t *testing.T) {
	for want, c := range map[string]badCounter{"records: panic: no count": {}, "boom": {fails: errBoom}, "the verdict 3": {verdict: 3}} {
		job := jobs.Job{Name: "counted", NewMapper: func() jobs.Mapper { return echoLines }, NewReleaser: func() jobs.Releaser { return c }}
		o := mrlocal.Options{JobOptions: input(t, "a\n")}
		o.Stdout, o.OutputFile = nil, filepath.Join(t.TempDir(), "out")
		_, err := mrlocal.Run(t.Context(), job, o)
		if _, left := os.Stat(o.OutputFile); !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), want) || left == nil {
			t.Errorf("%v, result %v; want %s", err, left, want)
		}
		if c.verdict == 0 {
			continue
		}
		if _, err := jobtest.Reference(jobs.Chain{job}, []jobtest.File{{Path: "f", Data: []byte("a\n")}}); err == nil {
			t.Error("the reference takes the verdict")
		}
	}
}

// TestWritersThatHoldNil fail the run, or lose what they get.
func TestWritersThatHoldNil(t *testing.T) {
	for name, w := range map[string]io.ReadWriter{"a file": (*os.File)(nil), "a buffer": (*bytes.Buffer)(nil)} {
		for field, set := range map[string]func(o *mrlocal.Options){
			"Stdout": func(o *mrlocal.Options) { o.Stdout = w },
			"Events": func(o *mrlocal.Options) { o.Events = w },
			"Stdin":  func(o *mrlocal.Options) { o.Inputs, o.Stdin = []string{"-"}, w },
		} {
			o := mrlocal.Options{JobOptions: input(t, "a\n")}
			o.Stdout = io.Discard
			set(&o)
			if _, err := mrlocal.RunChain(t.Context(), counting(t), o); err == nil || strings.Contains(err.Error(), "internal error") {
				t.Errorf("%s of %s: %v", name, field, err)
			}
		}
		var failed atomic.Bool
		o := mrlocal.Options{JobOptions: input(t, "line\n"), Stderr: w}
		if _, err := mrlocal.Run(t.Context(), callbackJob(&failed), o); err != nil || !failed.Load() {
			t.Errorf("%s of Stderr: %v", name, err)
		}
	}
}

// TestASimulationWhoseEventsAreNotWrittenFails, whatever their writer does.
func TestASimulationWhoseEventsAreNotWrittenFails(t *testing.T) {
	f, err := workload.Parse("w.yaml", []byte("jobs: [{name: J, maps: 400, reduces: 1, map_time: 1s, reduce_time: 1s}]"))
	if err != nil {
		t.Fatal(err)
	}
	for how, do := range misdeeds(nil) {
		if how == "hangs" || how == "ends its goroutine" || how == "counts too much" {
			continue // a simulation writes its events on the goroutine of its caller
		}
		for _, w := range []io.Writer{writerFunc(do), late(1, do)} {
			if _, err := sim.Run(t.Context(), f, sim.Options{Events: w}); err == nil {
				t.Errorf("events %s: no error", how)
			}
		}
	}
}

// TestProgressAndLoggerTellOfARun: Progress at most 10 times a second and at the end, the Logger what Note, Warn and
// Stderr get.
func TestProgressAndLoggerTellOfARun(t *testing.T) {
	var log, stderr bytes.Buffer
	var notes []string
	var told []mrlocal.Progress
	o := mrlocal.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Note: func(text string) { notes = append(notes, text) }, Stderr: &stderr,
		Progress:   func(p mrlocal.Progress) { told = append(told, p) },
		JobOptions: mrlocal.JobOptions{Inputs: []string{callbackInput(t)}, Stdout: io.Discard, BlockBytes: 64 << 10},
		Config:     mrlocal.Config{MapSlots: 1},
	}
	var failed atomic.Bool
	if _, err := mrlocal.Run(t.Context(), callbackJob(&failed), o); err != nil {
		t.Fatal(err)
	}
	end := told[len(told)-1]
	if end.Maps < 3 || end.MapsDone != end.Maps || end.Reduces != 0 || end.Running != 0 || end.JobsLeft != 0 || int64(len(told)) > 2+int64(end.Elapsed/(100*time.Millisecond)) {
		t.Errorf("%d calls, the last one with %+v", len(told), end)
	}
	for _, want := range []string{"level=INFO msg=\"skipped 1 name", "level=WARN msg=", "level=ERROR msg=\"mrlocal: "} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in\n%s", want, &log)
		}
	}
	if len(notes) == 0 || stderr.Len() == 0 {
		t.Errorf("notes %q, stderr %q", notes, &stderr)
	}
}
