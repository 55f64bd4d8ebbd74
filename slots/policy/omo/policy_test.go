package omo_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/policytest"
)

func TestScriptsAndSuite(t *testing.T) {
	for name, make := range map[string]func() slots.Policy{
		"omo":          func() slots.Policy { return omo.New() },
		"lazy-start":   func() slots.Policy { return omo.NewLazyStart() },
		"batch-finish": func() slots.Policy { return omo.NewBatchFinish() },
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Scripts(t, "testdata/"+name+"/*.txt", func(policy.Options) slots.Policy { return make() })
			policytest.Run(t, make, policytest.Claims{Idle: policytest.AnyIdle})
		})
	}
}
