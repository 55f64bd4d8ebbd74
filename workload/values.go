package workload

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"mrlocal/internal/stats"
	"mrlocal/slots/setup"
)

// mostCount bounds every count, because ids of tasks and trackers have 32 bits.
const mostCount = math.MaxInt32

// Times gives the durations of a job's tasks of one kind. The zero value gives none.
type Times struct {
	law   law
	a, b  time.Duration   // constant: a; uniform: from a to b; lognormal: a is the median
	sigma float64         // of lognormal
	list  []time.Duration // of listed and quantiles; not empty
}

// law is the distribution that times are drawn from.
type law uint8

// absent must be the zero value, so that a zero Times has no times.
const (
	absent law = iota
	constant
	uniform
	lognormal
	listed    // task i takes list[i], and the list repeats
	quantiles // list has evenly spaced quantiles, from the least time to the longest
)

// Constant returns Times that are all d.
func Constant(d time.Duration) Times { return Times{law: constant, a: d} }

// Given reports whether times are given.
func (t Times) Given() bool { return t.law != absent }

// Scaled returns a copy of t in which every duration is multiplied by by, a number of at
// least 0. A duration stays at most 100,000 hours.
func (t Times) Scaled(by float64) Times {
	scale := func(d time.Duration) time.Duration { return time.Duration(min(float64(d)*by, float64(setup.MostTime))) }
	t.a, t.b, t.list = scale(t.a), scale(t.b), slices.Clone(t.list)
	for i := range t.list {
		t.list[i] = scale(t.list[i])
	}
	return t
}

// At returns how long a task takes. job is the index of the job, and task the index of the
// task among those of its kind. At is a pure function: a drawn time is a hash of the
// arguments. So it depends neither on other draws nor on the processor. The zero Times
// return 0.
func (t Times) At(seed uint64, job int, reduce bool, task int) time.Duration {
	switch t.law {
	case uniform:
		// The high word of the product is uniform from 0 to b-a.
		span, _ := bits.Mul64(draw(seed, job, reduce, task), uint64(t.b-t.a)+1)
		return t.a + time.Duration(span)
	case lognormal:
		u := stats.Unit(draw(seed, job, reduce, task))
		// Half of all normal numbers are below 0, so the median is a for any sigma.
		f := float64(t.a) * stats.Exp(float64(t.sigma*stats.Normal(u)))
		if f >= float64(setup.MostTime) {
			return setup.MostTime
		}
		return time.Duration(f)
	case listed:
		return t.list[task%len(t.list)]
	case quantiles:
		if len(t.list) == 1 {
			return t.list[0]
		}
		// The high word of the product selects a gap between two neighbouring quantiles. The
		// low word is uniform inside that gap.
		high, low := bits.Mul64(draw(seed, job, reduce, task), uint64(len(t.list)-1))
		step, _ := bits.Mul64(low, uint64(t.list[high+1]-t.list[high]))
		return t.list[high] + time.Duration(step)
	}
	return t.a
}

// draw returns 64 pseudorandom bits for a task: the same bits in every run with that seed.
func draw(seed uint64, job int, reduce bool, task int) uint64 {
	kind := uint64(0)
	if reduce {
		kind = 1
	}
	return stats.Bits(seed, uint64(job), kind, uint64(task))
}
