package ras

import (
	"math"
	"testing"
	"time"

	"mrlocal/slots"
)

// near compares to four digits.
func near(u utility, want float64) bool { return math.Abs(u.float()-want) < 0.00006 }

// TestUtilityOfMaps is [RAS11, Fig. 2]: 20 required, 35 pending.
func TestUtilityOfMaps(t *testing.T) {
	for placed, want := range map[int32]float64{1: -1, 5: -0.4628, 10: -0.2314, 15: -0.0960, 20: 0, 25: 0.3333, 30: 0.6667, 35: 1} {
		if got := new(logs).mapUtility(placed, 20, 35); !near(got, want) {
			t.Errorf("u^M(%d) = %v, want %v", placed, got.float(), want)
		}
	}
}

// TestUtilityOfReduces: 10 pending [RAS11, eq. 3].
func TestUtilityOfReduces(t *testing.T) {
	for placed, want := range map[int32]float64{1: -1, 2: -0.6990, 5: -0.3010, 8: -0.0969, 10: 0} {
		if got := new(logs).reduceUtility(placed, 10); !near(got, want) {
			t.Errorf("u^R(%d) = %v, want %v", placed, got.float(), want)
		}
	}
}

// TestCornersOfUtility is [RAS11, "map utility corners"] and [RAS11, "reduce utility
// corners"].
func TestCornersOfUtility(t *testing.T) {
	for name, c := range map[string]struct{ got, want utility }{
		"no map placed: −∞":                              {new(logs).mapUtility(0, 20, 35), none},
		"one is required, none is placed":                {new(logs).mapUtility(0, 1, 35), none},
		"one is required, one is placed":                 {new(logs).mapUtility(1, 1, 35), 0},
		"all are required, all are placed":               {new(logs).mapUtility(35, 35, 35), one},
		"more are required than pend":                    {new(logs).mapUtility(34, 90, 35), new(logs).mapUtility(34, 35, 35)},
		"the one that pends is placed":                   {new(logs).mapUtility(1, 1, 1), one},
		"no map is left":                                 {new(logs).mapUtility(0, 1, 0), one},
		"more are placed than pend":                      {new(logs).mapUtility(40, 20, 35), one},
		"no reduce placed: −1, not −∞":                   {new(logs).reduceUtility(0, 10), -one},
		"the one that pends is not placed":               {new(logs).reduceUtility(0, 1), -one},
		"the one reduce is placed":                       {new(logs).reduceUtility(1, 1), 0},
		"no reduces":                                     {new(logs).reduceUtility(0, 0), 0},
		"one reduce of ten is no worse than none (≥ −1)": {new(logs).reduceUtility(1, 10), -one},
		"capped at 1":                                    {jobUtility(one, one), one},
		"missing reduces lower the utility of the maps":  {jobUtility(one, new(logs).reduceUtility(1, 10)), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got.float(), c.want.float())
		}
	}
}

// TestShapeOfTheUtilityFunction is [RAS11, Fig. 2]: over maps and reduces it never falls,
// and it never exceeds 1. It crosses 0 where the goal is met and all reduces are placed.
func TestShapeOfTheUtilityFunction(t *testing.T) {
	at := func(maps, reduces int32) utility {
		return jobUtility(new(logs).mapUtility(maps, 20, 35), new(logs).reduceUtility(reduces, 10))
	}
	for maps := range int32(36) {
		for reduces := range int32(11) {
			u := at(maps, reduces)
			if maps > 0 && u < at(maps-1, reduces) || reduces > 0 && u < at(maps, reduces-1) || u > one {
				t.Errorf("%d maps and %d reduces: %v", maps, reduces, u.float())
			}
			if reduces == 10 && (u < 0) != (maps < 20) {
				t.Errorf("%d maps and all reduces: %v", maps, u.float())
			}
		}
	}
}

// TestRequiredMaps is the estimator [RAS11, "required maps"].
func TestRequiredMaps(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct{ got, want int32 }{
		"600 s of work in 100 s":        {required(600*s, 160*s, 60*s, 35, true, 35), 6},
		"a bit more needs one more":     {required(600*s+1, 160*s, 60*s, 35, true, 35), 7},
		"plenty of time":                {required(600*s, 10000*s, 60*s, 35, true, 35), 1},
		"more than pend is no use":      {required(600*s, 61*s, 60*s, 35, true, 35), 35},
		"the goal has passed":           {required(600*s, 60*s, 60*s, 35, true, 35), 35},
		"no goal: as soon as possible":  {required(600*s, 0, 60*s, 35, true, 35), 35},
		"nothing is known, with a goal": {required(0, 160*s, 60*s, 35, false, 35), 35},
		"nothing is known, no goal":     {required(0, 0, 60*s, 35, false, 35), 35},
		"one at first, with a goal":     {required(0, 160*s, 60*s, 35, false, 1), 1},
		"one at first, no goal":         {required(0, 0, 60*s, 35, false, 1), 35},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	if got := remainingWork(30*s, 10, 3*slots.One/2); got != 345*s {
		t.Errorf("10 maps of 30 s and one and a half that run: %v of work", got)
	}
	if !aboutToComplete(40*s, 4, 10*s) || aboutToComplete(41*s, 4, 10*s) || aboutToComplete(40*s, 0, 10*s) {
		t.Error("the map phase ends within the cycle: 40 s of work for 4 maps in 10 s, not 41 s")
	}
}

// percent is a vector in percent of a tracker, as in [RAS11, Table 2].
func percent(cpu, io, mem float64) slots.Vector {
	share := func(p float64) slots.PPM { return slots.PPM(p * 10_000) }
	return slots.Vector{CPU: share(cpu), IO: share(io), Memory: share(mem)}
}

// table2 are the paper's profiles.
func table2() map[string]slots.Profile {
	return map[string]slots.Profile{
		"sort":    {Map: percent(30, 45, 25), Shuffle: percent(0, 0.15, 0), Reduce: percent(20, 50, 60)},
		"combine": {Map: percent(25, 10, 10), Shuffle: percent(0, 0.015, 0), Reduce: percent(10, 10, 25)},
		"select":  {Map: percent(15, 20, 10), Shuffle: percent(0, 0.015, 0), Reduce: percent(10, 10, 25)},
	}
}

// TestTasksAnEmptyTrackerTakes: which resource binds, by [RAS11, Table 2].
func TestTasksAnEmptyTrackerTakes(t *testing.T) {
	most := func(v slots.Vector) (n int32) {
		for v.Times(n + 1).Fits(slots.WholeVector()) {
			n++
		}
		return n
	}
	for name, want := range map[string][2]int32{"sort": {2, 1}, "combine": {4, 4}, "select": {5, 4}} {
		p := table2()[name]
		if maps, reduces := most(p.Map), most(p.Reduce); maps != want[0] || reduces != want[1] {
			t.Errorf("%s: %d maps, %d reduces, want %v", name, maps, reduces, want)
		}
	}
}

// TestShuffleDemandIsBounded: by the maps placed, up to five, and by what the reduce
// needs [RAS11, "shuffle bound"].
func TestShuffleDemandIsBounded(t *testing.T) {
	p := table2()["sort"]
	for maps, want := range map[int32]slots.Vector{0: {}, 1: percent(0, 0.15, 0), 4: percent(0, 0.6, 0), 5: percent(0, 0.75, 0), 80: percent(0, 0.75, 0)} {
		if got := shuffleDemand(&p, maps, 5); got != want {
			t.Errorf("%d maps: %+v, want %+v", maps, got, want)
		}
	}
	p.Reduce.IO = slots.One / 1000
	if got := shuffleDemand(&p, 80, 5); got.IO != p.Reduce.IO {
		t.Errorf("%+v, more than the reduce needs", got)
	}
}

// TestPaperArithmetic is what the paper says of its own figures [RAS11, sections 4.2 and
// 4.3].
func TestPaperArithmetic(t *testing.T) {
	if gain := math.Round((4781.0/4536-1)*1000) / 10; gain != 5.4 || 4781-4614 != 167 {
		t.Errorf("RAS is %v %% better than the best static Fair", gain)
	}
	submit, alone := []float64{0, 100, 200, 350, 500, 600, 1100, 2500, 3750}, []float64{2500, 500, 400, 280, 50, 750, 2500, 350, 250}
	goal := []float64{3000, 850, 1250, 1100, 950, 2600, 6000, 3400, 4250}
	for i, want := range []float64{1.2, 1.5, 2.625, 2.68, 9, 2.67, 1.96, 2.57, 2} {
		if got := (goal[i] - submit[i]) / alone[i]; math.Abs(got-want) > 0.005 {
			t.Errorf("J%d: its goal is %.3f times its length, want %v", i+1, got, want)
		}
	}
}

func TestLogarithms(t *testing.T) {
	for n := int32(1); n < 1<<30; n += 1 + n/7 {
		if got, want := float64(log2(n))/(1<<32), math.Log2(float64(n)); math.Abs(got-want) > 1e-9 {
			t.Errorf("log2(%d) = %v, want %v", n, got, want)
		}
	}
}

// TestProfilesSwitchWhenTheMapPhaseIsAboutToEnd: all maps have started, and one of them is done.
// The placed maps need no longer than a control cycle, here 10 s, for the rest of the work. Or all
// maps are done.
func TestProfilesSwitchWhenTheMapPhaseIsAboutToEnd(t *testing.T) {
	for name, c := range map[string]struct {
		measured, pending, placed int32
		work                      time.Duration
		done                      bool
		want                      bool
	}{
		"about to end":          {1, 0, 4, 40 * time.Second, false, true},
		"too much work":         {1, 0, 4, 41 * time.Second, false, false},
		"a map has not started": {1, 1, 4, 40 * time.Second, false, false},
		"no map is measured":    {0, 0, 4, 40 * time.Second, false, false},
		"nothing is placed":     {1, 0, 0, 0, false, false},
		"all maps are done":     {0, 0, 0, 0, true, true},
	} {
		j := &rasJob{mapsDone: c.done, work: c.work, switched: !c.want}
		j.pending[slots.Map], j.allotted[slots.Map] = c.pending, c.placed
		r := &RAS{candidates: candidates{touched: []*rasJob{j}}}
		r.options.Cycle = 10 * time.Second
		r.measures.Of(0).Tasks[slots.Map] = int64(c.measured)
		if r.switchProfiles(); j.switched != c.want {
			t.Errorf("%s: switched is %v", name, j.switched)
		}
	}
}
