package dynamicmr_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

// TestACopyKeepsNoSlotFromThePendingTasksOfTheOtherKind: the map slot that becomes idle
// is on the tracker of the straggler, whose copy may not start there. The pending
// reduces borrow it.
func TestACopyKeepsNoSlotFromThePendingTasksOfTheOtherKind(t *testing.T) {
	const s = time.Second
	times := func(all ...time.Duration) func(slots.TaskID) time.Duration {
		return func(task slots.TaskID) time.Duration { return all[task] }
	}
	reduce := func(at time.Duration, n int32) policytest.ScriptJob {
		return policytest.ScriptJob{Spec: slots.JobSpec{Name: fmt.Sprint("reduces at ", at), MapsSealed: true, Reduces: n}, Submit: at, ReduceTime: policytest.Const(40 * s)}
	}
	jobs := []policytest.ScriptJob{
		{Spec: slots.JobSpec{Name: "straggles", Maps: 7, MapsSealed: true}, MapTime: times(30*s, s, s, s, s, s, s)},
		reduce(0, 2), // all reduce slots
		{Spec: slots.JobSpec{Name: "fills", Maps: 3, MapsSealed: true}, Submit: 2 * s, MapTime: times(5*s, 20*s, 20*s)},
		reduce(4*s, 1), reduce(5*s, 1), // a look each at what is slow
	}
	for _, dhsa := range []string{"pi", "pd"} {
		o := policy.DefaultOptions()
		o.DHSA = dhsa
		lent := false
		each := func(_ time.Duration, l *slots.Ledger) error {
			if pending, idle := l.Idle(); policytest.AnyIdle(pending, idle) {
				return fmt.Errorf("%v are pending, %v slots idle", pending, idle)
			}
			by, _ := policytest.LentBy(l)
			lent = lent || by[slots.Map] > 0
			return nil
		}
		if _, err := policytest.Drive(slots.Config{Slots: policytest.Typed(2, 2, 1)}, mustNew(t, "dynamicmr", o), jobs, policytest.Options{Each: each}); err != nil || !lent {
			t.Errorf("--dhsa %s: %v, a map slot was lent: %v", dhsa, err, lent)
		}
	}
}

// TestTasksThatAreAlikeAreNotCopied: a copy depends on progress that was reported at the same
// instant. By earlier progress every task would seem slow.
func TestTasksThatAreAlikeAreNotCopied(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		o := policy.DefaultOptions()
		o.DHSA = rapid.SampledFrom([]string{"pi", "pd", "off"}).Draw(rt, "dhsa")
		o.SEPBJobs = rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(rt, "jobs checked")
		if rapid.Bool().Draw(rt, "weights") {
			o.SlotWeights = slots.Weights{Map: rapid.Int32Range(1, 3).Draw(rt, "map"), Reduce: rapid.Int32Range(1, 3).Draw(rt, "reduce")}
		}
		c := slots.Config{
			Slots:     policytest.WithExtra(rapid.IntRange(1, 4).Draw(rt, "trackers"), rapid.IntRange(1, 4).Draw(rt, "maps"), rapid.IntRange(1, 3).Draw(rt, "reduces"), 4),
			Slowstart: rapid.SampledFrom([]slots.PPM{0, slots.One}).Draw(rt, "slowstart"),
		}
		l, err := policytest.Drive(c, mustNew(t, "dynamicmr", o), policytest.DrawJobs(rt), policytest.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		for id := range slots.JobID(l.Jobs()) {
			for k := range slots.Kind(2) {
				if n := l.JobCounts(id, k).Speculative; n > 0 {
					rt.Fatalf("%d copies of %vs of job %d", n, k, id)
				}
			}
		}
	})
}
