package policy_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/policy/settings"
)

func TestEveryPolicyPassesTheSuite(t *testing.T) {
	claims := map[string]policytest.Claims{
		"fifo":    {Idle: policytest.TypedIdle},
		"fair":    {Idle: policytest.TypedIdle},
		"pi-dhfs": {Idle: policytest.AnyIdle},
		"pd-dhfs": {Idle: policytest.AnyIdle},
		"pi-fifo": {Idle: policytest.AnyIdle},

		"fair-deficit": {Idle: policytest.TypedIdle},
		"lazy-start":   {Idle: policytest.AnyIdle}, "batch-finish": {Idle: policytest.AnyIdle}, "omo": {Idle: policytest.AnyIdle},
		"dynamicmr": {Idle: policytest.AnyIdle}, "late": {Idle: policytest.TypedIdle},
		"yarn": {Idle: policytest.AnyIdle}, "fresh": {Idle: policytest.AnyIdle},
		"dynsplit": {Idle: policytest.AnyIdle},
	}
	for _, info := range registry.All() {
		t.Run(info.Name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy {
				return mustNew(t, info.Name, settings.Defaults())
			}, claims[info.Name])
		})
	}
	for name, o := range map[string]settings.Options{
		"additional map slots": {AdditionalMapSlots: 2}, "few reduces": {AdditionalMapSlots: 1, ReduceTotal: 1},
		"one copy at a time": {ReduceShuffle: 1}, "one computes at a time": {ReduceCompute: 1}, "all bounds": {AdditionalMapSlots: 1, ReduceTotal: 3, ReduceShuffle: 2, ReduceCompute: 1},
	} {
		t.Run("dynsplit with "+name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy { return mustNew(t, "dynsplit", o) }, policytest.Claims{Periods: true})
		})
	}
	for name, claims := range map[string]policytest.Claims{
		"fair": {}, "pi-dhfs": {}, // a wait for a local slot leaves one idle
		"pd-dhfs": {Idle: policytest.AnyIdle}, // NON_LOCAL_MAP does not
	} {
		t.Run(name+" with a locality delay", func(t *testing.T) {
			policytest.Run(t, func() slots.Policy {
				return mustNew(t, name, settings.Options{BorrowMap: slots.One, BorrowReduce: slots.One, LocalityDelay: 2500 * time.Millisecond})
			}, claims)
		})
	}
	for _, name := range []string{"pi-dhfs", "pd-dhfs"} {
		for _, share := range []slots.PPM{0, slots.One / 4} {
			t.Run(name+" with shares "+share.String(), func(t *testing.T) {
				policytest.Run(t, func() slots.Policy {
					return mustNew(t, name, settings.Options{BorrowMap: share, BorrowReduce: slots.One - share})
				}, policytest.Claims{})
			})
		}
	}
}

func TestEveryPartOfDynamicMRPassesTheSuite(t *testing.T) {
	for name, change := range map[string]func(o *settings.Options){
		"pd":                    func(o *settings.Options) { o.DHSA = "pd" },
		"job-first":             func(o *settings.Options) { o.SEPBJobs = 0 },
		"half of the jobs":      func(o *settings.Options) { o.DHSA, o.SEPBJobs = "pd", slots.One/2 },
		"SEPB alone":            func(o *settings.Options) { o.DHSA, o.PreScheduling = "off", false },
		"PreScheduling alone":   func(o *settings.Options) { o.DHSA, o.SEPB = "off", false },
		"without PreScheduling": func(o *settings.Options) { o.PreScheduling = false },
		"lending little":        func(o *settings.Options) { o.BorrowMap, o.BorrowReduce = slots.One/4, slots.One/4 },
	} {
		t.Run(name, func(t *testing.T) {
			o := settings.Defaults()
			change(&o)
			policytest.Run(t, func() slots.Policy { return mustNew(t, "dynamicmr", o) }, policytest.Claims{})
		})
	}
	for name, change := range map[string]func(o *settings.Options){
		"pi, heavy reduces": func(o *settings.Options) { o.SlotWeights = demand.Weights{Map: 1, Reduce: 2} },
		"pi, heavy maps":    func(o *settings.Options) { o.SlotWeights = demand.Weights{Map: 3, Reduce: 2} },
		"pd, heavy reduces": func(o *settings.Options) { o.DHSA, o.SlotWeights = "pd", demand.Weights{Map: 2, Reduce: 3} },
		"pd, heavy maps":    func(o *settings.Options) { o.DHSA, o.SlotWeights = "pd", demand.Weights{Map: 5, Reduce: 1} },
		"pi, lending little": func(o *settings.Options) {
			o.BorrowMap, o.BorrowReduce, o.SlotWeights = slots.One/2, slots.One/2, demand.Weights{Map: 1, Reduce: 2}
		},
	} {
		t.Run("weights: "+name, func(t *testing.T) {
			o := settings.Defaults()
			change(&o)
			policytest.Run(t, func() slots.Policy { return mustNew(t, "dynamicmr", o) }, policytest.Claims{Periods: true})
		})
	}
}

func mustNew(t testing.TB, name string, o settings.Options) slots.Policy {
	t.Helper()
	p, err := registry.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
