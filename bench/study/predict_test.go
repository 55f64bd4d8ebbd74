package study_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"mrlocal/bench/study"
	"mrlocal/internal/ppm"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

const oneJob = "jobs: [{name: a, job: wordcount, args: {input: x, output: y}}]"

// TestFitFindsWhatRunsWereMadeOf simulates runs with known times. Fit must find these times again.
func TestFitFindsWhatRunsWereMadeOf(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(oneJob))
	if err != nil {
		t.Fatal(err)
	}
	one, ms := ppm.One, time.Millisecond
	stage := workload.Stage{
		Size: workload.Size{Maps: 60, Reduces: 12, InputBytes: 60 << 22},
		Divided: []workload.Division{
			{MapBytes: 2 << 20, Map: 50 * ms, OutputRatio: one / 2, ReducePerMiB: 2 * ms},
			{MapBytes: 4 << 20, Map: 40 * ms, OutputRatio: one / 4, ReducePerMiB: 10 * ms},
		},
		Map:    workload.TaskTimes{Spread: []ppm.Share{one * 9 / 10, one, one * 11 / 10}, Use: workload.Use{CPU: one, Slowdown: []ppm.Share{one, one * 5 / 4, one * 2}}},
		Reduce: workload.TaskTimes{Fixed: 20 * ms, Use: workload.Use{CPU: one, Slowdown: []ppm.Share{one, one * 3 / 2, one * 3}}},
	}
	m := &workload.Measured{Cores: 2, WarmUp: 30 * ms, Jobs: []workload.ProfiledJob{{Name: "a", Runs: "wordcount", Stages: []workload.Stage{stage}}}}
	var runs []*study.Run
	for i, c := range []struct{ slots, maps, reduces int }{{1, 60, 12}, {1, 120, 12}, {1, 60, 24}, {2, 60, 12}, {3, 60, 12}} {
		record := &study.Run{}
		o := sim.Options{Cost: "measured", Measured: m, Config: setup.Config{MapSlots: c.slots, ReduceSlots: c.slots, Seed: uint64(i) + 1}, Watch: func(s *trace.Stream) { s.Attach(record) }}
		o.Sizes = func(string, int) (workload.Size, bool) {
			return workload.Size{Maps: c.maps, Reduces: c.reduces, InputBytes: 60 << 22}, true
		}
		if _, err := sim.Run(context.Background(), f, o); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, record)
	}
	stages, warmUp := study.Fit(runs)
	if len(stages) != 1 || len(stages[0].Divided) != 2 {
		t.Fatalf("%+v", stages)
	}
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within*want {
			t.Errorf("%s is %v, want %v within %v", what, got, want, within)
		}
	}
	got := stages[0]
	if got.Maps != 60 || got.Reduces != 12 || got.InputBytes != 60<<22 {
		t.Errorf("%+v", got.Size)
	}
	near("warm-up", warmUp.Seconds(), 0.030, 0.1)
	near("fixed", got.Reduce.Fixed.Seconds(), 0.020, 0.03)
	for i, want := range stage.Divided {
		d := got.Divided[i]
		near("bytes", float64(d.MapBytes), float64(want.MapBytes), 0)
		near("map", d.Map.Seconds(), want.Map.Seconds(), 0.03)
		near("reduce", d.ReducePerMiB.Seconds(), want.ReducePerMiB.Seconds(), 0.03)
		near("ratio", float64(d.OutputRatio), float64(want.OutputRatio), 0.001)
	}
	for kind, c := range map[string]struct{ got, want workload.TaskTimes }{"map": {got.Map, stage.Map}, "reduce": {got.Reduce, stage.Reduce}} {
		if len(c.got.Slowdown) != 3 {
			t.Fatalf("%s: slowdown %v", kind, c.got.Slowdown)
		}
		for k := range c.want.Slowdown {
			near(kind+": slowdown", float64(c.got.Slowdown[k]), float64(c.want.Slowdown[k]), 0.08)
		}
	}
	spread := got.Map.Spread
	near("least", float64(spread[0]), 0.91*float64(one), 0.03)
	near("most", float64(spread[len(spread)-1]), 1.09*float64(one), 0.03)
}

// TestOrders checks that only policies whose real intervals do not overlap are put into an order.
func TestOrders(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(oneJob))
	if err != nil {
		t.Fatal(err)
	}
	reports := func(makespans ...float64) (all []*report.Report) {
		for _, s := range makespans {
			all = append(all, &report.Report{MakespanSeconds: s, Jobs: []report.JobReport{{Name: "a", FinishS: s}}})
		}
		return all
	}
	slow, fast := reports(10, 10.1, 9.9), reports(5, 5.1, 4.9)
	for name, c := range map[string]struct {
		runs        []study.Runs
		order, best bool
		ties        int
		ofSecond    float64
	}{
		"the same order":     {[]study.Runs{{"fair", slow, reports(9)}, {"pi", fast, reports(6)}}, true, true, 0, 0.2},
		"another order":      {[]study.Runs{{"fair", slow, reports(5)}, {"pi", fast, reports(6)}}, false, false, 0, 0.2},
		"a tie has no order": {[]study.Runs{{"fair", slow, reports(9)}, {"pi", reports(9.8, 10.2, 10.1), reports(10.03)}}, true, true, 1, 0},
	} {
		v := study.Validate(f, c.runs)
		if v.OrderAgrees != c.order || v.BestAgrees != c.best || v.Ties != c.ties || v.BestTies != (c.ties > 0) || math.Abs(v.Policies[1].Error-c.ofSecond) > 0.001 || v.Policies[1].Jobs[0].Error != v.Policies[1].Error {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// compared makes three rounds of runs of 10 s. The list has the times of the probe, divided by
// those in the profile. After the last one the speed stays the same. It returns the comparison, the
// simulated speeds, and the number of real runs.
func compared(t *testing.T, speeds ...float64) (v *study.Validation, simulated []float64, runs int) {
	t.Helper()
	f, err := workload.Read("w", strings.NewReader(oneJob))
	if err != nil {
		t.Fatal(err)
	}
	probe := func(times float64) workload.Probe {
		return workload.Probe{Alone: time.Duration(times * float64(20*time.Millisecond)), All: time.Duration(times * float64(25*time.Millisecond))}
	}
	done := &report.Report{MakespanSeconds: 10, Jobs: []report.JobReport{{Name: "a", FinishS: 10}}}
	profiled := &workload.Measured{Cores: 2, Probe: probe(1), WarmUp: time.Second}
	c := study.Validator{
		File: f, Policies: []string{"fair", "pi"}, Rounds: 3, Measured: profiled,
		Real: func(string) (*report.Report, error) { runs++; return done, nil },
		Simulated: func(_ string, m *workload.Measured, _ *report.Report, _ uint64) (*report.Report, error) {
			if m == profiled {
				return &report.Report{MakespanSeconds: 8}, nil
			}
			simulated = append(simulated, m.WarmUp.Seconds())
			return done, nil
		},
		Probe: func() workload.Probe {
			now := speeds[0]
			if len(speeds) > 1 {
				speeds = speeds[1:]
			}
			return probe(now)
		},
		Note: func(string) {},
	}
	if v, err = c.Compare(); err != nil {
		t.Fatal(err)
	}
	return v, simulated, runs
}

// TestTimesAreThoseOfTheMachineNow checks that all policies of a turn are simulated at the mean
// speed of its probes.
func TestTimesAreThoseOfTheMachineNow(t *testing.T) {
	v, got, runs := compared(t, 1.2, 1.2, 1.2, 1, 1.2, 1.2)
	if p := v.Policies[1]; p.Error != 0 || math.Abs(p.Unscaled+0.2) > 1e-9 {
		t.Errorf("errors %v and, unscaled, %v", p.Error, p.Unscaled)
	}
	want := []float64{1.2, 1.2, 1.1, 1.1, 1.2, 1.2}
	for i := range want {
		if len(got) != len(want) || math.Abs(got[i]-want[i]) > 1e-6 {
			t.Fatalf("simulated %v, want %v", got, want)
		}
	}
	if runs != 6 || v.Repeated != 0 || v.Drifted != 0 || v.Alone == nil || math.Abs(v.Alone.Mean-3.5/3) > 1e-6 || v.All.Least > 1.1+1e-6 {
		t.Errorf("%d runs, %+v", runs, v)
	}
}

// TestRunsOfAMachineThatDriftsAreRepeated slows the machine down by half during the second run,
// which must be made again. If the speed changes during each try, the last try must count.
func TestRunsOfAMachineThatDriftsAreRepeated(t *testing.T) {
	v, got, runs := compared(t, 1, 1, 1.5, 1.5)
	if runs != 7 || v.Repeated != 1 || v.Drifted != 0 || math.Abs(got[1]-1.25) > 1e-6 || math.Abs(got[2]-1.5) > 1e-6 {
		t.Errorf("%d runs, %+v, simulated at %v", runs, v, got)
	}
	if text := string(v.Text()); !strings.Contains(text, "runs repeated: 1\n") {
		t.Error(text)
	}
	swinging := make([]float64, 100)
	for i := range swinging {
		swinging[i] = 1 + float64(i%2)
	}
	if v, _, runs := compared(t, swinging...); v.Drifted != 6 || runs != 6*3 || !strings.Contains(string(v.Text()), "warning: in 6 runs") {
		t.Errorf("%d runs, %+v", runs, v)
	}
}
