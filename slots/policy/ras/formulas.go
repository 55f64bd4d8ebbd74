package ras

import (
	"math"
	"math/bits"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
)

// utility is a job's satisfaction with a placement, in billionths: integers, so
// that every processor orders jobs alike.
type utility int64

const (
	one utility = 1_000_000_000

	// none stands for −∞, the utility of a job without a map: below all others,
	// and jobs that have it go in the order of their submission (A36).
	none = -1_000_000_000 * one
)

func (u utility) float() float64 { return float64(u) / float64(one) }

// mapUtility is u^M, eq. (2): it grows logarithmically from −∞ to 0 while fewer
// maps are placed than the goal requires, then linearly to 1, when all are. Its
// corners (A36): required is held between 1 and pending; with nothing placed it is
// −∞, and with everything placed 1, also where that is what is required.
func mapUtility(placed, required, pending int32) utility {
	required = max(1, min(required, pending))
	switch {
	case placed >= pending: // nothing more can be placed
		return one
	case placed < 1:
		return none
	case placed >= required:
		return utility(ratio(int64(placed-required), int64(one), int64(pending-required)))
	}
	return utility(ratio(log2(placed), int64(one), log2(required))) - one
}

// reduceUtility is u^R, eq. (3), between −1 and 0: what a job lacks in reduces is
// taken from its satisfaction. Its corners (A37): no reduce placed is −1, as the
// paper's range has it, not −∞; none pending, or all placed, is 0.
func reduceUtility(placed, pending int32) utility {
	switch {
	case pending < 1 || placed >= pending:
		return 0
	case placed < 1:
		return -one
	}
	return utility(ratio(log2(placed), int64(one), log2(pending))) - one
}

// jobUtility is eq. (1), at most 1; −∞ whatever the reduces are.
func jobUtility(maps, reduces utility) utility {
	if maps == none {
		return none
	}
	return min(maps+reduces, one)
}

// required is s_req, how many maps should run at a time to meet the goal (SPEC
// 3.2): the remaining work over the time that is left for it, rounded up, between 1
// and pending. goal 0 is as soon as possible, and so is one that has passed: all. As
// long as no map is done nothing is known of the work, and all are required: a job
// that has just come has a low utility although it gets most (4.2 of the paper).
func required(work, goal, now time.Duration, pending int32, known bool) int32 {
	left := goal - now
	switch {
	case goal == 0 || !known || left <= 0:
		return max(pending, 1)
	}
	n := int64(work / left)
	if work%left > 0 {
		n++
	}
	return int32(max(1, min(n, int64(pending))))
}

// remainingWork is the time that the maps of a job that are not done will take, one
// after the other: the average length, times the maps that have not been started and
// what is left of those that run. left is the sum of these parts.
func remainingWork(average time.Duration, unstarted int32, left slots.PPM) time.Duration {
	return time.Duration(ratio(int64(average), int64(unstarted)*int64(slots.One)+int64(left), int64(slots.One)))
}

// aboutToComplete: the map phase of a job ends within a control cycle (R10), by the
// estimate of A48: the remaining work, done by as many maps as are placed.
func aboutToComplete(work time.Duration, placed int32, cycle time.Duration) bool {
	return placed > 0 && work/time.Duration(placed) <= cycle
}

// shuffleDemand is what a reduce needs while it copies (R13, A43): I/O for each map
// whose output it fetches, of which there are no more at a time than it has copiers,
// and never more than it needs to reduce.
func shuffleDemand(p *demand.Profile, maps, parallelCopies int32) demand.Vector {
	v := p.Shuffle
	v.IO = min(v.IO*slots.PPM(min(maps, parallelCopies)), p.Reduce.IO)
	return v
}

// log2 is the binary logarithm of n ≥ 1 in parts of 2^32, digit by digit: squaring a
// number between 1 and 2 tells the next one. hot: for each look at a job.
func log2(n int32) int64 {
	exponent := bits.Len32(uint32(n)) - 1
	m := uint64(n) << (63 - exponent) // between 1 and 2, in parts of 2^63
	digits := int64(exponent)
	for range 32 {
		hi, lo := bits.Mul64(m, m)
		digits <<= 1
		if hi>>63 == 1 {
			digits++
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return digits
}

// ratio is a·b/c of numbers that are not negative, and the greatest number where that
// is more; of nothing it is nothing.
func ratio(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if c <= 0 || hi >= uint64(c) {
		return math.MaxInt64
	}
	if q, _ := bits.Div64(hi, lo, uint64(c)); q < math.MaxInt64 {
		return int64(q)
	}
	return math.MaxInt64
}
