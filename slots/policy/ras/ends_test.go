package ras_test

import (
	"errors"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/workload"
)

// TestNothingIsWaitedForThatDoesNotCome has small forms of deadlocks that random runs found.
func TestNothingIsWaitedForThatDoesNotCome(t *testing.T) {
	for name, c := range map[string]struct {
		workload  string
		heartbeat time.Duration
	}{
		"the end of a map phase whose last map has no room but what is kept for its end": {`
jobs:
- {name: A, submit: 1s, maps: 1, map_time: 5s}
- {name: B, submit: 6s, maps: 7, reduces: 1, map_time: 1s, reduce_time: 0s, profile: {map: {mem: 0.6}, reduce: {mem: 0.6}}}
- {name: C, maps: 1, reduces: 7, map_time: 9s, reduce_time: 2s}
`, 0},
		"a kill that its tracker hears of with the next heartbeat, and would with every nanosecond before": {`
cluster: {trackers: 2, map_slots: 1, reduce_slots: 2}
faults: [{task: A/m/1, fail: 1}, {at: 20s, task: A/m/0, lost: true}]
jobs: [{name: A, submit: 4s, maps: 3, reduces: 4, map_time: 3s, reduce_time: 4s, profile: {map: {mem: 0.6}, shuffle: {mem: 0.1}, reduce: {mem: 0.6}}}]
`, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := workload.Parse("w", []byte(c.workload))
			if err != nil {
				t.Fatal(err)
			}
			p, err := registry.New("ras", policy.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			events := room(1 << 20)
			r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Heartbeat: c.heartbeat, Events: &events})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range r.Jobs {
				if j.State != slots.Succeeded.String() {
					t.Errorf("job %s %s", j.Name, j.State)
				}
			}
		})
	}
}

// room is a writer that fails after the given number of bytes. It ends a run that would otherwise not end.
type room int

func (r *room) Write(p []byte) (int, error) {
	if *r -= room(len(p)); *r < 0 {
		return 0, errors.New("events without end")
	}
	return len(p), nil
}
