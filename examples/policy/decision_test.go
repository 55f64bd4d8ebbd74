//go:build !invariants

// Checked builds allocate on purpose.

package main

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
)

// TestADecisionAllocatesNothing: so the example may stand in the registry as it is, whose
// policies are all tested for it. A step ends one attempt and starts the next one.
func TestADecisionAllocatesNothing(t *testing.T) {
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
		t.Errorf("%v allocations per decision", n)
	}
}
