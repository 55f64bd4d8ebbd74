package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/setting"
)

// TestEachFlagOfOneValueIsSwept sweeps each flag of runs, simulated and real, that has a single value. Each run
// must have its value where sim or batch would have it, and the sweep must refuse the mistakes that they refuse.
func TestEachFlagOfOneValueIsSwept(t *testing.T) {
	texts := map[string][]string{"N": {"2", "3"}, "X": {"1.5", "2"}, "SHARE": {"0.25", "0.5"}, "TIME": {"1s", "2s"}, "SIZE": {"16MiB", "32MiB"}}
	tried := 0
	for _, real := range []bool{false, true} {
		s, b := newSimulation(), newBatch()
		all, scheduling := s.settings(), &s.Scheduling
		if real {
			all, scheduling = b.settings(), &b.Scheduling
		}
		for i := range all {
			x := &all[i]
			values := texts[x.Metavar()]
			if values == nil {
				values = slices.Clone(x.Value.Words)
			}
			if !x.Single() || x.Name == "seed" {
				continue
			}
			tried++
			c := &sweepCommand{Env: Env{Stdout: io.Discard, Stderr: io.Discard}, real: real}
			command := makeSweep(c.Env)
			line, err := command.Parse([]string{"--" + x.Name, strings.Join(values, ","), "w.yaml"})
			if err != nil {
				t.Errorf("--%s: %v", x.Name, err)
				continue
			}
			p, key, err := c.plan(line, scheduling, all)
			if err != nil || len(key) > 0 || p.Runs() != len(values) && x.Name != "borrow-map" && x.Name != "borrow-reduce" {
				t.Errorf("--%s: %v; key %v", x.Name, err, key)
				continue
			}
			for run := range p.Runs() {
				changes := p.Flags(p.Trial(run))
				if err := setSwept(all, changes); err != nil {
					t.Error(err)
				}
				got := x.Value.String()
				for _, set := range changes { // the flag alone, as sim and batch set it
					if set.Path == x.Name && (x.Value.Set(set.Value) != nil || got != x.Value.String()) {
						t.Errorf("--%s %s: %s", x.Name, set.Value, got)
					}
				}
			}
			line, _ = command.Parse([]string{"--" + x.Name, values[0] + ",?", "w.yaml"})
			_, _, err = c.plan(line, scheduling, all)
			if mistake := x.Value.Set("?"); mistake == nil || err == nil || err.Error() != "--"+x.Name+": "+mistake.Error() {
				t.Errorf("--%s: %v instead of %v", x.Name, err, mistake)
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d flags", tried)
	}
	for _, other := range []string{"sched", "slot-weights", "slow", "alone", "tmp"} {
		s, b := newSimulation(), newBatch()
		if x := setting.Named(append(s.settings(), b.settings()...), other); x == nil || x.Single() {
			t.Errorf("--%s has a single value", other)
		}
	}
}
