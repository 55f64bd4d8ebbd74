package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// lengths are the lengths in isolation of J1 to J9, in seconds [RAS11, Table 1].
var lengths = [9]float64{2500, 500, 400, 280, 50, 750, 2500, 350, 250}

// applications has the first job of each application of [RAS11, Table 1]. combine, the second, has five fits, and
// the others have four.
var applications = [3]string{"J1", "J2", "J3"}

// alone returns the lengths in isolation of the nine jobs, with changes of their times.
func alone(t *testing.T, changes []workload.Change) (seconds [9]float64) {
	t.Helper()
	text, err := WorkloadText("ras-alone.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := workload.ParseChanged("ras-alone.yaml", text, changes)
	if err != nil {
		t.Fatal(err)
	}
	p, err := registry.New("ras", policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(t.Context(), f, sim.Options{Policy: p, Cost: "l2", Config: setup.Config{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range r.Jobs {
		seconds[i] = j.FinishS - j.SubmitS
	}
	return seconds
}

// TestRASFits checks the times of ras-range [RAS11, "fits"]. Each makes the lengths in isolation right within 1 %, and
// maps that are a seventh longer than the longest do not. All combinations are there. The times of the other
// experiments are in the middle: the sum of the distances of the map times to those of the other fits, in logarithms,
// is the least. This does not depend on any result.
func TestRASFits(t *testing.T) {
	f, err := LoadWorkload("ras-1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e := f.Experiments[slices.IndexFunc(f.Experiments, func(e workload.Experiment) bool { return e.Name == "ras-range" })]
	mapTimes := map[string][]string{} // by job
	for _, a := range e.Runs[0].Set {
		if job, of, _ := strings.Cut(strings.TrimPrefix(a.Name, "jobs."), "."); of == "map_time.lognormal.0" {
			mapTimes[job] = a.Values
		}
	}
	combined := map[[3]string]bool{}
	for i := range mapTimes["J1"] {
		combined[[3]string{mapTimes["J1"][i], mapTimes["J2"][i], mapTimes["J3"][i]}] = true
	}
	if len(combined) != len(mapTimes["J1"]) || len(combined) != 4*5*4 {
		t.Errorf("%d combinations", len(combined))
	}
	var times [3][]float64 // of maps, by application
	for k := range 5 {
		i := min(k, 3)*20 + k*4 + min(k, 3) // fit k of each application, or its last one
		var changes []workload.Change
		for _, a := range e.Runs[0].Set {
			changes = append(changes, workload.Change{Path: a.Name, Value: a.Values[i]})
		}
		for job, seconds := range alone(t, changes) {
			if math.Abs(seconds/lengths[job]-1) > 0.01 {
				t.Errorf("fit %d: J%d takes %.1f s alone, not %.0f", k, job+1, seconds, lengths[job])
			}
		}
		for a, job := range applications {
			if k == 4 && a != 1 {
				continue
			}
			d, err := time.ParseDuration(mapTimes[job][i])
			if err != nil {
				t.Fatal(err)
			}
			times[a] = append(times[a], d.Seconds())
		}
	}
	var longer []workload.Change
	for job, all := range mapTimes {
		d, err := time.ParseDuration(all[0])
		if err != nil {
			t.Fatal(err)
		}
		longer = append(longer, workload.Change{Path: "jobs." + job + ".map_time.lognormal.0", Value: (d * 8 / 7).String()},
			workload.Change{Path: "jobs." + job + ".reduce_time", Value: "0s"})
	}
	took := alone(t, longer)
	for a, shortest := range [3]int{7, 5, 4} { // J8, J6 and J5
		if took[shortest] < 1.01*lengths[shortest] {
			t.Errorf("with maps a seventh longer and no reduces J%d takes %.1f s alone, so longer maps fit", shortest+1, took[shortest])
		}
		sum := func(x float64) (d float64) {
			for _, y := range times[a] {
				d += math.Abs(math.Log(x / y))
			}
			return d
		}
		first := &f.Jobs[slices.IndexFunc(f.Jobs, func(j workload.ListedJob) bool { return j.Name == applications[a] })]
		chosen := medianSeconds(&first.MapTime)
		for _, x := range times[a] {
			if sum(x) < sum(chosen)-0.01 {
				t.Errorf("%s has maps of %.1f s, and %.1f s are nearer to the middle", applications[a], chosen, x)
			}
		}
	}
}

// medianSeconds returns the median time of a thousand maps.
func medianSeconds(of *workload.Times) float64 {
	var all []float64
	for task := range 1001 {
		all = append(all, of.At(1, 0, false, task).Seconds())
	}
	slices.Sort(all)
	return all[len(all)/2]
}
