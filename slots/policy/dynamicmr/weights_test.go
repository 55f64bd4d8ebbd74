package dynamicmr_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

// running counts, from events, the running tasks of each tracker, and the most of each
// kind at a time.
type running struct {
	tracker []slots.TrackerID // by slot
	at      map[slots.TrackerID][2]int32
	most    [2]int32 // of any tracker
	check   func(at [2]int32) error
	bad     error
}

func newRunning(all []slots.Slot, check func(at [2]int32) error) *running {
	r := &running{at: map[slots.TrackerID][2]int32{}, check: check}
	for _, s := range all {
		r.tracker = append(r.tracker, s.Tracker)
	}
	return r
}

// Record implements trace.Sink.
func (r *running) Record(_ *trace.Stream, e *trace.Event) error {
	d := int32(1)
	switch {
	case e.Op == trace.OpFinish && e.Slot >= 0:
		d = -1
	case e.Op != trace.OpStart:
		return nil
	}
	t := r.tracker[e.Slot]
	at := r.at[t]
	at[e.Kind] += d
	r.at[t] = at
	r.most[e.Kind] = max(r.most[e.Kind], at[e.Kind])
	if err := r.check(at); err != nil && r.bad == nil {
		r.bad = fmt.Errorf("%v: tracker %d: %w", e.At, t, err)
	}
	return nil
}

func within(w slots.Weights, home [2]int32) func(at [2]int32) error {
	return func(at [2]int32) error {
		if room := w.Room(home, at); room < 0 {
			return fmt.Errorf("%v run on %v home slots of weights %+v", at, home, w)
		}
		return nil
	}
}

func weighted(dhsa string, w slots.Weights) policy.Options {
	o := policy.DefaultOptions()
	o.DHSA, o.SlotWeights = dhsa, w
	return o
}

// TestSlotWeightsBoundWhatATrackerRuns: there are 8 map slots of weight 1 and 4 reduce
// slots of weight 2. Then 16 maps or 8 reduces run at a time [DynamicMR14, "slot
// weights"].
func TestSlotWeightsBoundWhatATrackerRuns(t *testing.T) {
	w := slots.Weights{Map: 1, Reduce: 2}
	for _, dhsa := range []string{"pi", "pd"} {
		for _, trackers := range []int{1, 3} {
			all := policytest.WithExtra(trackers, 8, 4, 12)
			r := newRunning(all, within(w, [2]int32{8, 4}))
			jobs := []policytest.ScriptJob{{
				Spec:    slots.JobSpec{Name: "J", Maps: int32(48 * trackers), MapsSealed: true, Reduces: int32(24 * trackers)},
				MapTime: policytest.Const(time.Second), ReduceTime: policytest.Const(time.Second),
			}}
			l, err := policytest.Drive(slots.Config{Slots: all, Slowstart: slots.One}, mustNew(t, "dynamicmr", weighted(dhsa, w)), jobs, policytest.Options{Sinks: []trace.Sink{r}})
			if err != nil || r.bad != nil {
				t.Fatalf("%s, %d trackers: %v, %v", dhsa, trackers, err, r.bad)
			}
			if want := [2]int32{16, 8}; r.most != want || l.Now() != 6*time.Second || l.Stats().Utilisation() != 1 {
				t.Errorf("%s, %d trackers: at most %v ran, until %v, utilisation %v; want %v, until 6s, 1", dhsa, trackers, r.most, l.Now(), l.Stats().Utilisation(), want)
			}
		}
	}
}

// TestWithoutRoomForMoreSlotsTheyAreTheBound: if --max-slots leaves no slot for more maps,
// the weight still bounds reduces.
func TestWithoutRoomForMoreSlotsTheyAreTheBound(t *testing.T) {
	w := slots.Weights{Map: 1, Reduce: 2}
	for extra, maps := range map[int]int32{0: 12, 2: 14, 4: 16, 9: 16} {
		all := policytest.WithExtra(1, 8, 4, extra)
		r := newRunning(all, within(w, [2]int32{8, 4}))
		jobs := []policytest.ScriptJob{{Spec: slots.JobSpec{Name: "J", Maps: 40, MapsSealed: true, Reduces: 20}, MapTime: policytest.Const(time.Second), ReduceTime: policytest.Const(time.Second)}}
		if _, err := policytest.Drive(slots.Config{Slots: all, Slowstart: slots.One}, mustNew(t, "dynamicmr", weighted("pi", w)), jobs, policytest.Options{Sinks: []trace.Sink{r}}); err != nil || r.bad != nil || r.most != [2]int32{maps, 8} {
			t.Errorf("%d extra slots: %v, %v; at most %v ran, want %d maps", extra, err, r.bad, r.most, maps)
		}
	}
}

// TestNoTrackerEverRunsMoreThanItsWeight checks the weight of trackers in random runs with
// failures and loans. All jobs end.
func TestNoTrackerEverRunsMoreThanItsWeight(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		w := slots.Weights{Map: rapid.Int32Range(1, 5).Draw(rt, "map weight"), Reduce: rapid.Int32Range(1, 5).Draw(rt, "reduce weight")}
		home := [2]int32{rapid.Int32Range(1, 6).Draw(rt, "maps"), rapid.Int32Range(1, 4).Draw(rt, "reduces")}
		c := slots.Config{
			Slots:     policytest.WithExtra(rapid.IntRange(1, 4).Draw(rt, "trackers"), int(home[0]), int(home[1]), rapid.IntRange(0, 9).Draw(rt, "extra")),
			Slowstart: rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(rt, "slowstart"),
		}
		o := weighted(rapid.SampledFrom([]string{"pi", "pd"}).Draw(rt, "dhsa"), w)
		share := rapid.SampledFrom([]slots.PPM{slots.One / 2, slots.One})
		o.BorrowMap, o.BorrowReduce = share.Draw(rt, "of maps"), share.Draw(rt, "of reduces")
		r := newRunning(c.Slots, within(w, home))
		each := func(_ time.Duration, l *slots.Ledger) error {
			lent, capacity := policytest.LentBy(l)
			for k, share := range []slots.PPM{o.BorrowMap, o.BorrowReduce} {
				if lent[k] > share.Of(capacity[k]) {
					return fmt.Errorf("%d of the %d that %v slots weigh are lent at %v", lent[k], capacity[k], slots.Kind(k), share)
				}
			}
			return l.Check()
		}
		if _, err := policytest.Drive(c, mustNew(t, "dynamicmr", o), policytest.DrawJobs(rt), policytest.Options{Sinks: []trace.Sink{r}, Each: each}); err != nil || r.bad != nil {
			rt.Fatal(err, r.bad)
		}
	})
}

// TestLightTasksKeepNoHeavyOneOut: new maps could take all room of the tracker, and the reduces
// of another pool need the room of two maps. The reduces start as soon as this room has
// become free after they became pending.
func TestLightTasksKeepNoHeavyOneOut(t *testing.T) {
	for _, dhsa := range []string{"pi", "pd"} {
		jobs := []policytest.ScriptJob{
			{Spec: slots.JobSpec{Name: "maps", Maps: 200, MapsSealed: true}, MapTime: func(task slots.TaskID) time.Duration { return time.Second + time.Duration(task%7)*100*time.Millisecond }},
			{Spec: slots.JobSpec{Name: "reduces", MapsSealed: true, Reduces: 2}, Submit: 3 * time.Second, ReduceTime: policytest.Const(time.Second)},
		}
		c := slots.Config{Slots: policytest.WithExtra(1, 4, 1, 6)}
		l, err := policytest.Drive(c, mustNew(t, "dynamicmr", weighted(dhsa, slots.Weights{Map: 1, Reduce: 2})), jobs, policytest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if times := l.JobTimes(1); times.Start-times.Submit > 1600*time.Millisecond {
			t.Errorf("%s: the reduces start at %v", dhsa, times.Start)
		}
	}
}

// TestWeightsMeanNothingWhereNothingIsLent: typed slots bound what runs.
func TestWeightsMeanNothingWhereNothingIsLent(t *testing.T) {
	w := slots.Weights{Map: 1, Reduce: 2}
	off := weighted("off", w)
	none := weighted("pi", w)
	none.BorrowMap, none.BorrowReduce = 0, 0
	for name, o := range map[string]policy.Options{"--dhsa off": off, "nothing may be borrowed": none} {
		r := newRunning(policytest.WithExtra(1, 8, 4, 12), func([2]int32) error { return nil })
		jobs := []policytest.ScriptJob{{Spec: slots.JobSpec{Name: "J", Maps: 48, MapsSealed: true, Reduces: 24}, MapTime: policytest.Const(time.Second), ReduceTime: policytest.Const(time.Second)}}
		if _, err := policytest.Drive(slots.Config{Slots: policytest.WithExtra(1, 8, 4, 12), Slowstart: slots.One}, mustNew(t, "dynamicmr", o), jobs, policytest.Options{Sinks: []trace.Sink{r}}); err != nil || r.most != [2]int32{8, 4} {
			t.Errorf("%s: %v; %v ran", name, err, r.most)
		}
	}
}
