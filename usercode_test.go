package mrlocal_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
				if !strings.Contains(stderr, way.text) || how == "panics" && !strings.Contains(stderr, "usercode_test.go") {
					t.Errorf("no stack: %s", stderr)
				}
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
		job := jobs.Job{Name: "begins", NoInput: true, Maps: 1, Begin: func(int) jobs.Job { runtime.Goexit(); return jobs.Job{} }}
		job.NewMapper = func() jobs.Mapper { return plain }
		_, err = mrlocal.Run(t.Context(), job, mrlocal.Options{})
	}()
	<-done
	if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "runtime.Goexit") {
		t.Error(err)
	}
}
