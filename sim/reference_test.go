package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// TestMakespanOfOneJobIsThePapersFormula [DHFS13, section IV-B] under every policy:
// ceil(N_M/S_M)·t_M + ceil(N_R/S_R)·t_R with typed slots, and with S_M+S_R below
// both where slots are lent, for any numbers.
func TestMakespanOfOneJobIsThePapersFormula(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		sm, sr, nm, nr := draw("map slots", 1, 20), draw("reduce slots", 1, 20), draw("maps", 1, 100), draw("reduces", 0, 60)
		tm, tr := draw("map time", 1, 50), draw("reduce time", 1, 50)
		trackers := 1
		if sm%3 == 0 && sr%3 == 0 && draw("trackers", 0, 1) == 1 {
			trackers = 3 // the formula knows the cluster's slots only
		}
		f := parse(rt, fmt.Sprintf("cluster: {trackers: %d, map_slots: %d, reduce_slots: %d}", trackers, sm/trackers, sr/trackers),
			"jobs:", fmt.Sprintf("  - {name: J, maps: %d, reduces: %d, map_time: %dms, reduce_time: %dms}", nm, nr, tm, tr))
		waves := func(n, s int) int { return (n + s - 1) / s }
		typed := waves(nm, sm)*tm + waves(nr, sr)*tr
		lent := waves(nm, sm+sr)*tm + waves(nr, sm+sr)*tr
		for _, name := range phased() {
			want := lent
			if isTyped(rt, name) {
				want = typed
			}
			if got := seconds(run(rt, f, sim.Options{Policy: named(rt, name)})); got != (time.Duration(want) * time.Millisecond).Seconds() {
				rt.Fatalf("%s: %v s, want %d ms", name, got, want)
			}
		}
	})
}

// phased returns the policies under which one phase of a job follows the other, if copying takes
// no time. Under Dynamic Split reduces have slots earlier.
func phased() []string {
	return slices.DeleteFunc(policies(), func(name string) bool { return name == "dynsplit" })
}

// TestWaves [DHFS13, "waves"]: the waves of each job of Table I, as makespans from which
// both numbers can be read.
func TestWaves(t *testing.T) {
	want := [20][4]int{ // typed: map waves, reduce waves; lent: the same
		{2, 2, 2, 1}, {4, 12, 3, 2}, {6, 7, 5, 2}, {8, 6, 6, 1}, {6, 12, 5, 2}, {1, 1, 1, 1}, {2, 6, 2, 1}, {3, 5, 3, 1}, {4, 3, 3, 1}, {1, 3, 1, 1},
		{6, 4, 5, 1}, {6, 12, 5, 2}, {4, 5, 3, 1}, {2, 2, 2, 1}, {1, 4, 1, 1}, {1, 2, 1, 1}, {1, 3, 1, 1}, {2, 4, 2, 1}, {2, 3, 2, 1}, {1, 1, 1, 1},
	}
	for i, wants := range want {
		f := paperJobs(t, time.Second, i+1)
		f.Jobs[0].MapTime = workload.Constant(1000 * time.Second)
		for _, name := range phased() {
			w := wants[2:]
			if isTyped(t, name) {
				w = wants[:2]
			}
			if got := seconds(run(t, f, aggregate(named(t, name), 90, 18))); got != float64(1000*w[0]+w[1]) {
				t.Errorf("J%d under %s: %v s, want %d and %d waves", i+1, name, got, w[0], w[1])
			}
		}
	}
}

// TestOneJobOfTheReferenceTable runs J1, J2 and J3 alone, with reduces of 10, 20 and
// 40 s [DHFS13, "fixed-time simulation"].
func TestOneJobOfTheReferenceTable(t *testing.T) {
	for job, want := range map[int]map[string][3]float64{
		1: {"fair": {60, 80, 120}, "dhfs": {50, 60, 80}},
		2: {"fair": {200, 320, 560}, "dhfs": {80, 100, 140}},
		3: {"fair": {190, 260, 400}, "dhfs": {120, 140, 180}},
	} {
		for i, reduceTime := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			f := paperJobs(t, reduceTime, job)
			if got := seconds(run(t, f, aggregate(named(t, "fair"), 90, 18))); got != want["fair"][i] {
				t.Errorf("J%d under fair, reduces of %v: %v s, want %v s", job, reduceTime, got, want["fair"][i])
			}
			for _, name := range both() {
				if got := seconds(run(t, f, aggregate(named(t, name), 90, 18))); got != want["dhfs"][i] {
					t.Errorf("J%d under %s, reduces of %v: %v s, want %v s", job, name, reduceTime, got, want["dhfs"][i])
				}
			}
		}
	}
}

// TestFiveJobsOfTheReferenceTable runs J1 to J5 [DHFS13, "fixed-time simulation"]. PD
// moves at least as many slots as PI [DHFS13, section V].
func TestFiveJobsOfTheReferenceTable(t *testing.T) {
	f := paperJobs(t, 20*time.Second, upTo(5)...)
	for _, c := range []struct {
		policy            string
		seconds           float64
		moves             int64
		leastUse, mostUse float64
	}{
		{"fair", 1020, 0, .36, .76},
		{"pi-dhfs", 520, 626, .95, .997},
		{"pd-dhfs", 520, 634, .95, .997},
	} {
		r := run(t, f, aggregate(named(t, c.policy), 90, 18))
		if seconds(r) != c.seconds || r.Moves != c.moves || r.Utilisation < c.leastUse || r.Utilisation > c.mostUse {
			t.Errorf("%s: %v s, %d moves, utilisation %.3f; want %v s, %d, %v to %v",
				c.policy, seconds(r), r.Moves, r.Utilisation, c.seconds, c.moves, c.leastUse, c.mostUse)
		}
	}
}

// TestPoolDependentMovesAtLeastAsMuch [DHFS13, section V]: equal for a job alone, never less,
// and more for many jobs on the reference table's 20 s. (With reduces of 40 s
// the two move equally often on J1 to J5, 740 times.)
func TestPoolDependentMovesAtLeastAsMuch(t *testing.T) {
	for _, jobs := range [][]int{{1}, {2}, {3}, upTo(5), upTo(10), upTo(20)} {
		for _, reduceTime := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			f := paperJobs(t, reduceTime, jobs...)
			pi := run(t, f, aggregate(named(t, "pi-dhfs"), 90, 18))
			pd := run(t, f, aggregate(named(t, "pd-dhfs"), 90, 18))
			if pd.Moves < pi.Moves || len(jobs) >= 5 && reduceTime == 20*time.Second && pd.Moves == pi.Moves || len(jobs) == 1 && pd.Moves != pi.Moves {
				t.Errorf("%d jobs, reduces of %v: pi-dhfs moves %d times, pd-dhfs %d times", len(jobs), reduceTime, pi.Moves, pd.Moves)
			}
		}
	}
}

// TestUtilisationOfManyJobs: between .36 and .76 with typed slots, between .95 and
// .997 with lent ones [DHFS13, "fixed-time simulation"].
func TestUtilisationOfManyJobs(t *testing.T) {
	for _, n := range []int{5, 10, 20} {
		for _, reduceTime := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			f := paperJobs(t, reduceTime, upTo(n)...)
			fair := run(t, f, aggregate(named(t, "fair"), 90, 18))
			if u := fair.Utilisation; u < .355 || u > .765 {
				t.Errorf("%d jobs, reduces of %v, fair: %.3f", n, reduceTime, u)
			}
			for _, name := range both() {
				r := run(t, f, aggregate(named(t, name), 90, 18))
				if u := r.Utilisation; u < .945 || u > .9975 {
					t.Errorf("%d jobs, reduces of %v, %s: %.3f", n, reduceTime, name, u)
				}
				if seconds(r) >= seconds(fair) {
					t.Errorf("%d jobs, reduces of %v, %s: %v s, fair %v s", n, reduceTime, name, seconds(r), seconds(fair))
				}
			}
		}
	}
}

// TestSlotConfigurationsMatterToTypedSlotsOnly runs J1 to J5 over every
// division of 108 slots from 54/54 to 102/6.
func TestSlotConfigurationsMatterToTypedSlotsOnly(t *testing.T) {
	f := paperJobs(t, 20*time.Second, upTo(5)...)
	var least, most float64
	for reduces := 54; reduces >= 6; reduces -= 6 {
		fair := seconds(run(t, f, aggregate(named(t, "fair"), 108-reduces, reduces)))
		if want := map[int]float64{54: 860, 18: 1020}[reduces]; want > 0 && fair != want {
			t.Errorf("fair on %d/%d: %v s, want %v s", 108-reduces, reduces, fair, want)
		}
		if least == 0 || fair < least {
			least = fair
		}
		most = max(most, fair)
		for _, name := range both() {
			if got := seconds(run(t, f, aggregate(named(t, name), 108-reduces, reduces))); got != 520 {
				t.Errorf("%s on %d/%d: %v s, want 520 s", name, 108-reduces, reduces, got)
			}
		}
	}
	if most < 2*least {
		t.Errorf("fair varies from %v s to %v s only", least, most)
	}
}

// TestBorrowPercentages is [DHFS13, Fig. 6]: a sort of 320 maps of
// 160 s and 200 reduces of 20 s, so that t_R/t_M is .125.
func TestBorrowPercentages(t *testing.T) {
	f := shipped(t, "fig6.yaml")
	for name, c := range map[string]struct {
		options func(p slots.PPM) policy.Options
		want    [11]float64
	}{
		"PecM varies, PecR is 0":   {func(p slots.PPM) policy.Options { return policy.Options{BorrowMap: p} }, [11]float64{880, 800, 760, 740, 720, 720, 700, 700, 700, 700, 680}},
		"PecM varies, PecR is 100": {func(p slots.PPM) policy.Options { return policy.Options{BorrowMap: p, BorrowReduce: slots.One} }, [11]float64{720, 640, 600, 580, 560, 560, 540, 540, 540, 540, 520}},
		"PecR varies, PecM is 0":   {func(p slots.PPM) policy.Options { return policy.Options{BorrowReduce: p} }, [11]float64{880, 880, 880, 880, 880, 880, 880, 880, 880, 880, 720}},
		"PecR varies, PecM is 100": {func(p slots.PPM) policy.Options { return policy.Options{BorrowMap: slots.One, BorrowReduce: p} }, [11]float64{680, 680, 680, 680, 680, 680, 680, 680, 680, 680, 520}},
	} {
		for i, want := range c.want {
			if got := seconds(run(t, f, sim.Options{Policy: with(t, "pi-dhfs", c.options(slots.PPM(i)*slots.One/10))})); got != want {
				t.Errorf("%s: %d %%: %v s, want %v s", name, 10*i, got, want)
			}
		}
	}
}

// TestTheGainOfBorrowing [DHFS13, "figure 6 gain"]: a reduce takes 0.1231 of a map's time. Then
// full borrowing of map slots gains the paper's "about 29 %", and full borrowing of both kinds 68.7
// %.
func TestTheGainOfBorrowing(t *testing.T) {
	f := shipped(t, "fig6.yaml")
	f.Jobs[0].MapTime, f.Jobs[0].ReduceTime = workload.Constant(1000*time.Second), workload.Constant(123100*time.Millisecond)
	at := func(ofMaps, ofReduces slots.PPM) float64 {
		return seconds(run(t, f, sim.Options{Policy: with(t, "pi-dhfs", policy.Options{BorrowMap: ofMaps, BorrowReduce: ofReduces})}))
	}
	none := at(0, 0)
	if gain := none/at(slots.One, 0) - 1; gain < .2895 || gain > .2905 {
		t.Errorf("borrowing map slots gains %.4f", gain)
	}
	if gain := none/at(slots.One, slots.One) - 1; gain < .6865 || gain > .6875 {
		t.Errorf("borrowing both gains %.4f", gain)
	}
}

// TestSlowstartUnderL1 is [OMO21, "one-job simulation"]: 8 slots, 80 maps of 30 s, 4 reduces. These
// copy for 20, 60 or 120 s each and then work for 20 s. With static 4+4 slots
// only late starts hurt; with lent slots an early start costs maps their slots
// and a late one its overlap.
func TestSlowstartUnderL1(t *testing.T) {
	slowstarts := []slots.PPM{50_000, 200_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, slots.One}
	for _, row := range []struct {
		copySeconds int64
		lent, typed [9]float64
	}{
		{20, [9]float64{591, 561, 501, 471, 441, 411, 381, 351, 340}, [9]float64{621, 621, 621, 621, 621, 621, 621, 621, 640}},
		{60, [9]float64{593, 563, 503, 473, 443, 413, 383, 353, 380}, [9]float64{623, 623, 623, 623, 623, 623, 623, 623, 680}},
		{120, [9]float64{596, 566, 506, 476, 446, 416, 386, 410, 440}, [9]float64{626, 626, 626, 626, 626, 626, 626, 680, 740}},
	} {
		for i, slowstart := range slowstarts {
			f := shipped(t, "slowstart.yaml") // 20 s of copying
			f.Jobs[0].MapOutputBytes = f.Jobs[0].MapOutputBytes / 20 * row.copySeconds
			for name, want := range map[string]float64{"fair": row.typed[i], "pi-dhfs": row.lent[i]} {
				if got := seconds(run(t, f, sim.Options{Policy: named(t, name), Cost: "l1", Config: setup.Config{Slowstart: &slowstart}})); got != want {
					t.Errorf("copying %d s, slowstart %v, %s: %v s, want %v s", row.copySeconds, slowstart, name, got, want)
				}
			}
		}
	}
}
