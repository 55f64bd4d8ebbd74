package setup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/fifo"
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
		o          Options
		want       string
	}{
		{"nothing is given", bare, Options{}, "mmrxxx"},
		{"the file's cluster", example, Options{}, "mmmr mmmr xxxx xxxx"},
		{"flags over the file", example, Options{Trackers: 1, MapSlots: 1, ReduceSlots: 2}, "mrrxxx"},
		{"one flag over the file", example, Options{ReduceSlots: 2, MaxSlots: 5}, "mmmrr mmmrr"},
		{"extra slots up to the most", bare, Options{Trackers: 3, MaxSlots: 4}, "mmr mmr mmr x x x"},
		{"a most below what is open adds none", bare, Options{MaxSlots: 1}, "mmr"},
	} {
		config := Config(parse(t, c.text), c.o)
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
	c := Config(parse(t, example), Options{Attempts: 3, Seed: 7, LocalityDelay: time.Second})
	c.Slots = nil
	want := slots.Config{
		Slowstart: ppm.One / 2, MaxAttempts: 3, Seed: 7, LocalityDelay: time.Second, Replicas: 3, GroupTrackers: 2,
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
	if got := Config(f, Options{Slowstart: &flag}).Slowstart; got != 0 {
		t.Errorf("the flag's 0 is %v", got)
	}
	if got := Config(f, Options{}).Slowstart; got != ppm.One/2 {
		t.Errorf("the file's 0.5 is %v", got)
	}
	if got := Config(parse(t, "jobs: [{name: a, maps: 1}]"), Options{Replicas: 2}); got.Slowstart != ppm.One || got.Replicas != 2 {
		t.Errorf("by default %v, %d replicas", got.Slowstart, got.Replicas)
	}
}

func TestSlotsTakeTheCoresOfTheirTrackerInTurn(t *testing.T) {
	c := Config(parse(t, example), Options{MaxSlots: 5, Cores: [][]int32{{4, 6}, {7}}})
	var cores []int32
	for _, s := range c.Slots {
		cores = append(cores, s.Core)
	}
	if want := []int32{4, 6, 4, 6, 7, 7, 7, 7, 4, 7}; !slices.Equal(cores, want) {
		t.Errorf("%v, want %v", cores, want)
	}
}

func TestAJobIsSubmittedWhole(t *testing.T) {
	f := parse(t, example)
	want := slots.JobSpec{
		Name: "J01", Pool: "prod", User: "ann", Maps: 160, MapsSealed: true, Reduces: 30,
		Priority: slots.High, Weight: 3 * ppm.One, Deadline: 100 * time.Second,
	}
	if d := cmp.Diff(want, JobSpec(f, 0)); d != "" {
		t.Error(d)
	}
}

func TestWhatMayNotBeMeantIsSaid(t *testing.T) {
	f := parse(t, example)
	got := Warnings(Config(f, Options{Trackers: 1}))
	want := []string{
		"pools: the minimum shares are 13 map slots of the 3 there are: they are scaled down in proportion",
		"locality: 3 replicas, and there is one tracker: every tracker has every block",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Warnings(Config(f, Options{Trackers: 5})); len(got) != 0 {
		t.Errorf("with 15 map slots on 5 trackers: %q", got)
	}
	few := parse(t, "pools: [{name: p, min_reduces: 2}]\njobs: [{name: a, maps: 1}]")
	if got := Warnings(Config(few, Options{})); len(got) != 1 || !strings.Contains(got[0], "2 reduce slots of the 1 there are") {
		t.Errorf("%q", got)
	}
}

// Whatever workload accepts, a Ledger takes.
func TestEveryFileThatLoadsMakesALedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
		f := &workload.File{
			Cluster:  workload.Cluster{Trackers: n(9, "trackers"), MapSlots: n(5, "maps"), ReduceSlots: n(5, "reduces")},
			Replicas: n(5, "replicas"), Groups: n(5, "groups"),
			Users: []workload.User{{Name: "u", MaxRunning: n(3, "running")}},
			Pools: []workload.Pool{{
				Name: "p", Weight: ppm.Share(1 + n(2_000_000, "weight")), MinMaps: n(100, "min"), MaxReduces: n(100, "max"),
				PreemptAfter: time.Duration(n(3, "after") - 1), FairPreemptAfter: time.Duration(n(3, "fair") - 1),
			}},
			Jobs: []workload.Job{{Name: "j", Pool: "p", User: "u", Weight: ppm.One, Maps: 1 + n(50, "tasks"), Reduces: n(3, "parts"), Priority: n(4, "priority") - 2}},
		}
		o := Options{Trackers: n(3, "flag trackers"), MapSlots: n(3, "flag maps"), ReduceSlots: n(3, "flag reduces"), MaxSlots: n(20, "most"), Attempts: n(5, "attempts")}
		c := Config(f, o)
		l, err := slots.New(c, fifo.New())
		if err != nil {
			t.Fatal(err)
		}
		l.Submit(0, JobSpec(f, 0))
		if len(l.AssignAll(0).Starts) == 0 {
			t.Fatalf("no map starts on %s", layout(c))
		}
	})
}
