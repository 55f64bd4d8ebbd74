package registry_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/fair"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
)

// TestLendingKeepsToItsPercentages: by the papers' counts, with two to nine trackers,
// no more is lent than floor(capacity · percentage) [DHFS13, "lent by tracker"],
// [DHFS13, "borrow allowance"].
func TestLendingKeepsToItsPercentages(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		o := policy.Options{BorrowMap: slots.PPM(rapid.IntRange(0, 1_000_000).Draw(rt, "of maps")), BorrowReduce: slots.PPM(rapid.IntRange(0, 1_000_000).Draw(rt, "of reduces"))}
		c := slots.Config{
			Slots:     policytest.Typed(rapid.IntRange(2, 9).Draw(rt, "trackers"), rapid.IntRange(1, 6).Draw(rt, "maps"), rapid.IntRange(1, 4).Draw(rt, "reduces")),
			Slowstart: rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(rt, "slowstart"),
		}
		each := func(_ time.Duration, l *slots.Ledger) error {
			lent, capacity := policytest.LentBy(l)
			for k, share := range []slots.PPM{o.BorrowMap, o.BorrowReduce} {
				if lent[k] > share.Of(capacity[k]) {
					return fmt.Errorf("%d of %d %v slots are lent at %v", lent[k], capacity[k], slots.Kind(k), share)
				}
			}
			return nil
		}
		jobs := policytest.DrawJobs(rt)
		for _, name := range []string{"pi-dhfs", "pd-dhfs", "pi-fifo"} {
			if _, err := policytest.Drive(c, mustNew(t, name, o), jobs, policytest.Options{Each: each}); err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
		}
	})
}

// crowd is a random mix of pools with map-only and reduce-only jobs. All jobs are there
// from the start, so no demand rises; slots are few.
type crowd struct {
	config slots.Config
	jobs   []policytest.ScriptJob
	pools  []string
}

func drawCrowd(t *rapid.T) crowd {
	w := crowd{config: slots.Config{Slots: policytest.Typed(rapid.IntRange(1, 3).Draw(t, "trackers"), rapid.IntRange(2, 8).Draw(t, "map slots"), rapid.IntRange(1, 5).Draw(t, "reduce slots"))}}
	for i := range rapid.IntRange(2, 5).Draw(t, "pools") {
		name := fmt.Sprintf("P%d", i)
		w.pools = append(w.pools, name)
		w.config.Pools = append(w.config.Pools, slots.Pool{
			Name: name, Weight: rapid.SampledFrom([]slots.PPM{slots.One / 2, slots.One, 2 * slots.One, 5 * slots.One}).Draw(t, "weight"),
			MinMaps: max(0, rapid.Int32Range(-5, 5).Draw(t, "min maps")), MinReduces: max(0, rapid.Int32Range(-3, 3).Draw(t, "min reduces")),
			FIFO: rapid.Bool().Draw(t, "fifo"),
		})
		for range rapid.IntRange(1, 3).Draw(t, "jobs") {
			n := rapid.Int32Range(1, 60).Draw(t, "tasks")
			j := policytest.ScriptJob{
				Spec:    slots.JobSpec{Name: fmt.Sprintf("J%02d", len(w.jobs)), Pool: name, MapsSealed: true, Maps: n},
				MapTime: policytest.Const(time.Duration(rapid.IntRange(1, 9).Draw(t, "time")) * time.Second),
			}
			j.ReduceTime = j.MapTime
			if rapid.Bool().Draw(t, "reduces") {
				j.Spec.Maps, j.Spec.Reduces = 0, n
			}
			w.jobs = append(w.jobs, j)
		}
	}
	return w
}

// standing returns, by pool, how many tasks of a kind run and the pool's demand.
func (w *crowd) standing(l *slots.Ledger, k slots.Kind) (running []int32, wanted []policy.ShareDemand) {
	running, wanted = make([]int32, len(w.pools)), make([]policy.ShareDemand, len(w.pools))
	for i, p := range w.config.Pools {
		wanted[i] = policy.ShareDemand{Min: p.Min(k), Weight: p.Weight}
		for id := range slots.JobID(l.Jobs()) {
			if w.jobs[id].Spec.Pool == p.Name {
				done, total := l.JobTasks(id, k)
				running[i] += int32(l.JobCounts(id, k).Started) - done
				wanted[i].Demand += total - done
			}
		}
	}
	return running, wanted
}

// checkShares checks two rules. No pool exceeds its fair share of the running tasks by a
// whole task. No pool is below its min share while min shares fit.
func checkShares(running []int32, wanted []policy.ShareDemand, capacity int32) error {
	var all, least int32
	for i := range running {
		all += running[i]
		least += min(wanted[i].Min, wanted[i].Demand)
	}
	level := policy.LevelOf(wanted, all)
	for i, r := range running {
		n := level.Share(wanted[i])
		if share := float64(n.Num) / float64(max(n.Den, 1)); float64(r) > share+1+1e-9 {
			return fmt.Errorf("pool %d runs %d, its share of %d is %v: %v of %v", i, r, all, share, running, wanted)
		}
		if m := min(wanted[i].Min, wanted[i].Demand); least <= capacity && r < m {
			return fmt.Errorf("pool %d runs %d, its min share is %d: %v of %v", i, r, m, running, wanted)
		}
	}
	return nil
}

// TestSharesAreMaxMinInSteadyState: each pool stays within a task of its numeric share
// (Hadoop 1.0.3, SchedulingAlgorithms.computeFairShares) and at its min share. Under
// fair that holds for each kind, under pd-dhfs for both kinds together
// [DHFS13, "combined key"]. Under pi-dhfs it holds for each phase while nothing has
// ended, because lent slots flow back only as tasks end.
func TestSharesAreMaxMinInSteadyState(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		w := drawCrowd(rt)
		for name, check := range map[string]func(now time.Duration, l *slots.Ledger) error{
			"fair": func(_ time.Duration, l *slots.Ledger) error {
				_, capacity := policytest.LentBy(l)
				for k := range slots.Kind(2) {
					if running, wanted := w.standing(l, k); checkShares(running, wanted, capacity[k]) != nil {
						return checkShares(running, wanted, capacity[k])
					}
				}
				return nil
			},
			"pd-dhfs": func(_ time.Duration, l *slots.Ledger) error {
				_, capacity := policytest.LentBy(l)
				running, wanted := w.standing(l, slots.Map)
				reduces, more := w.standing(l, slots.Reduce)
				for i := range running {
					running[i] += reduces[i]
					wanted[i].Demand += more[i].Demand
					wanted[i].Min += more[i].Min
				}
				return checkShares(running, wanted, capacity[slots.Map]+capacity[slots.Reduce])
			},
			"pi-dhfs": func(now time.Duration, l *slots.Ledger) error {
				_, capacity := policytest.LentBy(l)
				for k := range slots.Kind(2) {
					if running, wanted := w.standing(l, k); now == 0 && checkShares(running, wanted, capacity[k]) != nil {
						return checkShares(running, wanted, capacity[k])
					}
				}
				return nil
			},
		} {
			if _, err := policytest.Drive(w.config, mustNew(t, name, policy.DefaultOptions()), w.jobs, policytest.Options{Each: check}); err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
		}
	})
}

// TestNobodyStarves: a job starts soon after it is submitted, whatever the others have to do. Each
// tracker has twice as many map slots as there are jobs. In the fair scheduler's order, soon is
// before the longest task could end. In other orders it is before five of these could end in a row.
// With a slow tracker that is then lost, and attempts that fail, the longest task is one on that
// tracker. No job has reduces then, which could hold slots until the failed maps are done. In FIFO
// order a job waits for those before it.
func TestNobodyStarves(t *testing.T) {
	const longest = 9 * time.Second
	fairOrder := []string{"fair", "late", "delay", "pi-dhfs", "pd-dhfs", "dynamicmr"}
	fifoOrder := []string{"fifo", "pi-fifo", "capacity"} // or another order in which a job may wait for ever
	soon := map[string]time.Duration{}
	for _, name := range registry.Names() {
		switch {
		case slices.Contains(fairOrder, name):
			soon[name] = longest
		case !slices.Contains(fifoOrder, name):
			soon[name] = 5 * longest
		}
	}
	testkit.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "jobs")
		c := slots.Config{Slots: policytest.Typed(2, 2*n, 1), Slowstart: slots.One}
		seconds := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(rt, name)) * time.Second
		}
		var jobs []policytest.ScriptJob
		for i := range n {
			jobs = append(jobs, policytest.ScriptJob{
				Spec:    slots.JobSpec{Name: fmt.Sprintf("J%02d", i), Maps: rapid.Int32Range(1, 80).Draw(rt, "maps"), MapsSealed: true, Reduces: rapid.Int32Range(0, 9).Draw(rt, "reduces")},
				MapTime: policytest.Const(seconds("map time", 1, 9)), ReduceTime: policytest.Const(seconds("reduce time", 1, 9)), Submit: seconds("submit", 0, 60),
			})
		}
		var o policytest.Options
		slower := time.Duration(1)
		if rapid.Bool().Draw(rt, "things go wrong") {
			slower = 3
			o.Speeds = []slots.PPM{slots.One, slots.One / slots.PPM(slower)}
			o.Faults = []policytest.ScriptFault{{At: seconds("lost", 1, 90), Do: func(now time.Duration, l *slots.Ledger) { l.LostTracker(now, 1) }}}
			for i := range jobs {
				jobs[i].Spec.Reduces = 0
				jobs[i].Fail = func(_ slots.Kind, task slots.TaskID) int32 { return int32(task % 2) }
			}
		}
		for _, name := range slices.Sorted(maps.Keys(soon)) {
			l, err := policytest.Drive(c, mustNew(t, name, policy.DefaultOptions()), jobs, o)
			if err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
			for id := range slots.JobID(l.Jobs()) {
				if times := l.JobTimes(id); times.Start-times.Submit > slower*soon[name] {
					rt.Fatalf("%s: job %d waits from %v to %v; if its order may do so, list it in fifoOrder", name, id, times.Submit, times.Start)
				}
			}
		}
	})
}

// TestPreemptionTakesNoPoolBelowItsShare: every pool has timeouts, and tasks are longer than
// these. Pools get their shares. A pool of which a task is killed keeps its share.
func TestPreemptionTakesNoPoolBelowItsShare(t *testing.T) {
	kills := 0
	testkit.Check(t, func(rt *rapid.T) {
		w := drawCrowd(rt)
		for i := range w.config.Pools {
			w.config.Pools[i].PreemptAfter, w.config.Pools[i].FairPreemptAfter = 3*time.Second, 5*time.Second
		}
		for i := range w.jobs {
			w.jobs[i].Spec.Maps, w.jobs[i].Spec.Reduces = w.jobs[i].Spec.Maps+w.jobs[i].Spec.Reduces, 0
			w.jobs[i].MapTime = policytest.Const(time.Minute)
			w.jobs[i].Submit = time.Duration(rapid.IntRange(0, 20).Draw(rt, "submit")) * time.Second
		}
		var bad error
		explain := func(e *slots.Explanation) {
			if e.Reclaimed == slots.NoSlot {
				return
			}
			kills++
			var running, share float64
			for _, n := range e.Why.Numbers {
				switch value := float64(n.Num) / float64(max(n.Den, 1)); {
				case strings.HasPrefix(n.Name, "running of pool"):
					running = value
				case strings.HasPrefix(n.Name, "fair share"):
					share = value
				}
			}
			if running-1 < share-1e-9 {
				bad = fmt.Errorf("a task is taken from a pool that runs %v of its share of %v", running, share)
			}
		}
		if _, err := policytest.Drive(w.config, mustNew(t, "fair", policy.DefaultOptions()), w.jobs, policytest.Options{Explain: explain}); err != nil || bad != nil {
			rt.Fatal(err, bad)
		}
	})
	if kills == 0 && testkit.Long() { // fewer draws may have none
		t.Error("nothing was ever killed")
	}
}

// fast has the methods that all policies over pools have.
type fast interface {
	slots.Policy
	slots.Selective
}

// honest checks that a policy grants nothing after it has reported that it has nothing to grant.
type honest struct {
	fast
	nothing int
	bad     error
}

func (h *honest) Decide(v *slots.View, d *slots.Decision) {
	said, before := h.NextVisit(v, v.Tracker()) < 0, v.Running(slots.Map)+v.Running(slots.Reduce)
	h.fast.Decide(v, d)
	if said {
		h.nothing++
		if now := v.Running(slots.Map) + v.Running(slots.Reduce); now != before {
			h.bad = fmt.Errorf("%s has nothing to grant and starts %d tasks", h.Traits().Name, now-before)
		}
	}
}

func TestAPolicyWithNothingToGrantGrantsNothing(t *testing.T) {
	nothing := map[string]int{}
	testkit.Check(t, func(rt *rapid.T) {
		share := rapid.SampledFrom([]slots.PPM{0, slots.One / 3, slots.One})
		o := policy.Options{BorrowMap: share.Draw(rt, "of maps"), BorrowReduce: share.Draw(rt, "of reduces")}
		c := slots.Config{Slots: policytest.WithExtra(rapid.IntRange(1, 5).Draw(rt, "trackers"), rapid.IntRange(1, 4).Draw(rt, "maps"), rapid.IntRange(1, 4).Draw(rt, "reduces"), 4)}
		jobs := policytest.DrawJobs(rt)
		weighted := o
		weighted.SlotWeights = slots.Weights{Map: rapid.Int32Range(1, 3).Draw(rt, "of a map"), Reduce: rapid.Int32Range(1, 3).Draw(rt, "of a reduce")}
		pi, pd := weighted, weighted
		pi.DHSA, pd.DHSA = "pi", "pd"
		for name, p := range map[string]slots.Policy{
			"fair": fair.New(o), "pi-dhfs": dhfs.NewPI(o), "pd-dhfs": dhfs.NewPD(o), "pi-fifo": dhfs.NewFIFO(o),
			"pi with weights": dynamicmr.New(pi), "pd with weights": dynamicmr.New(pd),
		} {
			h := &honest{fast: p.(fast)}
			if _, err := policytest.Drive(c, h, jobs, policytest.Options{Heartbeat: time.Second}); err != nil || h.bad != nil {
				rt.Fatal(err, h.bad)
			}
			nothing[name] += h.nothing
		}
	})
	for name, n := range nothing {
		if n == 0 && testkit.Long() { // fewer draws may have none
			t.Errorf("%s never had nothing to grant", name)
		}
	}
}

func TestAReplayHasTheOptionsOfTheRun(t *testing.T) {
	for _, info := range registry.All() {
		c := slots.Config{Slots: policytest.Typed(2, 1, 1), Replicas: 1, PolicyName: info.Name, BorrowMap: slots.One / 2, BorrowReduce: slots.One / 4, LocalityDelay: new(3 * time.Second)}
		p, err := registry.ForReplay(c)
		if err != nil {
			t.Fatal(err)
		}
		o := policy.DefaultOptions()
		o.BorrowMap, o.BorrowReduce, o.LocalityDelay = c.BorrowMap, c.BorrowReduce, c.LocalityDelay
		if want := mustNew(t, info.Name, o); !cmp.Equal(p, want, cmp.Exporter(func(reflect.Type) bool { return true }), cmp.FilterPath(isFunc, cmp.Ignore())) {
			t.Errorf("%s: %+v, want %+v", info.Name, p, want)
		}
	}
}

// TestEveryOptionIsRecorded in the configuration, as in an event file, and read again for a replay.
// dynamicmr borrows and gives all its options to the Ledger. The wait for local slots comes from the
// driver.
func TestEveryOptionIsRecorded(t *testing.T) {
	o := policy.DefaultOptions()
	for _, f := range o.Fields() {
		setOther(t, f)
	}
	p := mustNew(t, "dynamicmr", o)
	l, err := slots.New(slots.Config{Slots: policytest.Typed(1, 1, 1), LocalityDelay: o.LocalityDelay}, p)
	if err != nil {
		t.Fatal(err)
	}
	got, c := policy.DefaultOptions(), l.Config()
	if err := got.SetRecorded(&c); err != nil || !cmp.Equal(o, got) {
		t.Errorf("%v: %s", err, cmp.Diff(o, got))
	}
	again, err := registry.ForReplay(c)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Traits().Options, p.Traits().Options; !cmp.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAPolicyRecordsItsOptions: with the options of the recorded configuration, each policy decides the
// same again. Each draw changes some options.
func TestAPolicyRecordsItsOptions(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		w, o := drawCrowd(rt), policy.DefaultOptions()
		for _, f := range o.Fields() {
			if rapid.Bool().Draw(rt, f.Name) {
				setOther(t, f)
			}
		}
		w.config.LocalityDelay = o.LocalityDelay
		first := rapid.IntRange(0, 3).Draw(rt, "policies")
		for i, name := range registry.Names() {
			if (first+i)%4 >= testkit.Rounds(4) {
				continue
			}
			decisions := func(p slots.Policy) (all []string, c slots.Config) {
				l, err := policytest.Drive(w.config, p, w.jobs, policytest.Options{Explain: func(e *slots.Explanation) {
					all = append(all, fmt.Sprint(e.Now, e.Start, e.Grant.Rule, e.Refused, e.Reclaimed))
				}})
				if err != nil {
					rt.Fatalf("%s: %v", name, err)
				}
				return all, l.Config()
			}
			want, c := decisions(mustNew(t, name, o))
			again, err := registry.ForReplay(c)
			if err != nil {
				rt.Fatal(err)
			}
			if got, _ := decisions(again); !slices.Equal(got, want) {
				rt.Fatalf("%s decides otherwise after %+v: Traits.Options records its options", name, c)
			}
		}
	})
}

// setOther gives an option another value than the default.
func setOther(t *testing.T, f setting.Setting) {
	text := map[string]string{"SHARE": "0.25", "TIME": "7s", "N": "7", "map=N,reduce=N": "map=2,reduce=3"}[f.Metavar()]
	if text == "" {
		text = f.Value.Words[1]
	}
	if err := f.Value.Set(text); err != nil {
		t.Fatal(f.Name, err)
	}
}

// TestALineOfTheOptionsNamesItsField: setting it changes the field that errors name, and no other
// one. Each field has a line.
func TestALineOfTheOptionsNamesItsField(t *testing.T) {
	lines := map[string]int{}
	for i := range new(policy.Options).Fields() {
		o := policy.DefaultOptions()
		f := o.Fields()[i]
		setOther(t, f)
		lines[f.Field]++
		before, after := reflect.ValueOf(policy.DefaultOptions()), reflect.ValueOf(o)
		for k := range before.NumField() {
			name := before.Type().Field(k).Name
			if changed := !cmp.Equal(before.Field(k).Interface(), after.Field(k).Interface()); changed != (name == f.Field) {
				t.Errorf("%s of field %q: %s changes: %v", f.Name, f.Field, name, changed)
			}
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[policy.Options]()) {
		if lines[field.Name] != 1 {
			t.Errorf("%d lines for %s, want 1", lines[field.Name], field.Name)
		}
	}
}

// isFunc reports whether a value is a function, which cannot be compared.
func isFunc(p cmp.Path) bool { return p.Last().Type() != nil && p.Last().Type().Kind() == reflect.Func }

func TestWrongOptionsOfPoliciesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*policy.Options){
		`Options.DHSA: bogus: no such choice; one of pi, pd, off`: func(o *policy.Options) { o.DHSA = "bogus" },
		`Options.BorrowMap: -0.000005: not a share`:               func(o *policy.Options) { o.BorrowMap = -5 },
		`Options.SEPBMapJobs: 2: more than 1`:                     func(o *policy.Options) { o.SEPBMapJobs = policy.Override{Given: true, Share: 2 * slots.One} },
		`Options.LocalityDelay: -1ns: too small; at least 0s`:     func(o *policy.Options) { o.LocalityDelay = new(time.Duration(-1)) },
		`Options.ReduceTotal: -1: too small; at least 1`:          func(o *policy.Options) { o.ReduceTotal = -1 },
		`Options.SlotWeights: map=-1,reduce=0: each is from 1 to`: func(o *policy.Options) { o.SlotWeights.Map = -1 },
		`Options.Cycle: -1ns: must be more than 0s`:               func(o *policy.Options) { o.Cycle = -1 },
	} {
		o := policy.DefaultOptions()
		change(&o)
		if _, err := registry.New("dynamicmr", o); !errs.IsUsage(err) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAnUnknownPolicyIsWrongUsageWithTheNearestName(t *testing.T) {
	for name, want := range map[string]string{
		"pi-dfs": "did you mean pi-dhfs?", "FAIR": "did you mean fair?", "fiffo": "did you mean fifo?",
		"": "there are fifo, fair, pi-dhfs, pd-dhfs, pi-fifo", "kubernetes": "there are fifo, fair, pi-dhfs, pd-dhfs, pi-fifo",
	} {
		_, err := registry.New(name, policy.Options{})
		if !errs.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestTheTableOfNamesAgreesWithThePolicies(t *testing.T) {
	for _, info := range registry.All() {
		p := mustNew(t, info.Name, policy.DefaultOptions())
		if name := p.Traits().Name; name != info.Name {
			t.Errorf("%s makes a policy named %q", info.Name, name)
		}
		if info.Line == "" || info.Paper == "" {
			t.Errorf("%s has no Line or no Paper", info.Name)
		}
	}
}
