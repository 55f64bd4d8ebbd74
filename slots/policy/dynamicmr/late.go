package dynamicmr

import (
	"math/bits"
	"slices"
	"time"

	"mrlocal/slots"
)

// LATE, "longest approximate time to end" (SPEC 1.11): of the running tasks that
// are slow, the one that will end last gets a copy, on a tracker that is not
// slow, while few copies run. Its constants are for tasks of minutes; those that
// are times here grow with what a job's tasks take, so that they suit tasks of
// less than a second too.
const (
	speculativeCap = slots.One / 10 // copies that may run, of the slots
	slowTask       = slots.One / 4  // the percentile of progress rates at which a task is slow
	slowNode       = slots.One / 4  // the percentile of progress below which a tracker is slow

	leastRun    = 100 * time.Millisecond // that an attempt must have run, where nothing else is said
	leastSample = 3                      // finished tasks of a job and kind, before which nothing is slow; of a few tasks half
	mostSample  = 64                     // of them, the last ones that are looked at

	looksATask = 16                    // times that a task of usual length is looked at
	leastWait  = 10 * time.Millisecond // from one look to the next
)

// total is the time that a task takes in all, if it goes on at the rate that it
// had: rate = score/elapsed, total = 1/rate.
func total(elapsed time.Duration, score slots.PPM) time.Duration {
	hi, lo := bits.Mul64(uint64(elapsed), uint64(slots.One))
	score = max(score, 1) // nothing is known of it: nearly for ever
	if hi >= uint64(score) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(score))
	return time.Duration(min(q, 1<<63-1))
}

// timeLeft is (1 - score)/rate.
func timeLeft(elapsed time.Duration, score slots.PPM) time.Duration {
	return total(elapsed, score) - elapsed
}

// mostCopies is SpeculativeCap: how many copies may run at a time. One always may.
func mostCopies(places int32) int32 { return max(1, speculativeCap.Of(places)) }

// enough: so many finished tasks of a job and kind say what is usual. Of a job with
// less than six tasks half of them do: else nothing of it would ever be slow, where
// lent slots start all of them at once.
func enough(finished int, all int32) bool {
	return finished >= 1 && finished >= min(leastSample, int(all+1)/2)
}

// longEnough: an attempt has run for so long that its rate says something. LATE
// waits a minute, about as long as its tasks take; here half of what is usual.
func longEnough(elapsed, usual, least time.Duration) bool {
	return elapsed >= max(least, usual/2)
}

// slowestQuarter is the total time of the task at the SlowTaskThreshold: a rate
// at or below the 25th percentile is a total at or above this one. LATE says
// below; then of a cluster of which more than a quarter is slow nothing would
// be. It sorts totals.
func slowestQuarter(totals []time.Duration) time.Duration {
	slices.Sort(totals)
	return totals[len(totals)-int(slowTask.CeilOf(int32(len(totals))))]
}

// median is what is usual: the middle of times that are sorted.
func median(times []time.Duration) time.Duration { return times[len(times)/2] }

// pays: a copy that takes what is usual ends before the attempt does. LATE has
// no such rule, Hadoop 2 has; without it the slowest quarter of equal tasks would
// be copied.
func pays(left, usual time.Duration) bool { return left > usual }

// slowNodeBelow is the progress of the tracker at the SlowNodeThreshold; those
// below are slow. Progress of a tracker is that of all tasks that were done and
// that run there, added up. It sorts progress.
func slowNodeBelow(progress []int64) int64 {
	slices.Sort(progress)
	return progress[slowNode.CeilOf(int32(len(progress)))-1]
}
