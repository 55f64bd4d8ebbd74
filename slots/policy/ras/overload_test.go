package ras_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

// TestADroppedMapIsNoOverload: a map is dropped while it runs. Until it is killed, it counts as done
// and as running, so the reduce that copies from it needs more than the tracker has. No decision has
// done that. In checked builds the policy checks its decisions.
func TestADroppedMapIsNoOverload(t *testing.T) {
	io := func(tenths slots.PPM) slots.Vector { return slots.Vector{IO: tenths * slots.One / 10} }
	job := func(name string, maps int32, p slots.Profile) policytest.ScriptJob {
		return policytest.ScriptJob{
			Spec:    slots.JobSpec{Name: name, Maps: maps, MapsSealed: true, Reduces: 1, Profile: &p},
			MapTime: policytest.Const(3 * time.Second), ReduceTime: policytest.Const(9 * time.Second),
		}
	}
	drop := func(now time.Duration, l *slots.Ledger) { l.Drop(now, 0, slots.Map, 1) }
	_, err := policytest.Drive(
		slots.Config{Slots: policytest.Typed(1, 1, 2)}, newRAS(policy.DefaultOptions()),
		[]policytest.ScriptJob{job("copies", 2, slots.Profile{Shuffle: io(1), Reduce: io(3)}), job("reduces", 0, slots.Profile{Reduce: io(8)})},
		policytest.Options{Faults: []policytest.ScriptFault{{At: 4 * time.Second, Do: drop}}})
	if err != nil {
		t.Error(err)
	}
}
