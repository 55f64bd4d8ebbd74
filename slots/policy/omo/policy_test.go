package omo_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/yarn"
)

func TestScriptsAndSuite(t *testing.T) {
	for name, make := range map[string]func(policy.Options) slots.Policy{
		"omo":             func(o policy.Options) slots.Policy { return omo.New(o) },
		"lazy-start":      func(o policy.Options) slots.Policy { return omo.NewLazyStart(o) },
		"fair-containers": func(o policy.Options) slots.Policy { return omo.NewFair(o) },
		"batch-finish":    func(o policy.Options) slots.Policy { return omo.NewBatchFinish(o) },
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Scripts(t, "testdata/"+name+"/*.txt", make)
			policytest.Drawn(t, "testdata/"+name+"/drawn.golden", make, policytest.Claims{}, "", "container-order=count batch-reserve=on release-window=2s", "containers=resources", "lazy-room=share", "container-copies=on")
			policytest.Run(t, func() slots.Policy { return make(policy.DefaultOptions()) }, policytest.Claims{Idle: policytest.AnyIdle})
			for _, set := range []func(o *policy.Options){
				func(o *policy.Options) { o.Containers = yarn.OfResources },
				func(o *policy.Options) { o.ContainerCopies = true },
			} {
				o := policy.DefaultOptions()
				set(&o)
				policytest.Run(t, func() slots.Policy { return make(o) }, policytest.Claims{})
			}
		})
	}
}
