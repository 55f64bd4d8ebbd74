package fifo_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/settings"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(settings.Options) slots.Policy { return fifo.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return fifo.New() }, policytest.Claims{Idle: policytest.TypedIdle})
}
