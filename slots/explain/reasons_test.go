package explain_test

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
)

// TestReasonsAreTheSentences: each decision of the run has a reason, whose text is the
// paragraph of the sentences. Why finds the reason alone, also in a run that goes on.
func TestReasonsAreTheSentences(t *testing.T) {
	for runName := range runs() {
		for _, policyName := range []string{"pi-dhfs", "dynamicmr"} {
			t.Run(runName+"/"+policyName, func(t *testing.T) {
				events := record(t, policyName, runName)
				var b bytes.Buffer
				if err := explain.Sentences(&b, bytes.NewReader(events), explain.Options{Policy: registry.ForReplay, WhyIdle: -1}); err != nil {
					t.Fatal(err)
				}
				sentences := strings.Join(strings.Fields(b.String()), " ")
				var all []*explain.Reason
				err := explain.Reasons(bytes.NewReader(events), explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
					all = append(all, x)
					return true
				})
				if err != nil {
					t.Fatal(err)
				}
				if want := bytes.Count(events, []byte(`"op":"start"`)) + bytes.Count(events, []byte(`"op":"kill"`)); len(all) != want {
					t.Errorf("%d reasons of %d decisions", len(all), want)
				}
				for _, x := range all {
					compareReason(t, x, sentences, events)
				}
			})
		}
	}
}

func compareReason(t *testing.T, x *explain.Reason, sentences string, events []byte) {
	// In the sentences a rule is put into words only once, so the first sentence is compared.
	first, _, _ := strings.Cut(x.Text, ". ")
	if !strings.Contains(sentences, strings.TrimSuffix(first, ".")) {
		t.Errorf("%q is not among the sentences", first)
	}
	if x.Rule != "" && x.Op == "start" && !strings.Contains(x.Text, x.Rule) {
		t.Errorf("%q lacks the rule %s", x.Text, x.Rule)
	}
	for _, n := range x.Numbers {
		if !strings.Contains(x.Text, n.Name) || !strings.Contains(x.Text, n.Value) {
			t.Errorf("%q lacks %s = %s", x.Text, n.Name, n.Value)
		}
	}
	for _, file := range [][]byte{events, events[:len(events)-2]} {
		got, err := explain.Why(bytes.NewReader(file), x.Seq, explain.Options{Policy: registry.ForReplay})
		if err != nil || !reflect.DeepEqual(got, x) {
			t.Errorf("why %d: %+v, %v, want %+v", x.Seq, got, err, x)
		}
	}
}

func TestWhyOfNoDecisionIsAnError(t *testing.T) {
	events := record(t, "fair", "one")
	for _, seq := range []uint64{1, 1 << 40} {
		if x, err := explain.Why(bytes.NewReader(events), seq, explain.Options{Policy: registry.ForReplay}); err == nil {
			t.Errorf("event %d: %+v", seq, x)
		}
	}
}

func TestWhyIdleInARunThatGoesOn(t *testing.T) {
	events := record(t, "fair", "one")
	whole, err := explain.WhyIdle(bytes.NewReader(events), 3, time.Second, explain.Options{Policy: registry.ForReplay})
	if err != nil || !strings.Contains(whole, "was idle at 1.0s") {
		t.Fatalf("%q, %v", whole, err)
	}
	// The file ends before the time in question.
	cut := events[:bytes.Index(events, []byte(`"op":"finish"`))]
	if part, err := explain.WhyIdle(bytes.NewReader(cut), 3, time.Second, explain.Options{Policy: registry.ForReplay}); err != nil || part != whole {
		t.Errorf("%q, %v, want %q", part, err, whole)
	}
}

// TestAReasonAloneIsThatOfTheWholeList under every policy: the policy gives only the reasons that
// are asked for, and those are the same.
func TestAReasonAloneIsThatOfTheWholeList(t *testing.T) {
	compared := 0
	for runName := range runs() {
		if runName == "guard" { // only policies that lend end it
			continue
		}
		for _, policyName := range registry.Names() {
			events := record(t, policyName, runName)
			var all []*explain.Reason
			err := explain.Reasons(bytes.NewReader(events), explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
				all = append(all, x)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(all); i += 4 {
				got, err := explain.Why(bytes.NewReader(events), all[i].Seq, explain.Options{Policy: registry.ForReplay})
				if compared++; err != nil || !reflect.DeepEqual(got, all[i]) {
					t.Errorf("%s, %s, event %d: %+v, %v, want %+v", runName, policyName, all[i].Seq, got, err, all[i])
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d reasons were compared", compared)
	}
}

// asking counts the visits in which a reason is wanted.
type asking struct {
	slots.Policy
	wanted *int
}

func (p asking) Decide(v *slots.View, d *slots.Decision) {
	if d.WantsReason() {
		*p.wanted++
	}
	p.Policy.Decide(v, d)
}

// TestTheStateAtATimeHasTheLastDecisionBeforeIt in the words of the list of all decisions, at the
// time of each decision, before it and behind it. The policy gives no reasons but in the last
// Assign that decided something.
func TestTheStateAtATimeHasTheLastDecisionBeforeIt(t *testing.T) {
	answers, counted, all := 0, 0, 0
	for runName := range runs() {
		for _, policyName := range []string{"fair", "pi-dhfs", "dynamicmr", "fair-deficit"} {
			if runName == "guard" && policyName != "pi-dhfs" {
				continue
			}
			events := record(t, policyName, runName)
			var reasons []*explain.Reason
			err := explain.Reasons(bytes.NewReader(events), explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
				reasons = append(reasons, x)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range reasons {
				for _, at := range []time.Duration{time.Duration(x.At) - 1, time.Duration(x.At), time.Duration(x.At) + 1} {
					last := i - 1
					if at >= time.Duration(x.At) {
						for last = i; last+1 < len(reasons) && reasons[last+1].At <= int64(at); last++ {
						}
					} else {
						for last >= 0 && reasons[last].At > int64(at) {
							last--
						}
					}
					if at < 0 {
						continue
					}
					var b bytes.Buffer
					if err := explain.Sentences(&b, bytes.NewReader(events), explain.Options{Policy: registry.ForReplay, WhyIdle: -1, At: at, HasAt: true}); err != nil {
						t.Fatal(err)
					}
					want := "There was no decision before it."
					if last >= 0 {
						want = "The last decision before it: " + reasons[last].Text
					}
					text := strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
					if answers++; !strings.HasSuffix(text, want) {
						t.Fatalf("%s, %s, at %v: %s\nwant: %s", runName, policyName, at, text, want)
					}
				}
			}
			if policyName != "fair" { // the others have abilities that asking hides
				continue
			}
			wanted := func(o explain.Options) (n int) {
				o.WhyIdle = -1
				o.Policy = func(c slots.Config) (slots.Policy, error) {
					p, err := registry.ForReplay(c)
					return asking{p, &n}, err
				}
				if err := explain.Sentences(io.Discard, bytes.NewReader(events), o); err != nil {
					t.Fatal(runName, err)
				}
				return n
			}
			counted += wanted(explain.Options{At: time.Hour, HasAt: true})
			all += wanted(explain.Options{Policy: registry.ForReplay})
		}
	}
	if t.Logf("%d answers; reasons in %d visits of %d", answers, counted, all); answers < 300 || counted > 2*len(runs()) || all < 5*counted {
		t.Errorf("%d answers; reasons were wanted in %d visits of %d", answers, counted, all)
	}
}
