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
// This file has the formulas and look, which finds the candidates. speculation.go keeps the
// measurements of running and finished attempts. Copies starts the copies.
//
// Of the slow running tasks, the one that will end last gets a copy [LATE08]. The
// copy runs on a tracker that is not slow, and only while few copies run. LATE's constants
// are for tasks of minutes. Constants that are times depend here on the usual time of a
// job's tasks, and so suit tasks of less than a second too.
const (
	speculativeCap = slots.One / 10 // SpeculativeCap: copies that may run, as a share of the slots
	slowTask       = slots.One / 4  // SlowTaskThreshold: the percentile of progress rates at which a task is slow
	slowNode       = slots.One / 4  // SlowNodeThreshold: the percentile of progress below which a tracker is slow

	leastRun    = 100 * time.Millisecond // default of the least time that an attempt has run
	leastSample = 3                      // finished tasks of a job and kind before any task is slow; half of the tasks if that is less
	mostSample  = 64                     // how many of the last finished tasks of a job and kind count

	looksATask = 16                    // number of looks in the usual time of a task
	leastWait  = 10 * time.Millisecond // least time from one look to the next
)

// total returns the time that a task takes in all if its rate stays as it is so far:
// rate = score/elapsed, total = 1/rate [LATE08]. score is its progress.
func total(elapsed time.Duration, score slots.Progress) time.Duration {
	hi, lo := bits.Mul64(uint64(elapsed), uint64(slots.AllDone))
	score = max(score, 1)    // a task without progress takes a billion times its elapsed time
	if hi >= uint64(score) { // the quotient does not fit into 64 bits
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(score))
	return time.Duration(min(q, 1<<63-1))
}

// timeLeft returns the time that a task still takes, (1 - score)/rate [LATE08].
func timeLeft(elapsed time.Duration, score slots.Progress) time.Duration {
	return total(elapsed, score) - elapsed
}

// mostCopies returns how many copies may run at a time, at least one. slotCount is
// how many slots there are [LATE08, SpeculativeCap].
func mostCopies(slotCount int32) int32 { return max(1, speculativeCap.Of(slotCount)) }

// enough reports whether enough tasks of a job and kind have finished to know their usual
// time. Of a job with fewer than six tasks, half of them suffice. Otherwise a job whose tasks
// all start at once, on lent slots, would never have a slow task.
func enough(finished int, all int32) bool {
	return finished >= 1 && finished >= min(leastSample, int(all+1)/2)
}

// longEnough reports whether an attempt has run long enough for a meaningful rate. LATE
// waits a minute, about as long as its tasks take. Here it is half of the usual time, at
// least least.
func longEnough(elapsed, usual, least time.Duration) bool {
	return elapsed >= max(least, usual/2)
}

// slowestQuarter returns the total time of the task at the SlowTaskThreshold. A task is slow
// if its total time is at least this one, so if its rate is at or below the 25th percentile.
// LATE says below. But then no task would be slow if more than a quarter of the cluster were
// slow. slowestQuarter changes the order of totals, which must not be empty.
func slowestQuarter(totals []time.Duration) time.Duration {
	return nth(totals, len(totals)-int(slowTask.CeilOf(int32(len(totals)))))
}

// nth returns the value that would be at index n if all were sorted. It changes their order, and
// takes time in proportion to their number, because it sorts only the part around index n.
func nth[T cmp.Ordered](all []T, n int) T {
	for len(all) > 12 {
		pivot := max(min(all[0], all[len(all)/2]), min(max(all[0], all[len(all)/2]), all[len(all)-1]))
		less, more := 0, len(all) // all[:less] is below the pivot, all[more:] above it
		for i := 0; i < more; {
			switch {
			case all[i] < pivot:
				all[i], all[less] = all[less], all[i]
				less++
				i++
			case all[i] > pivot:
				more--
				all[i], all[more] = all[more], all[i]
			default:
				i++
			}
		}
		switch {
		case n < less:
			all = all[:less]
		case n >= more:
			all, n = all[more:], n-more
		default:
			return pivot
		}
	}
	slices.Sort(all)
	return all[n]
}

// setUsual sets the usual time of a task to the median of the finished tasks, if more have
// finished since.
func (s *speculation) setUsual(k *sample) {
	if k.judged < k.ended {
		s.totals = append(s.totals[:0], k.times...)
		k.usual, k.judged = nth(s.totals, len(s.totals)/2), k.ended
	}
}

// pays reports whether a copy that takes the usual time ends before the attempt. LATE has no
// such rule; Hadoop 2.6 has one (DefaultSpeculator). Without the rule the slowest quarter of
// equally fast tasks would be copied.
func pays(left, usual time.Duration) bool { return left > usual }

// slowNodeBelow returns the progress of the tracker at the SlowNodeThreshold. Trackers with
// less progress are slow. The progress of a tracker is the sum over all tasks that finished
// or run there. slowNodeBelow changes the order of progress, which must not be empty.
func slowNodeBelow(progress []int64) int64 {
	return nth(progress, int(slowNode.CeilOf(int32(len(progress))))-1)
}

// look replaces the candidates by the tasks that are worth a copy now. These are the slow
// tasks that have run long enough and whose copy pays. The longest time left comes first, and
// there are at most as many as copies may still run. A look costs O(slots), and is due
// looksATask times in the usual time of a task.
func (s *speculation) look(v *slots.View) {
	s.gather(v)
	s.judgeTrackers(v)
	s.list, s.due, s.at = s.list[:0], -1, v.Now()
	if s.byAverage {
		s.lookByAverage(v)
		return
	}
	most := mostCopies(v.Capacity(slots.Map)+v.Capacity(slots.Reduce)) - int32(len(s.copied))
	if most <= 0 {
		return // no look is due until a copy ends (Observe)
	}
	for rest := s.running; len(rest) > 0; {
		n := alike(rest)
		s.judge(v, rest[:n])
		rest = rest[n:]
	}
	slices.SortStableFunc(s.list, func(a, b candidate) int { return cmp.Compare(b.Left, a.Left) })
	s.list = s.list[:min(len(s.list), int(most))]
}

// attempt is a running attempt with its progress at the time of a look.
type attempt struct {
	slots.SlotView
	done  slots.Progress
	known bool // done is known
}

// alike returns how many attempts at the start of running are of the same job and kind.
func alike(running []attempt) int {
	a := running[0].Attempt
	n := slices.IndexFunc(running, func(r attempt) bool { return r.Attempt.Job != a.Job || r.Attempt.Kind != a.Kind })
	if n < 0 {
		return len(running)
	}
	return n
}

// gather collects the running attempts, sorted by job and kind, the tasks that have a copy
// already, and the progress of each tracker.
func (s *speculation) gather(v *slots.View) {
	s.running, s.order = s.running[:0], s.order[:0]
	clear(s.copied)
	s.progress = append(s.progress[:0], s.done...)
	for range v.Trackers() - len(s.progress) {
		s.progress = append(s.progress, 0)
	}
	for id := range slots.SlotID(v.Slots()) {
		r := v.Slot(id)
		if !r.Busy || int(id) >= len(s.places) { // s.places has no slot on which nothing ever started
			continue
		}
		done, known := v.Progress(id)
		s.progress[r.Tracker] += int64(done)
		if r.Speculative {
			s.copied[of(r.Attempt)] = true
		}
		if !r.Killing {
			s.running = append(s.running, attempt{r, done, known})
			s.places[id].at = int32(len(s.running) - 1)
			s.order = append(s.order, uint64(r.Attempt.Job)<<32|uint64(r.Attempt.Kind)<<31|uint64(id))
		}
	}
	// An attempt has 120 bytes, so the keys are sorted instead.
	slices.Sort(s.order)
	s.running, s.unsorted = s.unsorted[:0], s.running
	for _, key := range s.order {
		s.running = append(s.running, s.unsorted[s.places[key&(1<<31-1)].at])
	}
}

// judgeTrackers sets s.slow, the progress below which a tracker is slow. Under Hadoop's rule
// no tracker is.
func (s *speculation) judgeTrackers(v *slots.View) {
	s.sorted = s.sorted[:0]
	for t := range slots.TrackerID(v.Trackers()) {
		if v.CapacityAt(t, slots.Map)+v.CapacityAt(t, slots.Reduce) > 0 { // a lost tracker has no open slots
			s.sorted = append(s.sorted, s.progress[t])
		}
	}
	if s.slow = 0; len(s.sorted) > 0 && !s.byAverage {
		s.slow = slowNodeBelow(s.sorted)
	}
}

// judge adds the candidates among the running attempts of one job and kind. A reduce is judged
// only after the maps of its job, because its waiting says nothing about its rate.
func (s *speculation) judge(v *slots.View, running []attempt) {
	kind := running[0].Attempt.Kind
	m := s.of(running[0].Attempt.Job)
	k := &m.kinds[kind]
	if !enough(k.ended, k.tasks) || kind == slots.Reduce && m.mapsDone < 0 {
		return
	}
	s.setUsual(k)
	s.totals = append(s.totals[:0], k.times...)
	for i := range running {
		if elapsed := s.elapsed(v, m, &running[i]); running[i].known && longEnough(elapsed, k.usual, s.least) {
			s.totals = append(s.totals, total(elapsed, running[i].done))
		}
	}
	// The finished tasks and the running ones together decide what is slow.
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
		c := candidate{
			Attempt: r.Attempt, Tracker: r.Tracker,
			Total: total(elapsed, r.done), Left: timeLeft(elapsed, r.done), Usual: k.usual, Slowest: slowest,
		}
		if r.known && longEnough(elapsed, k.usual, s.least) && c.Total >= slowest && pays(c.Left, k.usual) {
			s.list = append(s.list, c)
		}
	}
}

// elapsed returns how long an attempt has run, as measured.since counts.
func (s *speculation) elapsed(v *slots.View, m *measured, r *attempt) time.Duration {
	return v.Now() - m.since(r.Attempt.Kind, s.places[r.ID].began)
}

// of returns the task of an attempt.
func of(a slots.AttemptID) taskOf { return taskOf{a.Job, a.Kind, a.Task} }

// Speculative execution performance balancing [DynamicMR14, "sepb"]. Before a copy of a
// task may start, the first of all running jobs in fair order are checked for pending
// tasks of its kind.
//
//  1. maxNumOfJobsCheckedForPendingTasks = ceil(percentage * running jobs).
//  2. totalNumOfPendingMapTasks, or …ReduceTasks, is the number of pending tasks of these jobs.
//  3. A copy may start if that number is less than the number of idle slots for such tasks.
//     Its own job must have no pending tasks of the kind (Order.Try).
//
// A running job counts even if it has no pending tasks. In fair order, jobs with few running
// tasks come first, so jobs whose last tasks run are checked first. A greater percentage
// includes more jobs with pending tasks.

// jobsChecked returns maxNumOfJobsCheckedForPendingTasks: how many of the running jobs
// are checked for pending tasks before a copy may start. At 0 % no job is checked, and the
// copies of a job start in the fair order of jobs, as in LATE. At 100 % pending tasks of all
// jobs go before copies [DynamicMR14, "limits of sepb"].
func jobsChecked(percentage slots.PPM, running int32) int32 { return percentage.CeilOf(running) }

// leavesSlots reports whether copies may start. pending is totalNumOfPendingMapTasks, or
// …ReduceTasks, and idle is the number of idle slots that these tasks may use [DynamicMR14,
// "sepb"].
func leavesSlots(pending, idle int32) bool { return pending < idle }

// runningJobs ranks all running jobs in fair order: pools, and the jobs of each.
type runningJobs struct {
	pools slots.Ranking[shareKey]
	jobs  []slots.Ranking[shareKey] // by pool; the ids are the jobs' numbers there
}

// rankRunning enters job j into the fair order of running jobs, or removes it if it does not
// run. Only a kind for which some jobs are checked and others are not needs this order.
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

// balance is called after every change. For each kind it decides by SEPB whether copies may
// start, and if that has changed it ranks the jobs of the candidates again.
func (o *Order) balance(v *slots.View) {
	for k := range slots.Kind(trace.Kinds) {
		open := false
		if o.copies.candidates(k) > 0 {
			idle := o.copies.idle(v, k)
			open = leavesSlots(o.pendingChecked(v, k, idle), idle)
		}
		if open == o.copies.open[k] {
			continue
		}
		o.copies.open[k] = open
		o.copies.each(k, func(c *candidate) { o.rankCopied(v, c.Attempt.Job, k) })
	}
}

// pendingChecked returns totalNumOfPendingMapTasks or …ReduceTasks: how many tasks are pending
// in the checked jobs. The tasks of a pool count up to its limit. Counting stops at enough,
// so a result of enough or more only means at least enough.
func (o *Order) pendingChecked(v *slots.View, k slots.Kind, enough int32) (n int32) {
	c := o.copies
	most := jobsChecked(c.checked[k], c.running)
	if most == 0 {
		return 0
	}
	// The totals answer for all jobs, and a total below enough is an upper bound that suffices.
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
