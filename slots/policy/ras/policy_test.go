package ras_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/ras"
)

func newRAS(o policy.Options) slots.Policy { return ras.New(o) }

func TestScripts(t *testing.T) { policytest.Scripts(t, "testdata/*.txt", newRAS) }

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return newRAS(policy.DefaultOptions()) }, policytest.Claims{})
	o := policy.DefaultOptions()
	o.PreemptReduces = true
	policytest.Run(t, func() slots.Policy { return newRAS(o) }, policytest.Claims{Periods: true})
}
