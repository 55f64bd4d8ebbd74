package sim_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// simulateMeasured runs one job of maps of 10 s, of which as many run at a time as c has map slots.
func simulateMeasured(t *testing.T, maps int, c setup.Config, warmUp time.Duration, slowdown ...ppm.Share) *report.Report {
	t.Helper()
	f := parse(t, "jobs: [{name: a, job: wordcount, args: {input: x, output: y}}]")
	task := workload.TaskTimes{Use: workload.Use{Slowdown: slowdown}}
	m := &workload.Measured{Cores: 2, WarmUp: warmUp, Jobs: []workload.ProfiledJob{{Name: "a", Runs: "wordcount", Stages: []workload.Stage{{Size: workload.Size{Maps: maps, InputBytes: int64(maps)}, Divided: []workload.Division{{MapBytes: 1, Map: 10 * time.Second}}, Map: task}}}}}
	r, err := sim.Run(context.Background(), f, sim.Options{Cost: "measured", Measured: m, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return r
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
		if got := simulateMeasured(t, c.maps, setup.Config{MapSlots: c.slots}, c.warmUp, c.slowdown...).MakespanSeconds; got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
	}
}

// A file without numbers of tasks cannot show that a fault names a task too many. So the fault is
// noted, as in a real run.
func TestAFaultOfATaskThatWasNotMeasuredIsNoted(t *testing.T) {
	for _, f := range []setup.Fault{{Tracker: -1, Task: 3, Fail: 1}, {Tracker: -1, Task: 3, Lost: true}} {
		r := simulateMeasured(t, 3, setup.Config{MapSlots: 1, Faults: []setup.Fault{f}}, 0)
		if want := []string{"a: faults: there is no map task 3; the job has 3"}; !slices.Equal(r.Notes, want) || r.MakespanSeconds != 30 {
			t.Errorf("%v s, notes %q, want %q", r.MakespanSeconds, r.Notes, want)
		}
	}
}

func TestCostMeasuredNeedsMeasures(t *testing.T) {
	f := parse(t, "jobs: [{name: a, job: wordcount, args: {input: x, output: y}}]")
	if _, err := sim.Run(context.Background(), f, sim.Options{Cost: "measured"}); err == nil {
		t.Error("simulated")
	}
}
