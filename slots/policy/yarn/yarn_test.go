package yarn_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/yarn"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(o policy.Options) slots.Policy { return yarn.New(o) })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return yarn.New(policy.DefaultOptions()) }, policytest.Claims{Idle: policytest.AnyIdle})
}

// TestSuiteOfResources: with containers of resources, no job waits for ever either.
func TestSuiteOfResources(t *testing.T) {
	o := policy.DefaultOptions()
	o.Containers = yarn.OfResources
	policytest.Run(t, func() slots.Policy { return yarn.New(o) }, policytest.Claims{})
}

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", func(o policy.Options) slots.Policy { return yarn.New(o) }, policytest.Claims{}, "", "containers=resources")
}
