package deficit_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy/deficit"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/settings"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(settings.Options) slots.Policy { return deficit.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return deficit.New() }, policytest.Claims{Idle: policytest.TypedIdle})
}
