package stats_test

import (
	"fmt"
	"testing"

	"mrlocal/internal/stats"
)

func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		sample []float64
		want   string
	}{
		{[]float64{5}, "5 [5, 5]"},
		{[]float64{0.1, 0.1, 0.1}, "0.1 [0.1, 0.1]"},
		{[]float64{1, 3}, "2 [-10.7, 14.7]"},         // t = 12.706, standard error 1
		{[]float64{1, 2, 3, 4, 5}, "3 [1.04, 4.96]"}, // t = 2.776, standard error 0.7071
	} {
		i := stats.IntervalOf(c.sample)
		if got := fmt.Sprintf("%.3g [%.3g, %.3g]", i.Mean, i.Low, i.High); got != c.want {
			t.Errorf("%v: %s, want %s", c.sample, got, c.want)
		}
	}
}

// TestPairedRuns: what all runs have in common does not hide a difference between them.
func TestPairedRuns(t *testing.T) {
	a, b := []float64{100, 200, 300}, []float64{99, 198.9, 299.1}
	if d := stats.IntervalOfDifferences(a, b); d.Has(0) {
		t.Errorf("[%v, %v] holds 0", d.Low, d.High)
	}
	if d := stats.IntervalOfDifferences(a, []float64{101, 199, 300}); !d.Has(0) {
		t.Errorf("[%v, %v] does not hold 0", d.Low, d.High)
	}
}
