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

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", newRAS, policytest.Claims{}, "", "take-maps-for=any preempt-reduces=on required-at-first=one", "shuffle-memory=on control-cycle=3s")
}
