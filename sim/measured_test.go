package sim_test

import (
	"context"
	"testing"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/sim"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// simulateMeasured runs one job of maps of 10 s, of which as many run at a time as there are
// slots.
func simulateMeasured(t *testing.T, maps, mapSlots int, warmUp time.Duration, slowdown ...ppm.Share) float64 {
	t.Helper()
	f := parse(t, "jobs: [{name: a, job: wordcount, args: {input: x, output: y}}]")
	task := workload.TaskTimes{Use: workload.Use{Slowdown: slowdown}}
	m := &workload.Measured{Cores: 2, WarmUp: warmUp, Jobs: []workload.ProfiledJob{{Name: "a", Runs: "wordcount", Stages: []workload.Stage{{Size: workload.Size{Maps: maps, InputBytes: int64(maps)}, Divided: []workload.Division{{MapBytes: 1, Map: 10 * time.Second}}, Map: task}}}}}
	r, err := sim.Run(context.Background(), f, sim.Options{Cost: "measured", Measured: m, Config: setup.Config{MapSlots: mapSlots}})
	if err != nil {
		t.Fatal(err)
	}
	return r.MakespanSeconds
}

// TestTasksSlowEachOtherAsMeasured: how long maps of 10 s take that have the machine to
// themselves, or not.
func TestTasksSlowEachOtherAsMeasured(t *testing.T) {
	const one = ppm.One
	for name, c := range map[string]struct {
		maps, slots int
		warmUp      time.Duration
		slowdown    []ppm.Share
		want        float64
	}{
		"alone":                                     {1, 1, 0, []ppm.Share{one, one * 3 / 2}, 10},
		"one after the other":                       {2, 1, 0, []ppm.Share{one, one * 3 / 2}, 20},
		"two at a time are slower":                  {2, 2, 0, []ppm.Share{one, one * 3 / 2}, 15},
		"the third has the machine for itself":      {3, 2, 0, []ppm.Share{one, one * 3 / 2}, 25},
		"nothing is known of others":                {2, 2, 0, nil, 10},
		"two of three share a core":                 {3, 3, 0, nil, 20},
		"the core that is left runs the fourth":     {4, 3, 0, nil, 20},
		"beyond what was measured cores are shared": {4, 4, 0, []ppm.Share{one, one * 3 / 2}, 30},
		"the first on each slot is cold":            {4, 2, time.Second, []ppm.Share{one, one}, 21},
	} {
		if got := simulateMeasured(t, c.maps, c.slots, c.warmUp, c.slowdown...); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
	}
}

func TestCostMeasuredNeedsMeasures(t *testing.T) {
	f := parse(t, "jobs: [{name: a, job: wordcount, args: {input: x, output: y}}]")
	if _, err := sim.Run(context.Background(), f, sim.Options{Cost: "measured"}); err == nil {
		t.Error("simulated")
	}
}
