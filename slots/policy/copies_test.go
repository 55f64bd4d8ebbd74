package policy_test

import (
	"fmt"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

// TestACopyKeepsNoSlotFromThePendingTasksOfTheOtherKind: the map slot that gets
// idle is on the tracker of the straggler, whose copy may not start there; the
// reduces that pend borrow it.
func TestACopyKeepsNoSlotFromThePendingTasksOfTheOtherKind(t *testing.T) {
	const s = time.Second
	times := func(all ...time.Duration) func(slots.TaskID) time.Duration {
		return func(task slots.TaskID) time.Duration { return all[task] }
	}
	reduce := func(at time.Duration, n int32) policytest.Job {
		return policytest.Job{Spec: slots.JobSpec{Name: fmt.Sprint("reduces at ", at), MapsSealed: true, Reduces: n}, Submit: at, ReduceTime: policytest.Const(40 * s)}
	}
	jobs := []policytest.Job{
		{Spec: slots.JobSpec{Name: "straggles", Maps: 7, MapsSealed: true}, MapTime: times(30*s, s, s, s, s, s, s)},
		reduce(0, 2), // all reduce slots
		{Spec: slots.JobSpec{Name: "fills", Maps: 3, MapsSealed: true}, Submit: 2 * s, MapTime: times(5*s, 20*s, 20*s)},
		reduce(4*s, 1), reduce(5*s, 1), // a look each at what is slow
	}
	for _, dhsa := range []string{"pi", "pd"} {
		o := policy.Defaults()
		o.DHSA = dhsa
		lent := false
		each := func(_ time.Duration, l *slots.Ledger) error {
			if pending, idle := l.Idle(); policytest.AnyIdle(pending, idle) {
				return fmt.Errorf("%v are pending, %v slots idle", pending, idle)
			}
			by, _ := l.LentBy()
			lent = lent || by[slots.Map] > 0
			return nil
		}
		if _, err := policytest.Drive(slots.Config{Slots: policytest.Typed(2, 2, 1)}, mustNew(t, "dynamicmr", o), jobs, policytest.Options{Each: each}); err != nil || !lent {
			t.Errorf("--dhsa %s: %v, a map slot was lent: %v", dhsa, err, lent)
		}
	}
}
