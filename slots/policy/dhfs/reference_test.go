package dhfs_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
)

// tableI is [DHFS13, Table I]: block size in MB, maps, reduces.
var tableI = [20][3]int32{
	{64, 160, 30}, {64, 320, 200}, {64, 480, 120}, {64, 640, 100}, {64, 480, 200},
	{128, 80, 15}, {128, 160, 100}, {128, 240, 80}, {128, 320, 50}, {128, 80, 40},
	{64, 480, 60}, {64, 480, 200}, {64, 320, 80}, {128, 160, 30}, {128, 80, 60},
	{256, 40, 20}, {256, 80, 40}, {256, 120, 60}, {256, 160, 40}, {256, 40, 10},
}

// fixedTimes runs jobs of Table I [DHFS13, "fixed-time simulation"]. There is one tracker,
// and a pool for each job. All jobs come at 0, and a map of 64 MB takes 20 s.
func fixedTimes(t testing.TB, name string, o policy.Options, mapSlots, reduceSlots int, reduceTime time.Duration, jobs ...int) (time.Duration, int64) {
	t.Helper()
	var w []policytest.ScriptJob
	for _, i := range jobs {
		row := tableI[i-1]
		w = append(w, policytest.ScriptJob{
			Spec:       slots.JobSpec{Name: fmt.Sprintf("J%02d", i), Maps: row[1], MapsSealed: true, Reduces: row[2]},
			MapTime:    policytest.Const(20 * time.Second * time.Duration(row[0]) / 64),
			ReduceTime: policytest.Const(reduceTime),
		})
	}
	c := slots.Config{Slots: policytest.Typed(1, mapSlots, reduceSlots), Slowstart: slots.One}
	l, err := policytest.Drive(c, mustNew(t, name, o), w, policytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Now(), l.Stats().Moves
}

func mustNew(t testing.TB, name string, o policy.Options) slots.Policy {
	t.Helper()
	p, err := registry.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReferenceSimulation(t *testing.T) {
	type times [3]int // s, for reduces of 10, 20 and 40 s
	for _, c := range []struct {
		job      int
		fair, pi times
	}{
		{1, times{60, 80, 120}, times{50, 60, 80}},
		{2, times{200, 320, 560}, times{80, 100, 140}},
		{3, times{190, 260, 400}, times{120, 140, 180}},
	} {
		for i, reduceTime := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			fair, _ := fixedTimes(t, "fair", policy.DefaultOptions(), 90, 18, reduceTime, c.job)
			pi, _ := fixedTimes(t, "pi-dhfs", policy.DefaultOptions(), 90, 18, reduceTime, c.job)
			pd, _ := fixedTimes(t, "pd-dhfs", policy.DefaultOptions(), 90, 18, reduceTime, c.job)
			if fair.Seconds() != float64(c.fair[i]) || pi.Seconds() != float64(c.pi[i]) || pd != pi {
				t.Errorf("J%d, reduces of %v: fair %v, pi-dhfs %v, pd-dhfs %v; want %d s, and %d s twice", c.job, reduceTime, fair, pi, pd, c.fair[i], c.pi[i])
			}
		}
	}
}

func TestReferenceSimulationOfFiveJobs(t *testing.T) {
	fair, none := fixedTimes(t, "fair", policy.DefaultOptions(), 90, 18, 20*time.Second, 1, 2, 3, 4, 5)
	pi, moves := fixedTimes(t, "pi-dhfs", policy.DefaultOptions(), 90, 18, 20*time.Second, 1, 2, 3, 4, 5)
	if fair != 1020*time.Second || pi != 520*time.Second || moves != 626 || none != 0 {
		t.Errorf("fair %v with %d moves, pi-dhfs %v with %d; want 1020 s with 0, 520 s with 626", fair, none, pi, moves)
	}
	pd, pdMoves := fixedTimes(t, "pd-dhfs", policy.DefaultOptions(), 90, 18, 20*time.Second, 1, 2, 3, 4, 5)
	if pd != 520*time.Second || pdMoves != 634 {
		t.Errorf("pd-dhfs %v with %d moves, want 520 s with 634", pd, pdMoves)
	}
	even, _ := fixedTimes(t, "fair", policy.DefaultOptions(), 54, 54, 20*time.Second, 1, 2, 3, 4, 5)
	if even != 860*time.Second {
		t.Errorf("fair on 54/54: %v, want 860 s", even)
	}
}

// TestSlotConfigurationsMatterToFairOnly: the makespan is flat under the DHFS policies
// and varies by more than 2 under fair [DHFS13, section IV-B].
func TestSlotConfigurationsMatterToFairOnly(t *testing.T) {
	line, _ := fixedTimes(t, "pi-fifo", policy.DefaultOptions(), 90, 18, 20*time.Second, 1, 2, 3, 4, 5)
	var least, most time.Duration
	for reduces := 54; reduces >= 6; reduces -= 24 {
		fair, _ := fixedTimes(t, "fair", policy.DefaultOptions(), 108-reduces, reduces, 20*time.Second, 1, 2, 3, 4, 5)
		for name, want := range map[string]time.Duration{"pi-dhfs": 520 * time.Second, "pd-dhfs": 520 * time.Second, "pi-fifo": line} {
			if got, _ := fixedTimes(t, name, policy.DefaultOptions(), 108-reduces, reduces, 20*time.Second, 1, 2, 3, 4, 5); got != want {
				t.Errorf("%s on %d/%d: %v, want %v", name, 108-reduces, reduces, got, want)
			}
		}
		if least == 0 || fair < least {
			least = fair
		}
		most = max(most, fair)
	}
	if most < 2*least {
		t.Errorf("fair varies from %v to %v only", least, most)
	}
}

// TestPDMovesAtLeastAsMuchAsPI: PD-DHFS moves slots in all four scenarios, PI-DHFS in
// two [DHFS13, section V].
func TestPDMovesAtLeastAsMuchAsPI(t *testing.T) {
	for _, jobs := range []int{1, 3, 5, 10, 20} {
		var all []int
		for i := range jobs {
			all = append(all, i+1)
		}
		piTime, pi := fixedTimes(t, "pi-dhfs", policy.DefaultOptions(), 90, 18, 20*time.Second, all...)
		pdTime, pd := fixedTimes(t, "pd-dhfs", policy.DefaultOptions(), 90, 18, 20*time.Second, all...)
		fair, _ := fixedTimes(t, "fair", policy.DefaultOptions(), 90, 18, 20*time.Second, all...)
		if pd < pi || jobs == 1 && pd != pi || jobs > 1 && pd == pi {
			t.Errorf("J1 to J%d: pd-dhfs moves %d, pi-dhfs %d", jobs, pd, pi)
		}
		if piTime >= fair || pdTime >= fair {
			t.Errorf("J1 to J%d: fair %v, pi-dhfs %v, pd-dhfs %v", jobs, fair, piTime, pdTime)
		}
	}
}

// between draws times evenly, alike each time.
func between(seed uint64, least, most time.Duration) func(slots.TaskID) time.Duration {
	return func(task slots.TaskID) time.Duration {
		x := (seed<<32 | uint64(uint32(task))) * 0x9e3779b97f4a7c15
		x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
		return least + time.Duration((x^x>>32)%uint64(most-least))
	}
}

// TestFig5 has the phases of [DHFS13, Fig. 5] in their order, with its exact plateaus.
// Both pools have half of all slots for maps. Then pi-dhfs gives all map slots to the
// maps of pool 2, and all reduce slots to the reduces of pool 1. In the end it lends map
// slots to reduces. pd-dhfs gives half of all slots to each pool, and then gives pool 2
// what pool 1 leaves.
func TestFig5(t *testing.T) {
	s := time.Second
	jobs := []policytest.ScriptJob{
		{Spec: slots.JobSpec{Name: "pool 1", Maps: 80, MapsSealed: true, Reduces: 120}, MapTime: between(1, 25*s, 35*s), ReduceTime: between(2, 15*s, 25*s)},
		{Spec: slots.JobSpec{Name: "pool 2", Maps: 380, MapsSealed: true, Reduces: 60}, MapTime: between(3, 25*s, 35*s), ReduceTime: between(4, 15*s, 25*s)},
	}
	type counts struct{ maps1, reduces1, maps2, reduces2 int32 }
	for name, phases := range map[string][]func(c counts) bool{
		"pi-dhfs": {
			func(c counts) bool { return c == counts{54, 0, 54, 0} },
			func(c counts) bool { return c.maps1 < 54 && c.maps2 > 54 && c.reduces1 == 0 },
			func(c counts) bool { return c == counts{0, 18, 90, 0} },
			func(c counts) bool { return c.reduces1 > 18 && c.maps2 < 90 && c.maps2 > 0 },
			func(c counts) bool { return c.reduces2 > 0 },
		},
		"pd-dhfs": {
			func(c counts) bool { return c == counts{54, 0, 54, 0} },
			func(c counts) bool { return c.maps1 < 54 && c.maps2 > 54 && c.reduces1 == 0 },
			func(c counts) bool { return c == counts{0, 54, 54, 0} },
			func(c counts) bool { return c.reduces1 < 54 && c.maps2 > 54 },
			func(c counts) bool { return c.reduces2 > 0 },
		},
	} {
		phase := 0
		var seen []counts
		each := func(_ time.Duration, l *slots.Ledger) error {
			var c [2][2]int32
			for id := range c {
				for k := range c[id] {
					done, _ := l.JobTasks(slots.JobID(id), slots.Kind(k))
					c[id][k] = int32(l.JobCounts(slots.JobID(id), slots.Kind(k)).Started) - done
				}
			}
			now := counts{c[0][0], c[0][1], c[1][0], c[1][1]}
			seen = append(seen, now)
			if phase < len(phases) && phases[phase](now) {
				phase++
			}
			return nil
		}
		c := slots.Config{Slots: policytest.Typed(1, 90, 18), Slowstart: slots.One}
		if _, err := policytest.Drive(c, mustNew(t, name, policy.DefaultOptions()), jobs, policytest.Options{Each: each}); err != nil {
			t.Fatal(err)
		}
		if phase < len(phases) {
			t.Errorf("%s: phase %d never comes: %v", name, phase+1, seen)
		}
	}
}

// TestBorrowPercentages is [DHFS13, Fig. 6] in fixed task times. One sort has 320 maps of
// 160 s and 200 reduces of 20 s. One percentage varies from 0 to 100 in tens.
func TestBorrowPercentages(t *testing.T) {
	for name, c := range map[string]struct {
		option func(p slots.PPM) policy.Options
		want   [11]int
	}{
		"PecM varies, PecR is 0":   {func(p slots.PPM) policy.Options { return policy.Options{BorrowMap: p} }, [11]int{880, 800, 760, 740, 720, 720, 700, 700, 700, 700, 680}},
		"PecM varies, PecR is 100": {func(p slots.PPM) policy.Options { return policy.Options{BorrowMap: p, BorrowReduce: slots.One} }, [11]int{720, 640, 600, 580, 560, 560, 540, 540, 540, 540, 520}},
		"PecR varies, PecM is 0":   {func(p slots.PPM) policy.Options { return policy.Options{BorrowReduce: p} }, [11]int{880, 880, 880, 880, 880, 880, 880, 880, 880, 880, 720}},
		"PecR varies, PecM is 100": {func(p slots.PPM) policy.Options { return policy.Options{BorrowMap: slots.One, BorrowReduce: p} }, [11]int{680, 680, 680, 680, 680, 680, 680, 680, 680, 680, 520}},
	} {
		for i, want := range c.want {
			j := policytest.ScriptJob{
				Spec:    slots.JobSpec{Name: "sort", Maps: 320, MapsSealed: true, Reduces: 200},
				MapTime: policytest.Const(160 * time.Second), ReduceTime: policytest.Const(20 * time.Second),
			}
			config := slots.Config{Slots: policytest.Typed(1, 90, 18), Slowstart: slots.One}
			for _, p := range []string{"pi-dhfs", "pd-dhfs", "pi-fifo"} { // alike for a single job
				l, err := policytest.Drive(config, mustNew(t, p, c.option(slots.PPM(i)*slots.One/10)), []policytest.ScriptJob{j}, policytest.Options{})
				if err != nil || l.Now() != time.Duration(want)*time.Second {
					t.Errorf("%s under %s: %d %%: %v (%v), want %d s", name, p, 10*i, l.Now(), err, want)
				}
			}
		}
	}
}

// TestWaves checks the waves of each job of Table I [DHFS13, "waves"]. Task times are
// chosen so that the makespan shows both numbers of waves.
func TestWaves(t *testing.T) {
	want := [20][4]int{ // typed slots: map waves, reduce waves; lent slots: the same
		{2, 2, 2, 1}, {4, 12, 3, 2}, {6, 7, 5, 2}, {8, 6, 6, 1}, {6, 12, 5, 2}, {1, 1, 1, 1}, {2, 6, 2, 1}, {3, 5, 3, 1}, {4, 3, 3, 1}, {1, 3, 1, 1},
		{6, 4, 5, 1}, {6, 12, 5, 2}, {4, 5, 3, 1}, {2, 2, 2, 1}, {1, 4, 1, 1}, {1, 2, 1, 1}, {1, 3, 1, 1}, {2, 4, 2, 1}, {2, 3, 2, 1}, {1, 1, 1, 1},
	}
	for i, row := range tableI {
		for name, p := range map[string]int{"fifo": 0, "fair": 0, "pi-dhfs": 1, "pd-dhfs": 1, "pi-fifo": 1} {
			got := makespan(t, name, 90, 18, row[1], row[2], 1000*time.Second, time.Second)
			if w := time.Duration(want[i][2*p])*1000*time.Second + time.Duration(want[i][2*p+1])*time.Second; got != w {
				t.Errorf("J%d under %s: %v, want %v", i+1, name, got, w)
			}
		}
	}
}

func makespan(t testing.TB, name string, mapSlots, reduceSlots int, maps, reduces int32, mapTime, reduceTime time.Duration) time.Duration {
	t.Helper()
	j := policytest.ScriptJob{Spec: slots.JobSpec{Name: "J", Maps: maps, MapsSealed: true, Reduces: reduces}, MapTime: policytest.Const(mapTime), ReduceTime: policytest.Const(reduceTime)}
	l, err := policytest.Drive(slots.Config{Slots: policytest.Typed(1, mapSlots, reduceSlots), Slowstart: slots.One}, mustNew(t, name, policy.DefaultOptions()), []policytest.ScriptJob{j}, policytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Now()
}

// TestMakespanOfOneJobIsThePapersFormula: ceil(N_M/S_M)·t_M + ceil(N_R/S_R)·t_R
// for HFS, with S_M+S_R below both for DHFS, for any numbers [DHFS13, section IV-B].
func TestMakespanOfOneJobIsThePapersFormula(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		sm, sr, nm, nr := draw("map slots", 1, 20), draw("reduce slots", 1, 20), draw("maps", 1, 100), draw("reduces", 1, 60)
		tm, tr := time.Duration(draw("map time", 1, 50)), time.Duration(draw("reduce time", 1, 50))
		waves := func(n, s int) time.Duration { return time.Duration((n + s - 1) / s) }
		for name, want := range map[string]time.Duration{
			"fifo":    waves(nm, sm)*tm + waves(nr, sr)*tr,
			"fair":    waves(nm, sm)*tm + waves(nr, sr)*tr,
			"pi-dhfs": waves(nm, sm+sr)*tm + waves(nr, sm+sr)*tr,
			"pd-dhfs": waves(nm, sm+sr)*tm + waves(nr, sm+sr)*tr,
			"pi-fifo": waves(nm, sm+sr)*tm + waves(nr, sm+sr)*tr,
		} {
			if got := makespan(t, name, sm, sr, int32(nm), int32(nr), tm, tr); got != want {
				rt.Fatalf("%s: %v, want %v", name, got, want)
			}
		}
	})
}
