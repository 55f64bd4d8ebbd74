package stats

import "math"

// RankCorrelation returns Spearman's rank correlation of two lists of one length: 1 if both are in the
// same order, -1 if in opposite orders. Equal numbers share the mean of their ranks. It is 0 if all
// numbers of a list are equal.
func RankCorrelation(a, b []float64) float64 {
	x, y := ranks(a), ranks(b)
	middle := float64(len(a)-1) / 2
	var xy, xx, yy float64
	for i := range x {
		xy += float64((x[i] - middle) * (y[i] - middle))
		xx += float64((x[i] - middle) * (x[i] - middle))
		yy += float64((y[i] - middle) * (y[i] - middle))
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(float64(xx*yy))
}

// ranks returns the rank of each number, from 0.
func ranks(a []float64) []float64 {
	all := make([]float64, len(a))
	for i := range a {
		for k := range a {
			switch {
			case a[k] < a[i]:
				all[i]++
			case a[k] == a[i] && k != i:
				all[i] += 0.5
			}
		}
	}
	return all
}

// Explained returns the share of the variance of a measured curve that a computed curve explains. It
// is 1 if both are equal, and at most 0 if a flat line at the mean of the measured curve is as near to
// it. The measured curve must not be flat.
func Explained(measured, computed []float64) float64 {
	mean := 0.0
	for _, m := range measured {
		mean += m / float64(len(measured))
	}
	var far, flat float64
	for i, m := range measured {
		far += float64((m - computed[i]) * (m - computed[i]))
		flat += float64((m - mean) * (m - mean))
	}
	return 1 - far/flat
}
