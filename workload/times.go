package workload

import (
	"math"
	"math/bits"
	"time"
)

// Times gives the durations of a job's tasks. In the zero value none are given.
type Times struct {
	law   law
	a, b  time.Duration // constant a; uniform a to b; lognormal of median a
	sigma float64
	list  []time.Duration
}

// law is the distribution that times are drawn from.
type law uint8

// absent must be the zero value, so that a zero Times has no times.
const (
	absent law = iota
	constant
	uniform
	lognormal
	listed
)

// Constant returns Times that are all d.
func Constant(d time.Duration) Times { return Times{law: constant, a: d} }

// Given reports whether times are given.
func (t Times) Given() bool { return t.law != absent }

// At returns how long a task takes. It is a pure function: a drawn time is a hash of
// the arguments, so it depends neither on other draws nor on the processor. A list is
// indexed by task and repeats. Times that are not given are 0.
func (t Times) At(seed uint64, job int, reduce bool, task int) time.Duration {
	switch t.law {
	case uniform:
		// The high word of the product is uniform from 0 to b-a.
		span, _ := bits.Mul64(draw(seed, job, reduce, task), uint64(t.b-t.a)+1)
		return t.a + time.Duration(span)
	case lognormal:
		// The middle of one of 2^52 equal parts is never 0 or 1.
		u := (float64(draw(seed, job, reduce, task)>>12) + 0.5) / (1 << 52)
		// The median of the distribution is a, whatever sigma is.
		f := float64(t.a) * exp(float64(t.sigma*normalQuantile(u)))
		if f >= float64(mostTime) {
			return mostTime
		}
		return time.Duration(f)
	case listed:
		return t.list[task%len(t.list)]
	}
	return t.a
}

// draw returns 64 random bits for a task.
// Each argument passes through mix before the next one joins, so that (1, 2) and (2, 1)
// differ.
func draw(seed uint64, job int, reduce bool, task int) uint64 {
	kind := uint64(0)
	if reduce {
		kind = 1
	}
	h := mix(seed)
	h = mix(h ^ uint64(job))
	h = mix(h ^ kind)
	return mix(h ^ uint64(task))
}

// mix is a step of splitmix64.
// It maps 64 bits to 64 bits one to one, so no two arguments give the same result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The same seed must give the same bytes on every processor. The functions of package
// math, and sums of products that a compiler may fuse, differ in the last bit. So the
// functions here are written out, and round every product before they add to it.

// normalQuantile returns the inverse of the normal distribution function, exact to
// about 1e-7, for 0 < p < 1. It is PPND7 of Wichura (Applied Statistics, AS 241).
// The constants are those of the published algorithm. 0.425 and 5 divide the range into
// a middle, tails and far tails.
func normalQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * polynomial(r, 3.3871327179, 50.434271938, 159.29113202, 59.109374720) /
			polynomial(r, 1, 17.895169469, 78.757757664, 67.187563600)
	}
	// Both tails are computed from the smaller one, which keeps its precision.
	tail := math.Min(p, 1-p)
	r := math.Sqrt(-ln(tail))
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

// polynomial returns c[0] + c[1]x + c[2]x² + …
// It uses Horner's scheme. The conversion of each product to float64 forbids the
// compiler to fuse it.
func polynomial(x float64, c ...float64) float64 {
	sum := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		sum = float64(sum*x) + c[i]
	}
	return sum
}

// exp returns e to the power of x: 2^n for the nearest n, times the series of the rest.
// |r| is at most ln 2 / 2, so 14 terms reach the last bit.
func exp(x float64) float64 {
	n := math.Floor(float64(x/math.Ln2) + 0.5)
	r := x - float64(n*math.Ln2)
	term, sum := 1.0, 1.0
	for i := 1.0; i <= 14; i++ {
		term = float64(term*r) / i
		sum += term
	}
	return math.Ldexp(sum, int(n))
}

// ln returns the natural logarithm of x > 0. With x = f·2^n and 1/√2 < f < √2 it is
// n·ln 2 plus twice the series of artanh((f-1)/(f+1)).
// 13 terms suffice, because |t| is at most 0.172.
func ln(x float64) float64 {
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
