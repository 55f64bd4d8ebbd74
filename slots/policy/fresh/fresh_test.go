package fresh_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fresh"
	"mrlocal/slots/policy/policytest"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(policy.Options) slots.Policy { return fresh.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return fresh.New() }, policytest.Claims{Idle: policytest.AnyIdle})
}

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", func(policy.Options) slots.Policy { return fresh.New() }, policytest.Claims{}, "")
}
