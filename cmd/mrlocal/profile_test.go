package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"mrlocal/internal/errs"
)

// pprofs are the gzipped files of a recording; the trace is not gzipped.
var pprofs = []string{"allocs.pprof", "cpu.pprof", "heap.pprof"}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func checkWhole(t *testing.T, dir string) {
	t.Helper()
	if got := names(t, dir); len(got) != len(pprofs)+1 {
		t.Errorf("the directory holds %q", got)
	}
	for _, name := range pprofs {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			_, err = io.Copy(io.Discard, z)
		}
		if err != nil {
			t.Errorf("%s is not whole: %v", name, err)
		}
	}
	trace, err := os.ReadFile(filepath.Join(dir, "trace.out"))
	if err != nil || !bytes.HasPrefix(trace, []byte("go 1.")) {
		t.Errorf("the trace begins with %.20q: %v", trace, err)
	}
}

func TestARunIsRecordedWhetherItFailsOrNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	for _, want := range []error{nil, errors.New("failed")} { // the second into the directory of the first
		err := recordProfile(dir, func(on bool) error {
			if !on {
				t.Error("the run does not know")
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		checkWhole(t, dir)
	}
}

func TestAPanicLeavesWholeProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	func() {
		defer func() { _ = recover() }()
		_ = recordProfile(dir, func(bool) error { panic("a bug") })
	}()
	checkWhole(t, dir)
}

func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	refusal := errs.Optionf("--x", "no")
	err := recordProfile(filepath.Join(dir, "p"), func(bool) error { return refusal })
	if !errs.IsUsage(err) || len(names(t, dir)) > 0 {
		t.Errorf("error %v, files %q", err, names(t, dir))
	}
}

func TestNobodyAsked(t *testing.T) {
	err := recordProfile("", func(on bool) error {
		if on {
			t.Error("the run believes that it is recorded")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADirectoryThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir    string
		beside work
	}{
		"a file":              {file, work{}},
		"no parent":           {filepath.Join(dir, "a", "b"), work{}},
		"inside of an input":  {filepath.Join(dir, "p"), work{Inputs: []string{dir}}},
		"the output":          {filepath.Join(dir, "out"), work{Outputs: []string{filepath.Join(dir, "out")}}},
		"the output's file":   {filepath.Join(dir, "out"), work{Outputs: []string{filepath.Join(dir, "out")}}},
		"inside of an output": {filepath.Join(dir, "p"), work{Outputs: []string{dir}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := names(t, dir)
			_, err := (&outputs{Profile: c.dir}).Open([]string{"sort"}, c.beside)
			if err == nil {
				err = recordProfile(c.dir, func(bool) error { t.Error("it runs"); return nil })
			}
			if !errs.IsUsage(err) || len(names(t, dir)) != len(before) {
				t.Errorf("error %v, files %q", err, names(t, dir))
			}
		})
	}
}
