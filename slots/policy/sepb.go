package policy

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

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
