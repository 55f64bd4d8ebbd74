package sim_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

var crowds = flag.Uint64("crowds", 30, "random crowded workloads of TestACrowdedWorkloadEnds")

// TestACrowdedWorkloadEnds: random workloads end under cost L2 and every policy. They
// have tasks of a nanosecond and of no bytes, tasks that want the whole tracker,
// overcommitment, losses and failing attempts.
func TestACrowdedWorkloadEnds(t *testing.T) {
	for seed := range *crowds {
		crowdedEnds(t, seed)
	}
}

func crowdedEnds(t *testing.T, seed uint64) {
	lines, o := drawCrowd(rand.New(rand.NewPCG(seed, 0)))
	f := parse(t, lines...)
	for _, name := range policies() {
		o.Policy, o.Cost = named(t, name), "l2"
		o.Config.Seed = seed
		r, err := sim.Run(context.Background(), f, o)
		if err != nil {
			t.Errorf("seed %d, %s: %v\n%s", seed, name, err, strings.Join(lines, "\n"))
			continue
		}
		for _, j := range r.Jobs {
			if j.State == "running" {
				t.Errorf("seed %d, %s: job %s runs at the end", seed, name, j.Name)
			}
		}
	}
}

// drawCrowd draws a workload file, line by line.
func drawCrowd(rng *rand.Rand) (lines []string, o sim.Options) {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	trackers := 1 + rng.IntN(3)
	lines = append(lines, fmt.Sprintf("cluster: {trackers: %d, map_slots: %d, reduce_slots: %d%s, net: 50MB%s%s}", trackers, 1+rng.IntN(4), 1+rng.IntN(2),
		pick(", cores: 1", ", cores: 2", ""), pick(", disk: 80MB", ", disk: 1MB", ""), pick("", ", overcommit: {io: 0.5, mem: 1}", ", overcommit: {cpu: 0.1, io: 0.5, mem: 1}", ", overcommit: {mem: 10}")))
	var faults, slow []string
	for i := range trackers {
		if rng.IntN(2) == 0 {
			slow = append(slow, fmt.Sprintf("{tracker: %d, factor: %s}", i, pick("0.1", "0.5", "0.1", "3")))
		}
		if i < trackers-1 && rng.IntN(2) == 0 {
			faults = append(faults, fmt.Sprintf("{at: %ds, tracker: %d, lost: true}", rng.IntN(90), i))
		}
	}
	if rng.IntN(2) == 0 {
		lines = append(lines, fmt.Sprintf("locality: {replicas: %d}", 1+rng.IntN(trackers)))
	}
	lines = append(lines, "defaults: {slowstart: "+pick("0", "0.05", "0.5", "1.0")+"}")
	share := func() string { return pick("0", "0.01", "0.3", "0.5", "1.00", "1.00") }
	duration := func() string {
		return pick("1ns", "1ns", "0s", "1s", "20s", "{uniform: [1ns, 9s]}", "{lognormal: [5s, 0.5]}", "{list: [0s, 1ns, 7s]}")
	}
	var jobs []string
	n := 1 + rng.IntN(8)
	for i := range n {
		maps, reduces := 1+rng.IntN(60), rng.IntN(6)
		job := fmt.Sprintf("  - {name: J%d, submit: %ds, maps: %d, reduces: %d, map_time: %s, reduce_time: %s, map_output: %s", i, rng.IntN(60), maps, reduces, duration(), duration(), pick("0", "0", "1", "1MB", "64MiB"))
		if rng.IntN(3) > 0 {
			job += fmt.Sprintf(", profile: {map: {cpu: %s, io: %s, mem: %s}, shuffle: {cpu: %s, io: %s, mem: %s}, reduce: {cpu: %s, io: %s, mem: %s}}", share(), share(), share(), share(), share(), share(), share(), share(), share())
		}
		job += pick("", "", ", cpu: 0.6", ", disk: 40MB", ", cpu: 1, disk: 1MB")
		if i > 0 && rng.IntN(4) == 0 {
			job += fmt.Sprintf(", after: [J%d]", rng.IntN(i))
		}
		jobs = append(jobs, job+"}")
		for range rng.IntN(2) {
			faults = append(faults, fmt.Sprintf("{task: J%d/m/%d, fail: %d}", i, rng.IntN(maps), 1+rng.IntN(5)))
		}
		if reduces > 0 && rng.IntN(3) == 0 {
			faults = append(faults, fmt.Sprintf("{at: %ds, task: J%d/m/%d, lost: true}", rng.IntN(90), i, rng.IntN(maps)))
		}
	}
	if len(slow) > 0 {
		lines = append(lines, "slow: ["+strings.Join(slow, ", ")+"]")
	}
	if len(faults) > 0 {
		lines = append(lines, "faults: ["+strings.Join(faults, ", ")+"]")
	}
	var penalty slots.PPM
	if rng.IntN(3) == 0 {
		penalty = 3 * slots.One
	}
	o.Config = setup.Config{RemotePenalty: penalty}
	return append(append(lines, "jobs:"), jobs...), o
}

// TestTheWorkloadOfTheAttackEnds: tasks of a nanosecond next to tasks that want all of a
// tracker that is slow and then lost. It ends under every policy and seed.
func TestTheWorkloadOfTheAttackEnds(t *testing.T) {
	full := "profile: {map: {cpu: 1.00, io: 1.00, mem: 1.00}, shuffle: {cpu: 1.00, io: 1.00, mem: 1.00}, reduce: {cpu: 1.00, io: 1.00, mem: 1.00}}"
	lines := []string{
		"cluster: {trackers: 2, map_slots: 4, reduce_slots: 1, cores: 1, net: 50MB, disk: 80MB, overcommit: {io: 0.5, mem: 1}}",
		"slow: [{tracker: 0, factor: 0.1}]",
		"faults: [{at: 46s, tracker: 0, lost: true}, {task: J3/m/0, fail: 5}]",
		"jobs:",
		"  - {name: J0, maps: 60, reduces: 2, map_time: 1ns, reduce_time: 1s, map_output: 0}",
	}
	for i := 1; i < 8; i++ {
		lines = append(lines, fmt.Sprintf("  - {name: J%d, submit: %ds, maps: %d, reduces: %d, map_time: {lognormal: [5s, 0.5]}, reduce_time: {uniform: [1ns, 9s]}, map_output: %dMB, %s}", i, 5*i, 5*i, i, 8*i, full))
	}
	f := parse(t, lines...)
	for _, heartbeat := range []time.Duration{0, time.Second} {
		for _, name := range policies() {
			o := sim.Options{Config: setup.Config{Seed: 124}, Policy: named(t, name), Cost: "l2", Heartbeat: heartbeat}
			if _, err := sim.Run(context.Background(), f, o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
