package workload

import (
	"math/bits"
	"time"

	"mrlocal/internal/draws"
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
	quantiles // list, evenly spaced from the least to the most
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
		u := draws.Unit(draw(seed, job, reduce, task))
		// The median of the distribution is a, whatever sigma is.
		f := float64(t.a) * draws.Exp(float64(t.sigma*draws.Normal(u)))
		if f >= float64(mostTime) {
			return mostTime
		}
		return time.Duration(f)
	case listed:
		return t.list[task%len(t.list)]
	case quantiles:
		if len(t.list) == 1 {
			return t.list[0]
		}
		// Uniform between two quantiles that follow one another.
		high, low := bits.Mul64(draw(seed, job, reduce, task), uint64(len(t.list)-1))
		step, _ := bits.Mul64(low, uint64(t.list[high+1]-t.list[high]))
		return t.list[high] + time.Duration(step)
	}
	return t.a
}

// draw returns 64 random bits for a task.
func draw(seed uint64, job int, reduce bool, task int) uint64 {
	kind := uint64(0)
	if reduce {
		kind = 1
	}
	return draws.Bits(seed, uint64(job), kind, uint64(task))
}
