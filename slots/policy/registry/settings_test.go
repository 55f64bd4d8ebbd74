package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
)

// TestAPolicyUsesWhatItSays: a setting of pools or jobs changes the decisions of a policy on a
// workload that would show it if and only if the policy says that it uses the setting.
func TestAPolicyUsesWhatItSays(t *testing.T) {
	for _, c := range []struct {
		setting slots.Settings
		set     func(pools []slots.Pool, jobs []policytest.ScriptJob)
	}{
		{slots.PoolWeight, func(pools []slots.Pool, _ []policytest.ScriptJob) { pools[1].Weight = 3 * slots.One }},
		{slots.MinShare, func(pools []slots.Pool, _ []policytest.ScriptJob) { pools[1].MinMaps, pools[1].MinReduces = 4, 2 }},
		{slots.PoolMax, func(pools []slots.Pool, _ []policytest.ScriptJob) { pools[1].MaxMaps, pools[1].MaxReduces = 1, 1 }},
		{slots.PoolMode, func(pools []slots.Pool, _ []policytest.ScriptJob) { pools[0].FIFO = true }},
		{slots.Preemption, func(pools []slots.Pool, _ []policytest.ScriptJob) { pools[1].FairPreemptAfter = time.Second }},
		{slots.JobWeight, func(_ []slots.Pool, jobs []policytest.ScriptJob) { jobs[1].Spec.Weight = 3 * slots.One }},
		{slots.PoolCapacity, func(pools []slots.Pool, _ []policytest.ScriptJob) { pools[1].Capacity = slots.One * 3 / 4 }},
		{slots.JobPriority, func(_ []slots.Pool, jobs []policytest.ScriptJob) { jobs[1].Spec.Priority = slots.VeryHigh }},
	} {
		for _, name := range registry.Names() {
			p := mustNew(t, name, policy.DefaultOptions())
			uses := p.Traits().Uses&c.setting != 0
			changes := starts(t, name, nil) != starts(t, name, c.set)
			if uses != changes {
				t.Errorf("%s says %v about %s, but its decisions change: %v", name, uses, c.setting.Names(), changes)
			}
		}
	}
}

// TestEachOptionChangesADecision: for each option, some policy decides otherwise on a drawn workload if it is set.
func TestEachOptionChangesADecision(t *testing.T) {
	const draws = 40
	set := map[string]string{
		"borrow-map": "0", "borrow-reduce": "0", "locality-delay": "2s", "dhsa": "off", "sepb": "off", "sepb-jobs": "0", "sepb-map-jobs": "0",
		"sepb-reduce-jobs": "0", "prescheduling": "off", "slot-weights": "map=1,reduce=2", "copy-after": "5s", "copy-rule": "hadoop", "container-order": "count",
		"containers": "resources", "batch-reserve": "on", "lazy-room": "share", "container-copies": "on", "release-window": "1s", "additional-map-slots": "0", "early-reduces": "bound", "reduce-total": "1",
		"reduce-shuffle": "1", "reduce-compute": "1", "control-cycle": "1s", "shuffle-memory": "on", "preempt-reduces": "on", "required-at-first": "one", "take-maps-for": "any",
	}
	digest := func(name string, o policy.Options, number int) string {
		return policytest.Digest(t, number, mustNew(t, name, o), policytest.Claims{Periods: name == "dynsplit"})
	}
	usual := map[string]string{}
	changes := func(o policy.Options) bool {
		for i := range draws {
			for _, name := range registry.Names() {
				key := fmt.Sprint(name, i)
				if usual[key] == "" {
					usual[key] = digest(name, policy.DefaultOptions(), i)
				}
				if digest(name, o, i) != usual[key] {
					return true
				}
			}
		}
		return false
	}
	o := policy.DefaultOptions()
	for i, s := range o.Fields() {
		o := policy.DefaultOptions()
		if err := o.Fields()[i].Value.Set(set[s.Name]); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		} else if !changes(o) {
			t.Errorf("no policy decides otherwise with %s %s", s.Name, set[s.Name])
		}
	}
}

// starts returns the starts and kills of a run of three jobs in two pools, after a change of their settings.
func starts(t *testing.T, name string, set func(pools []slots.Pool, jobs []policytest.ScriptJob)) string {
	t.Helper()
	job := func(name, pool string, at time.Duration) policytest.ScriptJob {
		return policytest.ScriptJob{
			Spec:   slots.JobSpec{Name: name, Pool: pool, Maps: 24, MapsSealed: true, Reduces: 6},
			Submit: at, MapTime: policytest.Const(5 * time.Second), ReduceTime: policytest.Const(7 * time.Second),
		}
	}
	jobs := []policytest.ScriptJob{job("A", "p", 0), job("B", "p", 100*time.Millisecond), job("C", "q", 300*time.Millisecond)}
	c := slots.Config{Slots: policytest.Typed(2, 3, 2), Slowstart: slots.One, Pools: []slots.Pool{{Name: "p"}, {Name: "q"}}}
	if set != nil {
		set(c.Pools, jobs)
	}
	var b strings.Builder
	_, err := policytest.Drive(c, mustNew(t, name, policy.DefaultOptions()), jobs, policytest.Options{Explain: func(e *slots.Explanation) {
		if !e.EndOfVisit() && e.Refused == slots.Granted {
			fmt.Fprintln(&b, e.Now, e.Start, e.Reclaimed)
		}
	}})
	if err != nil {
		t.Fatal(name, err)
	}
	return b.String()
}
