package fresh_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy/fresh"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/settings"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(settings.Options) slots.Policy { return fresh.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return fresh.New() }, policytest.Claims{Idle: policytest.AnyIdle})
}
