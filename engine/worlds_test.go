package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mrlocal/engine"
	"mrlocal/internal/testkit"
	"mrlocal/jobs/sleep"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// calmWorkload is a workload that the engine runs with sleeping tasks and the
// simulator computes. It has pools with weights, minimum shares and limits, a user with a
// limit, and priorities. Its jobs arrive late, one waits for another, and one is map-only. A
// task fails, and inputs have three replicas on four trackers. Times are drawn to the
// nanosecond, so that no two tasks end at the same time.
const calmWorkload = `
cluster: {trackers: 4, map_slots: 2, reduce_slots: 1}
defaults: {slowstart: 0.6}
locality: {replicas: 3}
users:
  - {name: ann, max_running_jobs: 1}
pools:
  - {name: prod, weight: 2, min_maps: 3, max_maps: 7}
  - {name: adhoc, max_running_jobs: 2, mode: fifo}
faults:
  - {task: J02/m/1, fail: 2}
jobs:
  - {name: J01, pool: prod, user: ann, maps: 17, reduces: 5, map_time: {uniform: [2s, 9s]}, reduce_time: {uniform: [3s, 8s]}}
  - {name: J02, pool: adhoc, maps: 9, reduces: 3, map_time: {uniform: [1s, 4s]}, reduce_time: {lognormal: [4s, 0.4]}}
  - {name: J03, pool: adhoc, maps: 12, reduces: 2, map_time: {uniform: [1s, 6s]}, reduce_time: {uniform: [1s, 2s]}, weight: 2}
  - {name: J04, pool: adhoc, submit: 500ms, maps: 3, reduces: 2, map_time: {uniform: [1s, 3s]}, reduce_time: {uniform: [1s, 2s]}, priority: high}
  - {name: J05, pool: prod, user: ann, submit: 3s, maps: 20, reduces: 7, map_time: {lognormal: [3s, 0.5]}, reduce_time: {uniform: [2s, 5s]}}
  - {name: J06, pool: prod, after: [J02], maps: 8, map_time: {uniform: [1s, 3s]}}
`

// roughWorkload is a workload with faults. It has a slow tracker, remote maps
// that take three times as long, waits for local slots, and a pool that preempts. One
// tracker is lost while it holds map outputs that reduces have copied.
const roughWorkload = `
cluster: {trackers: 5, map_slots: 2, reduce_slots: 1}
defaults: {slowstart: 0.3}
locality: {replicas: 2}
pools:
  - {name: prod, min_maps: 4, preempt_after: 2s}
  - {name: adhoc}
slow:
  - {tracker: 1, factor: 0.5}
faults:
  - {at: 14s, tracker: 3, lost: true}
  - {task: K01/r/2, fail: 1}
jobs:
  - {name: K01, pool: adhoc, maps: 31, reduces: 5, map_time: {uniform: [2s, 9s]}, reduce_time: {uniform: [3s, 8s]}}
  - {name: K02, pool: adhoc, maps: 14, reduces: 3, map_time: {uniform: [4s, 8s]}, reduce_time: {uniform: [2s, 5s]}}
  - {name: K03, pool: prod, submit: 5s, maps: 12, reduces: 4, map_time: {uniform: [1s, 6s]}, reduce_time: {uniform: [1s, 9s]}}
`

// slowWorkload has a tracker at a fifth of the speed, so that its tasks are worth copies.
// Few jobs run at a time, so that slots are idle for copies. Inputs have places.
const slowWorkload = `
cluster: {trackers: 5, map_slots: 2, reduce_slots: 1}
defaults: {slowstart: 1}
locality: {replicas: 2}
slow:
  - {tracker: 2, factor: 0.2}
jobs:
  - {name: S01, maps: 22, reduces: 4, map_time: {uniform: [4s, 6s]}, reduce_time: {uniform: [4s, 6s]}}
  - {name: S02, submit: 7s, maps: 9, reduces: 3, map_time: {uniform: [6s, 7s]}, reduce_time: {uniform: [3s, 4s]}}
  - {name: S03, submit: 61s, maps: 14, reduces: 5, map_time: {uniform: [4s, 6s]}, reduce_time: {uniform: [5s, 6s]}}
  - {name: S04, submit: 151s, maps: 5, reduces: 2, map_time: {uniform: [4s, 6s]}, reduce_time: {uniform: [5s, 6s]}}
`

// waveWorkload has equal jobs at once. Their last maps fail once the reduce stage has begun,
// so that maps are pending next to reduces.
const waveWorkload = `
cluster: {trackers: 2, map_slots: 2, reduce_slots: 2}
faults:
  - {task: W01/m/13, fail: 2}
  - {task: W02/m/12, fail: 1}
jobs:
  - {name: W01, maps: 14, reduces: 2, map_time: {uniform: [4s, 5s]}, reduce_time: {uniform: [9s, 12s]}}
  - {name: W02, maps: 14, reduces: 2, map_time: {uniform: [4s, 5s]}, reduce_time: {uniform: [9s, 12s]}}
  - {name: W03, maps: 14, reduces: 2, map_time: {uniform: [4s, 5s]}, reduce_time: {uniform: [9s, 12s]}}
  - {name: W04, submit: 3s, maps: 14, reduces: 2, map_time: {uniform: [4s, 5s]}, reduce_time: {uniform: [9s, 12s]}}
`

// goalWorkload has jobs with goals and profiles. They arrive while others run, and together need
// more of a tracker than it has.
const goalWorkload = `
cluster: {trackers: 3, map_slots: 2, reduce_slots: 1}
jobs:
  - {name: G01, maps: 30, reduces: 4, map_time: {uniform: [4s, 8s]}, reduce_time: {uniform: [3s, 8s]}, deadline: 70s,
     profile: {map: {cpu: 0.30, io: 0.45, mem: 0.25}, shuffle: {io: 0.02}, reduce: {cpu: 0.20, io: 0.50, mem: 0.60}}}
  - {name: G02, submit: 9s, maps: 16, reduces: 1, map_time: {uniform: [2s, 3s]}, reduce_time: 4s, deadline: 40s,
     profile: {map: {cpu: 0.25, io: 0.10, mem: 0.10}, shuffle: {io: 0.01}, reduce: {cpu: 0.10, io: 0.10, mem: 0.25}}}
  - {name: G03, submit: 21s, maps: 18, reduces: 2, map_time: {uniform: [3s, 5s]}, reduce_time: {uniform: [1s, 2s]},
     profile: {map: {cpu: 0.15, io: 0.20, mem: 0.10}, shuffle: {io: 0.01}, reduce: {cpu: 0.10, io: 0.10, mem: 0.25}}}
`

const (
	roughDelay   = 1500 * time.Millisecond // roughWorkload'
	roughPenalty = 3 * slots.One
)

// One workload gives the same events at the same times under both drivers, for every
// policy. These are submissions, progress, starts, ends, lendings, gates and admissions.
// Starts are on the same slots by the same rules. Policies that learn from measured times
// learn the same: the clock of the real run is virtual too.
func TestTheEngineAndTheSimulatorGiveTheSameEvents(t *testing.T) {
	used := map[string]map[slots.Rule]bool{} // by policy, the rules by which anything started
	for i, w := range []struct {
		name, text string
		delay      time.Duration
		penalty    slots.PPM
	}{
		{name: "calm", text: calmWorkload},
		{"rough", roughWorkload, roughDelay, roughPenalty},
		{name: "slow", text: slowWorkload},
		{name: "goal", text: goalWorkload},
		{name: "wave", text: waveWorkload},
	} {
		file, err := workload.Parse(w.name+".yaml", []byte(w.text))
		if err != nil {
			t.Fatal(err)
		}
		for k, tuned := range worldPolicies() {
			if (i+k)%4 >= testkit.Rounds(4) {
				continue
			}
			t.Run(w.name+"/"+tuned.name, func(t *testing.T) {
				var simulated, real policytest.Log
				p := func() slots.Policy {
					o := policy.DefaultOptions()
					o.LocalityDelay = &w.delay
					tuned.change(&o)
					p, err := registry.New(tuned.policy, o)
					if err != nil {
						t.Fatal(err)
					}
					return p
				}
				config := setup.Config{MaxSlots: worldSlots, LocalityDelay: &w.delay, RemotePenalty: w.penalty}
				inVirtualTime, err := sim.Run(t.Context(), file, sim.Options{
					Policy: p(), Config: config, Watch: func(s *trace.Stream) { s.Attach(&simulated) },
				})
				if err != nil {
					t.Fatal(err)
				}
				var forReal *report.Report
				synctest.Test(t, func(t *testing.T) {
					forReal = sleepThrough(t, file, engine.Options{
						Policy: p(), Config: config, Watch: func(s *trace.Stream) { s.Attach(&real) },
					})
				})
				want, got := story(&simulated), story(&real)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-simulated +real):\n%s", diff)
				}
				if diff := cmp.Diff(attemptCounters(inVirtualTime), attemptCounters(forReal)); diff != "" {
					t.Errorf("counters (-simulated +real):\n%s", diff)
				}
				if strings.Count(want, "start") < 50 {
					t.Errorf("too few events to say anything:\n%s", want)
				}
				for i := range simulated.Events {
					if e := &simulated.Events[i]; e.Op == trace.OpStart {
						if used[tuned.name] == nil {
							used[tuned.name] = map[slots.Rule]bool{}
						}
						used[tuned.name][simulated.Rule(e)] = true
					}
				}
			})
		}
	}
	for name, rules := range decisiveRules() {
		for _, rule := range rules {
			if !used[name][rule] && testkit.Long() { // without -long a policy does not run each workload
				t.Errorf("under %s nothing started by the rule %s, so the workloads do not compare it", name, rule)
			}
		}
	}
}

// decisiveRules are the rules that rest on what a policy learns while it runs.
func decisiveRules() map[string][]slots.Rule {
	return map[string][]slots.Rule{
		"late":                  {"speculative"},
		"late by hadoop's rule": {"speculative"},
		"dynamicmr":             {"speculative"},
		"dynamicmr by pd":       {"speculative"},
		"dynamicmr over fair":   {"speculative", "pre-scheduled"},
		"omo":                   {"lazy-start", "consecutive-reduces", "batch-finish", "container-deficit"},
		"lazy-start":            {"lazy-start", "consecutive-reduces", "container-deficit"},
		"batch-finish":          {"batch-finish", "container-deficit"},
		"fair-containers":       {"container-deficit"},
		"omo that reserves":     {"batch-finish"},
		"ras":                   {"lowest-utility"},
		"ras with short cycle":  {"lowest-utility"},
	}
}

// worldSlots is how many slots a tracker may have. One of them is an extra slot, for
// policies that open such slots.
const worldSlots = 4

// tunedPolicy is a policy with options.
type tunedPolicy struct {
	name, policy string
	change       func(o *policy.Options)
}

// worldPolicies returns all policies with default options, and some with others.
func worldPolicies() (all []tunedPolicy) {
	for _, info := range registry.All() {
		all = append(all, tunedPolicy{info.Name, info.Name, func(*policy.Options) {}})
	}
	dynamicMR := func(name, dhsa string, copies bool, w slots.Weights) tunedPolicy {
		return tunedPolicy{name, "dynamicmr", func(o *policy.Options) { o.SEPB, o.DHSA, o.SlotWeights = copies, dhsa, w }}
	}
	return append(all,
		dynamicMR("dynamicmr by pd", "pd", true, slots.Weights{}),
		dynamicMR("dynamicmr over fair", "off", true, slots.Weights{}),
		dynamicMR("dynamicmr with weights", "pi", true, slots.Weights{Map: 1, Reduce: 2}),
		dynamicMR("dynamicmr by pd with weights", "pd", true, slots.Weights{Map: 1, Reduce: 2}),
		dynamicMR("dynamicmr without copies", "pi", false, slots.Weights{}),
		dynamicMR("dynamicmr by pd with weights without copies", "pd", false, slots.Weights{Map: 1, Reduce: 2}),
		tunedPolicy{"dynamicmr, half of the jobs checked", "dynamicmr", func(o *policy.Options) { o.SEPBJobs = slots.One / 2 }},
		tunedPolicy{"late by hadoop's rule", "late", func(o *policy.Options) { o.CopyRule = "hadoop" }},
		tunedPolicy{"omo that reserves", "omo", func(o *policy.Options) { o.BatchReserve, o.ReleaseWindow = true, 3*time.Second }},
		tunedPolicy{"omo by count", "omo", func(o *policy.Options) { o.ContainerOrder = "count" }},
		tunedPolicy{"ras with short cycle", "ras", func(o *policy.Options) { o.Cycle, o.ShuffleMemory = 700*time.Millisecond, true }},
		tunedPolicy{"ras that takes maps for any job", "ras", func(o *policy.Options) { o.TakeMapsFor, o.RequiredAtFirst = "any", "one" }},
		tunedPolicy{"ras that preempts reduces", "ras", func(o *policy.Options) { o.PreemptReduces = true }},
		tunedPolicy{"dynsplit as printed", "dynsplit", func(o *policy.Options) { o.EarlyReduces = "printed" }},
	)
}

// sleepThrough runs the file's jobs for real, each task sleeping its time.
func sleepThrough(t *testing.T, file *workload.File, o engine.Options) *report.Report {
	const seed = 1 // the simulator's default
	config, submissions := file.Lower(o.Config)
	o.Config = config
	var work []engine.BatchJob
	for i := range file.Jobs {
		j := &file.Jobs[i]
		times := func(reduce bool, of workload.Times) func(task int) time.Duration {
			return func(task int) time.Duration { return of.At(seed, i, reduce, task) }
		}
		chain, err := sleep.New(sleep.Options{Maps: j.Maps, Reduces: j.Reduces, MapTime: times(false, j.MapTime), ReduceTime: times(true, j.ReduceTime)})
		if err != nil {
			t.Fatal(err)
		}
		work = append(work, engine.BatchJob{
			Submission: submissions[i], Chain: chain,
		})
	}
	o.NoPin, o.MemoryBytes = true, 256<<20
	r, err := engine.RunBatch(t.Context(), work, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// attemptCounters returns the counters of attempts of each job, without those of the data
// plane, which sleeping and simulated tasks do not share.
func attemptCounters(r *report.Report) map[string]report.Counters {
	all := map[string]report.Counters{}
	for i := range r.Jobs {
		c := r.Jobs[i].Counters
		data := c
		c.Sub(&data)
		all[r.Jobs[i].Name] = c
	}
	return all
}

// story returns all facts and decisions as text, without what only one driver has:
// phases, measurements, and visits that grant nothing. The answers to one Probe are in the
// order of slots.
func story(log *policytest.Log) string {
	var b bytes.Buffer
	events := slices.Clone(log.Events)
	progress := func(e trace.Event) bool { return e.Op == trace.OpProgress }
	for from := 0; from < len(events); from++ {
		end := from
		for end < len(events) && progress(events[end]) {
			end++
		}
		slices.SortFunc(events[from:end], func(a, b trace.Event) int { return int(a.Slot - b.Slot) })
		from = max(from, end-1)
	}
	for i := range events {
		e := events[i]
		switch {
		case e.Op == trace.OpAssign || e.Op == trace.OpPhase || e.Op == trace.OpReady || e.Op.Class() == trace.Detail:
			continue
		case e.Op == trace.OpSubmit: // the engine finds the maps of a job one after the other
			e.A, e.C, e.Flags = 0, 0, 0
		case e.Op == trace.OpFinish:
			e.A, e.B, e.C, e.D, e.E = 0, 0, 0, 0, 0
		}
		e.Seq = 0
		fmt.Fprintln(&b, log.Line(&e))
	}
	return b.String()
}
