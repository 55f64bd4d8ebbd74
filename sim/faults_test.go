package sim_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// two is a cluster of two trackers of one map and one reduce slot each.
const two = "cluster: {trackers: 2, map_slots: 1, reduce_slots: 1}"

func TestFaultsTakeTheTimeTheyTake(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		policy string
		want   float64
		state  string
	}{
		"two attempts fail at their ends, the third commits": {
			[]string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}", "faults: [{task: J/m/0, fail: 2}]", "jobs: [{name: J, maps: 1, reduces: 1, map_time: 10s, reduce_time: 5s}]"},
			"fair", 35, "succeeded"},
		"of two numbers of failures the larger counts": {
			[]string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}", "faults: [{task: J/m/0, fail: 2}, {task: J/m/0, fail: 1}]", "jobs: [{name: J, maps: 1, reduces: 1, map_time: 10s, reduce_time: 5s}]"},
			"fair", 35, "succeeded"},
		"four attempts fail, and with them the job": {
			[]string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}", "faults: [{task: J/m/0, fail: 4}]", "jobs: [{name: J, maps: 1, reduces: 1, map_time: 10s, reduce_time: 5s}]"},
			"fair", 40, "failed"},
		"a reduce that fails copies and reduces again": {
			[]string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}", "faults: [{task: J/r/0, fail: 1}]", "jobs: [{name: J, maps: 1, reduces: 1, map_time: 10s, reduce_time: 5s}]"},
			"fair", 20, "succeeded"},
		// 0-4 maps 0 and 1, 4- maps 2 and 3. At 5 tracker 1 takes map 3 and the output of map 1 with it. 8-16 both
		// again, 16-20 the reduce.
		"a lost tracker takes its attempts and its map outputs with it": {
			[]string{two, "faults: [{at: 5s, tracker: 1, lost: true}]", "jobs: [{name: J, maps: 4, reduces: 1, map_time: 4s, reduce_time: 4s}]"},
			"fair", 20, "succeeded"},
		// As before, but at 5 only the output of map 1 is lost, and both trackers go on. 8-12 map 1, 12-16 the reduce.
		"a lost output is made again": {
			[]string{two, "faults: [{at: 5s, task: J/m/1, lost: true}]", "jobs: [{name: J, maps: 4, reduces: 1, map_time: 4s, reduce_time: 4s}]"},
			"fair", 16, "succeeded"},
		"an output that is not there yet cannot be lost": {
			[]string{two, "faults: [{at: 3s, task: J/m/1, lost: true}]", "jobs: [{name: J, maps: 4, reduces: 1, map_time: 4s, reduce_time: 4s}]"},
			"fair", 12, "succeeded"},
		"a job without reduces does not need its outputs any more": {
			[]string{two, "faults: [{at: 5s, tracker: 1, lost: true}]", "jobs: [{name: J, maps: 3, map_time: 4s}]"},
			"fair", 8, "succeeded"},
		// Copied and past its copy at 8, the reduce needs map 0 no more.
		"a reduce that has copied everything does not mind": {
			[]string{two, "faults: [{at: 9s, task: J/m/0, lost: true}]", "jobs: [{name: J, maps: 4, reduces: 1, map_time: 4s, reduce_time: 4s}]"},
			"fair", 12, "succeeded"},
		// Tracker 1 is at a quarter of the speed: map 1 takes 16 s there.
		"a slow tracker takes longer": {
			[]string{two, "slow: [{tracker: 1, factor: 0.25}]", "jobs: [{name: J, maps: 3, map_time: 4s}]"},
			"fair", 16, "succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := recorded(t, parse(t, c.lines...), sim.Options{Policy: named(t, c.policy)})
			if seconds(r) != c.want || r.Jobs[0].State != c.state {
				t.Errorf("%v s, %s; want %v s, %s", seconds(r), r.Jobs[0].State, c.want, c.state)
			}
		})
	}
}

// TestLooksForCopiesDoNotHideADeadlock: the map fails on the two trackers with a free slot, and reduces
// that wait for it hold the third. dynamicmr asks for wake-ups to look for tasks to copy. All the same
// the Ledger kills reduces until the map may start [DHFS13, "deadlock guard"].
func TestLooksForCopiesDoNotHideADeadlock(t *testing.T) {
	f := parse(t, "cluster: {trackers: 3, map_slots: 2, reduce_slots: 1}", "defaults: {slowstart: 0}", "faults: [{task: J/m/0, fail: 2}]",
		"jobs: [{name: J, maps: 1, reduces: 7, map_time: 1s, reduce_time: 1s}]")
	for _, beat := range []time.Duration{0, time.Second} {
		o := policy.DefaultOptions()
		o.CopyRule, o.CopyAfter = "hadoop", time.Second
		p, err := registry.New("dynamicmr", o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Heartbeat: beat})
		if err != nil || r.Jobs[0].State != "succeeded" || r.Jobs[0].Counters.FailedMaps != 2 {
			t.Errorf("heartbeat %v: %v, %+v", beat, err, r.Jobs[0])
		}
	}
}

// TestOutputsOfLostMapsAreCopiedAgain runs under L1: 2 maps of 10 s, each 10 s of
// copying for the only reduce, which waits from the start. Undisturbed it has
// copied at 30 and ends at 35. Where map 0's output is lost at 15 it is there
// again at 25; as the newest it is copied last, until 35.
func TestOutputsOfLostMapsAreCopiedAgain(t *testing.T) {
	for _, c := range []struct {
		lostAt string
		want   float64
	}{
		{"", 35},
		{"faults: [{at: 15s, task: J/m/0, lost: true}]", 40}, // there at 25: copied from 25 to 35
		{"faults: [{at: 29s, task: J/m/0, lost: true}]", 54}, // there at 39
		{"faults: [{at: 31s, task: J/m/0, lost: true}]", 35}, // too late to matter
	} {
		lines := []string{"cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, net: 1MB}", "defaults: {slowstart: 0}",
			"jobs: [{name: J, maps: 2, reduces: 1, map_time: 10s, reduce_time: 5s, map_output: 10MB}]"}
		if c.lostAt != "" {
			lines = append(lines, c.lostAt)
		}
		r, events, _ := recorded(t, parse(t, lines...), sim.Options{Policy: named(t, "fair"), Cost: "l1"})
		if seconds(r) != c.want {
			t.Errorf("%q: %v s, want %v s", c.lostAt, seconds(r), c.want)
		}
		for _, e := range events {
			if e.Op == trace.OpFinish && e.Kind == trace.Reduce && (e.A != 20_000_000 || e.D != 20_000_000 || e.E != 20e9) {
				t.Errorf("%q: the reduce reports %d bytes in, %d copied in %d ns", c.lostAt, e.A, e.D, e.E)
			}
			if e.Op == trace.OpFinish && e.Kind == trace.Map && e.Has(trace.OK) && e.B != 10_000_000 {
				t.Errorf("%q: a map reports %d bytes out", c.lostAt, e.B)
			}
		}
	}
}

// TestLostTrackersEndDeterministically: jobs that lend everything lose half of the
// trackers while reduces wait on map slots. All jobs end [DHFS13, "deadlock guard"],
// and two runs are the same.
func TestLostTrackersEndDeterministically(t *testing.T) {
	lines := []string{"cluster: {trackers: 4, map_slots: 2, reduce_slots: 1, net: 1MB}", "defaults: {slowstart: 0.05}",
		"faults: [{at: 30s, tracker: 1, lost: true}, {at: 61s, tracker: 3, lost: true}, {at: 62s, task: J0/m/3, lost: true}]", "jobs:"}
	for i := range 4 {
		lines = append(lines, fmt.Sprintf("  - {name: J%d, maps: 20, reduces: 12, submit: %ds, map_time: {uniform: [5s, 15s]}, reduce_time: {uniform: [5s, 9s]}, map_output: 2MB}", i, 3*i))
	}
	f := parse(t, lines...)
	for _, name := range policies() {
		for _, cost := range []string{"l0", "l1", "l2"} {
			r, _, file := recorded(t, f, sim.Options{Policy: named(t, name), Cost: cost})
			_, again := written(t, f, sim.Options{Policy: named(t, name), Cost: cost})
			if string(file) != string(again) {
				t.Errorf("%s, %s: two runs differ", name, cost)
			}
			for _, j := range r.Jobs {
				if j.State != "succeeded" {
					t.Errorf("%s, %s: job %s %s", name, cost, j.Name, j.State)
				}
			}
		}
	}
}

// TestAJobBehindOneThatFailsDoesNotStart: a job behind that one does not start either. A
// job behind a job that succeeds starts when that job has ended and its own submit time has
// come.
func TestAJobBehindOneThatFailsDoesNotStart(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 4, reduce_slots: 1}", "faults: [{task: bad/m/0, fail: 4}]", "defaults: {map_time: 10s}", "jobs:",
		"  - {name: third, maps: 1, after: [second]}",
		"  - {name: bad, maps: 1}",
		"  - {name: second, maps: 1, after: [good, bad]}",
		"  - {name: good, maps: 1}",
		"  - {name: soon, maps: 1, after: [good]}",
		"  - {name: late, maps: 1, after: [good], submit: 25s}")
	var notes []string
	r, _, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Note: func(s string) { notes = append(notes, s) }})
	for name, want := range map[string]struct {
		state                 string
		submit, start, finish float64
		cause                 string
	}{
		"good":   {"succeeded", 0, 0, 10, ""},
		"soon":   {"succeeded", 10, 10, 20, ""},
		"late":   {"succeeded", 25, 25, 35, ""},
		"bad":    {"failed", 0, 0, 40, "map 0 failed 4 times"},
		"second": {"killed", -1, -1, -1, "job bad, which it waits for, failed"},
		"third":  {"killed", -1, -1, -1, "job second, which it waits for, does not start either"},
	} {
		j := job(t, r, name)
		if j.State != want.state || j.SubmitS != want.submit || j.StartS != want.start || j.FinishS != want.finish || j.Error != want.cause {
			t.Errorf("%s: %+v, want %+v", name, j, want)
		}
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "job second does not start: job bad, which it waits for, failed") {
		t.Errorf("notes: %s", all)
	}
}

// TestAJobMayHaveNoMapsOrNoReduces, or nothing to do at all.
func TestAJobMayHaveNoMapsOrNoReduces(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}", "defaults: {map_time: 10s, reduce_time: 5s}", "jobs:",
		"  - {name: reduces, reduces: 2, maps: 1}", "  - {name: maps, maps: 3}", "  - {name: none, maps: 1, after: [maps]}", "  - {name: last, maps: 1, after: [none]}")
	f.Jobs[0].Maps, f.Jobs[2].Maps = 0, 0 // which a file may not contain
	for _, cost := range []string{"l0", "l1", "l2"} {
		r, _, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Cost: cost})
		for name, finish := range map[string]float64{"reduces": 10, "maps": 20, "none": 20, "last": 30} {
			if j := job(t, r, name); j.State != "succeeded" || j.FinishS != finish {
				t.Errorf("%s, %s: %s at %v s, want %v s", cost, name, j.State, j.FinishS, finish)
			}
		}
	}
}

// TestJobsFailWhenEveryTrackerIsLost: the run ends then, as a real one does, with a report. Jobs to
// come fail too, but a job that has succeeded stays so.
func TestJobsFailWhenEveryTrackerIsLost(t *testing.T) {
	f := parse(t, two, "faults: [{at: 2s, tracker: 0, lost: true}, {at: 3s, tracker: 1, lost: true}, {at: 60s, task: J/m/0, lost: true}]", "jobs:",
		"  - {name: first, maps: 1, map_time: 1s}",
		"  - {name: J, maps: 3, reduces: 2, submit: 1s, map_time: 4s, reduce_time: 4s}",
		"  - {name: behind, maps: 1, after: [J], map_time: 1s}",
		"  - {name: later, maps: 1, submit: 50s, map_time: 1s}",
		"  - {name: last, maps: 1, after: [later], map_time: 1s}")
	want := map[string]struct {
		state string
		end   float64
		cause string
	}{
		"first":  {"succeeded", 1, ""},
		"J":      {"failed", 3, "every tracker is lost"},
		"behind": {"killed", -1, "job J, which it waits for, failed"},
		"later":  {"failed", -1, "every tracker is lost"},
		"last":   {"killed", -1, "job later, which it waits for, failed"},
	}
	for _, policy := range policies() {
		for _, o := range []sim.Options{{}, {Cost: "l1"}, {Cost: "l2"}, {Heartbeat: 500e6}} {
			o.Policy = named(t, policy)
			r, _, _ := recorded(t, f, o)
			if seconds(r) != 3 || len(r.Jobs) != len(want) || !slices.Contains(r.Notes, "faults: the run ended at 3s, before 1 of the faults") {
				t.Errorf("%s: %v s, %d jobs, notes %q", policy, seconds(r), len(r.Jobs), r.Notes)
			}
			for name, w := range want {
				// Under a heartbeat the end of first is known at the next one.
				if j := job(t, r, name); j.State != w.state || math.Abs(j.FinishS-w.end) > o.Heartbeat.Seconds() || j.Error != w.cause {
					t.Errorf("%s: %+v, want %+v", policy, j, w)
				}
			}
		}
	}
}

// TestARunThatCannotGoOnSaysWhy: never a loop, never success.
func TestARunThatCannotGoOnSaysWhy(t *testing.T) {
	work := "jobs: [{name: first, maps: 1, map_time: 1s}, {name: J, maps: 3, reduces: 2, submit: 1s, map_time: 4s, reduce_time: 4s}]"
	f := parse(t, two, work)
	for _, c := range []struct {
		name string
		o    sim.Options
		want []string
	}{
		{"a policy that starts nothing", sim.Options{Policy: idler{}}, []string{"job first has 1 map and 0 reduces to do", "idler starts none of them, with 2 map slots and 2 reduce slots idle"}},
		{"the same under a heartbeat, though it beats", sim.Options{Policy: idler{}, Heartbeat: 1e9}, []string{"job first has 1 map and 0 reduces to do", "idler starts none of them"}},
		{"a policy that always wants to be woken", sim.Options{Policy: idler{wake: 1e6}}, []string{"job first has 1 map and 0 reduces to do", "idler starts none of them"}},
		{"a policy that kills what it starts", sim.Options{Policy: killer{}}, []string{"killer kills and starts without end at 0s"}},
	} {
		r, err := sim.Run(t.Context(), f, c.o)
		if err == nil || r == nil || r.Error != err.Error() {
			t.Errorf("%s: %v, report %+v", c.name, err, r)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: want %q", c.name, err, want)
			}
		}
	}
}

// idler grants nothing. If wake is set, it asks for a wake-up after that time.
type idler struct{ wake int64 }

func (idler) Traits() slots.Traits { return slots.Traits{Name: "idler"} }

func (idler) Reset() {}

func (p idler) Decide(v *slots.View, d *slots.Decision) {
	if p.wake > 0 {
		d.WakeAt(v.Now() + 1e6)
	}
}

// killer starts job 0's map and kills it at once.
type killer struct{}

func (killer) Traits() slots.Traits { return slots.Traits{Name: "killer"} }

func (killer) Reset() {}

func (killer) Decide(v *slots.View, d *slots.Decision) {
	if v.FreeHome(v.Tracker(), slots.Map) > 0 && v.Job(0).Pending(slots.Map) > 0 {
		d.Grant(slots.Grant{Slot: slots.NoSlot, Job: 0, Kind: slots.Map, Task: slots.NoTask})
	}
	for id := range slots.SlotID(v.Slots()) {
		if v.Slot(id).Busy {
			d.Reclaim(id)
		}
	}
}

// TestNoJobWaitsForALostTracker: the only replica of a third of the inputs is on a tracker that is
// lost at once. Nearer slots never come, so the last maps do not wait for them.
func TestNoJobWaitsForALostTracker(t *testing.T) {
	for _, groups := range []string{"", ", group_trackers: 2"} {
		f := parse(t, "cluster: {trackers: 3, map_slots: 2, reduce_slots: 1}", "locality: {replicas: 1"+groups+"}",
			"faults: [{at: 1ms, tracker: 2, lost: true}]", "jobs:", "  - {name: A, maps: 60, map_time: 4s}")
		took := func(delay time.Duration) float64 {
			o := policy.DefaultOptions()
			o.LocalityDelay = &delay
			return run(t, f, sim.Options{Policy: with(t, "delay", o), Config: setup.Config{LocalityDelay: &delay}}).MakespanSeconds
		}
		if without, with := took(0), took(time.Minute); with > without+30 {
			t.Errorf("groups %q: %v s with a delay of a minute, and %v s without", groups, with, without)
		}
	}
}
