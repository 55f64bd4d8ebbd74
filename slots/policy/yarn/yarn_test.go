package yarn_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/yarn"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(policy.Options) slots.Policy { return yarn.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return yarn.New() }, policytest.Claims{Idle: policytest.AnyIdle})
}
