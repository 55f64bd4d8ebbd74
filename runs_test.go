package mrlocal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/workload"
)

// atOnce runs a job, and during at the same time. The job goes on until during has returned.
func atOnce(t *testing.T, o mrlocal.Options, during func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	waits := mapOnly(func(_ jobs.Block, out jobs.Emitter) error {
		close(begun)
		<-end
		out.Emit([]byte("first"), nil)
		return nil
	})
	o.Inputs = input(t, "x\n").Inputs
	done := make(chan error, 1)
	go func() {
		_, err := mrlocal.Run(t.Context(), waits, o)
		done <- err
	}()
	select {
	case <-begun:
		during()
	case err := <-done:
		t.Fatalf("the first run: %v", err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Errorf("the first run: %v", err)
	}
}

// TestAPolicyServesOneRunAtATime: otherwise each run would change the decisions of the other one.
func TestAPolicyServesOneRunAtATime(t *testing.T) {
	for _, name := range registry.Names() {
		p, err := registry.New(name, policy.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		second := mrlocal.Options{Policy: p, JobOptions: input(t, "b a b\n")}
		second.OutputFile = filepath.Join(dir, "second")
		simulate := func() error {
			f, err := workload.Parse("w.yaml", []byte("jobs: [{name: J, maps: 4, reduces: 1, map_time: 1s, reduce_time: 1s}]"))
			if err == nil {
				_, err = sim.Run(t.Context(), f, sim.Options{Policy: p})
			}
			return err
		}
		count := func() error {
			_, err := mrlocal.RunChain(t.Context(), counting(t), second)
			return err
		}
		first := mrlocal.Options{Policy: p}
		first.OutputFile = filepath.Join(dir, "first")
		atOnce(t, first, func() {
			for what, run := range map[string]func() error{"a run": count, "a simulation": simulate} {
				if err := run(); !errors.Is(err, mrlocal.ErrBadOptions) || !strings.Contains(err.Error(), "serves another run") {
					t.Errorf("%s: %s at the same time: %v", name, what, err)
				}
			}
			if _, err := os.Stat(second.OutputFile); err == nil {
				t.Errorf("%s: the refused run has made its output", name)
			}
		})
		for _, run := range []func() error{count, simulate, count} { // one after the other
			if err := run(); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
		if text, err := os.ReadFile(second.OutputFile); err != nil || string(text) != "a\t1\nb\t2\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestAnOutputBelongsToOneRunAtATime: the second run is refused, and the result of the first one
// stays whole.
func TestAnOutputBelongsToOneRunAtATime(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]mrlocal.JobOptions{
		"a file":                       {OutputFile: filepath.Join(dir, "file")},
		"a directory":                  {OutputDir: filepath.Join(dir, "dir")},
		"a directory that is replaced": {OutputDir: filepath.Join(dir, "again"), Overwrite: true},
	} {
		if o.Overwrite {
			old := mrlocal.Options{JobOptions: input(t, "old\n")}
			old.OutputDir = o.OutputDir
			if _, err := mrlocal.RunChain(t.Context(), counting(t), old); err != nil {
				t.Fatal(err)
			}
		}
		atOnce(t, mrlocal.Options{JobOptions: o}, func() {
			second := o
			second.Inputs = input(t, "second\n").Inputs
			_, err := mrlocal.RunChain(t.Context(), counting(t), mrlocal.Options{JobOptions: second})
			if !errors.Is(err, mrlocal.ErrBadOptions) || !strings.Contains(err.Error(), "is being written by another run") {
				t.Errorf("%s: the second run: %v", name, err)
			}
		})
		result := o.OutputFile
		if result == "" {
			result = filepath.Join(o.OutputDir, "part-m-00000")
		}
		if text, err := os.ReadFile(result); err != nil || strings.TrimSpace(string(text)) != "first" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}
