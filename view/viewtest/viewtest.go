// Package viewtest has simulated runs for the tests of all renderers of package view. With the
// same runs a test can compare what renderers draw. It compares the number of bars, how many of
// them are on lent slots, and the time in each phase.
//
// A simulation gives the same bytes each time. The package is for tests only.
package viewtest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/workload"
)

// Run is a workload under a policy. Cost is a cost level of the simulator, and Workload the text
// of a workload file.
type Run struct{ Name, Policy, Cost, Workload string }

// Result is a simulated run, with its model, timeline and report.
type Result struct {
	Model    *view.Model
	Timeline *trace.Timeline // with phases
	Report   *report.Report
	Events   []byte // the event file
}

// Faulty is the text of a workload with a slow tracker, which gets copies, with a task that fails
// and with a lost tracker.
const Faulty = `
cluster: {trackers: 3, map_slots: 2, reduce_slots: 1}
pools: [{name: prod, weight: 2, min_maps: 2}, {name: adhoc}]
slow: [{tracker: 1, factor: 0.2}]
faults: [{at: 90s, tracker: 2, lost: true}, {task: a/m/3, fail: 2}]
jobs:
  - {name: a, pool: prod, maps: 12, reduces: 3, map_time: 20s, reduce_time: 30s}
  - {name: b, pool: adhoc, submit: 10s, maps: 9, reduces: 2, map_time: 15s, reduce_time: 20s}
`

// shuffling is a workload of two jobs whose reduces copy while maps run.
const shuffling = `
cluster: {trackers: 2, map_slots: 3, reduce_slots: 2, net: 10MB}
defaults: {slowstart: 0.2, map_time: {uniform: [5s, 9s]}, reduce_time: 6s}
pools: [{name: one, weight: 2}, {name: two}]
jobs:
` + "  - {name: first, pool: one, maps: 30, reduces: 6, map_output: 20MiB}\n  - {name: second, pool: two, maps: 20, reduces: 4, map_output: 10MiB}\n"

// crowd is a workload with thousands of attempts that are narrower than a pixel in a picture.
const crowd = `
cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}
jobs: [{name: crowd, maps: 5000, reduces: 20, map_time: {uniform: [1s, 2s]}, reduce_time: 9s}]
`

// Runs returns the runs. Together they need every sign of a picture: loans, copies, kills, failures
// and lost trackers. Some slots change their home kind, and some reduces are held back. Some bars are
// narrower than a pixel.
func Runs() []Run {
	return []Run{
		{"faults", "dynamicmr", "l1", Faulty}, {"loans", "pi-dhfs", "l0", Faulty}, {"pools", "pd-dhfs", "l1", shuffling}, {"slots that change", "dynsplit", "l0", Faulty},
		{"held back", "omo", "l1", shuffling}, {"no loans", "fair", "l1", shuffling}, {"crowd", "pi-dhfs", "l0", crowd},
	}
}

// Model simulates the run and returns its model. It ends the test if that fails.
func (r Run) Model(t testing.TB) *view.Model { return r.Simulate(t).Model }

// Simulate simulates the run. It ends the test if that fails.
func (r Run) Simulate(t testing.TB) Result {
	t.Helper()
	return Simulate(t, Parse(t, r.Workload), r.Policy, r.Cost)
}

// Load reads a workload file. It ends the test if that fails.
func Load(t testing.TB, path string) *workload.File {
	t.Helper()
	f, err := workload.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Parse reads the text of a workload file. It ends the test if that fails.
func Parse(t testing.TB, text string) *workload.File {
	t.Helper()
	f, err := workload.Read("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Simulate simulates a workload under the policy and cost level of these names. It ends the test if
// that fails.
func Simulate(t testing.TB, f *workload.File, policyName, cost string) Result {
	t.Helper()
	p, err := registry.New(policyName, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	out := Result{Model: view.New(view.Options{}), Timeline: &trace.Timeline{KeepPhases: true}}
	var events bytes.Buffer
	out.Report, err = sim.Run(context.Background(), f, sim.Options{Policy: p, Cost: cost, Events: &events, Watch: func(s *trace.Stream) {
		s.Attach(out.Timeline)
		s.Attach(out.Model)
	}})
	if err != nil {
		t.Fatal(err)
	}
	out.Events = events.Bytes()
	return out
}

// AllSigns returns a model that needs every sign of a picture. Its events are written by hand, so
// that no change of a policy changes the picture.
func AllSigns() *view.Model {
	m := view.New(view.Options{})
	_ = m.Open(&trace.Header{Policy: "signs", Slots: []trace.Slot{{ID: 0, Home: trace.Map}, {ID: 1, Core: 1, Home: trace.Reduce}, {ID: 2, Core: 2, Home: trace.Map}, {ID: 3, Tracker: 1, Core: 3, Home: trace.Map}}}) // never fails
	seq := uint64(0)
	add := func(second int, e trace.Event, texts ...string) {
		seq++
		e.Seq, e.At = seq, time.Duration(second)*time.Second
		m.Add(&e, texts)
	}
	of := func(op trace.Op, slot, task, n int32, k trace.Kind, f trace.Flags) trace.Event {
		return trace.Event{Op: op, Slot: slot, Task: task, N: n, Kind: k, Flags: f}
	}
	phase := func(slot, task int32, k trace.Kind, p trace.Phase) trace.Event {
		e := of(trace.OpPhase, slot, task, 0, k, 0)
		e.Phase = p
		return e
	}
	add(0, trace.Event{Op: trace.OpSubmit, A: 4, B: 2, C: 4, Flags: trace.Sealed}, "J01", "prod", "ann")
	add(0, of(trace.OpStart, 0, 0, 0, trace.Map, 0), "own")
	add(0, of(trace.OpStart, 1, 1, 0, trace.Map, trace.Lent), "map-borrows")
	add(0, of(trace.OpStart, 2, 2, 0, trace.Map, 0), "own")
	add(1, trace.Event{Op: trace.OpBuffer, A: 1 << 20, B: 800 << 10})
	add(2, trace.Event{Op: trace.OpGrow, A: 1 << 20, B: 2 << 20})
	add(3, trace.Event{Op: trace.OpSpillStart, A: 1600 << 10, B: 100})
	add(5, trace.Event{Op: trace.OpSpillEnd, A: 900 << 10, B: 100})
	add(7, phase(0, 0, trace.Map, trace.PhaseIO))
	add(9, of(trace.OpFinish, 2, 2, 0, trace.Map, 0)) // fails
	add(10, of(trace.OpFinish, 0, 0, 0, trace.Map, trace.OK))
	add(10, of(trace.OpStart, 2, 2, 1, trace.Map, 0), "own")
	add(10, of(trace.OpStart, 0, 1, 1, trace.Map, trace.Speculative), "copy")
	add(14, of(trace.OpFinish, 1, 1, 0, trace.Map, trace.OK))
	add(14, of(trace.OpKill, 0, 1, 1, trace.Map, 0), "lost-race")
	add(15, of(trace.OpFinish, 0, 1, 1, trace.Map, trace.Killed))
	add(20, of(trace.OpFinish, 2, 2, 1, trace.Map, trace.OK))
	add(20, trace.Event{Op: trace.OpGate, Flags: trace.OK})
	add(20, of(trace.OpStart, 1, 0, 0, trace.Reduce, 0), "own")
	add(20, of(trace.OpStart, 0, 1, 0, trace.Reduce, trace.Lent), "reduce-borrows")
	add(22, trace.Event{Op: trace.OpFetch, Slot: 1, Kind: trace.Reduce, A: 0, B: 3, C: 900 << 10})
	add(24, phase(1, 0, trace.Reduce, trace.PhaseHeld))
	add(28, phase(1, 0, trace.Reduce, trace.PhaseSort))
	add(32, phase(1, 0, trace.Reduce, trace.PhaseReduce))
	add(36, of(trace.OpFinish, 1, 0, 0, trace.Reduce, trace.OK))
	add(37, trace.Event{Op: trace.OpLostTracker, A: 1})
	add(38, trace.Event{Op: trace.OpUsage, A: int64(60 * time.Second), B: 64 << 20, C: 900 << 10})
	add(40, of(trace.OpFinish, 0, 1, 0, trace.Reduce, trace.OK))
	add(40, trace.Event{Op: trace.OpJobEnd, A: int64(slots.Succeeded)})
	_ = m.Close() // never fails
	return m
}
