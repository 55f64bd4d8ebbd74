package sim_test

import (
	"fmt"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/fair"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// manyJobs is twelve jobs in three pools that shuffle, one every 5 s, on ten
// trackers of which one is slow. Maps away from their input take half as long
// again.
func manyJobs(t *testing.T) *workload.File {
	lines := []string{
		"cluster: {trackers: 10, map_slots: 4, reduce_slots: 2, net: 60MB}", "locality: {replicas: 2}", "slow: [{tracker: 9, factor: 0.3}]",
		"pools: [{name: p0}, {name: p1}, {name: p2}]", "jobs:",
	}
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("  - {name: J%02d, pool: p%d, submit: %ds, maps: %d, reduces: %d, map_time: {uniform: [18s, 22s]}, reduce_time: 15s, map_output: 256MiB}",
			i, i%3, 5*i, 20+i*7%30, 8+i*5%12))
	}
	return parse(t, lines...)
}

// tuned runs dynamicmr with what change makes of its options.
func tuned(t *testing.T, f *workload.File, o sim.Options, change func(o *policy.Options)) *report.Report {
	options := policy.DefaultOptions()
	change(&options)
	o.Policy = dynamicmr.New(options)
	return run(t, f, o)
}

// TestDynamicMRIsNoWorseThanEachOfItsParts compares all three techniques together
// with each alone, and with YARN, on many jobs that shuffle [DynamicMR14, "ablations"].
func TestDynamicMRIsNoWorseThanEachOfItsParts(t *testing.T) {
	f := manyJobs(t)
	for _, slowstart := range []slots.PPM{slots.One, slots.One / 20} {
		o := sim.Options{Cost: "l1", Config: setup.Config{RemotePenalty: slots.One * 3 / 2, Slowstart: &slowstart}}
		all := seconds(tuned(t, f, o, func(*policy.Options) {}))
		for name, change := range map[string]func(o *policy.Options){
			"DHSA":          func(o *policy.Options) { o.SEPB, o.PreScheduling = false, false },
			"SEPB":          func(o *policy.Options) { o.DHSA, o.PreScheduling = "off", false },
			"PreScheduling": func(o *policy.Options) { o.DHSA, o.SEPB = "off", false },
			"none":          func(o *policy.Options) { o.DHSA, o.SEPB, o.PreScheduling = "off", false, false },
		} {
			if alone := seconds(tuned(t, f, o, change)); alone < all {
				t.Errorf("slowstart %v: %s alone ends at %v s, all three at %v s", slowstart, name, alone, all)
			}
		}
		for _, name := range []string{"yarn", "fair", "late", "delay"} {
			o.Policy = named(t, name)
			if other := seconds(run(t, f, o)); other <= all {
				t.Errorf("slowstart %v: %s ends at %v s, dynamicmr at %v s", slowstart, name, other, all)
			}
		}
	}
}

// TestCopiesGoWhereTheirInputIs: with PreScheduling a tracker copies a slow map whose input it
// has before one that ends later. So more copies are at their input. Slots are full until the
// last maps, so that PreScheduling changes nothing else [DynamicMR14, "slot prescheduling"].
func TestCopiesGoWhereTheirInputIs(t *testing.T) {
	f := parse(t, "cluster: {trackers: 10, map_slots: 5, reduce_slots: 1}", "locality: {replicas: 2}", "slow: [{tracker: 8, factor: 0.2}, {tracker: 9, factor: 0.2}]",
		"jobs:", "  - {name: J, maps: 240, map_time: {uniform: [18s, 22s]}}")
	atInput := map[bool]int{}
	for _, preScheduling := range []bool{true, false} {
		for seed := range uint64(10) {
			o := policy.DefaultOptions()
			o.PreScheduling = preScheduling
			simulated := sim.Options{Policy: dynamicmr.New(o)}
			simulated.Seed = seed + 1
			_, events, _ := recorded(t, f, simulated)
			for i := range events {
				if e := &events[i]; e.Op == trace.OpStart && e.Has(trace.Speculative) && e.A == int64(slots.LevelTracker) {
					atInput[preScheduling]++
				}
			}
		}
	}
	if atInput[true] <= atInput[false]*3/2 {
		t.Errorf("%d copies at their input with PreScheduling, %d without", atInput[true], atInput[false])
	}
}

// TestPreSchedulingIsLocalAndFair has a light load and heartbeats of 3 s. PreScheduling
// runs more maps at their input than fair does, at the same fairness over pools. Delay
// scheduling [Delay10] runs still more there, and is less fair [DynamicMR14, "locality and
// fairness"].
func TestPreSchedulingIsLocalAndFair(t *testing.T) {
	lines := []string{
		"cluster: {trackers: 20, map_slots: 8, reduce_slots: 2}", "locality: {replicas: 2}",
		"pools: [{name: p0}, {name: p1}, {name: p2}, {name: p3}]", "jobs:",
	}
	for i := range 24 {
		lines = append(lines, fmt.Sprintf("  - {name: J%02d, pool: p%d, submit: %ds, maps: %d, map_time: {uniform: [18s, 22s]}}", i, i%4, 25*i, 60+i*7%11))
	}
	f := parse(t, lines...)
	o := sim.Options{Heartbeat: 3 * time.Second, Config: setup.Config{RemotePenalty: slots.One * 13 / 10}}
	preScheduled := tuned(t, f, o, func(o *policy.Options) { o.DHSA, o.SEPB = "off", false })
	o.Policy = named(t, "fair")
	plain := run(t, f, o)
	o.Policy, o.LocalityDelay = fair.NewDelay(policy.Options{LocalityDelay: new(4 * time.Second)}), new(4*time.Second)
	delayed := run(t, f, o)

	if a, b, c := localShare(plain), localShare(preScheduled), localShare(delayed); !(a+0.03 < b && b < c) {
		t.Errorf("local maps: fair %.3f, PreScheduling %.3f, delay %.3f", a, b, c)
	}
	if a, b, c := 1-plain.Jain, 1-preScheduled.Jain, 1-delayed.Jain; !(b < a+0.0005 && c > 2*b && c > 2*a) {
		t.Errorf("1 - Jain: fair %.5f, PreScheduling %.5f, delay %.5f", a, b, c)
	}
}

func localShare(r *report.Report) float64 {
	local, all := int64(0), int64(0)
	for i := range r.Jobs {
		local += r.Jobs[i].Counters.DataLocalMaps
		all += r.Jobs[i].Counters.LaunchedMaps
	}
	return float64(local) / float64(all)
}

// TestSEPBAtZeroIsLATE: without DHSA and PreScheduling, and with no job checked, the
// decisions are those of late [DynamicMR14, "limits of sepb"].
func TestSEPBAtZeroIsLATE(t *testing.T) {
	f := manyJobs(t)
	for _, cost := range []string{"l0", "l1", "l2"} {
		var logs [2]policytest.Log
		o := policy.DefaultOptions()
		o.DHSA, o.PreScheduling, o.SEPBJobs = "off", false, 0
		copies := 0
		for i, p := range []slots.Policy{dynamicmr.New(o), fair.NewLate(o)} {
			r := run(t, f, sim.Options{Policy: p, Cost: cost, Watch: func(s *trace.Stream) { s.Attach(&logs[i]) }})
			for _, j := range r.Jobs {
				copies += int(j.Counters.SpeculativeMaps)
			}
		}
		if len(logs[0].Events) != len(logs[1].Events) || copies == 0 {
			t.Fatalf("%s: %d events under dynamicmr, %d under late, %d copies", cost, len(logs[0].Events), len(logs[1].Events), copies)
		}
		for i := range logs[0].Events {
			if a, b := logs[0].Line(&logs[0].Events[i]), logs[1].Line(&logs[1].Events[i]); a != b {
				t.Fatalf("%s: event %d: %s under dynamicmr, %s under late", cost, i, a, b)
			}
		}
	}
}

// TestBatchFirstCopiesNothingWhileMapsPend: on typed slots, a map is copied only if
// fewer maps pend than map slots idle [DynamicMR14, "limits of sepb"].
func TestBatchFirstCopiesNothingWhileMapsPend(t *testing.T) {
	f := manyJobs(t)
	log := &policytest.Log{}
	tuned(t, f, sim.Options{Watch: func(s *trace.Stream) { s.Attach(log) }}, func(o *policy.Options) { o.BorrowMap, o.BorrowReduce = 0, 0 })
	pending, idle, copies := int64(0), 40, 0
	for i := range log.Events {
		switch e := &log.Events[i]; {
		case e.Op == trace.OpSubmit:
			pending += e.A
		case e.Op == trace.OpFinish && e.Kind == slots.Map:
			idle++
		case e.Op != trace.OpStart || e.Kind != slots.Map:
		case e.Has(trace.Speculative):
			if copies++; pending >= int64(idle) {
				t.Fatalf("at %v job %d's map %d is copied while %d maps pend and %d slots idle", e.At, e.Job, e.Task, pending, idle)
			}
			idle--
		default:
			pending--
			idle--
		}
	}
	if copies == 0 {
		t.Error("nothing was copied")
	}
}

// TestFirstFinisherCommits: of each task one attempt commits, and the others end KILLED. This
// holds under every cost model, at once and by heartbeat, with trackers lost and attempts that
// fail.
func TestFirstFinisherCommits(t *testing.T) {
	f := manyJobs(t)
	f.Faults = []setup.Fault{{At: 70 * time.Second, Tracker: 3, Lost: true}, {Tracker: -1, Job: 2, Task: 4, Fail: 2}}
	for _, cost := range []string{"l0", "l1", "l2"} {
		for _, beat := range []time.Duration{0, 3 * time.Second} {
			for _, name := range []string{"late", "dynamicmr"} {
				options := policy.DefaultOptions()
				options.CopyAfter = 3 * beat
				p, err := registry.New(name, options)
				if err != nil {
					t.Fatal(err)
				}
				checkCopies(t, run(t, f, sim.Options{Policy: p, Cost: cost, Heartbeat: beat}), fmt.Sprint(name, " ", cost, " ", beat))
			}
		}
	}
}

func checkCopies(t *testing.T, r *report.Report, what string) {
	t.Helper()
	copies := int64(0)
	for _, j := range r.Jobs {
		c := &j.Counters
		copies += c.SpeculativeMaps
		if j.State != slots.Succeeded.String() || c.KilledMaps < c.SpeculativeMaps-2 {
			t.Errorf("%s: %s %s, %d maps copied, %d killed", what, j.Name, j.State, c.SpeculativeMaps, c.KilledMaps)
		}
	}
	if copies == 0 {
		t.Errorf("%s: nothing was copied", what)
	}
}
