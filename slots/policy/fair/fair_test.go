package fair_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fair"
	"mrlocal/slots/policy/policytest"
)

func newFair(o policy.Options) slots.Policy  { return fair.New(o) }
func newDelay(o policy.Options) slots.Policy { return fair.NewDelay(o) }
func newLate(o policy.Options) slots.Policy  { return fair.NewLate(o) }

func newDeficit(policy.Options) slots.Policy { return fair.NewDeficit() }

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/fair/*.txt", newFair)
	policytest.Scripts(t, "testdata/delay/*.txt", newDelay)
	policytest.Scripts(t, "testdata/late/*.txt", newLate)
	policytest.Scripts(t, "testdata/deficit/*.txt", newDeficit)
}

func TestSuite(t *testing.T) {
	waits := policy.DefaultOptions()
	waits.LocalityDelay = new(2500 * time.Millisecond)
	for _, c := range []struct {
		name    string
		make    func(o policy.Options) slots.Policy
		options policy.Options
		claims  policytest.Claims
	}{
		{"fair", newFair, policy.DefaultOptions(), policytest.Claims{Idle: policytest.TypedIdle}},
		{"fair with a locality delay", newFair, waits, policytest.Claims{}}, // a slot may idle during a wait
		{"delay", newDelay, policy.DefaultOptions(), policytest.Claims{}},
		{"late", newLate, policy.DefaultOptions(), policytest.Claims{Idle: policytest.TypedIdle}},
		{"fair-deficit", newDeficit, policy.DefaultOptions(), policytest.Claims{Idle: policytest.TypedIdle}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy { return c.make(c.options) }, c.claims)
		})
	}
}

func TestDrawn(t *testing.T) {
	none := policytest.Claims{}
	policytest.Drawn(t, "testdata/fair.golden", newFair, none, "", "locality-delay=2s")
	policytest.Drawn(t, "testdata/delay.golden", newDelay, none, "")
	policytest.Drawn(t, "testdata/late.golden", newLate, none, "", "copy-rule=hadoop copy-after=3s", "copy-after=2s")
	policytest.Drawn(t, "testdata/deficit.golden", newDeficit, none, "")
}
