package testkit

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"mrlocal/internal/invariant"
)

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
