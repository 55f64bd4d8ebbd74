package policy

import (
	"math/bits"
	"slices"
	"time"

	"mrlocal/slots"
)

// LATE, "longest approximate time to end", says which running tasks are worth a copy.
// Paper: Zaharia, Konwinski, Joseph, Katz, Stoica: Improving MapReduce Performance in
// Heterogeneous Environments, OSDI 2008 [LATE08]; its page is docs/papers/late08.md.
// The formulas are here; speculation.go keeps what was measured of running and
// finished attempts, look.go finds the candidates, and Copies starts the copies.
//
// Of the running tasks that are slow, the one that will end last gets a copy, on a
// tracker that is not slow, while few copies run [LATE08]. LATE's constants are for
// tasks of minutes. Those of them that are times grow here with what a job's tasks
// take, so that they suit tasks of less than a second too.
const (
	speculativeCap = slots.One / 10 // SpeculativeCap: copies that may run, as a share of the slots
	slowTask       = slots.One / 4  // SlowTaskThreshold: the percentile of progress rates at which a task is slow
	slowNode       = slots.One / 4  // SlowNodeThreshold: the percentile of progress below which a tracker is slow

	leastRun    = 100 * time.Millisecond // default of the least time that an attempt has run
	leastSample = 3                      // finished tasks of a job and kind before any task is slow; of few tasks half
	mostSample  = 64                     // the last finished tasks that count

	looksATask = 16                    // looks in the time that a task usually takes
	leastWait  = 10 * time.Millisecond // from one look to the next
)

// total returns the time that a task takes in all if it goes on at its rate so far:
// rate = score/elapsed, total = 1/rate [LATE08].
func total(elapsed time.Duration, score slots.PPM) time.Duration {
	hi, lo := bits.Mul64(uint64(elapsed), uint64(slots.One))
	score = max(score, 1) // no progress yet: nearly for ever
	if hi >= uint64(score) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(score))
	return time.Duration(min(q, 1<<63-1))
}

// timeLeft returns (1 - score)/rate [LATE08].
func timeLeft(elapsed time.Duration, score slots.PPM) time.Duration {
	return total(elapsed, score) - elapsed
}

// mostCopies returns how many copies may run at a time, at least one. slotCount is
// how many slots there are [LATE08, SpeculativeCap].
func mostCopies(slotCount int32) int32 { return max(1, speculativeCap.Of(slotCount)) }

// enough reports whether the finished tasks of a job and kind say what is usual. Of a
// job with less than six tasks half of them do. Else no task of it would ever be
// slow when lent slots start all of them at once.
func enough(finished int, all int32) bool {
	return finished >= 1 && finished >= min(leastSample, int(all+1)/2)
}

// longEnough reports whether an attempt has run long enough for its rate to say
// something. LATE waits a minute, about as long as its tasks take; here it is half of
// what is usual.
func longEnough(elapsed, usual, least time.Duration) bool {
	return elapsed >= max(least, usual/2)
}

// slowestQuarter returns the total time of the task at the SlowTaskThreshold: a rate
// at or below the 25th percentile is a total at or above this one. LATE says below;
// then no task would be slow in a cluster of which more than a quarter is slow. It
// sorts totals.
func slowestQuarter(totals []time.Duration) time.Duration {
	slices.Sort(totals)
	return totals[len(totals)-int(slowTask.CeilOf(int32(len(totals))))]
}

// median returns the middle of sorted times: what is usual.
func median(times []time.Duration) time.Duration { return times[len(times)/2] }

// pays reports whether a copy that takes what is usual ends before the attempt does.
// LATE has no such rule, Hadoop 2.6 has (DefaultSpeculator). Without it the slowest
// quarter of equal tasks would be copied.
func pays(left, usual time.Duration) bool { return left > usual }

// slowNodeBelow returns the progress of the tracker at the SlowNodeThreshold; trackers
// below it are slow. The progress of a tracker is the sum of that of all tasks that
// finished or run there. It sorts progress.
func slowNodeBelow(progress []int64) int64 {
	slices.Sort(progress)
	return progress[slowNode.CeilOf(int32(len(progress)))-1]
}
