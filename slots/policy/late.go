package policy

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/internal/ppm"
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
	// A task without progress takes a billion times its elapsed time.
	return time.Duration(ppm.Scaled(int64(elapsed), int64(slots.AllDone), int64(max(score, 1))))
}

// takes reports whether total is at least t, without a division.
func takes(elapsed time.Duration, score slots.Progress, t time.Duration) bool {
	return compareProducts(int64(elapsed), int64(slots.AllDone), int64(t), int64(max(score, 1))) >= 0
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

// leastTime returns how long an attempt has to run for a meaningful rate. LATE waits a minute,
// about as long as its tasks take. Here it is half of the usual time, at least least.
func leastTime(usual, least time.Duration) time.Duration { return max(least, usual/2) }

// slowOf returns how many of all tasks are slow. The last of them has the total time at the
// SlowTaskThreshold: a task is slow if its rate is at or below the 25th percentile. LATE says
// below. But then no task would be slow if more than a quarter of the cluster were slow.
func slowOf(all int) int { return int(slowTask.CeilOf(int32(all))) }

// pays reports whether a copy that takes the usual time ends before the attempt. LATE has no
// such rule; Hadoop 2.6 has one (DefaultSpeculator). Without the rule the slowest quarter of
// equally fast tasks would be copied.
func pays(left, usual time.Duration) bool { return left > usual }

// slowNodeBelow returns the progress of the tracker at the SlowNodeThreshold. Trackers with
// less progress are slow. The progress of a tracker is the sum over all tasks that finished
// or run there. slowNodeBelow changes the order of progress, which must not be empty.
func slowNodeBelow(progress []int64) int64 {
	slices.Sort(progress)
	return progress[int(slowNode.CeilOf(int32(len(progress))))-1]
}

// look replaces the candidates by the tasks that are worth a copy now. These are the slow
// tasks that have run long enough and whose copy pays. The longest time left comes first, and
// there are at most as many as copies may still run. A look costs O(slots), and is due
// looksATask times in the usual time of a task.
func (s *speculation) look(v *slots.View) {
	for i := range s.list {
		s.count(&s.list[i], -1)
	}
	s.list = s.list[:0]
	s.markCopied(v)
	s.due, s.at = -1, v.Now()
	if s.byAverage {
		s.lookByAverage(v)
	} else {
		s.lookByRate(v)
	}
	s.accept()
}

// accept counts and marks the candidates that a look has found.
func (s *speculation) accept() {
	clear(s.marks[:])
	for i := range s.list {
		s.count(&s.list[i], 1)
		at, bit := markOf(s.list[i].Attempt)
		s.marks[at] |= bit
	}
	s.setExpires()
}

// lookByRate finds the candidates by LATE's rule.
func (s *speculation) lookByRate(v *slots.View) {
	most := mostCopies(v.Capacity(slots.Map)+v.Capacity(slots.Reduce)) - int32(len(s.copies))
	if most <= 0 {
		return // no look is due until a copy ends (Observe)
	}
	s.looks++
	s.fresh, s.rates = s.fresh[:0], s.rates[:0]
	s.eachGroup(v, func(m *measured, kind slots.Kind) { s.judge(v, m, kind) })
	s.sortFound()
	for i := 0; i < len(s.found) && len(s.list) < int(most); i++ {
		f := &s.found[i]
		p := &s.places[f.slot]
		m := s.of(p.attempt.Job)
		k := &m.kinds[p.attempt.Kind]
		if k.selected != s.looks {
			k.selected, k.slowest = s.looks, s.slowestOf(k)
		}
		if all := f.left + v.Now() - m.since(p.attempt.Kind, p.began); all >= k.slowest {
			s.list = append(s.list, candidate{Attempt: p.attempt, Tracker: p.tracker, Total: all, Left: f.left, Usual: k.usual, Slowest: k.slowest})
		}
	}
	if len(s.list) > 0 { // else nobody asks whether a tracker is slow
		s.judgeTrackers(v)
	}
}

// group names the attempts of a job and kind.
type group struct {
	job  slots.JobID
	kind slots.Kind
}

// eachGroup calls f with each job and kind of which attempts run, unless the Ledger has ordered the
// end of all of them.
func (s *speculation) eachGroup(v *slots.View, f func(m *measured, kind slots.Kind)) {
	kept := 0
	for _, g := range s.groups {
		m := s.jobs[g.job]
		if m == nil { // the job has ended
			continue
		}
		k := &m.kinds[g.kind]
		ended := 0
		for ended < len(k.running) && !s.runs(v, &k.running[ended]) {
			ended++
		}
		if ended > 0 {
			k.running = slices.Delete(k.running, 0, ended)
		}
		if k.listed = len(k.running) > 0; k.listed {
			s.groups[kept] = g
			kept++
			f(m, g.kind)
		}
	}
	s.groups = s.groups[:kept]
}

// runs reports whether an attempt still runs, and the Ledger has not ordered its end.
func (s *speculation) runs(v *slots.View, r *running) bool {
	_, killing, _, ok := v.RunningOn(r.slot)
	return ok && !killing && s.places[r.slot].starts == r.starts
}

// markCopied marks the attempts whose tasks have a running copy.
func (s *speculation) markCopied(v *slots.View) {
	s.marked++
	s.copies = slices.DeleteFunc(s.copies, func(c copied) bool {
		if _, _, _, ok := v.RunningOn(c.copy.slot); !ok || s.places[c.copy.slot].starts != c.copy.starts {
			return true
		}
		for _, r := range []running{c.copy, c.of} {
			if p := &s.places[r.slot]; p.starts == r.starts {
				p.copied = s.marked
			}
		}
		return false
	})
}

// sortFound sets s.found to the attempts that this look has found, the longest time left first.
// Those of the latest look are in that order already, or nearly so.
func (s *speculation) sortFound() {
	kept := s.found[:0]
	for _, f := range s.found {
		if p := &s.places[f.slot]; p.found == s.looks && p.starts == f.starts {
			kept = append(kept, paying{f.slot, f.starts, p.left})
		}
	}
	s.found = kept
	slices.SortFunc(s.found, s.endsLater)
	slices.SortFunc(s.fresh, s.endsLater)
	at := len(s.found)
	s.found = append(s.found, s.fresh...)
	for i, n := len(s.found)-1, len(s.fresh); n > 0; i-- { // merge both, from the end on
		if at > 0 && s.endsLater(s.found[at-1], s.fresh[n-1]) > 0 {
			at--
			s.found[i] = s.found[at]
		} else {
			n--
			s.found[i] = s.fresh[n]
		}
	}
}

// endsLater compares attempts whose copies pay: the longest time left first.
func (s *speculation) endsLater(a, b paying) int {
	switch {
	case a.left > b.left:
		return -1
	case a.left < b.left:
		return 1
	}
	x, y := s.places[a.slot].attempt, s.places[b.slot].attempt
	return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Kind, y.Kind), cmp.Compare(a.slot, b.slot))
}

// judgeTrackers sets the progress of each tracker, and s.slow, below which a tracker is slow.
func (s *speculation) judgeTrackers(v *slots.View) {
	s.progress = append(s.progress[:0], s.done...)
	s.progress = append(s.progress, make([]int64, max(0, v.Trackers()-len(s.progress)))...)
	for id := range slots.SlotID(len(s.places)) { // nothing ever started on the others
		if _, _, _, ok := v.RunningOn(id); ok {
			done, _ := v.Progress(id)
			s.progress[s.places[id].tracker] += int64(done)
		}
	}
	s.sorted = s.sorted[:0]
	for t := range slots.TrackerID(v.Trackers()) {
		if v.CapacityAt(t, slots.Map)+v.CapacityAt(t, slots.Reduce) > 0 { // a lost tracker has no open slots
			s.sorted = append(s.sorted, s.progress[t])
		}
	}
	if s.slow = 0; len(s.sorted) > 0 {
		s.slow = slowNodeBelow(s.sorted)
	}
}

// judge adds the rates of the running attempts of a job and kind to s.rates, if they are
// meaningful. It finds the attempts whose copy pays. A reduce is judged only after the maps of its
// job, because its waiting says nothing about its rate.
func (s *speculation) judge(v *slots.View, m *measured, kind slots.Kind) {
	k := &m.kinds[kind]
	k.from, k.to = len(s.rates), len(s.rates)
	if !enough(k.ended, k.tasks) || kind == slots.Reduce && m.mapsDone < 0 {
		return
	}
	k.setUsual()
	for i := range k.running {
		if r := &k.running[i]; s.runs(v, r) && !s.hasCopy(r.slot) {
			slots.Earlier(&s.due, v.Now()+k.every())
			break
		}
	}
	latest := v.Now() - leastTime(k.usual, s.least) // those that began later have not run long enough
	if kind == slots.Reduce && m.mapsDone > latest {
		return
	}
	kept, next := 0, 0
	for ; next < len(k.running) && k.running[next].began <= latest; next++ {
		if r := k.running[next]; s.runs(v, &r) {
			k.running[kept] = r
			kept++
			s.judgeAttempt(v, k.usual, v.Now()-m.since(kind, r.began), r.slot)
		}
	}
	if kept < next {
		k.running = slices.Delete(k.running, kept, next)
	}
	k.to = len(s.rates)
}

// judgeAttempt adds the rate of the attempt on a slot to s.rates, and finds the attempt if a copy
// that takes the usual time pays.
func (s *speculation) judgeAttempt(v *slots.View, usual, elapsed time.Duration, id slots.SlotID) {
	done, known := v.Progress(id)
	if !known {
		return
	}
	s.rates = append(s.rates, rate{elapsed, done})
	if !takes(elapsed, done, elapsed+usual+1) { // a copy would not pay, as for most attempts
		return
	}
	p := &s.places[id]
	if s.hasCopy(id) {
		return
	}
	p.left = timeLeft(elapsed, done)
	if p.found != s.looks-1 {
		s.fresh = append(s.fresh, paying{id, p.starts, p.left})
	}
	p.found = s.looks
}

// hasCopy reports whether the task of the attempt on a slot has a running copy.
func (s *speculation) hasCopy(id slots.SlotID) bool { return s.places[id].copied == s.marked }

// slowestOf returns the least total time in the slowest quarter of a job's tasks of a kind. The
// finished tasks and the running ones together decide what is slow. The totals of running tasks that
// are far below the result are only counted. How far is guessed from the result of the look before,
// unless the finished tasks alone bound it.
func (s *speculation) slowestOf(k *sample) time.Duration {
	running := s.rates[k.from:k.to]
	slow := slowOf(len(k.order) + len(running))
	least := k.slowest - k.slowest/8
	finished := k.order
	if n := len(finished) - slow; n >= 0 {
		finished = finished[n:]
		least = finished[0]
	}
	for ; ; least = 0 {
		s.totals = s.totals[:0]
		for i := range running {
			if r := &running[i]; takes(r.elapsed, r.done, least) {
				s.totals = append(s.totals, total(r.elapsed, r.done))
			}
		}
		slices.Sort(s.totals)
		if over := len(finished) + len(s.totals) - slow; over >= 0 {
			if slowest := leastOf(finished, s.totals, over); slowest >= least {
				return slowest
			}
		}
	}
}

// leastOf returns the value at index n of two sorted lists together.
func leastOf(a, b []time.Duration, n int) (least time.Duration) {
	for i, j := 0, 0; i+j <= n; {
		if j == len(b) || i < len(a) && a[i] <= b[j] {
			least = a[i]
			i++
		} else {
			least = b[j]
			j++
		}
	}
	return least
}

// of returns the first attempt of the task of a, which stands for the task.
func of(a slots.AttemptID) slots.AttemptID {
	return slots.AttemptID{Job: a.Job, Kind: a.Kind, Task: a.Task}
}

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
// start. The rankings follow when somebody reads them (rerank).
func (o *Order) balance(v *slots.View) {
	for k := range slots.Kind(trace.Kinds) {
		o.copies.open[k] = false
		if o.copies.worth[k] > 0 {
			idle := o.copies.idle(v, k)
			o.copies.open[k] = leavesSlots(o.pendingChecked(v, k, idle), idle)
		}
		if len(o.skipped) > 0 { // rerank would put skipped jobs back, so their visit must not put it off
			o.rerank(v, k)
		}
	}
}

// rerank ranks the jobs of the candidates again, if copies of kind k may start now and could not
// at the last call, or the reverse. Where each free slot takes a copy that changes twice for a
// copy, but nobody reads the rankings while no slot is free.
func (o *Order) rerank(v *slots.View, k slots.Kind) {
	if c := o.copies; c != nil && c.current[k] != c.open[k] {
		c.current[k] = c.open[k]
		for i := range c.list {
			if a := c.list[i].Attempt; a.Kind == k {
				o.rankAgain(v, a.Job, k)
			}
		}
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
	if all := o.total[k].Pending; most == c.running || all < enough {
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
