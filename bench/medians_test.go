package bench_test

import (
	"slices"

	"mrlocal/engine"
)

// figures returns a figure of each run.
func figures(runs []*engine.Report, of func(*engine.Report) float64) []float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, of(r))
	}
	return all
}

// median returns the median of a figure of the runs.
func median(runs []*engine.Report, of func(*engine.Report) float64) float64 {
	return middle(figures(runs, of))
}

func middle(all []float64) float64 {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// ratio returns the median of a[i] / b[i]. The two runs of a round follow each other. So a busy machine
// changes its speed less between them than between rounds.
func ratio(a, b []float64) float64 {
	var all []float64
	for i := range a {
		all = append(all, a[i]/b[i])
	}
	return middle(all)
}
