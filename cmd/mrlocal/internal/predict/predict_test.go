package predict_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"mrlocal/cmd/mrlocal/internal/predict"
	"mrlocal/internal/ppm"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

const oneJob = "jobs: [{name: a, job: wordcount, args: {input: x, output: y}}]"

// TestFitFindsWhatRunsWereMadeOf: runs are simulated by known times, so Fit must find them again.
func TestFitFindsWhatRunsWereMadeOf(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(oneJob))
	if err != nil {
		t.Fatal(err)
	}
	one := ppm.One
	stage := workload.Stage{
		Size: workload.Size{Maps: 60, Reduces: 12, InputBytes: 60 << 22}, OutputRatio: one / 2,
		Map:    workload.TaskTimes{Fixed: 3 * time.Millisecond, PerMiB: 10 * time.Millisecond, Spread: []ppm.Share{one * 9 / 10, one, one * 11 / 10}, Slowdown: []ppm.Share{one, one * 5 / 4, one * 2}},
		Reduce: workload.TaskTimes{Fixed: 20 * time.Millisecond, PerMiB: 4 * time.Millisecond, Slowdown: []ppm.Share{one, one * 3 / 2, one * 3}},
	}
	m := &workload.Measured{Cores: 2, WarmUp: 30 * time.Millisecond, Jobs: []workload.MeasuredJob{{Name: "a", Runs: "wordcount", Stages: []workload.Stage{stage}}}}
	var runs []*predict.Run
	for i, k := range []int{1, 1, 2, 3} {
		record := &predict.Run{}
		o := sim.Options{Cost: "measured", Measured: m, Config: setup.Config{MapSlots: k, ReduceSlots: k, Seed: uint64(i) + 1}, Watch: func(s *trace.Stream) { s.Attach(record) }}
		if i == 1 { // tasks of half the bytes
			o.Sizes = func(string, int) (workload.Size, bool) {
				return workload.Size{Maps: 120, Reduces: 24, InputBytes: 60 << 22}, true
			}
		}
		if _, err := sim.Run(context.Background(), f, o); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, record)
	}
	stages, warmUp := predict.Fit(runs)
	if len(stages) != 1 {
		t.Fatalf("%d stages", len(stages))
	}
	near := func(what string, got, want, within float64) {
		if math.Abs(got-want) > within*want {
			t.Errorf("%s is %v, want %v within %v", what, got, want, within)
		}
	}
	got := stages[0]
	if got.Maps != 60 || got.Reduces != 12 || got.InputBytes != 60<<22 || got.OutputRatio != one/2 {
		t.Errorf("%+v", got.Size)
	}
	near("warm-up", warmUp.Seconds(), 0.030, 0.1)
	for kind, c := range map[string]struct{ got, want workload.TaskTimes }{"map": {got.Map, stage.Map}, "reduce": {got.Reduce, stage.Reduce}} {
		near(kind+": per MiB", c.got.PerMiB.Seconds(), c.want.PerMiB.Seconds(), 0.1)
		near(kind+": of 4 MiB", (c.got.Fixed + 4*c.got.PerMiB).Seconds(), (c.want.Fixed + 4*c.want.PerMiB).Seconds(), 0.03)
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

// TestOrders: only policies whose real times differ for certain are put into an order.
func TestOrders(t *testing.T) {
	f, err := workload.Read("w", strings.NewReader(oneJob))
	if err != nil {
		t.Fatal(err)
	}
	reports := func(makespans ...float64) (all []*report.Report) {
		for _, s := range makespans {
			all = append(all, &report.Report{MakespanSeconds: s, Jobs: []report.Job{{Name: "a", FinishS: s}}})
		}
		return all
	}
	slow, fast := reports(10, 10.1, 9.9), reports(5, 5.1, 4.9)
	for name, c := range map[string]struct {
		runs        []predict.Runs
		order, best bool
		ties        int
		ofSecond    float64
	}{
		"the same order":     {[]predict.Runs{{"fair", slow, reports(9)}, {"pi", fast, reports(6)}}, true, true, 0, 0.2},
		"another order":      {[]predict.Runs{{"fair", slow, reports(5)}, {"pi", fast, reports(6)}}, false, false, 0, 0.2},
		"a tie has no order": {[]predict.Runs{{"fair", slow, reports(9)}, {"pi", reports(9.8, 10.2, 10.1), reports(10.03)}}, true, true, 1, 0},
	} {
		v := predict.Validate(f, c.runs)
		if v.OrderAgrees != c.order || v.BestAgrees != c.best || v.Ties != c.ties || v.BestTies != (c.ties > 0) || math.Abs(v.Policies[1].Error-c.ofSecond) > 0.001 || v.Policies[1].Jobs[0].Error != v.Policies[1].Error {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
