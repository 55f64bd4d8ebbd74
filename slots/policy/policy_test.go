package policy_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

func TestEveryPolicyPassesTheSuite(t *testing.T) {
	claims := map[string]policytest.Claims{
		"fifo":    {Idle: policytest.TypedIdle},
		"fair":    {Idle: policytest.TypedIdle},
		"pi-dhfs": {Idle: policytest.AnyIdle},
		"pd-dhfs": {Idle: policytest.AnyIdle},
		"pi-fifo": {Idle: policytest.AnyIdle},

		"fair-deficit": {Idle: policytest.TypedIdle},
		"lazy-start":   {Idle: policytest.AnyIdle}, "batch-finish": {Idle: policytest.AnyIdle}, "omo": {Idle: policytest.AnyIdle},
		"yarn": {Idle: policytest.AnyIdle}, "fresh": {Idle: policytest.AnyIdle},
	}
	for _, info := range policy.All() {
		t.Run(info.Name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy {
				return mustNew(t, info.Name, policy.Options{BorrowMap: slots.One, BorrowReduce: slots.One})
			}, claims[info.Name])
		})
	}
	for name, claims := range map[string]policytest.Claims{
		"fair": {}, "pi-dhfs": {}, // a wait for a local slot leaves one idle
		"pd-dhfs": {Idle: policytest.AnyIdle}, // NON_LOCAL_MAP does not
	} {
		t.Run(name+" with a locality delay", func(t *testing.T) {
			policytest.Run(t, func() slots.Policy {
				return mustNew(t, name, policy.Options{BorrowMap: slots.One, BorrowReduce: slots.One, LocalityDelay: 2500 * time.Millisecond})
			}, claims)
		})
	}
	for _, name := range []string{"pi-dhfs", "pd-dhfs"} {
		for _, share := range []slots.PPM{0, slots.One / 4} {
			t.Run(name+" with shares "+share.String(), func(t *testing.T) {
				policytest.Run(t, func() slots.Policy {
					return mustNew(t, name, policy.Options{BorrowMap: share, BorrowReduce: slots.One - share})
				}, policytest.Claims{})
			})
		}
	}
}

func mustNew(t testing.TB, name string, o policy.Options) slots.Policy {
	t.Helper()
	p, err := policy.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
