package ras

import (
	"math"
	"math/bits"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
)

// utility is a job's satisfaction with a placement, in billionths. It is an integer, so
// that every processor orders jobs alike [RAS11, "utilities in integers"].
type utility int64

const (
	one utility = 1_000_000_000

	// none stands for −∞, the utility of a job without a map. It is below all others.
	// Jobs that have it are in the order of their submission.
	none = -1_000_000_000 * one
)

// float returns the utility as a number up to 1.
func (u utility) float() float64 { return float64(u) / float64(one) }

// value returns the utility as a number up to 1, and -Inf for none.
func (u utility) value() float64 {
	if u <= none/2 {
		return math.Inf(-1)
	}
	return u.float()
}

// Utility returns u of a job by [RAS11, eq. 1 to 3]. maps of pendingMaps unfinished maps and
// reduces of pendingReduces unfinished reduces are placed. required is s_req.
func Utility(maps, required, pendingMaps, reduces, pendingReduces int32) float64 {
	return jobUtility(new(logs).mapUtility(maps, required, pendingMaps), new(logs).reduceUtility(reduces, pendingReduces)).value()
}

// mapUtility returns u^M [RAS11, eq. 2]. It grows logarithmically from −∞ to 0 as long as
// fewer maps are placed than the goal requires. Then it grows linearly to 1, when all are
// placed. required is limited to the range from 1 to pending. With no map placed the utility
// is −∞; with all placed it is 1, even if all are required [RAS11, "map utility corners"].
func (l *logs) mapUtility(placed, required, pending int32) utility {
	required = max(1, min(required, pending))
	switch {
	case placed >= pending: // nothing more can be placed
		return one
	case placed < 1:
		return none
	case placed >= required:
		return utility(ppm.Scaled(int64(placed-required), int64(one), int64(pending-required)))
	}
	return utility(ppm.Scaled(l.of(placed), int64(one), l.of(required))) - one
}

// reduceUtility returns u^R [RAS11, eq. 3], between −1 and 0: missing reduces lower the
// satisfaction of a job. With no reduce placed it is −1, not −∞; with none pending, or all
// placed, it is 0 [RAS11, "reduce utility corners"].
func (l *logs) reduceUtility(placed, pending int32) utility {
	switch {
	case pending < 1 || placed >= pending:
		return 0
	case placed < 1:
		return -one
	}
	return utility(ppm.Scaled(l.of(placed), int64(one), l.of(pending))) - one
}

// jobUtility returns the utility of a job [RAS11, eq. 1], at most 1. Without a map it is −∞,
// for any utility of the reduces.
func jobUtility(maps, reduces utility) utility {
	if maps == none {
		return none
	}
	return min(maps+reduces, one)
}

// required returns s_req: how many maps should run at a time to meet the goal [RAS11,
// "required maps"]. That is the remaining work divided by the time that is left, rounded up,
// between 1 and pending. goal and now count from the start of the run. If goal is 0 or has
// passed, all maps are required, because the job should end as soon as possible. known is
// false until a map is done, because the work is unknown; then atFirst maps are required.
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
// other [RAS11, "required maps"]. average is the time of a map. left is the sum of the
// unfinished parts of the running maps: 1.5 stands for one and a half maps.
func remainingWork(average time.Duration, unstarted int32, left slots.PPM) time.Duration {
	return time.Duration(ppm.Scaled(int64(average), int64(unstarted)*int64(slots.One)+int64(left), int64(slots.One)))
}

// aboutToComplete reports whether the map phase of a job ends within a control cycle [RAS11,
// "end of the map phase"]. It assumes that placed maps share the remaining work evenly.
func aboutToComplete(work time.Duration, placed int32, cycle time.Duration) bool {
	return placed > 0 && work/time.Duration(placed) <= cycle
}

// shuffleDemand returns the needs of a reduce while it copies [RAS11, "shuffle bound"]. It needs
// I/O for each of maps, the maps of its job that are placed or done. It copies from at most
// parallelCopies maps at a time, and never needs more I/O than in its reduce phase.
func shuffleDemand(p *slots.Profile, maps, parallelCopies int32) slots.Vector {
	v := p.Shuffle
	v.IO = min(v.IO*slots.PPM(min(maps, parallelCopies)), p.Reduce.IO)
	return v
}

// logs is a table of binary logarithms by number, because each utility needs some. The zero
// value is ready; of extends the table.
type logs []int64

// mostLogs bounds the length of the table, to 128 KiB.
const mostLogs = 1 << 14

// of returns log2(n), and 0 for n = 0.
func (l *logs) of(n int32) int64 {
	if n >= mostLogs {
		return log2(n)
	}
	for int(n) >= len(*l) {
		*l = append(*l, log2(max(int32(len(*l)), 1)))
	}
	return (*l)[n]
}

// log2 returns the binary logarithm of n ≥ 1, times 2^32. It finds one binary digit after the
// other. The next digit of the logarithm of a number between 1 and 2 is 1 if the square of the
// number is at least 2.
func log2(n int32) int64 {
	exponent := bits.Len32(uint32(n)) - 1
	m := uint64(n) << (63 - exponent) // a number between 1 and 2, times 2^63
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
