package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/sim"
)

// TestManyPoolsTakeTheMemoryOfTheirJobs: a job without a pool gets one of its own, so a simple
// file has as many pools as jobs. The memory of a policy for a pool must not grow with the jobs
// of other pools.
func TestManyPoolsTakeTheMemoryOfTheirJobs(t *testing.T) {
	const jobs, mostBytes = 4_000, 128 << 20 // checked builds allocate to check
	lines := []string{"cluster: {trackers: 10, map_slots: 100, reduce_slots: 10}", "defaults: {map_time: 1s, reduce_time: 1s}", "jobs:"}
	for i := range jobs {
		lines = append(lines, fmt.Sprintf("  - {name: J%d, maps: 1, reduces: 1}", i))
	}
	f := parse(t, lines...)
	for i, name := range policies() {
		if i%8 > 0 && !testkit.Long() {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := sim.Run(context.Background(), f, sim.Options{Policy: named(t, name)}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > mostBytes {
			t.Errorf("%s: %d jobs in pools of their own took %d MiB in all, more than %d", name, jobs, took>>20, mostBytes>>20)
		} else {
			t.Logf("%s: %d MiB", name, took>>20)
		}
	}
}
