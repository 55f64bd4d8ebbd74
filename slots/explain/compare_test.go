package explain_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/slots/explain"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// TestExplanationsAreThoseOfTheSlowModel: a comparison counts the decisions of a run, explain --lent tells of each
// attempt on a lent slot, and each start and kill has a reason.
func TestExplanationsAreThoseOfTheSlowModel(t *testing.T) {
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		starts, kills, changes, lent := 0, 0, 0, 0
		for i := range r.Events {
			switch e := &r.Events[i]; e.Op {
			case trace.OpKill:
				kills++
			case trace.OpOpen, trace.OpDrain, trace.OpClose, trace.OpHome:
				if r.Rule(e) != trace.RuleLostTracker {
					changes++
				}
			}
		}
		for _, s := range r.Spans(len(r.Events)) {
			if starts++; s.Lent {
				lent++
			}
		}
		run := explain.Recorded{Name: "r", Events: bytes.NewReader(r.File.Bytes()), Policy: registry.ForReplay}
		var text bytes.Buffer
		differ, err := explain.Compare(&text, run, run, trace.GanttOptions{Width: 80})
		if n := starts + kills + changes; err != nil || differ || n > 1 && !strings.HasPrefix(text.String(), fmt.Sprintf("Both runs made the same %d decisions", n)) {
			t.Fatalf("%v: %s, want %d decisions", err, text.String(), n)
		}
		o, reasons := explain.Options{Policy: registry.ForReplay, WhyIdle: -1}, 0
		err = explain.Reasons(bytes.NewReader(r.File.Bytes()), o, func(*explain.Reason) bool { reasons++; return true })
		if err != nil || reasons != starts+kills {
			t.Fatalf("%v: %d reasons, want those of %d starts and %d kills", err, reasons, starts, kills)
		}
		text.Reset()
		o.Lent = true
		if err := explain.Sentences(&text, bytes.NewReader(r.File.Bytes()), o); err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(text.String()), " ") // of a line that may go on below
		if got := strings.Count(words, " started on slot "); got != lent {
			t.Fatalf("explain --lent tells of %d loans, want %d:\n%s", got, lent, text.String())
		}
	})
}
