// Package viewtest has simulated runs for the tests of all renderers of package view. With the
// same runs a test can compare what renderers draw. It compares the number of bars, how many of
// them are on lent slots, and the time in each phase.
//
// A simulation gives the same bytes each time. The package is for tests only.
package viewtest

import (
	"bytes"
	"context"
	_ "embed"
	"strings"
	"testing"

	"mrlocal/sim"
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
//
//go:embed faulty.yaml
var Faulty string

// shuffling is a workload of two jobs whose reduces copy while maps run.
//
//go:embed shuffling.yaml
var shuffling string

// crowd is a workload with thousands of attempts that are narrower than a pixel in a picture.
//
//go:embed crowd.yaml
var crowd string

// signs is an event file that needs every sign of a picture. It is written by hand, so that no change of
// a policy changes the picture.
//
//go:embed signs.jsonl
var signs string

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
	return Simulate(t, r.Workload, r.Policy, r.Cost)
}

// Simulate simulates the workload of a text under the policy and cost level of these names. It ends the test if
// that fails.
func Simulate(t testing.TB, text, policyName, cost string) Result {
	t.Helper()
	f, err := workload.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := registry.New(policyName, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	out := Result{Model: view.New(), Timeline: &trace.Timeline{KeepPhases: true}}
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

// AllSigns returns a model that needs every sign of a picture.
func AllSigns() *view.Model {
	m, _ := view.Load(strings.NewReader(signs), nil) // never fails
	return m
}
