package omo

import (
	"fmt"
	"math"
	"testing"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// oneJob is the workload of [OMO21, "one-job simulation"]: one job of 80 maps of 30 s
// and 4 reduces on 8 slots. Its shuffle takes so many seconds: a reduce copies a fourth
// of 80 outputs of as many MB, at 20 MB a second.
func oneJob(t testing.TB, shuffle int, mapTime string) *workload.File {
	t.Helper()
	f, err := workload.Parse("refsim1.yaml", []byte(fmt.Sprintf(
		`{cluster: {trackers: 1, map_slots: 6, reduce_slots: 2, net: 20MB}, jobs: [{name: J, maps: 80, reduces: 4, map_time: %s, reduce_time: 20s, map_output: %dMB}]}`,
		mapTime, shuffle)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func makespan(t testing.TB, f *workload.File, p slots.Policy, slowstart slots.PPM, seed uint64) float64 {
	t.Helper()
	r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Cost: "l1", Config: setup.Config{Slowstart: &slowstart, Seed: seed}})
	if err != nil {
		t.Fatal(err)
	}
	return r.MakespanSeconds
}

// slowstarts are those of the simulation, in parts per million.
var slowstarts = []slots.PPM{50_000, 200_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, slots.One}

// givenLazyStart is lazy start with F_o = S/T_m given.
func givenLazyStart() *OMO {
	p := NewLazyStart()
	p.given = 8.0 / 30
	return p
}

// TestReferenceSimulation1 is [OMO21, "one-job simulation"] without jitter, in whole
// seconds. Fixed slowstarts over containers (with one job batch finish has nothing to
// choose, so it is the fair scheduler) against lazy start, which finds the best of them.
func TestReferenceSimulation1(t *testing.T) {
	for shuffle, want := range map[int]struct {
		fixed []float64
		lazy  float64
	}{
		20:  {[]float64{591, 561, 501, 471, 441, 411, 381, 351, 340}, 340},
		60:  {[]float64{593, 563, 503, 473, 443, 413, 383, 353, 380}, 353},
		120: {[]float64{596, 566, 506, 476, 446, 416, 386, 410, 440}, 386},
	} {
		f := oneJob(t, shuffle, "30s")
		for i, s := range slowstarts {
			if got := makespan(t, f, NewBatchFinish(), s, 1); math.Round(got) != want.fixed[i] {
				t.Errorf("T_s %d, slowstart %v: %v s, want %v s", shuffle, s, got, want.fixed[i])
			}
		}
		if got := makespan(t, f, givenLazyStart(), slots.One, 1); math.Round(got) != want.lazy {
			t.Errorf("T_s %d, lazy start with F_o given: %v s, want %v s", shuffle, got, want.lazy)
		}
		if got := makespan(t, f, NewLazyStart(), slots.One, 1); math.Abs(got-want.lazy) > 0.05*want.lazy {
			t.Errorf("T_s %d, lazy start by the monitor: %v s, want %v s within 5 %%", shuffle, got, want.lazy)
		}
	}
}

// TestLazyStartBeatsEveryFixedSlowstart is the simulation with jitter: map times vary
// by ±30 %, and over 20 seeds lazy start ends before any fixed slowstart does.
func TestLazyStartBeatsEveryFixedSlowstart(t *testing.T) {
	mean := func(f *workload.File, p slots.Policy, s slots.PPM) (sum float64) {
		for seed := range uint64(20) {
			sum += makespan(t, f, p, s, seed+1)
		}
		return sum / 20
	}
	for _, shuffle := range []int{20, 60, 120} {
		f := oneJob(t, shuffle, "{uniform: [21s, 39s]}")
		best := math.Inf(1)
		for _, s := range slowstarts {
			best = min(best, mean(f, NewBatchFinish(), s))
		}
		if given, observed := mean(f, givenLazyStart(), slots.One), mean(f, NewLazyStart(), slots.One); given >= best || observed >= best {
			t.Errorf("T_s %d: %v s with F_o given, %v s by the monitor, and the best slowstart has %v s", shuffle, given, observed, best)
		}
	}
}

// TestTheMonitorFindsTheFrequency: eight containers and maps of 30 s release
// 8/30 a second; the estimate ends within a tenth of it, whatever the jitter.
func TestTheMonitorFindsTheFrequency(t *testing.T) {
	for _, mapTime := range []string{"30s", "{uniform: [21s, 39s]}"} {
		p := NewLazyStart()
		makespan(t, oneJob(t, 0, mapTime), p, slots.One, 1)
		if f := p.monitor.frequency; p.monitor.windows < 9 || math.Abs(f*30/8-1) > 0.1 {
			t.Errorf("maps of %s: F_o = %v after %d windows, want %v", mapTime, f, p.monitor.windows, 8.0/30)
		}
	}
}
