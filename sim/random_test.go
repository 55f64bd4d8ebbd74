package sim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/setup"
)

// TestEveryPolicyEndsEveryWorkload: all jobs of random small workloads end, two runs give
// the same bytes, and a replay decides the same (recorded). The workloads have pools,
// users, limits, preemption, and jobs that wait for jobs. They have slow and lost
// trackers, lost outputs and failing attempts. They run under each cost model, with and
// without a heartbeat and a wait for local slots.
func TestEveryPolicyEndsEveryWorkload(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		slowstart := rapid.SampledFrom([]slots.PPM{0, slots.One / 20, slots.One / 2, slots.One, slots.One}).Draw(rt, "slowstart")
		cost := rapid.SampledFrom([]string{"l0", "l1", "l2", "l2"}).Draw(rt, "cost")
		lines := drawWorkload(rt, true)
		lines[0] = strings.TrimSuffix(lines[0], "}") + rapid.SampledFrom([]string{
			"", ", kernel: 1MB", ", kvbuffer: {start: 100KiB}", ", kvbuffer: {start: 100KiB, spill_percent: 0.3, merge_factor: 2}", ", kvbuffer: {start: 1MB, memory: 4MB, growth: true}, kernel: 10MB",
		}).Draw(rt, "kvbuffer") + rapid.SampledFrom([]string{"", ", shuffle: {copiers: 2, copy_rate: 300KB}", ", shuffle: {copiers: 1, copy_rate: 1KB, memory: 500KB, merge_factor: 2}", ", shuffle: {memory: 1MB, merge_percent: 0.1}"}).Draw(rt, "shuffle") + "}"
		f := parse(rt, lines...)
		o := sim.Options{
			Config: setup.Config{Slowstart: &slowstart, Seed: rapid.Uint64Range(1, 3).Draw(rt, "seed"), LocalityDelay: rapid.SampledFrom([]*time.Duration{nil, new(time.Duration(0)), new(3 * time.Second)}).Draw(rt, "delay"), RemotePenalty: rapid.SampledFrom([]slots.PPM{0, 3 * slots.One}).Draw(rt, "penalty")}, Cost: cost,
			Heartbeat: rapid.SampledFrom([]time.Duration{0, 0, time.Second, 7 * time.Second}).Draw(rt, "heartbeat"),
		}
		share := rapid.SampledFrom([]slots.PPM{slots.One, slots.One, slots.One / 3})
		p := policy.DefaultOptions()
		p.BorrowMap, p.BorrowReduce, p.LocalityDelay = share.Draw(rt, "of map slots"), share.Draw(rt, "of reduce slots"), o.LocalityDelay
		p.DHSA, p.SEPBJobs = rapid.SampledFrom([]string{"pi", "pd", "off"}).Draw(rt, "DHSA"), rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(rt, "SEPB")
		p.ReduceTotal, p.ReduceShuffle, p.ReduceCompute = int32(rapid.IntRange(0, 2).Draw(rt, "reduces")), int32(rapid.IntRange(0, 2).Draw(rt, "copying")), int32(rapid.IntRange(0, 2).Draw(rt, "computing"))
		rt.Logf("%s\n%+v", strings.Join(lines, "\n"), o)
		first := rapid.IntRange(0, 3).Draw(rt, "policies")
		for i, name := range policies() {
			if (first+i)%4 >= testkit.Rounds(4) {
				continue
			}
			o.Policy = with(rt, name, p)
			r, _, file := recorded(rt, f, o)
			for _, j := range r.Jobs {
				if j.State == "running" || j.FinishS < j.SubmitS {
					rt.Fatalf("%s: job %s is %s at the end", name, j.Name, j.State)
				}
			}
			if len(r.Jobs) != len(f.Jobs) {
				rt.Fatalf("%s: %d of %d jobs", name, len(r.Jobs), len(f.Jobs))
			}
			if _, again := written(rt, f, o); !bytes.Equal(file, again) {
				rt.Fatalf("%s: two runs differ", name)
			}
		}
	})
}

// drawWorkload draws a file, with faults or without; tracker 0 is never lost.
func drawWorkload(rt *rapid.T, faulty bool) []string {
	draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
	trackers := draw("trackers", 1, 4)
	lines := []string{fmt.Sprintf("cluster: {trackers: %d, map_slots: %d, reduce_slots: %d, net: %dMB%s%s}", trackers, draw("map slots", 1, 3), draw("reduce slots", 1, 3), draw("net", 1, 9),
		rapid.SampledFrom([]string{"", ", cores: 1", ", cores: 2, disk: 3MB", ", disk: 1MB"}).Draw(rt, "shared"),
		rapid.SampledFrom([]string{"", ", overcommit: {cpu: 0.1, io: 0.5, mem: 2}"}).Draw(rt, "lost"))}
	if draw("unlike", 0, 2) == 0 {
		lines = append(lines, fmt.Sprintf("capacities: [{tracker: %d, cpu: 0.%d, io: %d.5, mem: 0.%d}]", draw("which", 0, trackers-1), draw("of the CPU", 1, 9), draw("of the disk", 0, 2), draw("of memory", 6, 9)))
	}
	if n := draw("replicas", 0, 3); n > 0 {
		lines = append(lines, fmt.Sprintf("locality: {replicas: %d}", n))
	}
	lines = append(lines, fmt.Sprintf("users: [{name: ann, max_running_jobs: %d}, {name: bob}]", draw("ann's jobs", 1, 2)))
	lines = append(lines, "pools:")
	for i := range 3 {
		lines = append(lines, fmt.Sprintf("  - {name: p%d, weight: %d, min_maps: %d, min_reduces: %d%s, mode: %s%s}", i,
			draw("weight", 1, 3), draw("min maps", 0, 2), draw("min reduces", 0, 2), rapid.SampledFrom([]string{"", ", max_running_jobs: 1", ", max_running_jobs: 2"}).Draw(rt, "running"), rapid.SampledFrom([]string{"fair", "fifo"}).Draw(rt, "mode"), rapid.SampledFrom([]string{"", ", preempt_after: 2s", ", fair_preempt_after: 4s"}).Draw(rt, "preempts")))
	}
	var faults, slow []string
	for i := 1; i < trackers; i++ {
		if draw("slow", 0, 3) == 0 {
			slow = append(slow, fmt.Sprintf("{tracker: %d, factor: 0.%d}", i, draw("factor", 1, 9)))
		}
		if faulty && draw("lost", 0, 3) == 0 {
			faults = append(faults, fmt.Sprintf("{at: %ds, tracker: %d, lost: true}", draw("at", 0, 40), i))
		}
	}
	jobs := []string{"jobs:"}
	for i := range draw("jobs", 1, 6) {
		maps, reduces := draw("maps", 1, 12), draw("reduces", 0, 8)
		jobs = append(jobs, fmt.Sprintf("  - {name: J%d, pool: p%d, user: %s, submit: %ds, maps: %d, reduces: %d, map_time: {uniform: [%ds, 9s]}, reduce_time: {list: [3s, 0s, %ds]}, map_output: %dMB%s%s}",
			i, draw("pool", 0, 2), rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user"), draw("submit", 0, 20), maps, reduces, draw("map", 0, 9), draw("reduce", 0, 9),
			draw("output", 0, 5), rapid.SampledFrom([]string{"", ", cpu: 0.6", ", cpu: 3, disk: 2MB", profiled}).Draw(rt, "needs"), behind(rt, i)))
		for range draw("failing", 0, 2) {
			faults = append(faults, fmt.Sprintf("{task: J%d/m/%d, fail: %d}", i, draw("task", 0, maps-1), draw("fail", 1, 4)))
		}
		if reduces > 0 && draw("output lost", 0, 2) == 0 {
			faults = append(faults, fmt.Sprintf("{at: %ds, task: J%d/m/%d, lost: true}", draw("at", 0, 40), i, draw("task", 0, maps-1)))
		}
	}
	if len(slow) > 0 {
		lines = append(lines, "slow: ["+strings.Join(slow, ", ")+"]")
	}
	if faulty && len(faults) > 0 {
		lines = append(lines, "faults: ["+strings.Join(faults, ", ")+"]")
	}
	return append(lines, jobs...)
}

const profiled = ", profile: {map: {cpu: 0.3, io: 0.45, mem: 0.6}, shuffle: {mem: 0.1}, reduce: {cpu: 0.2, io: 0.5, mem: 0.6}}"

// behind is a job's after: one of those before it, or nothing.
func behind(rt *rapid.T, i int) string {
	if i == 0 || rapid.IntRange(0, 2).Draw(rt, "after") > 0 {
		return ""
	}
	return fmt.Sprintf(", after: [J%d]", rapid.IntRange(0, i-1).Draw(rt, "which"))
}
