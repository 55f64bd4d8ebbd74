package main

import (
	"bytes"
	"encoding/json"
	"flag"
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
	policytest.Scripts(t, "testdata/step/*.txt", func(policy.Options) slots.Policy { return &shortest{Step: 4} })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return &shortest{} }, policytest.Claims{Idle: policytest.TypedIdle})
}

func TestRun(t *testing.T) {
	os.Args = []string{"policy", "-step", "100", "testdata/mix.yaml"}
	flag.CommandLine = flag.NewFlagSet("policy", flag.PanicOnError)
	main()
}

// TestStep: the option is in the event file, and a replay that gives it to the policy makes the same
// decisions. A step of 1 decides as no step, and one of 100 otherwise, since no job is that long.
func TestStep(t *testing.T) {
	events := func(p slots.Policy) string {
		f, err := workload.Load("testdata/mix.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		o := sim.Options{Policy: p, Watch: func(s *trace.Stream) { s.Attach(trace.NewJSONL(&b)) }}
		if _, err := sim.Run(t.Context(), f, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	decisions := func(events string) string { // without the configuration and the hash
		return events[strings.Index(events, "\n"):strings.LastIndex(strings.TrimSpace(events), "\n")]
	}
	recorded := func(c slots.Config) (slots.Policy, error) { p := &shortest{}; return p, json.Unmarshal(c.Options, p) }
	replays := func(events string) bool {
		diff, err := explain.Replay(strings.NewReader(events), recorded, explain.ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return diff == nil
	}
	plain, one, hundred := events(&shortest{}), events(&shortest{Step: 1}), events(&shortest{Step: 100})
	if decisions(one) != decisions(plain) || decisions(hundred) == decisions(plain) {
		t.Error("a step of 1 changes decisions, or a step of 100 does not")
	}
	const option = `"options":{"step":100}`
	if !strings.Contains(hundred, option) || !replays(hundred) || !replays(plain) {
		t.Errorf("no %s in the event file, or a replay differs", option)
	}
	if replays(strings.Replace(hundred, option, `"options":{}`, 1)) {
		t.Error("a replay without the option does not differ")
	}
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
