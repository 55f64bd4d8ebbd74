package fifo_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(policy.Options) slots.Policy { return fifo.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return fifo.New() }, policytest.Claims{Idle: policytest.TypedIdle})
}

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", func(policy.Options) slots.Policy { return fifo.New() }, policytest.Claims{}, "")
}
