package ras

import (
	"math"
	"math/bits"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
)

// utility is a job's satisfaction with a placement, in billionths. It is an integer, so
// that every processor orders jobs alike [RAS11, "utilities in integers"].
type utility int64

const (
	one utility = 1_000_000_000

	// none stands for −∞, the utility of a job without a map. It is below all others;
	// jobs that have it go in the order of their submission.
	none = -1_000_000_000 * one
)

func (u utility) float() float64 { return float64(u) / float64(one) }

// value is float, with -Inf for none.
func (u utility) value() float64 {
	if u <= none/2 {
		return math.Inf(-1)
	}
	return u.float()
}

// Utility is u of a job by [RAS11, eq. 1 to 3], with placed maps and reduces of those that pend.
func Utility(maps, required, pendingMaps, reduces, pendingReduces int32) float64 {
	return jobUtility(new(logs).mapUtility(maps, required, pendingMaps), new(logs).reduceUtility(reduces, pendingReduces)).value()
}

// mapUtility is u^M [RAS11, eq. 2]. It grows logarithmically from −∞ to 0 while fewer
// maps are placed than the goal requires, and then linearly to 1, when all are placed.
// required is held between 1 and pending. With no map placed the utility is −∞; with
// all placed it is 1, even if all are required [RAS11, "map utility corners"].
func (l *logs) mapUtility(placed, required, pending int32) utility {
	required = max(1, min(required, pending))
	switch {
	case placed >= pending: // nothing more can be placed
		return one
	case placed < 1:
		return none
	case placed >= required:
		return utility(ratio(int64(placed-required), int64(one), int64(pending-required)))
	}
	return utility(ratio(l.of(placed), int64(one), l.of(required))) - one
}

// reduceUtility is u^R [RAS11, eq. 3], between −1 and 0: what a job lacks in reduces
// lowers its satisfaction. With no reduce placed it is −1, not −∞; with none pending,
// or all placed, it is 0 [RAS11, "reduce utility corners"].
func (l *logs) reduceUtility(placed, pending int32) utility {
	switch {
	case pending < 1 || placed >= pending:
		return 0
	case placed < 1:
		return -one
	}
	return utility(ratio(l.of(placed), int64(one), l.of(pending))) - one
}

// jobUtility is [RAS11, eq. 1], at most 1. Without a map it is −∞, whatever the reduces.
func jobUtility(maps, reduces utility) utility {
	if maps == none {
		return none
	}
	return min(maps+reduces, one)
}

// required is s_req: how many maps should run at a time to meet the goal. That is the
// remaining work divided by the time that is left, rounded up, between 1 and pending.
// goal is a time since the run's start. If it is 0 or has passed, all maps are required,
// because the job should end as soon as possible. Until a map is done nothing is known of
// the work: known is false, and atFirst maps are required [RAS11, "required maps"].
func required(work, goal, now time.Duration, pending int32, known bool, atFirst int32) int32 {
	left := goal - now
	switch {
	case goal == 0 || left <= 0:
		return max(pending, 1)
	case !known:
		return max(1, min(atFirst, pending))
	}
	n := int64(work / left)
	if work%left > 0 {
		n++
	}
	return int32(max(1, min(n, int64(pending))))
}

// remainingWork returns the time that the unfinished maps of a job take one after the
// other [RAS11, "required maps"]. average is the length of a map. left is what is left of
// all running maps together: 1.5 stands for one and a half maps.
func remainingWork(average time.Duration, unstarted int32, left slots.PPM) time.Duration {
	return time.Duration(ratio(int64(average), int64(unstarted)*int64(slots.One)+int64(left), int64(slots.One)))
}

// aboutToComplete reports whether the map phase of a job ends within a control cycle. It assumes
// that the placed maps share the remaining work evenly [RAS11, "end of the map phase"].
func aboutToComplete(work time.Duration, placed int32, cycle time.Duration) bool {
	return placed > 0 && work/time.Duration(placed) <= cycle
}

// shuffleDemand returns what a reduce needs while it copies. It needs I/O for each map of its
// job that is placed or done. It copies from at most parallelCopies maps at a time, and never
// needs more than to reduce [RAS11, "shuffle bound"].
func shuffleDemand(p *demand.Profile, maps, parallelCopies int32) demand.Vector {
	v := p.Shuffle
	v.IO = min(v.IO*slots.PPM(min(maps, parallelCopies)), p.Reduce.IO)
	return v
}

// logs keeps binary logarithms that were computed: each look at a job needs some. The zero
// value is ready.
type logs []int64

// mostLogs bounds them, to 128 KiB.
const mostLogs = 1 << 14

// of returns log2(n).
func (l *logs) of(n int32) int64 {
	if n >= mostLogs {
		return log2(n)
	}
	for int(n) >= len(*l) {
		*l = append(*l, log2(max(int32(len(*l)), 1)))
	}
	return (*l)[n]
}

// log2 returns the binary logarithm of n ≥ 1 in parts of 2^32. It finds digit after
// digit: the square of a number between 1 and 2 is at least 2 if the next digit is 1.
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

// ratio returns a·b/c, or the greatest number if that is more, or c is 0. None of the
// numbers is negative.
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
