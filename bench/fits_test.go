package bench

import (
	cmdline "flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

var fitsFlag = cmdline.Bool("fits", false, "run [RAS11, Table 1] with all fits of its lengths in isolation, and print what they give")

// fitted are the times of one choice for [RAS11, Table 1]: of the maps of an application, and of the
// reduces of its three jobs.
type fitted struct {
	maps    float64
	reduces [3]float64
	worst   float64 // largest relative error of the three lengths in isolation
}

// applications of [RAS11, Table 1] and the indexes of their jobs.
var applications = []struct {
	name string
	jobs [3]int
	most float64 // seconds: longer maps do not fit the length of the shortest job
}{{"sort", [3]int{0, 7, 8}, 28}, {"combine", [3]int{1, 5, 6}, 90}, {"select", [3]int{2, 3, 4}, 20}}

// lengths are the lengths in isolation of J1 to J9, in seconds [RAS11, Table 1].
var lengths = [9]float64{2500, 500, 400, 280, 50, 750, 2500, 350, 250}

// divisors of the longest map times. They cover what the paper leaves open: a map that takes a fifth
// of the longest one reads and writes 64 MB in some seconds.
var divisors = []float64{1, 1.25, 1.5, 2, 3, 5}

// withTimes returns the shipped file with other map and reduce times, in seconds by job.
func withTimes(t *testing.T, name string, maps, reduces [9]float64) *workload.File {
	t.Helper()
	f, err := LoadWorkload(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		j.MapTime = j.MapTime.Scaled(maps[i] / medianSeconds(&j.MapTime, false))
		j.ReduceTime = j.ReduceTime.Scaled(reduces[i] / medianSeconds(&j.ReduceTime, true))
	}
	return f
}

// medianSeconds returns the median time of a thousand tasks.
func medianSeconds(of *workload.Times, reduce bool) float64 {
	var all []float64
	for task := range 1001 {
		all = append(all, of.At(1, 0, reduce, task).Seconds())
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// simulate runs f under cost l2.
func simulate(t *testing.T, f *workload.File, sched string, mapSlots int) *report.Report {
	t.Helper()
	p, err := registry.New(sched, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Cost: "l2", Config: setup.Config{MapSlots: mapSlots, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// alone returns the lengths in isolation of the nine jobs.
func alone(t *testing.T, maps, reduces [9]float64) (seconds [9]float64) {
	t.Helper()
	for i, j := range simulate(t, withTimes(t, "ras-alone.yaml", maps, reduces), "ras", 0).Jobs {
		seconds[i] = j.FinishS - j.SubmitS
	}
	return seconds
}

// fit solves the reduce times of all jobs for map times, by the secant method. The length of a job
// rises by a second or more with each second of its reduces.
func fit(t *testing.T, maps [9]float64) (reduces [9]float64, errs [9]float64) {
	t.Helper()
	var before, at [9]float64
	for i := range reduces {
		before[i], reduces[i] = 1, 100
	}
	at = alone(t, maps, before)
	for range 6 {
		now := alone(t, maps, reduces)
		for i := range reduces {
			errs[i] = math.Abs(now[i]/lengths[i] - 1)
			slope := 1.0
			if d := reduces[i] - before[i]; math.Abs(d) > 0.5 {
				slope = max(0.5, (now[i]-at[i])/d)
			}
			before[i], at[i] = reduces[i], now[i]
			if errs[i] > 0.002 {
				reduces[i] = max(1, reduces[i]+(lengths[i]-now[i])/slope)
			}
		}
	}
	return before, errs
}

// fits returns all choices of map times for which reduces make all lengths of [RAS11, Table 1] in
// isolation right within 1 %, by application.
func fits(t *testing.T) (all [3][]fitted) {
	t.Helper()
	for _, by := range divisors {
		var maps [9]float64
		for _, a := range applications {
			for _, j := range a.jobs {
				maps[j] = a.most / by
			}
		}
		reduces, errs := fit(t, maps)
		for i, a := range applications {
			f := fitted{maps: a.most / by}
			for k, j := range a.jobs {
				f.reduces[k], f.worst = reduces[j], max(f.worst, errs[j])
			}
			t.Logf("%s: maps of %.1f s, reduces of %.0f s: the lengths in isolation are off by %.1f %% at most", a.name, f.maps, f.reduces, 100*f.worst)
			if f.worst <= 0.01 {
				all[i] = append(all[i], f)
			}
		}
	}
	return all
}

// outcome is what one fit gives of the paper's headlines.
type outcome struct {
	fit         [3]fitted
	met         int
	j1, j7, j8  float64 // seconds from the end with relaxed goals to that with tight ones
	best, worst float64 // lead of RAS over the best and the worst static number of map slots
	within      int     // completions of 18 within 25 % of the paper's
	lead        float64 // seconds ahead of the best static one with tight goals
}

// completions are those of J1 to J9 in experiments 1 and 2 [RAS11, Table 1].
var completions = [2][9]float64{{3113, 648, 1252, 608, 623, 3406, 4536, 3670, 4100}, {3018, 896, 802, 550, 560, 2589, 4614, 3365, 4141}}

// judgeFit runs both experiments, and the static numbers of map slots.
func judgeFit(t *testing.T, of [3]fitted, static []int) (o outcome) {
	t.Helper()
	var maps, reduces [9]float64
	for i, a := range applications {
		for k, j := range a.jobs {
			maps[j], reduces[j] = of[i].maps, of[i].reduces[k]
		}
	}
	o.fit = of
	runs := [2]*report.Report{simulate(t, withTimes(t, "ras-1.yaml", maps, reduces), "ras", 0), simulate(t, withTimes(t, "ras-2.yaml", maps, reduces), "ras", 0)}
	for e, r := range runs {
		for i := range r.Jobs {
			if math.Abs(r.Jobs[i].FinishS/completions[e][i]-1) <= 0.25 {
				o.within++
			}
		}
	}
	for i := range runs[1].Jobs {
		o.met += int(goalMet(&runs[1].Jobs[i]))
	}
	later := func(i int) float64 { return runs[1].Jobs[i].FinishS - runs[0].Jobs[i].FinishS }
	o.j1, o.j7, o.j8 = later(0), later(6), later(7)
	var times []float64
	for _, n := range static {
		times = append(times, simulate(t, withTimes(t, "ras-1.yaml", maps, reduces), "fair", n).MakespanSeconds)
	}
	o.best, o.worst = slices.Min(times)/runs[0].MakespanSeconds-1, slices.Max(times)/runs[0].MakespanSeconds-1
	o.lead = slices.Min(times) - runs[1].MakespanSeconds
	return o
}

// middle returns the fit that is in the middle of all: the sum of the distances of its map times to
// those of the other fits, in logarithms, is the least. It does not depend on any result.
func middle(of []fitted) fitted {
	return slices.MinFunc(of, func(a, b fitted) int {
		sum := func(x fitted) (d float64) {
			for _, y := range of {
				d += math.Abs(math.Log(x.maps / y.maps))
			}
			return d
		}
		switch {
		case sum(a) < sum(b)-1e-9:
			return -1
		case sum(a) > sum(b)+1e-9:
			return 1
		}
		return 0
	})
}

// TestRASFits finds all fits of the lengths in isolation of [RAS11, Table 1], and runs the paper's two
// experiments with each ([RAS11, "fits"]). It prints the range of each headline, and of which fit
// the shipped workloads have the times. The lengths of the fits are checked by running the jobs
// alone.
func TestRASFits(t *testing.T) {
	if !*fitsFlag {
		t.Skip("takes minutes; give -fits")
	}
	all := fits(t)
	chosen := [3]fitted{middle(all[0]), middle(all[1]), middle(all[2])}
	t.Logf("the fit in the middle: %+v", chosen)
	var out []outcome
	for _, s := range all[0] {
		for _, c := range all[1] {
			for _, x := range all[2] {
				o := judgeFit(t, [3]fitted{s, c, x}, []int{1, 3, 4, 5, 8})
				out = append(out, o)
				t.Logf("maps of %4.1f, %4.1f, %4.1f s: %d goals met, J1 %+.0f, J7 %+.0f, J8 %+.0f s, static best %.1f %%, worst %.1f %%, %+.0f s with goals, %d of 18 within 25 %%",
					s.maps, c.maps, x.maps, o.met, o.j1, o.j7, o.j8, 100*o.best, 100*o.worst, o.lead, o.within)
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("no choice of map times fits the lengths in isolation")
	}
	span := func(what string, of func(o outcome) float64) {
		least := slices.MinFunc(out, func(a, b outcome) int { return int(math.Copysign(1, of(a)-of(b))) })
		most := slices.MaxFunc(out, func(a, b outcome) int { return int(math.Copysign(1, of(a)-of(b))) })
		t.Logf("%s: %.1f to %.1f over %d fits", what, of(least), of(most), len(out))
	}
	span("goals met", func(o outcome) float64 { return float64(o.met) })
	span("ahead of the best static number, in %", func(o outcome) float64 { return 100 * o.best })
	span("ahead of the worst, in %", func(o outcome) float64 { return 100 * o.worst })
	span("ahead of the best with tight goals, in s", func(o outcome) float64 { return o.lead })
	span("completions within 25 %, of 18", func(o outcome) float64 { return float64(o.within) })
	fmt.Println()
}
