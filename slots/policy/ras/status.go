package ras

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// standing is a job: what it needs, what is left of it, and where it is placed.
type standing struct {
	id      slots.JobID
	profile demand.Profile
	shuffle demand.Vector // of a reduce that copies, at its bound

	left     [trace.Kinds]int32 // tasks that are not done (A38)
	pending  [trace.Kinds]int32 // of them, those that may start
	mapsDone bool
	reopened bool // its maps were done, and are not any more
	switched bool // its reduces are placed with what they need to reduce

	required int32
	work     time.Duration        // of its maps that are not done
	placed   [trace.Kinds][]int32 // P^M and P^R, by tracker
	allotted [trace.Kinds]int32   // their sums: s_alloc and r_alloc
	waiting  []int32              // of the reduces placed, those in shuffle
	listed   []bool               // by tracker: it is one of node.jobs
	held     int                  // running reduces in shuffle
	utility  utility

	here    [trace.Kinds]int32  // running on the tracker that is being looked at
	barred  [trace.Kinds][]bool // by tracker: none of what pends may start there
	skipped [trace.Kinds]bool   // for the rest of the visit
}

// read takes in what changed of the job, and reports whether that is news that
// cannot wait for the end of the cycle: its tasks ran out, or there are some again.
func (s *standing) read(v *slots.View, shuffleMemory bool) (news bool) {
	j := v.Job(s.id)
	s.profile, _ = j.Profile()
	if shuffleMemory {
		s.profile.Shuffle.Memory = max(s.profile.Shuffle.Memory, s.profile.Reduce.Memory)
	}
	maps := j.Total(slots.Map)
	if !j.Sealed() {
		maps = max(maps, parallelCopies)
	}
	s.shuffle = shuffleDemand(&s.profile, maps, parallelCopies)
	for k := range slots.Kind(trace.Kinds) {
		n := j.Pending(k)
		news = news || (n == 0) != (s.pending[k] == 0)
		s.pending[k], s.left[k] = n, j.Total(k)-j.Done(k)
	}
	done := j.Sealed() && s.left[slots.Map] == 0
	news = news || done != s.mapsDone
	s.reopened = s.reopened || s.mapsDone && !done
	s.mapsDone = done
	s.switched = done || s.switched && s.pending[slots.Map] == 0 // a map that must run again goes first
	return news
}

// estimate is the Job Completion Time Estimator: s_req (R5). left is what is left of
// the maps that run, in parts of one.
func (s *standing) estimate(v *slots.View, l *lengths, left slots.PPM) {
	j := v.Job(s.id)
	average := l.of(s.id).mean()
	s.work = remainingWork(average, max(s.left[slots.Map]-j.Running(slots.Map), 0), left)
	s.required = required(s.work, j.Deadline(), v.Now(), s.left[slots.Map], average > 0)
}

// judge is the Job Utility Calculator.
func (s *standing) judge() { s.utility = s.at(s.allotted) }

// at is the job's utility with so many maps and reduces.
func (s *standing) at(allotted [trace.Kinds]int32) utility {
	return jobUtility(mapUtility(allotted[slots.Map], s.required, s.left[slots.Map]), reduceUtility(allotted[slots.Reduce], s.left[slots.Reduce]))
}

// running is the job's utility by what runs.
func (s *standing) running(v *slots.View) utility {
	j := v.Job(s.id)
	return s.at([trace.Kinds]int32{slots.Map: j.Running(slots.Map), slots.Reduce: j.Running(slots.Reduce)})
}

// put places count more tasks of kind k on tracker t, or fewer.
func (s *standing) put(k slots.Kind, n *node, t int, count int32) {
	if !s.listed[t] {
		s.listed[t] = true
		n.jobs = append(n.jobs, s)
	}
	s.placed[k][t] += count
	s.allotted[k] += count
}

func (s *standing) isBarred(k slots.Kind, t int) bool { return s.barred[k] != nil && s.barred[k][t] }

func (s *standing) bar(k slots.Kind, t, trackers int) {
	if s.barred[k] == nil {
		s.barred[k] = make([]bool, trackers)
	}
	s.barred[k][t] = true
}

// copying is what a reduce of the job needs in shuffle, and reducing afterwards; a
// tracker that has less of something gives all it has, so that nothing needs more
// than a tracker can ever give.
func (s *standing) copying(n *node) demand.Vector { return s.shuffle.AtMost(n.capacity) }

func (s *standing) reducing(n *node) demand.Vector { return s.profile.Reduce.AtMost(n.capacity) }

func (s *standing) mapping(n *node) demand.Vector { return s.profile.Map.AtMost(n.capacity) }

// lengths are how long maps take, on average (R4).
type lengths struct {
	started []time.Duration // by slot: when what runs there was started
	jobs    []sample
	all     sample
}

type sample struct {
	count int64
	took  time.Duration
}

// mean is 0 where nothing is known, and else at least a nanosecond.
func (s *sample) mean() time.Duration {
	if s.count == 0 {
		return 0
	}
	return max(1, s.took/time.Duration(s.count))
}

func (l *lengths) of(id slots.JobID) *sample {
	for int(id) >= len(l.jobs) {
		l.jobs = append(l.jobs, sample{})
	}
	return &l.jobs[id]
}

// start notes when a grant started what runs on a slot.
func (l *lengths) start(now time.Duration, s slots.SlotID) {
	for int(s) >= len(l.started) {
		l.started = append(l.started, 0)
	}
	l.started[s] = now
}

// finish takes in a map that is done.
func (l *lengths) finish(f *slots.Fact) {
	if f.Kind != slots.Map || !f.Has(trace.OK) || int(f.Slot) >= len(l.started) {
		return
	}
	for _, s := range []*sample{l.of(slots.JobID(f.Job)), &l.all} {
		s.count++
		s.took += f.At - l.started[f.Slot]
	}
}

// left is what is left of a map that runs: by the progress it told of, or by its time
// where that says more.
func (l *lengths) left(now time.Duration, s *slots.SlotView) slots.PPM {
	done := s.Progress
	if average := l.of(s.Attempt.Job).mean(); average > 0 {
		done = max(done, slots.PPM(ratio(int64(now-s.Started), int64(slots.One), int64(average))))
	}
	return slots.One - min(done, slots.One)
}
