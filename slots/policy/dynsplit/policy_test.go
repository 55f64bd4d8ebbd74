package dynsplit_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dynsplit"
	"mrlocal/slots/policy/policytest"
)

func newSplit(o policy.Options) slots.Policy { return dynsplit.New(o) }

func TestScripts(t *testing.T) { policytest.Scripts(t, "testdata/*.txt", newSplit) }

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return newSplit(policy.DefaultOptions()) }, policytest.Claims{Idle: policytest.AnyIdle})
	for name, o := range map[string]policy.Options{
		"additional map slots": {AdditionalMapSlots: 2}, "few reduces": {AdditionalMapSlots: 1, ReduceTotal: 1},
		"one copy at a time": {ReduceShuffle: 1}, "one computes at a time": {ReduceCompute: 1}, "all bounds": {AdditionalMapSlots: 1, ReduceTotal: 3, ReduceShuffle: 2, ReduceCompute: 1},
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy { return newSplit(o) }, policytest.Claims{Periods: true})
		})
	}
}

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", newSplit, policytest.Claims{Periods: true}, "", "early-reduces=bound additional-map-slots=2 reduce-compute=1",
		"early-reduces=floor reduce-shuffle=1", "early-reduces=printed reduce-total=2 reduce-shuffle=1 reduce-compute=1")
}
