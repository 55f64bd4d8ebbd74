// Package stats draws random numbers, and computes confidence intervals of samples. The same
// arguments give the same bits on every processor.
//
// A draw is a hash of a seed and of numbers that say what is drawn, so it depends on no other
// draw. Package workload draws the durations of tasks, and workload/source whole workloads. An
// Interval is the mean of a sample with its 95 % confidence interval. The verdicts of bench and the
// tables of runs with several seeds use it. RankCorrelation and Explained compare two curves. The
// package has no state.
package stats

import "math"

// Bits returns 64 random bits for a list of arguments. The order of the arguments counts: (1, 2) and
// (2, 1) give different bits.
func Bits(arguments ...uint64) uint64 {
	h := uint64(0)
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
