package bench

import (
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrlocal/workload"
)

// TestFittedFiguresAreThoseOfTheList checks that each fitted figure has a constant in fitted.tsv, and
// each constant a fitted figure.
func TestFittedFiguresAreThoseOfTheList(t *testing.T) {
	all, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	list := fittedConstants()
	used := make([]bool, len(list))
	for _, e := range all {
		for i := range e.Figures {
			f := &e.Figures[i]
			listed := false
			for k := range list {
				if list[k].names(e.Name, f.What) {
					listed, used[k] = true, true
				}
			}
			if listed != f.Fitted {
				t.Errorf("%s: %s: fitted %v, in fitted.tsv %v", e.Name, f.What, f.Fitted, listed)
			}
		}
	}
	if k := slices.Index(used, false); k >= 0 || len(list) < 10 {
		t.Errorf("%d constants; no figure for one of them: %d", len(list), k)
	}
}

// testbed returns a name for the machines and benchmarks of a workload file; "": no other file has the
// same.
func testbed(file string) string {
	switch name := strings.TrimSuffix(path.Base(file), ".yaml"); name {
	case "fig4", "table1", "table1-5", "table1-10":
		return "Table I"
	case "ras-1", "ras-2":
		return "Table 1"
	case "omo-slowstart-1", "omo-slowstart-3":
		return "virtual nodes"
	case "omo-a", "omo-b", "omo-c", "omo-d", "omo-e", "omo-f", "omo-g", "omo-h", "omo-seqcount", "omo-yarn", "omo-terasort", "omo-wordcount":
		return "sets"
	}
	return ""
}

// TestABenchmarkHasOneSetOfDurations: on one testbed a benchmark has the same times of maps
// and reduces in all runs of all experiments.
func TestABenchmarkHasOneSetOfDurations(t *testing.T) {
	all, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	digits := regexp.MustCompile(`\d+$`)
	seen := map[string][2]float64{}
	for _, e := range all {
		if strings.HasSuffix(e.Name, "-range") || e.Name == "table1-formula" {
			continue // these times are what they vary
		}
		for i := range e.trials {
			f, err := e.trials[i].selected()
			if err != nil {
				t.Fatal(err)
			}
			bed := testbed(f.Name)
			for k := range f.Jobs {
				j := &f.Jobs[k]
				key := bed + ": " + j.Name
				// The name of a job is that of its benchmark and a number.
				if bed == "sets" {
					key = digits.ReplaceAllString(key, "")
				}
				times := [2]float64{meanSeconds(&j.MapTime, false), meanSeconds(&j.ReduceTime, true)}
				was, ok := seen[key]
				// The mean of a thousand draws differs from the true mean by some percent.
				if bed != "" && ok && (math.Abs(times[0]/was[0]-1) > 0.04 || math.Abs(times[1]/was[1]-1) > 0.04) {
					t.Errorf("%s in %s of %s: maps and reduces of %.1f s here, of %.1f s elsewhere", key, e.Name, f.Name, times, was)
				}
				seen[key] = times
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d benchmarks", len(seen))
	}
}

// meanSeconds returns the mean time of a thousand tasks.
func meanSeconds(of *workload.Times, reduce bool) (sum float64) {
	for task := range 1000 {
		sum += of.At(1, 0, reduce, task).Seconds() / 1000
	}
	return sum
}

// names reports whether the constant was fitted to a figure.
func (c *fittedConstant) names(experiment, figure string) bool {
	return c.experiment == experiment && (c.figure == "*" || strings.HasPrefix(figure, c.figure))
}
