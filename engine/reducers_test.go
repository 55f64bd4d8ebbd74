package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"mrlocal/engine"
	"mrlocal/errs"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// TestReducersAreAMultipleOfTheReduceSlots: Hadoop's guideline of 0.95 or 1.75 times the
// reduce capacity, rounded down and at least 1. What a job of a batch says goes before
// what the run says.
func TestReducersAreAMultipleOfTheReduceSlots(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("a b c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		trackers, slots int
		perSlot         slots.PPM
		want            int
	}{
		{2, 10, slots.One * 95 / 100, 19}, {2, 10, slots.One * 175 / 100, 35}, {1, 3, slots.One * 95 / 100, 2},
		{1, 1, slots.One * 95 / 100, 1}, {1, 1, slots.One / 2, 1}, {3, 2, slots.One, 6},
	} {
		o := engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{in}, ReducersPerSlot: c.perSlot},
			Config:     setup.Config{Trackers: c.trackers, MapSlots: 1, ReduceSlots: c.slots}, NoPin: true, MemoryBytes: 256 << 20,
		}
		r, err := engine.RunChain(t.Context(), build(t, wordcount.New, wordcount.Options{}), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(r.Jobs[0].Reduces); got != c.want {
			t.Errorf("%v of %d reduce slots: %d reduces, want %d", c.perSlot, c.trackers*c.slots, got, c.want)
		}
	}
	for _, o := range []engine.JobOptions{{ReducersPerSlot: -1}, {ReducersPerSlot: 101 * slots.One}, {ReducersPerSlot: slots.One, Reducers: 2}, {ReducersPerSlot: slots.One, MapOnly: true}} {
		o.Inputs = []string{in}
		if _, err := engine.RunChain(t.Context(), build(t, wordcount.New, wordcount.Options{}), engine.Options{JobOptions: o}); !errs.IsUsage(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
