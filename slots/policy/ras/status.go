package ras

import (
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// rasJob is the state of an active job: its needs, its unfinished tasks, and its placement.
type rasJob struct {
	id      slots.JobID
	profile slots.Profile
	total   int32 // number of maps; while it is not final, at least copies
	copies  int32 // map outputs that a reduce copies at a time (parallelCopies)
	begun   int32 // number of maps that run or are done: its running reduces copy from these
	counted int32 // number of maps that are placed or done, in the placement that is being made

	left     [trace.Kinds]int32 // number of tasks that are not done [RAS11, "pending is unfinished"]
	pending  [trace.Kinds]int32 // number of tasks that may start
	mapsDone bool
	reopened bool // its maps were done, and one has to run again
	switched bool // its reduces are placed by the needs of their reduce phase

	goal     time.Duration      // its deadline; 0: none
	runs     int32              // number of its running maps
	part     slots.PPM          // the sum of the unfinished parts of these, in maps
	required int32              // s_req
	work     time.Duration      // time that its unfinished maps take one after the other
	on       []placed           // by tracker
	allotted [trace.Kinds]int32 // the sums of P^M and P^R: s_alloc and r_alloc
	utility  utility            // in the placement that is being made
	logs     *logs              // the table of the RAS
	indexed                     // where candidates has the job

	here    [trace.Kinds]int32  // number of tasks on the tracker of the last call of RAS.running
	barred  [trace.Kinds][]bool // by tracker: its pending tasks may not start there
	skipped [trace.Kinds]bool   // refused on this visit
}

// placed is the placement of a job on a tracker.
type placed struct {
	tasks   [trace.Kinds]int32 // the entries of P^M and P^R
	waiting int32              // number of the placed reduces that are in shuffle
	at      int32              // index of the job in node.jobs, plus one; 0: it is not there
}

// local is a job in the list of a tracker. maps is a copy of placed.tasks, because highest reads
// it most often and placed is not in the cache.
type local struct {
	*rasJob
	maps int32
}

// read updates the state of the job from the view. It reports whether tasks must be placed
// again before the cycle ends. That is so if the first task of a kind has become pending, or if
// the last one no longer is. It is also so if the maps are done or have to run again.
func (s *rasJob) read(v *slots.View, shuffleMemory bool) (urgent bool) {
	j := v.Job(s.id)
	s.profile, _ = j.Profile()
	if shuffleMemory {
		s.profile.Shuffle.Memory = max(s.profile.Shuffle.Memory, s.profile.Reduce.Memory)
	}
	s.goal, s.runs = j.Deadline(), j.Running(slots.Map)
	s.copies = v.ParallelCopies()
	s.total, s.begun = j.Total(slots.Map), s.runs+j.Done(slots.Map)
	if !j.Sealed() {
		s.total = max(s.total, s.copies)
	}
	for k := range slots.Kind(trace.Kinds) {
		n := j.Pending(k)
		urgent = urgent || (n == 0) != (s.pending[k] == 0)
		s.pending[k], s.left[k] = n, j.Total(k)-j.Done(k)
	}
	done := j.Sealed() && s.left[slots.Map] == 0
	urgent = urgent || done != s.mapsDone
	s.reopened = s.reopened || s.mapsDone && !done
	s.mapsDone = done
	s.switched = done || s.switched && s.pending[slots.Map] == 0 // a map that has to run again needs room first
	return urgent
}

// estimate is the Job Completion Time Estimator: it sets s_req [RAS11, section 3.2]. average is
// the time of a map, 0 if unknown. atFirst is Options.RequiredAtFirst.
func (s *rasJob) estimate(now, average time.Duration, atFirst string) {
	s.work = remainingWork(average, max(s.left[slots.Map]-s.runs, 0), s.part)
	unknown := s.left[slots.Map]
	if atFirst == "one" {
		unknown = 1
	}
	s.required = required(s.work, s.goal, now, s.left[slots.Map], average > 0, unknown)
}

// setUtility sets the utility of the job by its placed tasks. It is the Job Utility Calculator [RAS11,
// section 3.2].
func (s *rasJob) setUtility() { s.utility = s.at(s.allotted) }

// at returns the job's utility if allotted tasks are placed.
func (s *rasJob) at(allotted [trace.Kinds]int32) utility {
	return jobUtility(s.logs.mapUtility(allotted[slots.Map], s.required, s.left[slots.Map]), s.logs.reduceUtility(allotted[slots.Reduce], s.left[slots.Reduce]))
}

// withoutMap returns the job's utility if one map fewer were placed.
func (s *rasJob) withoutMap() utility {
	return s.at([trace.Kinds]int32{slots.Map: s.allotted[slots.Map] - 1, slots.Reduce: s.allotted[slots.Reduce]})
}

// running returns the job's utility by its running tasks instead of its placed ones.
func (s *rasJob) running(v *slots.View) utility {
	j := v.Job(s.id)
	return s.at([trace.Kinds]int32{slots.Map: j.Running(slots.Map), slots.Reduce: j.Running(slots.Reduce)})
}

// count sets s.counted, the number of maps that the job's reduces copy from: maps that are
// placed, run or are done. At least one pending map counts as placed, so that there is room
// for it next to the reduces that wait for it [RAS11, "shuffle bound"].
func (s *rasJob) count() {
	done := s.total - s.left[slots.Map]
	s.counted = max(done+max(s.allotted[slots.Map], min(s.pending[slots.Map], 1)), s.begun)
}

// put places count more tasks of kind k on tracker t; a negative count removes some. It does not
// change the load of the tracker.
func (s *rasJob) put(k slots.Kind, n *node, t int, count int32) {
	on := &s.on[t]
	if on.at == 0 {
		n.jobs = append(n.jobs, local{rasJob: s})
		on.at = int32(len(n.jobs))
	}
	if on.tasks[k] += count; k == slots.Map {
		n.jobs[on.at-1].maps += count
	}
	s.allotted[k] += count
}

// isBarred reports whether pending tasks of kind k may not start on tracker t.
func (s *rasJob) isBarred(k slots.Kind, t int) bool { return s.barred[k] != nil && s.barred[k][t] }

// bar keeps pending tasks of kind k off tracker t, until Observe clears it.
func (s *rasJob) bar(k slots.Kind, t, trackers int) {
	if s.barred[k] == nil {
		s.barred[k] = make([]bool, trackers)
	}
	s.barred[k][t] = true
}

// copying returns the needs of a reduce of the job in shuffle, if it copies from maps maps. This
// and the next two methods cap needs at the capacity of the tracker. Otherwise a task that
// needs more than a tracker has could never start.
func (s *rasJob) copying(n *node, maps int32) slots.Vector {
	return shuffleDemand(&s.profile, maps, s.copies).AtMost(n.capacity)
}

// reducing returns the needs of a reduce of the job after its shuffle.
func (s *rasJob) reducing(n *node) slots.Vector { return s.profile.Reduce.AtMost(n.capacity) }

// mapping returns the needs of a map of the job.
func (s *rasJob) mapping(n *node) slots.Vector { return s.profile.Map.AtMost(n.capacity) }

// needs returns what a task of kind k of the job needs on a tracker now. A reduce copies from the maps that run or
// are done, or reduces if it may.
func (s *rasJob) needs(k slots.Kind, n *node, reduces bool) slots.Vector {
	switch {
	case k == slots.Map:
		return s.mapping(n)
	case reduces:
		return s.reducing(n)
	}
	return s.copying(n, s.begun)
}

// average returns how long maps take on average: 0 if none has finished, else at least 1 ns. It
// belongs to the Job Status Updater [RAS11, section 3.2].
func average(s *policy.Sample) time.Duration {
	if s.Tasks[slots.Map] == 0 {
		return 0
	}
	return max(1, s.Mean(slots.Map))
}

// leftOf returns the unfinished part of a running map, as a share. The part is estimated from the
// time so far and the average time of a map. The estimator of the paper does not use the progress
// of tasks [RAS11, section 3.2].
func (r *RAS) leftOf(now time.Duration, s *slots.SlotView) slots.PPM {
	average := average(r.measures.Of(s.Attempt.Job))
	if average == 0 {
		return slots.One
	}
	return slots.One - min(slots.PPM(ppm.Scaled(int64(now-s.Started), int64(slots.One), int64(average))), slots.One)
}
