package policy

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// LATE, "longest approximate time to end", says which running tasks are worth a copy.
// Paper: Zaharia, Konwinski, Joseph, Katz, Stoica: Improving MapReduce Performance in
// Heterogeneous Environments, OSDI 2008 [LATE08]; its page is docs/papers/late08.md.
// The formulas are here; speculation.go keeps what was measured of running and
// finished attempts, Look finds the candidates, and Copies starts the copies.
//
// Of the slow running tasks, the one that will end last gets a copy [LATE08]. The
// copy runs on a tracker that is not slow, and only while few copies run. LATE's
// constants are for tasks of minutes. Those of them that are times grow here with
// what a job's tasks take, so that they suit tasks of less than a second too.
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

// Look finds the candidates anew: the slow tasks that have run long enough and whose
// copy pays. Those with the longest time left come first; there are as many as
// copies may still run. A look costs O(slots), and is due looksATask times in the
// time that a task takes.
func (s *Speculation) Look(v *slots.View) {
	s.gather(v)
	s.judgeTrackers(v)
	s.list, s.due, s.at = s.list[:0], -1, v.Now()
	if s.byAverage {
		s.lookByAverage(v)
		return
	}
	most := mostCopies(v.Capacity(slots.Map)+v.Capacity(slots.Reduce)) - int32(len(s.copied))
	if most <= 0 {
		return // the end of a copy makes a look due
	}
	for rest := s.running; len(rest) > 0; {
		n := alike(rest)
		s.judge(v, rest[:n])
		rest = rest[n:]
	}
	slices.SortStableFunc(s.list, func(a, b Candidate) int { return cmp.Compare(b.Left, a.Left) })
	s.list = s.list[:min(len(s.list), int(most))]
}

// alike returns how many attempts from the first one on are of its job and kind.
func alike(running []slots.SlotView) int {
	a := running[0].Attempt
	n := slices.IndexFunc(running, func(r slots.SlotView) bool { return r.Attempt.Job != a.Job || r.Attempt.Kind != a.Kind })
	if n < 0 {
		return len(running)
	}
	return n
}

// gather collects the running attempts, those of a job and kind together, and the
// tasks that have a copy already.
func (s *Speculation) gather(v *slots.View) {
	s.running = s.running[:0]
	clear(s.copied)
	s.made = append(s.made[:0], s.done...)
	for range v.Trackers() - len(s.made) {
		s.made = append(s.made, 0)
	}
	for id := range slots.SlotID(v.Slots()) {
		r := v.Slot(id)
		if !r.Busy || int(id) >= len(s.places) {
			continue
		}
		s.made[r.Tracker] += int64(r.Progress)
		if r.Speculative {
			s.copied[of(r.Attempt)] = true
		}
		if !r.Killing {
			s.running = append(s.running, r)
		}
	}
	slices.SortStableFunc(s.running, func(a, b slots.SlotView) int {
		return cmp.Or(cmp.Compare(a.Attempt.Job, b.Attempt.Job), cmp.Compare(a.Attempt.Kind, b.Attempt.Kind))
	})
}

// judgeTrackers finds the progress below which a tracker is slow.
func (s *Speculation) judgeTrackers(v *slots.View) {
	s.sorted = s.sorted[:0]
	for t := range slots.TrackerID(v.Trackers()) {
		if v.CapacityAt(t, slots.Map)+v.CapacityAt(t, slots.Reduce) > 0 { // else it is lost
			s.sorted = append(s.sorted, s.made[t])
		}
	}
	if s.slow = 0; len(s.sorted) > 0 && !s.byAverage {
		s.slow = slowNodeBelow(s.sorted)
	}
}

// judge adds the candidates among the running attempts of one job and kind.
func (s *Speculation) judge(v *slots.View, running []slots.SlotView) {
	kind := running[0].Attempt.Kind
	m := s.of(running[0].Attempt.Job)
	k := &m.kinds[kind]
	if !enough(k.ended, k.tasks) || kind == slots.Reduce && m.mapsDone < 0 {
		return
	}
	s.totals = append(s.totals[:0], k.times...)
	slices.Sort(s.totals)
	k.usual = median(s.totals)
	for i := range running {
		if elapsed := s.elapsed(v, m, &running[i]); longEnough(elapsed, k.usual, s.least) {
			s.totals = append(s.totals, total(elapsed, running[i].Progress))
		}
	}
	slowest := slowestQuarter(s.totals)
	for i := range running {
		r := &running[i]
		if s.copied[of(r.Attempt)] {
			continue
		}
		if next := v.Now() + k.every(); s.due < 0 || next < s.due {
			s.due = next
		}
		elapsed := s.elapsed(v, m, r)
		c := Candidate{
			Attempt: r.Attempt, Tracker: r.Tracker,
			Total: total(elapsed, r.Progress), Left: timeLeft(elapsed, r.Progress), Usual: k.usual, Slowest: slowest,
		}
		if longEnough(elapsed, k.usual, s.least) && c.Total >= slowest && pays(c.Left, k.usual) {
			s.list = append(s.list, c)
		}
	}
}

func (s *Speculation) elapsed(v *slots.View, m *measured, r *slots.SlotView) time.Duration {
	return v.Now() - m.since(r.Attempt.Kind, s.places[r.ID].began)
}

func of(a slots.AttemptID) taskOf { return taskOf{a.Job, a.Kind, a.Task} }

// Speculative execution performance balancing [DynamicMR14, "sepb"]. Before a copy of a
// task may start, the first of all running jobs in fair order are checked for pending
// tasks of its kind.
//
//  1. maxNumOfJobsCheckedForPendingTasks = ceil(percentage * running jobs).
//  2. totalNumOfPendingMapTasks, or …ReduceTasks, is what so many jobs have pending.
//  3. A copy may start if that is less than the slots that are idle for such tasks, and
//     if its own job has nothing pending (Order.Try).
//
// A job counts whether it has something to start or not. In fair order those with few
// running tasks stand in front, so jobs whose last tasks run are checked first. The
// greater the percentage, the farther the check reaches into jobs with pending tasks.

// jobsChecked is maxNumOfJobsCheckedForPendingTasks: how many of the running jobs
// are checked for pending tasks before a copy may start. At 0 % no job is checked,
// and a job's copies start at its turn, as in LATE. At 100 % pending tasks of any
// job go before copies [DynamicMR14, "limits of sepb"].
func jobsChecked(percentage slots.PPM, running int32) int32 { return percentage.CeilOf(running) }

// leavesSlots is the condition under which copies may start: fewer tasks are
// pending in the jobs checked (totalNumOfPendingMapTasks, or …ReduceTasks) than
// slots are idle that they may use [DynamicMR14, "sepb"].
func leavesSlots(pending, idle int32) bool { return pending < idle }

// runningJobs ranks all running jobs in fair order: pools, and the jobs of each.
type runningJobs struct {
	pools slots.Ranking[shareKey]
	jobs  []slots.Ranking[shareKey] // by pool; a job is its number there
}

// rankRunning keeps the fair order of all running jobs, for each kind of which some
// jobs are checked and others are not.
func (o *Order) rankRunning(v *slots.View, j slots.JobView, runs bool) {
	place, n := o.placeOf(j), o.numberOf(v, j.ID())
	for k := range slots.Kind(trace.Kinds) {
		if p := o.copies.checked[k]; p <= 0 || p >= slots.One {
			continue
		}
		r := &o.copies.inOrder[k]
		r.pools.Less = shareLess
		jobs := At(&r.jobs, place)
		jobs.Less = shareLess
		jobs.Keep(n, runs, o.jobKey(v, j, k))
		r.pools.Keep(int32(place), jobs.Len() > 0, o.poolKey(v, place, k))
	}
}

// balance follows every change: pending tasks leave slots for copies of a kind, or
// leave none any more.
func (o *Order) balance(v *slots.View) {
	for k := range slots.Kind(trace.Kinds) {
		open := false
		if o.copies.Candidates(k) > 0 {
			idle := o.copies.idle(v, k)
			open = leavesSlots(o.pendingChecked(v, k, idle), idle)
		}
		if open == o.copies.open[k] {
			continue
		}
		o.copies.open[k] = open
		o.copies.Each(k, func(c *Candidate) { o.rankCopied(v, c.Attempt.Job, k) })
	}
}

// pendingChecked is totalNumOfPendingMapTasks or …ReduceTasks: how many tasks are
// pending in the jobs checked, each pool's within its limit. It stops counting at
// enough. A greater percentage never gives less, up to enough.
func (o *Order) pendingChecked(v *slots.View, k slots.Kind, enough int32) (n int32) {
	c := o.copies
	most := jobsChecked(c.checked[k], c.running)
	if most == 0 {
		return 0
	}
	if all := o.Total[k].Pending; most == c.running || all < enough {
		return all
	}
	r := &c.inOrder[k]
	r.pools.Each(func(pool int32) bool {
		inPool, limit := int32(0), o.demands[k][pool].Pending
		r.jobs[pool].Each(func(number int32) bool {
			inPool = min(inPool+v.Job(o.members[pool][number]).Pending(k), limit)
			most--
			return most > 0 && n+inPool < enough
		})
		n += inPool
		return most > 0 && n < enough
	})
	return n
}
