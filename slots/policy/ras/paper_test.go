package ras_test

import (
	"path/filepath"
	"testing"

	"mrlocal/internal/invariant"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// simulated runs a shipped workload under cost L2.
func simulated(t *testing.T, file, policyName string, mapSlots int) *report.Report {
	t.Helper()
	return simulatedWith(t, file, policyName, mapSlots, 1)
}

func simulatedWith(t *testing.T, file, policyName string, mapSlots int, seed uint64) *report.Report {
	t.Helper()
	f, err := workload.Load(filepath.Join("..", "..", "..", "bench", "workloads", file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := registry.New(policyName, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Cost: "l2", Config: setup.Config{MapSlots: mapSlots, Seed: seed}})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range r.Jobs {
		if j.State != slots.Succeeded.String() {
			t.Errorf("%s under %s: job %s %s", file, policyName, j.Name, j.State)
		}
	}
	return r
}

// TestNoStaticNumberOfSlotsIsAsGood is [RAS11, "static slots"]. The best static number of slots is
// neither the least nor the most, and RAS ends before each static number. The test runs [RAS11,
// Table 1], where overcommit costs speed. It also runs applications with different best numbers
// of slots, where overcommit costs nothing.
func TestNoStaticNumberOfSlotsIsAsGood(t *testing.T) {
	if invariant.Enabled {
		t.Skip("compares makespans, which checks do not change")
	}
	for file, static := range map[string][]int{"ras-1.yaml": {1, 2, 3, 4, 5, 6, 7, 8}, "ras-mix.yaml": {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16}} {
		best := 0
		times := make([]float64, len(static))
		for i, n := range static {
			times[i] = simulated(t, file, "fair", n).MakespanSeconds
			if times[i] < times[best] {
				best = i
			}
		}
		if best == 0 || best == len(static)-1 {
			t.Errorf("%s: the best of %v map slots per tracker is %d: %v", file, static, static[best], times)
		}
		if got := simulated(t, file, "ras", 0).MakespanSeconds; got >= times[best] {
			t.Errorf("%s: RAS takes %v s, and the best static number, %d map slots, %v s", file, got, static[best], times[best])
		} else {
			t.Logf("%s: RAS %.0f s, the best static number of map slots (%d) %.0f s", file, got, static[best], times[best])
		}
	}
}

// TestGoalsMoveResourcesToTightJobs is [RAS11, "tight goals"]: goals are relaxed in experiment 1,
// and tighter in experiment 2. Job 1, whose goal is tight, ends earlier in experiment 2, as the mean
// of six seeds. Job 7, which has time to spare, still ends by its goal with each of them. Job 8 and
// job 7's delay are figures of ras-2.
func TestGoalsMoveResourcesToTightJobs(t *testing.T) {
	last, later := uint64(6), 0.0
	if invariant.Enabled {
		last = 1 // each step is checked, and takes long
	}
	for seed := uint64(1); seed <= last; seed++ {
		relaxed, tight := simulatedWith(t, "ras-1.yaml", "ras", 0, seed), simulatedWith(t, "ras-2.yaml", "ras", 0, seed)
		later += tight.Jobs[0].FinishS - relaxed.Jobs[0].FinishS
		if j7 := &tight.Jobs[6]; j7.FinishS > *j7.DeadlineS {
			t.Errorf("seed %d: J7 ends at %v s, after its goal of %v s", seed, j7.FinishS, *j7.DeadlineS)
		}
	}
	if later >= 0 {
		t.Errorf("J1 ends %v s later with tight goals than with relaxed ones, as the sum of %d seeds", later, last)
	}
}
