package mrlocal_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// lines is a reader and writer that fails with an error of two lines.
type lines struct{}

func (lines) Read([]byte) (int, error)  { return 0, errTwoLines() }
func (lines) Write([]byte) (int, error) { return 0, errTwoLines() }

func errTwoLines() error { return errors.New("one\ntwo") }

// TestAnErrorIsOneLine: user code, readers, writers and the names of files may have line ends. The errors
// and notes of a run have none, and say the same with escapes.
func TestAnErrorIsOneLine(t *testing.T) {
	dir := t.TempDir()
	in, damaged := filepath.Join(dir, "in"), filepath.Join(dir, "one\ntwo.gz")
	if err := errors.Join(os.WriteFile(in, []byte("a 1\n"), 0o666), os.WriteFile(damaged, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"), 0o666)); err != nil {
		t.Fatal(err)
	}
	fails := func([]byte, *jobs.Values, jobs.Emitter) error { return errTwoLines() }
	missing := filepath.Join(dir, "one\ntwo", "x")
	for name, change := range map[string]func(o *mrlocal.Options, j *jobs.Job){
		"Stdout":          func(o *mrlocal.Options, j *jobs.Job) { o.Stdout = lines{} },
		"Stdin":           func(o *mrlocal.Options, j *jobs.Job) { o.Inputs, o.Stdin = []string{"-"}, lines{} },
		"Events":          func(o *mrlocal.Options, j *jobs.Job) { o.Events = lines{} },
		"an input":        func(o *mrlocal.Options, j *jobs.Job) { o.Inputs = []string{missing} },
		"a damaged input": func(o *mrlocal.Options, j *jobs.Job) { o.Inputs = []string{damaged} },
		"OutputFile":      func(o *mrlocal.Options, j *jobs.Job) { o.OutputFile = missing },
		"OutputDir":       func(o *mrlocal.Options, j *jobs.Job) { o.OutputDir = filepath.Join(damaged, "x") },
		"TempDirs":        func(o *mrlocal.Options, j *jobs.Job) { o.TempDirs = []string{missing} },
		"ResumeDir":       func(o *mrlocal.Options, j *jobs.Job) { o.ResumeDir = missing },
		"Side":            func(o *mrlocal.Options, j *jobs.Job) { o.Side = missing },
		"a name of a job": func(o *mrlocal.Options, j *jobs.Job) { j.Name, j.NewReducer = "one\ntwo", reducerOf(fails) },
		"a mapper": func(o *mrlocal.Options, j *jobs.Job) {
			j.NewMapper = mapperOf(func(jobs.Block, jobs.Emitter) error { return errTwoLines() })
		},
		"a mapper's panic": func(o *mrlocal.Options, j *jobs.Job) {
			j.NewMapper = mapperOf(func(jobs.Block, jobs.Emitter) error { panic("one\ntwo") })
		},
		"a sample": func(o *mrlocal.Options, j *jobs.Job) {
			j.Ordered, o.Reducers, j.NewMapper = true, 2, mapperOf(func(jobs.Block, jobs.Emitter) error { return errTwoLines() })
		},
		"a reducer":  func(o *mrlocal.Options, j *jobs.Job) { j.NewReducer = reducerOf(fails) },
		"a combiner": func(o *mrlocal.Options, j *jobs.Job) { j.NewCombiner = reducerOf(fails) },
		"a releaser": func(o *mrlocal.Options, j *jobs.Job) {
			j.NewReducer, j.NewReleaser = nil, func() jobs.Releaser { return twoLines{} }
			j.NewMapper = mapperOf(func(b jobs.Block, out jobs.Emitter) error { out.Emit([]byte("x"), nil); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			o := mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: []string{in}, Stdout: io.Discard}, MemoryBytes: 32 << 20, Stderr: io.Discard}
			o.MapSlots, o.ReduceSlots, o.Note, o.Warn = 1, 1, func(text string) { notes = append(notes, text) }, func(text string) { notes = append(notes, text) }
			c := usual(func(j *jobs.Job) { change(&o, j) })()
			if o.OutputFile+o.OutputDir != "" {
				o.Stdout = nil
			}
			report, err := mrlocal.RunChain(t.Context(), c, o)
			if err == nil || !strings.Contains(err.Error(), `one\ntwo`) {
				t.Errorf("%v", err)
			}
			if report != nil {
				for _, j := range report.Jobs {
					notes = append(notes, j.Error)
				}
			}
			for _, text := range append(notes, err.Error()) {
				if strings.Contains(text, "\n") || errs.OneLine(text) != text {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

func reducerOf(f jobs.ReducerFunc) func() jobs.Reducer { return func() jobs.Reducer { return f } }

// twoLines is a releaser that fails.
type twoLines struct{}

func (twoLines) Release(io.Reader, io.Writer) (jobs.Verdict, error) {
	return jobs.Continue, errTwoLines()
}
func (twoLines) Finish(io.Writer) error { return nil }
