package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/replay"
	"mrlocal/trace"
	"mrlocal/workload"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(policy.Options) slots.Policy { return &shortest{} })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return &shortest{} }, policytest.Claims{Idle: policytest.TypedIdle})
}

func TestRun(t *testing.T) {
	os.Args = []string{"policy", "../../bench/workloads/table1-5.yaml"}
	main()
}

// TestReplayAndExplain: a rule of a policy that no package of the project knows is in the
// event file by name, and explanations have its words.
func TestReplayAndExplain(t *testing.T) {
	f, err := workload.Load("../../bench/workloads/table1-5.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var events, text bytes.Buffer
	o := sim.Options{Policy: &shortest{}, Watch: func(s *trace.Stream) { s.Attach(trace.NewJSONL(&events)) }}
	if _, err := sim.Run(t.Context(), f, o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(events.String(), `"rule":"fewest-left"`) {
		t.Error("the rule is not in the event file")
	}
	own := func(slots.Config) (slots.Policy, error) { return &shortest{}, nil }
	if diff, err := replay.Run(bytes.NewReader(events.Bytes()), own, replay.Options{}); diff != nil || err != nil {
		t.Errorf("replay: %v, %v", diff, err)
	}
	other := strings.Replace(events.String(), "fewest-left", "most-left", 1)
	if diff, err := replay.Run(strings.NewReader(other), own, replay.Options{}); err != nil || diff == nil ||
		!strings.Contains(diff.Recorded, `"most-left"`) || !strings.Contains(diff.Replayed, `"fewest-left"`) {
		t.Errorf("replay of another rule: %v, %v", diff, err)
	}
	err = explain.Sentences(&text, &events, explain.Options{Policy: own, WhyIdle: -1, Limit: 1})
	if want := "Rule fewest-left of shortest: its job has the fewest tasks left."; err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
		t.Errorf("%v, without %q:\n%s", err, want, text.String())
	}
}

// TestADecisionAllocatesNothing: so the example may stand in the registry as it is, whose
// policies are all tested for it. A step ends one attempt and starts the next one.
func TestADecisionAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate on purpose")
	}
	l, err := slots.New(slots.Config{Slots: policytest.Typed(10, 8, 2)}, &shortest{})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		l.Submit(0, slots.JobSpec{Maps: 1 << 20, MapsSealed: true})
	}
	live, next := []slots.AttemptID{}, 0
	for _, s := range l.AssignAll(0).Starts {
		live = append(live, s.Attempt)
	}
	step := func() {
		l.Finish(l.Now()+time.Millisecond, live[next], slots.Outcome{OK: true})
		live[next] = l.AssignAll(l.Now()).Starts[0].Attempt
		next = (next + 1) % len(live)
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(200, step); n > 0.5 { // the slices of tasks grow now and then
		t.Errorf("%v allocations a decision", n)
	}
}

func TestTheExampleIsShort(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if lines := strings.Count(string(text), "\n"); err != nil || lines > 60 {
		t.Errorf("main.go has %d lines, at most 60; %v", lines, err)
	}
}
