package sim_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

var (
	soak     = flag.Uint64("soak", 20, "seeds of TestSoak")
	soakFrom = flag.Uint64("soak-from", 0, "the first seed of TestSoak, to look at one")
)

// A simulation of the soak ends within this time in a checked build, on a busy machine too. The
// longest takes a hundredth of it.
const soakRunTime = time.Minute

// TestSoak makes a random workload with faults from each seed. The workload is crowded, or has pools
// and limits. The seed also gives a cost level and a heartbeat. Under every policy each run ends,
// with every job done or failed, and two runs give the same bytes.
func TestSoak(t *testing.T) {
	var longest, longestSeed time.Duration
	slow, slowSeed, runs := "", uint64(0), 0
	for seed := *soakFrom; seed < *soakFrom+*soak; seed++ {
		lines, o := drawSoak(seed)
		f := parse(t, lines...)
		started := time.Now()
		for _, name := range policies() {
			begun := time.Now()
			if err := soaks(t, f, o, name); err != nil {
				t.Errorf("seed %d, %s, cost %s, heartbeat %v: %v\n%s", seed, name, o.Cost, o.Heartbeat, err, strings.Join(lines, "\n"))
			}
			if took := time.Since(begun); took > longest {
				longest, slow = took, fmt.Sprintf("seed %d under %s, cost %s, heartbeat %v", seed, name, o.Cost, o.Heartbeat)
			}
			runs += 2
		}
		if took := time.Since(started); took > longestSeed {
			longestSeed, slowSeed = took, seed
		}
	}
	t.Logf("%d runs; the longest pair took %v: %s; all policies of seed %d took %v", runs, longest, slow, slowSeed, longestSeed)
}

// soaks runs a workload twice under a policy.
func soaks(t *testing.T, f *workload.File, o sim.Options, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*soakRunTime)
	defer cancel()
	var files [2]bytes.Buffer
	for i := range files {
		o.Policy, o.Events = with(t, name, policy.DefaultOptions()), &files[i]
		r, err := sim.Run(ctx, f, o)
		if err != nil {
			return err
		}
		if len(r.Jobs) != len(f.Jobs) {
			return fmt.Errorf("%d of %d jobs are in the report", len(r.Jobs), len(f.Jobs))
		}
		for _, j := range r.Jobs {
			if j.State == "running" || j.FinishS < j.SubmitS {
				return fmt.Errorf("job %s is %s at the end", j.Name, j.State)
			}
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		return fmt.Errorf("two runs differ")
	}
	return nil
}

// drawSoak draws the workload and the options of a seed.
func drawSoak(seed uint64) (lines []string, o sim.Options) {
	rng := rand.New(rand.NewPCG(seed, 7))
	if seed%2 == 0 {
		lines, o = drawCrowd(rng)
	} else {
		lines = rapid.Custom(func(rt *rapid.T) []string { return drawWorkload(rt, true) }).Example(int(seed))
		o.Config = setup.Config{LocalityDelay: []*time.Duration{nil, new(3 * time.Second)}[rng.IntN(2)], RemotePenalty: []slots.PPM{0, 3 * slots.One}[rng.IntN(2)]}
	}
	slowstart := []slots.PPM{0, slots.One / 20, slots.One / 2, slots.One}[rng.IntN(4)]
	o.Config.Slowstart, o.Config.Seed = &slowstart, seed
	o.Cost = []string{"l0", "l1", "l2", "l2"}[rng.IntN(4)]
	o.Heartbeat = []time.Duration{0, 0, time.Second, 7 * time.Second}[rng.IntN(4)]
	return lines, o
}
