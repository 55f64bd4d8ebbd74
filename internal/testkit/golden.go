// Package testkit has helpers for the tests of several packages: golden files, scripts of cases,
// and buffers that end at a guarded page.
//
// Golden compares the output of a test with a text file. Scripts runs files of cases in the format
// of datadriven. The first line of a case is a command. More input may follow. Below a line "----"
// is the expected output. So such a file reads as a specification. `go test ./package -rewrite`
// writes the output of the test into the files. Review the change as a diff.
//
// CheckStates checks an enum of states, and Transitions that tests make each of its transitions.
//
// Only tests import this package. Its only state is the enums that CheckStates has seen.
package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"mrlocal/internal/invariant"
)

// Rewrite reports whether the test writes its golden files. The flag is the one of datadriven.
func Rewrite() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// Golden fails the test if got differs from the file at path, and shows what differs.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if Rewrite() {
		// Any output is accepted, because the diff is reviewed.
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v (make it with -rewrite)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-rewrite accepts what was got), - want, + got\n%s\n---- got, whole\n%s", path, d, got)
	}
}

// Scripts runs datadriven.RunTest on every file that matches pattern, each as a subtest with the
// name of the file. It fails if there is none.
func Scripts(t *testing.T, pattern string, run func(t *testing.T, d *datadriven.TestData) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	// If the pattern matched nothing, the test would pass without a case.
	if err != nil || len(paths) == 0 {
		t.Fatalf("golden: %s: no such files (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { datadriven.RunTest(t, path, run) })
	}
}

// write writes a golden file and the directories above it.
func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("golden: %v", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatalf("golden: %v", err)
	}
}

// CheckStates fails the test if an enum of states breaks a rule. Every state has a name of its own.
// Next returns only later states. Every state but the first is in the Next of another one. All
// states but last and those of final have a successor. The enum goes from 0 to last. Transitions
// checks that the tests of the package make each of its transitions.
func CheckStates[S invariant.State[S]](t testing.TB, last S, final ...S) {
	t.Helper()
	tables[fmt.Sprintf("%T", last)] = func() []string { return neverMade(last) }
	reached := map[S]bool{0: true}
	names := map[string]bool{}
	final = append(final, last)
	for s := S(0); s <= last; s++ {
		if !reached[s] {
			t.Errorf("%T: no state leads to %v", s, s)
		}
		if name := s.String(); name == "" || names[name] {
			t.Errorf("%T: the name %q of %d", s, name, s)
		}
		names[s.String()] = true
		for _, n := range s.Next() {
			if n <= s {
				t.Errorf("%T goes back from %v to %v", s, s, n)
			}
			reached[n] = true
		}
		if (len(s.Next()) == 0) != slices.Contains(final, s) {
			t.Errorf("%T: %v leads to %v", s, s, s.Next())
		}
	}
}

// tables has a function for each enum that CheckStates has seen. It returns the transitions that
// were never made.
var tables = map[string]func() []string{}

// neverMade returns the transitions of a table that no state has made in this process.
func neverMade[S invariant.State[S]](last S) (never []string) {
	for s := S(0); s <= last; s++ {
		for _, n := range s.Next() {
			if _, made := invariant.Moves.Load([2]S{s, n}); !made {
				never = append(never, fmt.Sprintf("%T never goes from %v to %v", s, s, n))
			}
		}
	}
	return never
}

// Transitions runs the tests of a package whose enums of states CheckStates knows. In a checked
// build it fails if no test makes a transition that a table lists. Such a table would also allow
// a wrong transition. It does not look if only some of the tests run.
type Transitions struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (t Transitions) Run() int {
	code := t.M.Run()
	if code != 0 || !invariant.Enabled || someOnly() {
		return code
	}
	var never []string
	for _, table := range tables {
		never = append(never, table()...)
	}
	slices.Sort(never)
	for _, n := range never {
		fmt.Fprintf(flag.CommandLine.Output(), "%s: write a test that makes this transition, or remove it from the table\n", n)
		code = 1
	}
	return code
}

// someOnly reports whether flags choose some of the tests.
func someOnly() bool {
	return slices.ContainsFunc([]string{"run", "skip", "list", "fuzz"}, func(name string) bool {
		return flag.Lookup("test."+name).Value.String() != ""
	})
}
