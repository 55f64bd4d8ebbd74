package workload

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/internal/stats"
)

const (
	// mostTime bounds every time of a file, so that sums of times fit into a
	// time.Duration.
	mostTime = 100_000 * time.Hour

	// mostCount bounds every count, because ids of tasks and trackers have 32 bits.
	mostCount = math.MaxInt32

	// mostSlots bounds the slots of a cluster, and mostTasks the tasks of all jobs
	// together. Without a bound a typing mistake could take all memory.
	mostSlots = 10_000_000
	mostTasks = 1_000_000_000
)

// A parse function returns a problem instead of an error, because its caller adds the
// place in the file. "" means that there is no problem.

// parseCount reads a whole number of at most mostCount.
// ParseUint accepts no sign, so -0 needs the check in front.
func parseCount(text string) (n int, problem string) {
	if strings.HasPrefix(text, "-") {
		return 0, quote(text) + " is negative"
	}
	v, err := strconv.ParseUint(text, 10, 64)
	switch {
	// Digits alone with an error mean that the number has more than 64 bits.
	case err != nil && strings.Trim(text, "0123456789") != "":
		return 0, quote(text) + " is not a whole number"
	case err != nil || v > mostCount:
		return 0, quote(text) + " is too large; at most " + strconv.Itoa(mostCount)
	}
	return int(v), ""
}

// parseTime reads a time with its unit, of at most mostTime.
// A number without a unit gets a message of its own, because it is the common mistake.
func parseTime(text string) (d time.Duration, problem string) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && text != "" && strings.Trim(text, "0123456789.") == "":
		return 0, quote(text) + " has no unit; write 250ms or 20s"
	case err != nil:
		return 0, quote(text) + " is not a time; write 250ms or 20s"
	case d < 0:
		return 0, quote(text) + " is negative"
	case d > mostTime:
		return 0, quote(text) + " is too long; at most " + mostTime.String()
	}
	return d, ""
}

// parseShare reads a decimal number such as 0.25, of at most 1,000,000.
func parseShare(text string) (p ppm.Share, problem string) {
	if strings.HasPrefix(text, "-") {
		return 0, quote(text) + " is negative"
	}
	p, err := ppm.Parse(text)
	switch {
	case err != nil:
		_, why, _ := strings.Cut(err.Error(), "\": ")
		return 0, quote(text) + ": " + why
	case p > 1_000_000*ppm.One:
		return 0, quote(text) + " is too large; at most 1000000"
	}
	return p, ""
}

// parseBytes reads sizes: 4096, 64MiB, 100MB (decimal), 1.5G (binary).
func parseBytes(text string) (n int64, problem string) {
	if strings.HasPrefix(text, "-") {
		return 0, quote(text) + " is negative"
	}
	if n, problem = ppm.ParseBytes(text); problem != "" {
		problem = quote(text) + " is " + problem
	}
	return n, problem
}

// parseSigma reads the sigma of a lognormal distribution, which is at most 5.
// It is a number without a unit: the standard deviation of the logarithm.
func parseSigma(text string) (sigma float64, problem string) {
	const most = 5 * ppm.One // a task in a thousand takes e^15 times as long
	p, problem := parseShare(text)
	if problem == "" && p > most {
		return 0, quote(text) + " is too large; at most " + most.String()
	}
	return float64(p) / float64(ppm.One), problem
}

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

// Scaled returns the times with all durations times by.
func (t Times) Scaled(by float64) Times {
	scale := func(d time.Duration) time.Duration { return time.Duration(min(float64(d)*by, float64(mostTime))) }
	t.a, t.b, t.list = scale(t.a), scale(t.b), slices.Clone(t.list)
	for i := range t.list {
		t.list[i] = scale(t.list[i])
	}
	return t
}

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
		u := stats.Unit(draw(seed, job, reduce, task))
		// The median of the distribution is a, whatever sigma is.
		f := float64(t.a) * stats.Exp(float64(t.sigma*stats.Normal(u)))
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
	return stats.Bits(seed, uint64(job), kind, uint64(task))
}
