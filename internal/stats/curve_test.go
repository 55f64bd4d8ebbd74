package stats

import (
	"math"
	"testing"
)

func TestRankCorrelation(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"the same order", []float64{1, 2, 30}, []float64{-5, 0, 0.1}, 1},
		{"the opposite order", []float64{1, 2, 30}, []float64{3, 2, 1}, -1},
		{"two of five exchanged", []float64{1, 2, 3, 4, 5}, []float64{2, 1, 3, 4, 5}, 0.9},
		{"equal numbers share a rank", []float64{1, 2, 3, 4}, []float64{1, 2, 2, 4}, 4.5 / math.Sqrt(5*4.5)},
		{"a flat line", []float64{1, 2, 3}, []float64{7, 7, 7}, 0},
	} {
		if got := RankCorrelation(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestExplained(t *testing.T) {
	measured := []float64{1, 2, 3}
	for _, c := range []struct {
		name     string
		computed []float64
		want     float64
	}{
		{"the same curve", []float64{1, 2, 3}, 1},
		{"a flat line at the mean", []float64{2, 2, 2}, 0},
		{"half of the slope", []float64{1.5, 2, 2.5}, 0.75},
		{"farther than a flat line", []float64{3, 2, 1}, -3},
	} {
		if got := Explained(measured, c.computed); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
