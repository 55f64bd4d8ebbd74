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
	// together. Without a bound a typing mistake could take all memory. An event file has fewer
	// tasks (trace.MaxTasks), so the simulator writes none of more.
	mostSlots = 10_000_000
	mostTasks = 40_000_000

	// MostJobs bounds the jobs of a file. A simulation of that many, each in its own pool, takes 1.2 GB.
	MostJobs = 1 << 18
)

// The parse functions below return a problem instead of an error, because their caller adds
// the place in the file. An empty problem means success.

// parseCount reads a whole number from 0 to mostCount.
// The check for a sign comes first, so that -3 is called negative and not "no whole number".
func parseCount(text string) (n int, problem string) {
	if strings.HasPrefix(text, "-") {
		return 0, quote(text) + " is negative"
	}
	v, err := strconv.ParseUint(text, 10, 64)
	switch {
	// An error about a text of digits alone means that the number has more than 64 bits.
	case err != nil && strings.Trim(text, "0123456789") != "":
		return 0, quote(text) + " is not a whole number"
	case err != nil || v > mostCount:
		return 0, quote(text) + " is too large; at most " + strconv.Itoa(mostCount)
	}
	return int(v), ""
}

// parseTime reads a time with its unit, of at most mostTime.
// A number without a unit is the most common mistake and has its own message.
func parseTime(text string) (d time.Duration, problem string) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && text != "" && strings.Trim(text, "0123456789.") == "":
		return 0, quote(text) + " has no unit; write 250ms or 20s"
	case err != nil && isTime(strings.Map(lowDigit, text)):
		return 0, quote(text) + " is too long; at most " + mostTime.String()
	case err != nil:
		return 0, quote(text) + " is not a time; write 250ms or 20s"
	case d < 0:
		return 0, quote(text) + " is negative"
	case d > mostTime:
		return 0, quote(text) + " is too long; at most " + mostTime.String()
	}
	return d, ""
}

// isTime reports whether package time reads text, which it does up to 292 years.
func isTime(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

// lowDigit returns 0 for a digit, and any other rune as it is.
func lowDigit(r rune) rune {
	if '0' <= r && r <= '9' {
		return '0'
	}
	return r
}

// parseShare reads a decimal number such as 0.25, of at most 1,000,000.
func parseShare(text string) (p ppm.Share, problem string) {
	if strings.HasPrefix(text, "-") {
		return 0, quote(text) + " is negative"
	}
	p, err := ppm.Parse(text)
	switch {
	case err != nil:
		// The error of ppm.Parse begins with the quoted text, which the message has already.
		_, why, _ := strings.Cut(err.Error(), "\": ")
		return 0, quote(text) + ": " + why
	case p > 1_000_000*ppm.One:
		return 0, quote(text) + " is too large; at most 1000000"
	}
	return p, ""
}

// parseBytes reads a size in bytes: 4096, 64MiB, 100MB (decimal), 1.5G (binary).
func parseBytes(text string) (n int64, problem string) {
	if strings.HasPrefix(text, "-") {
		return 0, quote(text) + " is negative"
	}
	if n, problem = ppm.ParseBytes(text); problem != "" {
		problem = quote(text) + " is " + problem
	}
	return n, problem
}

// parseSigma reads the sigma of a lognormal distribution: the standard deviation of the
// logarithm of a time. It is a number without a unit, of at most 5.
func parseSigma(text string) (sigma float64, problem string) {
	const most = 5 * ppm.One // a task in a thousand takes e^15 times as long
	p, problem := parseShare(text)
	if problem == "" && p > most {
		return 0, quote(text) + " is too large; at most " + most.String()
	}
	return float64(p) / float64(ppm.One), problem
}

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
	scale := func(d time.Duration) time.Duration { return time.Duration(min(float64(d)*by, float64(mostTime))) }
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
