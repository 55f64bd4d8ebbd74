package sim_test

import (
	"fmt"
	"testing"

	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dynsplit"
	"mrlocal/slots/report"
)

// walls are the wall times of a report's jobs.
func walls(r *report.Report) (all []float64) {
	for _, j := range r.Jobs {
		all = append(all, j.FinishS-j.SubmitS)
	}
	return all
}

// TestDynamicSplitHelpsSmallJobsMost runs bench/workloads/dsplit-macro.yaml
// ([Split11, Table 7]) under L2 with seed 1. It is compared with the fair scheduler. The
// mean wall time of jobs falls by more than the makespan. Reduces hold fewer slots while
// they wait for maps [Split11, "cpu up and wait down"].
func TestDynamicSplitHelpsSmallJobsMost(t *testing.T) {
	f := shipped(t, "dsplit-macro.yaml")
	raw := run(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})
	changed := run(t, f, sim.Options{Policy: dynsplit.New(policy.Options{AdditionalMapSlots: 1}), Cost: "l2"})
	gain := dynsplit.ThroughputGain(seconds(raw), seconds(changed))
	mean := dynsplit.MeanWallReduction(walls(raw), walls(changed))
	t.Logf("makespan %.0f s -> %.0f s, I = %.1f %%, r_ave = %.1f %%, hoarding %.0f -> %.0f slot-seconds",
		seconds(raw), seconds(changed), 100*gain, 100*mean, raw.HoardingSlotSeconds, changed.HoardingSlotSeconds)
	if gain <= 0 || mean <= gain {
		t.Errorf("throughput gain %.3f, mean wall reduction %.3f", gain, mean)
	}
	if changed.HoardingSlotSeconds >= raw.HoardingSlotSeconds {
		t.Errorf("hoarding: %v slot-seconds, under fair %v", changed.HoardingSlotSeconds, raw.HoardingSlotSeconds)
	}
}

// TestASmallJobsReducesDoNotHoard runs a job of two maps next to a large one [Split11,
// reduce slot hoarding problem]. If reduces start early under fair, they wait as long
// as the slowest map takes. Under Dynamic Split, w_r is 0 then, and they do not wait.
func TestASmallJobsReducesDoNotHoard(t *testing.T) {
	f := parse(t, "cluster: {trackers: 2, map_slots: 3, reduce_slots: 2}", "defaults: {slowstart: 0.05}", "jobs:",
		"  - {name: large, maps: 60, reduces: 4, map_time: 10s, reduce_time: 10s}",
		"  - {name: small, maps: 2, reduces: 4, map_time: {list: [10s, 100s]}, reduce_time: 5s}")
	raw := run(t, f, sim.Options{Policy: named(t, "fair")})
	changed := run(t, f, sim.Options{Policy: named(t, "dynsplit")})
	if changed.HoardingSlotSeconds*2 > raw.HoardingSlotSeconds {
		t.Errorf("%v slot-seconds, under fair %v", changed.HoardingSlotSeconds, raw.HoardingSlotSeconds)
	}
}

// TestReducesOfManyJobsAreNoMoreThanTheirSlots checks the bound R_R [Split11, dynamic resource
// allocation]. With more jobs than slots, the first jobs later hold more reduces than their
// share. Without the bound, reduces wait for 485,560 slot-seconds here, and the makespan is a
// sixth longer.
func TestReducesOfManyJobsAreNoMoreThanTheirSlots(t *testing.T) {
	lines := []string{"cluster: {trackers: 10, map_slots: 8, reduce_slots: 2}", "jobs:"}
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("  - {name: J%03d, submit: %ds, maps: 90, reduces: 30, map_time: 30s, reduce_time: 60s}", i, 2*i))
	}
	r := run(t, parse(t, lines...), sim.Options{Policy: named(t, "dynsplit")})
	if r.HoardingSlotSeconds > 300_000 {
		t.Errorf("reduces wait for %v slot-seconds", r.HoardingSlotSeconds)
	}
}

// TestAnAdditionalMapSlotOverlapsComputingAndWriting: one tracker of one core and
// one disk, two slots that take maps, which compute for 5 s and write for 5 s, alone.
// Two at a time compute for 10 s and then write for 10 s; with an additional slot
// one computes while another writes.
func TestAnAdditionalMapSlotOverlapsComputingAndWriting(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 1, reduce_slots: 1, cores: 1, disk: 10MB}",
		"jobs: [{name: J, maps: 8, map_time: 10s, map_output: 50MB, disk: 10MB}]")
	for additional, want := range map[int32]float64{0: 80, 1: 65} {
		p := dynsplit.New(policy.Options{AdditionalMapSlots: additional})
		if got := seconds(run(t, f, sim.Options{Policy: p, Cost: "l2"})); got != want {
			t.Errorf("%d additional map slots: %v s, want %v s", additional, got, want)
		}
	}
}
