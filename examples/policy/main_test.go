package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
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
	os.Args = []string{"policy", "testdata/mix.yaml"}
	main()
}

// TestReplayAndExplain: a rule of a policy that no package of the project knows is in the
// event file by name, and explanations have its words.
func TestReplayAndExplain(t *testing.T) {
	f, err := workload.Load("testdata/mix.yaml")
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
	if diff, err := explain.Replay(bytes.NewReader(events.Bytes()), own, explain.ReplayOptions{}); diff != nil || err != nil {
		t.Errorf("replay: %v, %v", diff, err)
	}
	other := strings.Replace(events.String(), "fewest-left", "most-left", 1)
	if diff, err := explain.Replay(strings.NewReader(other), own, explain.ReplayOptions{}); err != nil || diff == nil ||
		!strings.Contains(diff.Recorded, `"most-left"`) || !strings.Contains(diff.Replayed, `"fewest-left"`) {
		t.Errorf("replay of another rule: %v, %v", diff, err)
	}
	err = explain.Sentences(&text, &events, explain.Options{Policy: own, WhyIdle: -1, Limit: 1})
	if want := "Rule fewest-left of shortest: its job has the fewest tasks left."; err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
		t.Errorf("%v, without %q:\n%s", err, want, text.String())
	}
}

func TestTheExampleIsShort(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if lines := strings.Count(string(text), "\n"); err != nil || lines > 60 {
		t.Errorf("main.go has %d lines, at most 60; %v", lines, err)
	}
}
