package fair_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/fair"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/settings"
)

func newFair(o settings.Options) slots.Policy  { return fair.New(o) }
func newDelay(o settings.Options) slots.Policy { return fair.NewDelay(o) }
func newLate(o settings.Options) slots.Policy  { return fair.NewLate(o) }

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/fair/*.txt", newFair)
	policytest.Scripts(t, "testdata/delay/*.txt", newDelay)
	policytest.Scripts(t, "testdata/late/*.txt", newLate)
}

func TestSuite(t *testing.T) {
	waits := settings.Defaults()
	waits.LocalityDelay = 2500 * time.Millisecond
	for _, c := range []struct {
		name    string
		make    func(o settings.Options) slots.Policy
		options settings.Options
		claims  policytest.Claims
	}{
		{"fair", newFair, settings.Defaults(), policytest.Claims{Idle: policytest.TypedIdle}},
		{"fair with a locality delay", newFair, waits, policytest.Claims{}}, // a slot may idle during a wait
		{"delay", newDelay, settings.Defaults(), policytest.Claims{}},
		{"late", newLate, settings.Defaults(), policytest.Claims{Idle: policytest.TypedIdle}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy { return c.make(c.options) }, c.claims)
		})
	}
}
