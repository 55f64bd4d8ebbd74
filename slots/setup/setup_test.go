package setup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

const example = `
cluster: {trackers: 2, map_slots: 3, reduce_slots: 1}
defaults: {slowstart: 0.5, map_time: 20s, reduce_time: 20s}
locality: {replicas: 3, group_trackers: 2}
users: [{name: ann, max_running_jobs: 2}, {name: bob}]
pools:
  - {name: prod, weight: 2, min_maps: 4, min_reduces: 1, max_maps: 5, max_reduces: 6, max_running_jobs: 7, mode: fifo, preempt_after: 30s, fair_preempt_after: 0s}
  - {name: adhoc, min_maps: 9}
slow: [{tracker: 1, factor: 0.5}]
faults: [{at: 5s, tracker: 1, lost: true}, {task: J02/m/1, fail: 1}]
jobs:
  - {name: J01, pool: prod, user: ann, maps: 160, reduces: 30, priority: high, weight: 3, submit: 5s, deadline: 100s}
  - {name: J02, maps: 2, pool: adhoc}
`

func parse(t testing.TB, text string) *workload.File {
	t.Helper()
	f, err := workload.Parse("w.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// opener opens as many slots as it may.
type opener struct{ *fifo.FIFO }

func (opener) Extra(_ [2]int32, most int) int { return most }

// ledger is the configuration of the Ledger for a file under flags.
func ledger(f *workload.File, over setup.Config, core func(tracker, i int) int32) slots.Config {
	c, _ := f.Lower(over)
	c = c.WithDefaults(2, 1)
	return c.Ledger(opener{fifo.New()}, core)
}

// layout shows the slots of each tracker: m, r, and x for an extra one.
func layout(c slots.Config) string {
	var b strings.Builder
	for i, s := range c.Slots {
		if i > 0 && s.Tracker != c.Slots[i-1].Tracker {
			b.WriteByte(' ')
		}
		switch {
		case s.Extra:
			b.WriteByte('x')
		case s.Home == slots.Map:
			b.WriteByte('m')
		default:
			b.WriteByte('r')
		}
	}
	return b.String()
}

func TestFlagsGoBeforeTheFileAndTheFileBeforeTheDefaults(t *testing.T) {
	bare := "jobs: [{name: a, maps: 1}]"
	for _, c := range []struct {
		name, text string
		o          setup.Config
		want       string
	}{
		{"nothing is given", bare, setup.Config{}, "mmrxxx"},
		{"the file's cluster", example, setup.Config{}, "mmmr mmmr xxxx xxxx"},
		{"flags over the file", example, setup.Config{Trackers: 1, MapSlots: 1, ReduceSlots: 2}, "mrrxxx"},
		{"one flag over the file", example, setup.Config{ReduceSlots: 2, MaxSlots: 5}, "mmmrr mmmrr"},
		{"extra slots up to the most", bare, setup.Config{Trackers: 3, MaxSlots: 4}, "mmr mmr mmr x x x"},
		{"a most below what is open adds none", bare, setup.Config{MaxSlots: 1}, "mmr"},
	} {
		config := ledger(parse(t, c.text), c.o, nil)
		if got := layout(config); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for i, s := range config.Slots {
			if s.ID != slots.SlotID(i) || s.Core != -1 {
				t.Errorf("%s: slot %d is %+v", c.name, i, s)
			}
		}
	}
}

func TestEverythingOfTheFileReachesTheLedger(t *testing.T) {
	c := ledger(parse(t, example), setup.Config{Attempts: 3, Seed: 7, LocalityDelay: new(time.Second)}, nil)
	c.Slots = nil
	want := slots.Config{
		Slowstart: ppm.One / 2, MaxAttempts: 3, Seed: 7, LocalityDelay: new(time.Second), Replicas: 3, GroupTrackers: 2,
		Users: []slots.User{{Name: "ann", MaxRunning: 2}, {Name: "bob"}},
		Pools: []slots.Pool{
			{Name: "prod", Weight: 2 * ppm.One, MinMaps: 4, MinReduces: 1, MaxMaps: 5, MaxReduces: 6, MaxRunning: 7, FIFO: true, PreemptAfter: 30 * time.Second, FairPreemptAfter: 1},
			{Name: "adhoc", Weight: ppm.One, MinMaps: 9},
		},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
}

func TestSlowstartIsTheFlagsThenTheFilesThenOne(t *testing.T) {
	f, flag := parse(t, example), slots.PPM(0)
	if got := ledger(f, setup.Config{Slowstart: &flag}, nil).Slowstart; got != 0 {
		t.Errorf("the flag's 0 is %v", got)
	}
	if got := ledger(f, setup.Config{}, nil).Slowstart; got != ppm.One/2 {
		t.Errorf("the file's 0.5 is %v", got)
	}
	if got := ledger(parse(t, "jobs: [{name: a, maps: 1}]"), setup.Config{Replicas: 2}, nil); got.Slowstart != ppm.One || got.Replicas != 2 {
		t.Errorf("by default %v, %d replicas", got.Slowstart, got.Replicas)
	}
}

func TestSlotsTakeTheCoresOfTheDriver(t *testing.T) {
	c := ledger(parse(t, example), setup.Config{MaxSlots: 5}, func(tracker, i int) int32 { return int32(10*tracker + i) })
	var cores []int32
	for _, s := range c.Slots {
		cores = append(cores, s.Core)
	}
	if want := []int32{0, 1, 2, 3, 10, 11, 12, 13, 4, 14}; !slices.Equal(cores, want) {
		t.Errorf("%v, want %v", cores, want)
	}
}

// TestCoresGetEqualNumbersOfSlots: no core has more than the slots of one tracker more than another.
func TestCoresGetEqualNumbersOfSlots(t *testing.T) {
	const perTracker = 3
	for trackers := 1; trackers <= 9; trackers++ {
		for cores := 1; cores <= 6; cores++ {
			core, used := setup.Cores(trackers, cores), make([]int, cores)
			for tracker := range trackers {
				for i := range perTracker {
					used[core(tracker, i)]++
				}
			}
			if slices.Max(used)-slices.Min(used) > perTracker {
				t.Errorf("%d trackers on %d cores: %v slots", trackers, cores, used)
			}
		}
	}
}

func TestCapacitiesOfTrackersThatAreNotThereAreLeftOut(t *testing.T) {
	f := parse(t, "capacities: [{tracker: 0, mem: 0.5}, {tracker: 2, cpu: 2}]\njobs: [{name: a, maps: 1}]")
	half := slots.Capacity{Vector: slots.Vector{CPU: ppm.One, IO: ppm.One, Memory: ppm.One / 2}}
	if d := cmp.Diff(slots.Capacities{half}, ledger(f, setup.Config{Trackers: 2}, nil).Capacities); d != "" {
		t.Error(d)
	}
	if n := len(ledger(f, setup.Config{Trackers: 3}, nil).Capacities); n != 2 {
		t.Errorf("%d capacities on three trackers", n)
	}
}

func TestAFlagGoesBeforeTheFileForItsTrackerOnly(t *testing.T) {
	f := parse(t, "slow: [{tracker: 1, factor: 0.5}, {tracker: 2, factor: 0.5}]\njobs: [{name: a, maps: 1}]")
	got, _ := f.Lower(setup.Config{Slow: []setup.Slow{{Tracker: 1, Factor: 2 * ppm.One}}})
	if d := cmp.Diff([]setup.Slow{{Tracker: 2, Factor: ppm.One / 2}, {Tracker: 1, Factor: 2 * ppm.One}}, got.Slow); d != "" {
		t.Error(d)
	}
}

func TestAJobIsSubmittedWhole(t *testing.T) {
	_, jobs := parse(t, example).Lower(setup.Config{})
	want := slots.JobSpec{
		Name: "J01", Pool: "prod", User: "ann",
		Priority: slots.High, Weight: 3 * ppm.One, Deadline: 100 * time.Second,
	}
	if d := cmp.Diff(want, jobs[0].Spec()); d != "" {
		t.Error(d)
	}
}

func named(name string) slots.Policy {
	p, err := registry.New(name, policy.DefaultOptions())
	if err != nil {
		panic(err)
	}
	return p
}

func warnings(f *workload.File, over setup.Config) []string {
	c, _ := f.Lower(over)
	c = c.WithDefaults(2, 1)
	return c.Warnings(named("fair"), true)
}

func TestWhatMayBeAMistakeIsAWarning(t *testing.T) {
	f := parse(t, example)
	got := warnings(f, setup.Config{Trackers: 1})
	want := []string{
		"pools: the minimum shares are 13 map slots of the 3 there are: pools below them share the slots in proportion to the lesser of min share and demand",
		"locality: 3 replicas, and there is one tracker: every tracker has every block",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := warnings(f, setup.Config{Trackers: 5}); len(got) != 0 {
		t.Errorf("with 15 map slots on 5 trackers: %q", got)
	}
	c, _ := f.Lower(setup.Config{Trackers: 1})
	c = c.WithDefaults(2, 1)
	for _, policy := range []string{"fifo", "yarn", "dynsplit", "ras"} { // Ignored says that these use no min shares
		if got := c.Warnings(named(policy), true); len(got) != 1 || strings.Contains(got[0], "minimum shares") {
			t.Errorf("%s: %q", policy, got)
		}
	}
	few := parse(t, "pools: [{name: p, min_reduces: 2}]\njobs: [{name: a, maps: 1}]")
	if got := warnings(few, setup.Config{}); len(got) != 1 || !strings.Contains(got[0], "2 reduce slots of the 1 there are") {
		t.Errorf("%q", got)
	}
}

func TestFaultsOfTasksThatAreNotThereAreNoted(t *testing.T) {
	task := func(job int, reduce bool, n int) setup.Fault {
		return setup.Fault{Tracker: -1, Job: job, Reduce: reduce, Task: n, Fail: 1}
	}
	faults := []setup.Fault{{Tracker: 9, Task: 9}, task(0, false, 3), task(1, false, 2), task(1, false, 3), task(1, false, 3), task(1, true, 0), task(2, true, 9)}
	want := []string{"faults: there is no map task 3; the job has 3", "faults: there is no reduce task 0; the job has 0"}
	if d := cmp.Diff(want, setup.UnknownTasks(faults, 1, 3, 0)); d != "" {
		t.Error(d)
	}
}

// Whatever workload accepts, a Ledger takes.
func TestEveryFileThatLoadsMakesALedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
		f := &workload.File{
			Config: setup.Config{
				Trackers: n(9, "trackers"), MapSlots: n(5, "maps"), ReduceSlots: n(5, "reduces"), Replicas: n(5, "replicas"), GroupTrackers: n(5, "groups"),
				Users: []slots.User{{Name: "u", MaxRunning: int32(n(3, "running"))}},
				Pools: []slots.Pool{{
					Name: "p", Weight: ppm.Share(1 + n(2_000_000, "weight")), MinMaps: int32(n(100, "min")), MaxReduces: int32(n(100, "max")),
					PreemptAfter: time.Duration(n(3, "after")), FairPreemptAfter: time.Duration(n(3, "fair")),
				}},
			},
			Jobs: []workload.ListedJob{{Submission: setup.Submission{Name: "j", Pool: "p", User: "u", Weight: ppm.One, Priority: slots.Priority(n(4, "priority") - 2)}}},
		}
		c := ledger(f, setup.Config{Trackers: n(3, "flag trackers"), MapSlots: n(3, "flag maps"), ReduceSlots: n(3, "flag reduces"), MaxSlots: n(20, "most"), Attempts: n(5, "attempts")}, nil)
		l, err := slots.New(c, fifo.New())
		if err != nil {
			t.Fatal(err)
		}
		job := f.Jobs[0].Spec()
		job.Maps, job.MapsSealed, job.Reduces = int32(1+n(50, "tasks")), true, int32(n(3, "parts"))
		l.Submit(0, job)
		if len(l.AssignAll(0).Starts) == 0 {
			t.Fatalf("no map starts on %s", layout(c))
		}
	})
}

func TestOnlyARealRunWarnsOfFastTrackers(t *testing.T) {
	f := parse(t, "cluster: {trackers: 3}\nslow: [{tracker: 1, factor: 0.5}, {tracker: 2, factor: 1.5}]\njobs: [{name: a, maps: 1}]")
	c, _ := f.Lower(setup.Config{})
	if got := c.Warnings(named("fair"), true); got != nil {
		t.Errorf("in a simulation %q", got)
	}
	want := []string{"slow: tracker 2 cannot be faster than normal (1.5) in a real run; only a simulation can do that"}
	if got := c.Warnings(named("fair"), false); !slices.Equal(got, want) {
		t.Errorf("in a real run %q, want %q", got, want)
	}
}

// TestIgnoredSettingsAreNamed: what a file sets and the policy does not use.
func TestIgnoredSettingsAreNamed(t *testing.T) {
	c := setup.Config{Pools: []slots.Pool{{Name: "p", Weight: 2 * ppm.One, MaxMaps: 3}, {Name: "q", MinMaps: 1}}}
	jobs := []setup.Submission{{Weight: 3 * ppm.One}, {}}
	job := func(i int) *setup.Submission { return &jobs[i] }
	for name, want := range map[string]string{
		"fair": "", "pi-dhfs": "",
		"fifo":         "pools, jobs: fifo ignores weight of pools, min_maps and min_reduces, max_maps and max_reduces, weight of jobs",
		"yarn":         "pools, jobs: yarn ignores weight of pools, min_maps and min_reduces, max_maps and max_reduces",
		"fair-deficit": "pools, jobs: fair-deficit ignores max_maps and max_reduces",
	} {
		p, err := registry.New(name, policy.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		note := func(text string) { got += text }
		if c.Ignored(p, len(jobs), job, note); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		plain := setup.Config{Pools: []slots.Pool{{Name: "p", Weight: ppm.One}}}
		if plain.Ignored(p, 1, func(int) *setup.Submission { return &jobs[1] }, func(text string) { got = "more: " + text }); got != want {
			t.Errorf("%s ignores nothing: %q", name, got)
		}
	}
}
