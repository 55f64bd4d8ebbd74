// Package stats draws random numbers, and computes confidence intervals of samples. The same
// arguments give the same bits on every processor.
//
// A draw is a hash of a seed and of numbers that say what is drawn, so it depends on no other
// draw. Package workload draws the durations of tasks, and workload/source whole workloads. An
// Interval is the mean of a sample with its 95 % confidence interval. The verdicts of bench and the
// tables of runs with several seeds use it. RankCorrelation and Explained compare two curves. The
// package has no state.
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

// Bits returns 64 random bits for a list of arguments. The order of the arguments counts: (1, 2) and
// (2, 1) give different bits.
func Bits(arguments ...uint64) (h uint64) {
	for _, a := range arguments {
		h = mix(h ^ a)
	}
	return h
}

// Unit returns a number between 0 and 1 for 64 random bits: the middle of one of 2^52 equal parts.
// It is never 0 or 1.
func Unit(bits uint64) float64 { return (float64(bits>>12) + 0.5) / (1 << 52) }

// mix is a step of splitmix64. It maps 64 bits to 64 bits one to one, so no two arguments give the
// same result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The same seed must give the same bytes on every processor. The functions of package
// math, and sums of products that a compiler may fuse, differ in the last bit. So the
// functions here are written out, and round every product before they add to it.

// Normal returns the inverse of the standard normal distribution function at p, for 0 < p < 1. The
// error is about 1e-7. The algorithm and its constants are PPND7 of Wichura (Applied Statistics, AS
// 241). 0.425 and 5 divide the range into a middle, tails and far tails.
func Normal(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * polynomial(r, 3.3871327179, 50.434271938, 159.29113202, 59.109374720) /
			polynomial(r, 1, 17.895169469, 78.757757664, 67.187563600)
	}
	// Both tails are computed from the smaller one, which keeps its precision.
	tail := math.Min(p, 1-p)
	r := math.Sqrt(-Ln(tail))
	var x float64
	if r <= 5 {
		r -= 1.6
		x = polynomial(r, 1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103) /
			polynomial(r, 1, 0.73700164250, 0.12021132975)
	} else {
		r -= 5
		x = polynomial(r, 6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997) /
			polynomial(r, 1, 0.24197894225, 0.012258202635)
	}
	return math.Copysign(x, q)
}

// polynomial returns c[0] + c[1]x + c[2]x² + … by Horner's scheme. The conversion of each product
// to float64 keeps the compiler from fusing it with the sum.
func polynomial(x float64, c ...float64) float64 {
	sum := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		sum = float64(sum*x) + c[i]
	}
	return sum
}

// Exp returns e to the power of x. With x = n·ln 2 + r it is 2^n times the series of e^r. |r| is at
// most ln 2 / 2, so 14 terms suffice for the last bit.
func Exp(x float64) float64 {
	n := math.Floor(float64(x/math.Ln2) + 0.5)
	r := x - float64(n*math.Ln2)
	term, sum := 1.0, 1.0
	for i := 1.0; i <= 14; i++ {
		term = float64(term*r) / i
		sum += term
	}
	return math.Ldexp(sum, int(n))
}

// Ln returns the natural logarithm of x > 0. With x = f·2^n and 1/√2 < f < √2 it is n·ln 2 plus
// twice the series of artanh(t), t = (f-1)/(f+1). |t| is at most 0.172, so 13 terms suffice.
func Ln(x float64) float64 {
	f, n := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, n = f*2, n-1
	}
	t := (f - 1) / (f + 1)
	square := float64(t * t)
	power, sum := t, 0.0
	for i := 1.0; i <= 25; i += 2 {
		sum += float64(power / i)
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(n)*math.Ln2)
}

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
