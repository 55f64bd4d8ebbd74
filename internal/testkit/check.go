package testkit

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

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
