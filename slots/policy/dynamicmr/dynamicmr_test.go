package dynamicmr_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
)

func TestScripts(t *testing.T) { policytest.Scripts(t, "testdata/*.txt", dynamicmr.New) }

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return dynamicmr.New(policy.DefaultOptions()) }, policytest.Claims{Idle: policytest.AnyIdle})
}

func TestEveryPartOfDynamicMRPassesTheSuite(t *testing.T) {
	for name, change := range map[string]func(o *policy.Options){
		"pd":                    func(o *policy.Options) { o.DHSA = "pd" },
		"job-first":             func(o *policy.Options) { o.SEPBJobs = 0 },
		"half of the jobs":      func(o *policy.Options) { o.DHSA, o.SEPBJobs = "pd", slots.One/2 },
		"SEPB alone":            func(o *policy.Options) { o.DHSA, o.PreScheduling = "off", false },
		"PreScheduling alone":   func(o *policy.Options) { o.DHSA, o.SEPB = "off", false },
		"without PreScheduling": func(o *policy.Options) { o.PreScheduling = false },
		"lending little":        func(o *policy.Options) { o.BorrowMap, o.BorrowReduce = slots.One/4, slots.One/4 },
	} {
		t.Run(name, func(t *testing.T) {
			o := policy.DefaultOptions()
			change(&o)
			policytest.Run(t, func() slots.Policy { return dynamicmr.New(o) }, policytest.Claims{})
		})
	}
	for name, change := range map[string]func(o *policy.Options){
		"pi, heavy reduces": func(o *policy.Options) { o.SlotWeights = slots.Weights{Map: 1, Reduce: 2} },
		"pi, heavy maps":    func(o *policy.Options) { o.SlotWeights = slots.Weights{Map: 3, Reduce: 2} },
		"pd, heavy reduces": func(o *policy.Options) { o.DHSA, o.SlotWeights = "pd", slots.Weights{Map: 2, Reduce: 3} },
		"pd, heavy maps":    func(o *policy.Options) { o.DHSA, o.SlotWeights = "pd", slots.Weights{Map: 5, Reduce: 1} },
		"pi, lending little": func(o *policy.Options) {
			o.BorrowMap, o.BorrowReduce, o.SlotWeights = slots.One/2, slots.One/2, slots.Weights{Map: 1, Reduce: 2}
		},
	} {
		t.Run("weights: "+name, func(t *testing.T) {
			o := policy.DefaultOptions()
			change(&o)
			policytest.Run(t, func() slots.Policy { return dynamicmr.New(o) }, policytest.Claims{Periods: true})
		})
	}
}

func mustNew(t testing.TB, name string, o policy.Options) slots.Policy {
	t.Helper()
	p, err := registry.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestExtraIdleSlotsByDefinition: a tracker of 10 map slots in a cluster of 90.
func TestExtraIdleSlotsByDefinition(t *testing.T) {
	for _, c := range []struct {
		demand, used, extra int32
	}{
		{90, 4, 0},   // a full load
		{200, 10, 0}, // more than that
		{45, 4, 5},   // half a load: ceil(0.5 · 10) = 5
		{45, 5, 5},
		{45, 7, 3}, // pre-scheduled two
		{1, 0, 9},
		{0, 0, 10},
	} {
		if x := dynamicmr.ExtraIdle(c.demand, 10, 90, c.used); x != c.extra {
			t.Errorf("demand %d, %d used: %d extra, want %d", c.demand, c.used, x, c.extra)
		}
	}
}

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", dynamicmr.New, policytest.Claims{}, "", "dhsa=pd", "dhsa=off", "sepb-jobs=0", "sepb-jobs=0.5 dhsa=pd copy-rule=hadoop",
		"borrow-map=0.5 borrow-reduce=0.5 sepb=off", "borrow-map=0.25 borrow-reduce=0.25 copy-after=1s")
	policytest.Drawn(t, "testdata/weights.golden", dynamicmr.New, policytest.Claims{Periods: true}, "slot-weights=map=1,reduce=2", "slot-weights=map=3,reduce=2 sepb-jobs=0",
		"dhsa=pd slot-weights=map=2,reduce=3", "dhsa=pd slot-weights=map=5,reduce=1 borrow-reduce=0.5", "slot-weights=map=1,reduce=2 borrow-map=0.5 borrow-reduce=0.5")
}
