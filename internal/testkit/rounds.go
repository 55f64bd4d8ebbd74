package testkit

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// long is a flag of each test binary that imports testkit. .ci/run passes it to each test that calls Rounds, Long or
// Check.
var long = flag.Bool("long", false, "make all rounds of the tests that draw their input")

// Long reports whether the tests run with -long.
func Long() bool { return *long }

// Rounds returns how many of most rounds a test makes: all with -long, a quarter without it, and one
// with -short. At least one is made.
func Rounds(most int) int {
	switch {
	case *long:
		return most
	case testing.Short():
		return 1
	}
	return max(1, most/4)
}

// Check is rapid.Check with a quarter of the draws. With -long, with -short and with -rapid.checks it is rapid.Check
// itself.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	draws := flag.Lookup("rapid.checks")
	if all := draws.DefValue; !*long && !testing.Short() && draws.Value.String() == all {
		if err := draws.Value.Set("25"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = draws.Value.Set(all) }()
	}
	rapid.Check(t, property)
}
