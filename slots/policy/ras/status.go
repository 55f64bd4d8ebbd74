package ras

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// standing is the state of a job: what it needs, what is left, and where it is placed.
type standing struct {
	id      slots.JobID
	profile demand.Profile
	total   int32 // maps that it has, or at least so many as count for a reduce that copies
	begun   int32 // maps that run or are done: whose outputs its running reduces copy
	counted int32 // maps that are placed or done, in the placement that is being made

	left     [trace.Kinds]int32 // tasks that are not done [RAS11, "pending is unfinished"]
	pending  [trace.Kinds]int32 // of these, those that may start
	mapsDone bool
	reopened bool // its maps were done, and one has to run again
	switched bool // its reduces are placed by what they need to reduce

	required int32
	work     time.Duration      // of its maps that are not done
	on       []placed           // by tracker
	allotted [trace.Kinds]int32 // the sums of P^M and P^R: s_alloc and r_alloc
	held     int                // running reduces in shuffle
	utility  utility
	logs     *logs // of RAS

	here    [trace.Kinds]int32  // tasks that run on the tracker that running looked at last
	barred  [trace.Kinds][]bool // by tracker: its pending tasks may not start there
	skipped [trace.Kinds]bool   // refused on this visit
}

// placed is what is placed of a job on a tracker.
type placed struct {
	tasks   [trace.Kinds]int32 // the entries of P^M and P^R
	waiting int32              // of these reduces, those in shuffle
	at      int32              // where the job is in node.jobs, plus one; 0: it is not
}

// local is a job in the list of a tracker. Its maps there stand here too: highest looks at them
// most often, and placed lies far away.
type local struct {
	*standing
	maps int32
}

// read takes in what changed of the job. It reports whether tasks must be placed again
// before the cycle ends: no task of a kind is pending any more, or the first one is.
func (s *standing) read(v *slots.View, shuffleMemory bool) (urgent bool) {
	j := v.Job(s.id)
	s.profile, _ = j.Profile()
	if shuffleMemory {
		s.profile.Shuffle.Memory = max(s.profile.Shuffle.Memory, s.profile.Reduce.Memory)
	}
	s.total, s.begun = j.Total(slots.Map), j.Running(slots.Map)+j.Done(slots.Map)
	if !j.Sealed() {
		s.total = max(s.total, parallelCopies)
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
	s.switched = done || s.switched && s.pending[slots.Map] == 0 // a map that must run again goes first
	return urgent
}

// estimate is the Job Completion Time Estimator: it sets s_req [RAS11, section 3.2].
// average is how long its maps take, left what is left of the running ones, in parts of
// a map.
func (s *standing) estimate(v *slots.View, average time.Duration, left slots.PPM, atFirst string) {
	j := v.Job(s.id)
	s.work = remainingWork(average, max(s.left[slots.Map]-j.Running(slots.Map), 0), left)
	unknown := s.left[slots.Map]
	if atFirst == "one" {
		unknown = 1
	}
	s.required = required(s.work, j.Deadline(), v.Now(), s.left[slots.Map], average > 0, unknown)
}

// judge is the Job Utility Calculator [RAS11, section 3.2].
func (s *standing) judge() { s.utility = s.at(s.allotted) }

// at returns the job's utility with so many maps and reduces placed.
func (s *standing) at(allotted [trace.Kinds]int32) utility {
	return jobUtility(s.logs.mapUtility(allotted[slots.Map], s.required, s.left[slots.Map]), s.logs.reduceUtility(allotted[slots.Reduce], s.left[slots.Reduce]))
}

// withoutMap returns the job's utility with one map less placed.
func (s *standing) withoutMap() utility {
	return s.at([trace.Kinds]int32{slots.Map: s.allotted[slots.Map] - 1, slots.Reduce: s.allotted[slots.Reduce]})
}

// running returns the job's utility by its running tasks.
func (s *standing) running(v *slots.View) utility {
	j := v.Job(s.id)
	return s.at([trace.Kinds]int32{slots.Map: j.Running(slots.Map), slots.Reduce: j.Running(slots.Reduce)})
}

// count sets how many maps the job's reduces copy from in the placement: those that are
// placed, or run, or are done. One that is pending counts as placed, so that there is
// room for it beside the reduces that wait for it [RAS11, "shuffle bound"].
func (s *standing) count() {
	done := s.total - s.left[slots.Map]
	s.counted = max(done+max(s.allotted[slots.Map], min(s.pending[slots.Map], 1)), s.begun)
}

// put places count more tasks of kind k on tracker t; a negative count takes some away.
func (s *standing) put(k slots.Kind, n *node, t int, count int32) {
	on := &s.on[t]
	if on.at == 0 {
		n.jobs = append(n.jobs, local{standing: s})
		on.at = int32(len(n.jobs))
	}
	if on.tasks[k] += count; k == slots.Map {
		n.jobs[on.at-1].maps += count
	}
	s.allotted[k] += count
}

func (s *standing) isBarred(k slots.Kind, t int) bool { return s.barred[k] != nil && s.barred[k][t] }

func (s *standing) bar(k slots.Kind, t, trackers int) {
	if s.barred[k] == nil {
		s.barred[k] = make([]bool, trackers)
	}
	s.barred[k][t] = true
}

// copying returns what a reduce of the job needs in shuffle while it copies from so many maps.
// reducing returns what it needs afterwards, and mapping what a map needs. A tracker that has
// less of a resource gives all it has: no task needs more than a tracker can ever give.
func (s *standing) copying(n *node, maps int32) demand.Vector {
	return shuffleDemand(&s.profile, maps, parallelCopies).AtMost(n.capacity)
}

func (s *standing) reducing(n *node) demand.Vector { return s.profile.Reduce.AtMost(n.capacity) }

func (s *standing) mapping(n *node) demand.Vector { return s.profile.Map.AtMost(n.capacity) }

// average returns how long maps take on average; 0: nothing is known, else at least a
// nanosecond. It is of the Job Status Updater [RAS11, section 3.2].
func average(s *policy.Sample) time.Duration {
	if s.Tasks[slots.Map] == 0 {
		return 0
	}
	return max(1, s.Mean(slots.Map))
}

// leftOf returns what is left of a running map, by its time so far and the average: the
// estimator knows pending tasks and the average length of a task, and no progress [RAS11,
// section 3.2].
func (r *RAS) leftOf(now time.Duration, s *slots.SlotView) slots.PPM {
	average := average(r.measures.Of(s.Attempt.Job))
	if average == 0 {
		return slots.One
	}
	return slots.One - min(slots.PPM(ratio(int64(now-s.Started), int64(slots.One), int64(average))), slots.One)
}
