package stats

import (
	"math"
	"slices"
)

// Interval is the mean of a sample and its 95 % confidence interval. The interval of one number
// is that number.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// IntervalOf returns the interval of a sample that is not empty. It sums in the order of the
// sample, so that equal samples give equal bits.
func IntervalOf(sample []float64) Interval {
	n := float64(len(sample))
	mean, squares := 0.0, 0.0
	for _, x := range sample {
		mean += x / n
	}
	for _, x := range sample {
		squares += (x - mean) * (x - mean)
	}
	half := 0.0
	// By rounding, a sample of equal numbers may have tiny squares. They count as 0.
	if n > 1 && squares > 1e-18*n*max(1, mean*mean) {
		half = student(len(sample)-1) * math.Sqrt(squares/(n-1)/n)
	}
	return Interval{mean, mean - half, mean + half}
}

// IntervalOfDifferences returns the interval of the differences a[i] − b[i] of two paired samples
// of one length. If the interval includes 0, the samples show no difference.
func IntervalOfDifferences(a, b []float64) Interval {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] - b[i]
	}
	return IntervalOf(all)
}

// Has reports whether x lies in the interval.
func (i Interval) Has(x float64) bool { return i.Low <= x && x <= i.High }

// student returns the 0.975 quantile of Student's t distribution with the given number of degrees of
// freedom, from 1. Above 30 it rounds the quantile up to that of 30.
func student(freedom int) float64 {
	quantiles := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	return quantiles[min(freedom, len(quantiles))-1]
}

// Quantile returns a quantile of a sorted sample, with linear interpolation.
func Quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	low := int(at)
	return sorted[low] + (at-float64(low))*(sorted[min(low+1, len(sorted)-1)]-sorted[low])
}

// Median returns the median of a sample, and 0 if it is empty. It leaves the sample as it is.
func Median(sample []float64) float64 {
	if len(sample) == 0 {
		return 0
	}
	return Quantile(slices.Sorted(slices.Values(sample)), 0.5)
}
