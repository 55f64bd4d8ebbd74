package workload

import (
	"math"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/ppm"
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
