package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
)

// sorter writes words by their length: short ones to its part, the others to "long" and, beyond
// eight bytes, to "huge" as well. It is a reducer, and a mapper of a job without reducers.
type sorter struct{ own jobs.OwnAttempt }

func (s *sorter) Begin(a jobs.OwnAttempt) { s.own = a }

func (s *sorter) write(word []byte, out jobs.Emitter) {
	if len(word) > 4 {
		out = s.own.Output("long")
	}
	out.Emit(word, nil)
	if len(word) > 8 {
		s.own.Output("huge").Emit(word, []byte("!"))
	}
}

func (s *sorter) Reduce(word []byte, vs *jobs.Values, out jobs.Emitter) error {
	s.write(word, out)
	if s.own.Number == 0 && s.own.Task%2 == 0 && bytes.HasPrefix(word, []byte("fail")) {
		return errors.New("an attempt that has written to its outputs")
	}
	return nil
}

func (s *sorter) Map(b jobs.Block, out jobs.Emitter) error {
	for word := range b.Lines() {
		s.write(word, out)
	}
	return nil
}

// lengths is a job whose reducers write to named outputs or, without reducers, its mappers.
func lengths(reduces bool) jobs.Job {
	job := jobs.Job{Name: "lengths", Outputs: []string{"long", "huge"}, NewMapper: func() jobs.Mapper { return &sorter{} }}
	if reduces {
		job.NewMapper = func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for word := range b.Lines() {
					out.Emit(word, nil)
				}
				return nil
			})
		}
		job.NewReducer = func() jobs.Reducer { return &sorter{} }
	}
	return job
}

func words(t *testing.T) (path string, all []string) {
	for i := range 2000 {
		all = append(all, fmt.Sprintf("%s%d", []string{"a", "fail", "word", "greatly"}[i%4], i))
	}
	path = filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(path, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return path, all
}

// TestNamedOutputs: each word is once in each of its outputs, although attempts fail after they have
// written there, and copies of attempts run. The directory has no other files.
func TestNamedOutputs(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	input, all := words(t)
	for _, c := range []struct {
		name    string
		reduces bool
		format  output.Format
		copies  bool
	}{{"reduces", true, output.None, false}, {"maps", false, output.None, false}, {"gzip", true, output.Gzip, false}, {"copies", true, output.None, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			o := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{input}, OutputDir: dir, Reducers: 4, BlockBytes: 2 << 10, CompressOutput: c.format}, MemoryBytes: 64 << 20, NoPin: true}
			o.Config = setup.Config{Trackers: 2, MapSlots: 2, ReduceSlots: 2}
			if c.copies {
				o.Slow = []setup.Slow{{Tracker: 1, Factor: slots.One / 50}}
				options := policy.DefaultOptions()
				options.CopyAfter = time.Millisecond
				p, err := registry.New("late", options)
				if err != nil {
					t.Fatal(err)
				}
				o.Policy = p
			}
			for range 2 { // the second run replaces what the first one has made
				if _, err := engine.RunChain(context.Background(), jobs.Chain{lengths(c.reduces)}, o); err != nil {
					t.Fatal(err)
				}
				o.Overwrite = true
			}
			got := map[string][]string{}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				name, _, _ := strings.Cut(e.Name(), "-")
				if e.Name() == "_SUCCESS" {
					continue
				}
				if kind := map[bool]string{true: "-r-0000", false: "-m-0"}[c.reduces]; !strings.HasPrefix(e.Name(), name+kind) || c.format == output.Gzip && !strings.HasSuffix(e.Name(), ".gz") {
					t.Errorf("there is %s", e.Name())
				}
				for line := range strings.Lines(decoded(t, filepath.Join(dir, e.Name()))) {
					got[name] = append(got[name], strings.TrimSuffix(line, "\n"))
				}
			}
			want := map[string][]string{}
			for _, w := range all {
				name := "part"
				if len(w) > 4 {
					name = "long"
				}
				want[name] = append(want[name], w)
				if len(w) > 8 {
					want["huge"] = append(want["huge"], w+"\t!")
				}
			}
			for name := range want {
				slices.Sort(got[name])
				if !slices.Equal(got[name], want[name]) {
					t.Errorf("%s has %d words, want %d", name, len(got[name]), len(want[name]))
				}
			}
			if len(got) != len(want) {
				t.Errorf("outputs %v", entries)
			}
		})
	}
}

// decoded returns the text of a file of parts.
func decoded(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(data)
}

// TestNamedOutputsThatCannotBe: the error names what is wrong, and no partial file stays.
func TestNamedOutputsThatCannotBe(t *testing.T) {
	input, _ := words(t)
	run := func(job jobs.Job, o engine.JobOptions) error {
		o.Inputs = []string{input}
		_, err := engine.RunChain(context.Background(), jobs.Chain{job}, engine.Options{JobOptions: o, MemoryBytes: 64 << 20, NoPin: true, Config: setup.Config{Attempts: 1}})
		return err
	}
	dir := func() engine.JobOptions { return engine.JobOptions{OutputDir: filepath.Join(t.TempDir(), "out")} }
	if err := run(lengths(true), engine.JobOptions{Stdout: &bytes.Buffer{}}); !errs.IsUsage(err) || !strings.Contains(err.Error(), "named outputs (long, huge)") {
		t.Errorf("to standard output: %v", err)
	}
	for _, names := range [][]string{{"part"}, {"a-b"}, {"x", "x"}, {""}, {"../x"}, make([]string, 17)} {
		job := lengths(true)
		if job.Outputs = names; !errs.IsUsage(run(job, dir())) {
			t.Errorf("outputs %q are taken", names)
		}
	}
	undeclared := lengths(false)
	undeclared.Outputs = []string{"long"}
	o := dir()
	if err := run(undeclared, o); err == nil || errs.IsUsage(err) || !strings.Contains(err.Error(), `"huge" is none of the job's Outputs`) {
		t.Errorf("an output that is not declared: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(o.OutputDir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	ofMap := lengths(true)
	ofMap.NewMapper = func() jobs.Mapper { return &sorter{} }
	if err := run(ofMap, dir()); err == nil || !strings.Contains(err.Error(), "writes no part of the result") {
		t.Errorf("an output of a map next to reduces: %v", err)
	}
	if err := run(lengths(false), engine.JobOptions{}); err != nil {
		t.Errorf("thrown away: %v", err)
	}
}

// A job counts the lines of a log by level. Errors also go to a named output.
type levels struct{ own jobs.OwnAttempt }

func (l *levels) Begin(a jobs.OwnAttempt) { l.own = a }

func (l *levels) Reduce(level []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := 0
	for ; vs.Next(); n++ {
		if string(level) == "ERROR" {
			l.own.Output("errors").Emit(vs.Value(), nil)
		}
	}
	out.Emit(level, fmt.Append(nil, n))
	return nil
}

func Example_namedOutputs() {
	dir, _ := os.MkdirTemp("", "levels")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "log"), []byte("INFO up\nERROR disk\nINFO down\nERROR net\n"), 0o600)
	job := jobs.Job{
		Name: "levels", Outputs: []string{"errors"}, Reduces: 1,
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					level, text, _ := bytes.Cut(line, []byte(" "))
					out.Emit(level, text)
				}
				return nil
			})
		},
		NewReducer: func() jobs.Reducer { return &levels{} },
	}
	result := filepath.Join(dir, "result")
	o := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "log")}, OutputDir: result}}
	if _, err := engine.RunChain(context.Background(), jobs.Chain{job}, o); err != nil {
		fmt.Println(err)
	}
	for _, name := range []string{"part-r-00000", "errors-r-00000"} {
		text, _ := os.ReadFile(filepath.Join(result, name))
		fmt.Printf("%s\n%s", name, text)
	}
	// Output:
	// part-r-00000
	// ERROR	2
	// INFO	2
	// errors-r-00000
	// disk
	// net
}
