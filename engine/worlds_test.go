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
	"mrlocal/jobs/sleep"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// calmWorkload is a workload that the engine runs with sleeping tasks and the
// simulator computes. It has pools with weights, minimum shares and limits, a user
// with a limit, priorities, jobs that arrive late, one that waits for another, a
// map-only one, a failing task, and three replicas on four trackers. Times are
// drawn to the nanosecond, so that no two tasks end at the same time.
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

// roughWorkload is a workload in which things go wrong. It has a slow tracker, remote
// maps that take three times as long, waits for local slots, a tracker that is lost
// while it holds map outputs, and a pool that preempts. No reduce starts before all
// maps are done. If a reduce had copied an output that is lost, the engine would
// start the reduce again, and the simulator would copy the output again.
const roughWorkload = `
cluster: {trackers: 5, map_slots: 2, reduce_slots: 1}
defaults: {slowstart: 1}
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

const (
	roughDelay   = 1500 * time.Millisecond // roughWorkload'
	roughPenalty = 3 * slots.One
)

// One workload gives the same events under both drivers: submissions, starts on the
// same slots by the same rules, ends, lendings, gates and admissions, all at the
// same times. This holds under every policy that decides by what both drivers
// report alike (driversDiffer).
func TestTheEngineAndTheSimulatorGiveTheSameEvents(t *testing.T) {
	for name, w := range map[string]struct {
		text    string
		delay   time.Duration
		penalty slots.PPM
	}{"calm": {text: calmWorkload}, "rough": {roughWorkload, roughDelay, roughPenalty}} {
		file, err := workload.Parse(name+".yaml", []byte(w.text))
		if err != nil {
			t.Fatal(err)
		}
		for _, tuned := range driverPolicies() {
			t.Run(name+"/"+tuned.name, func(t *testing.T) {
				if why := driversDiffer(tuned.name); why != "" {
					t.Skip(why)
				}
				file := withoutLosses(t, file, tuned.policy)
				var simulated, real trace.Log
				p := func() slots.Policy {
					o := policy.DefaultOptions()
					o.LocalityDelay = w.delay
					tuned.change(&o)
					p, err := registry.New(tuned.policy, o)
					if err != nil {
						t.Fatal(err)
					}
					return p
				}
				if _, err := sim.Run(t.Context(), file, sim.Options{
					Policy: p(), Config: setup.Config{MaxSlots: driverSlots, LocalityDelay: w.delay, RemotePenalty: w.penalty}, Watch: func(s *trace.Stream) { s.Attach(&simulated) },
				}); err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					sleepThrough(t, file, engine.Options{
						Policy: p(), Config: setup.Config{MaxSlots: driverSlots, LocalityDelay: w.delay, RemotePenalty: w.penalty}, Watch: func(s *trace.Stream) { s.Attach(&real) },
					})
				})
				want, got := story(&simulated), story(&real)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-simulated +real):\n%s", diff)
				}
				if strings.Count(want, "start") < 70 {
					t.Errorf("too few events to say anything:\n%s", want)
				}
			})
		}
	}
}

// driverSlots is how many slots a tracker may have. One of them is an extra slot,
// for policies that open such slots.
const driverSlots = 4

// tunedPolicy is a policy with options.
type tunedPolicy struct {
	name, policy string
	change       func(o *policy.Options)
}

// driverPolicies returns all policies with default options, and some without the
// features for which the drivers report different things.
func driverPolicies() (all []tunedPolicy) {
	for _, info := range registry.All() {
		all = append(all, tunedPolicy{info.Name, info.Name, func(*policy.Options) {}})
	}
	dynamicMR := func(name, dhsa string, w demand.Weights) tunedPolicy {
		return tunedPolicy{name, "dynamicmr", func(o *policy.Options) { o.SEPB, o.DHSA, o.SlotWeights = false, dhsa, w }}
	}
	return append(all,
		dynamicMR("dynamicmr without copies", "pi", demand.Weights{}),
		dynamicMR("dynamicmr by pd without copies", "pd", demand.Weights{}),
		dynamicMR("dynamicmr with weights without copies", "pi", demand.Weights{Map: 1, Reduce: 2}),
		dynamicMR("dynamicmr by pd with weights without copies", "pd", demand.Weights{Map: 1, Reduce: 2}),
	)
}

// driversDiffer returns why a policy decides differently under the two drivers; "":
// it does not.
func driversDiffer(name string) string {
	switch name {
	case "late", "dynamicmr":
		return "it copies by progress: the engine reports that of a sleeping task at its ticks and in whole steps, and the simulator whenever the policy asks"
	case "omo", "lazy-start", "batch-finish", "fair-containers":
		return "a window of releases closes, and deficits are brought up to date, when the policy is first asked after its end, and the engine also asks at its ticks"
	case "ras":
		return "it holds reduces in their copy phase (PhaseGate), and the engine reports reduces that have their data at the same time in any order"
	}
	return ""
}

// withoutLosses returns the file. If the policy starts reduces before all maps are
// done, whatever the slowstart of the file, it returns the file without lost
// trackers.
func withoutLosses(t *testing.T, file *workload.File, name string) *workload.File {
	t.Helper()
	p, err := registry.New(name, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Traits(); !s.OwnSlowstart || s.Slowstart == slots.One {
		return file
	}
	calm := *file
	calm.Faults = slices.DeleteFunc(slices.Clone(file.Faults), func(f setup.Fault) bool { return f.Lost })
	return &calm
}

// sleepThrough runs the file's jobs for real, each task sleeping its time.
func sleepThrough(t *testing.T, file *workload.File, o engine.Options) {
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
	if _, err := engine.RunBatch(t.Context(), work, o); err != nil {
		t.Fatal(err)
	}
}

// story returns all facts and decisions as text, without what only one driver has:
// progress, measurements, and visits that grant nothing.
func story(log *trace.Log) string {
	var b bytes.Buffer
	for i := range log.Events {
		e := log.Events[i]
		switch {
		case e.Op == trace.OpAssign || e.Op == trace.OpProgress || e.Op == trace.OpPhase || e.Op == trace.OpReady || e.Op.Class() == trace.Detail:
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
