package policy

import (
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// speculation keeps the running tasks that are worth a copy, the candidates. look finds them
// among all running attempts. Between two looks, candidates that have ended or have a copy
// are dropped, and no others are added.
//
// A speculation owns some words per slot and per tracker. For each running job and kind it
// owns the times of the last finished attempts, at most half a KiB. It keeps no View.
type speculation struct {
	least time.Duration // the least time that an attempt runs before it is copied
	given bool          // least comes from Options.CopyAfter, not from the default

	byAverage bool // Hadoop's own rule finds the candidates (average.go), else LATE

	local  bool        // pick prefers a map whose input is on the visited tracker to one that ends later
	places []place     // by slot
	jobs   []*measured // by JobID; nil: nothing is known, or the job has ended
	done   []int64     // by tracker: progress of the tasks that finished there, in parts per billion

	due  time.Duration // of the next look; negative: there is nothing to look at
	at   time.Duration // of the latest look
	list []candidate   // the longest time left first
	slow int64         // a tracker with less progress is slow

	// During a look. progress is also used by slowTracker, until the next look.
	running  []attempt       // sorted by job and kind
	unsorted []attempt       // scratch of gather
	order    []uint64        // job, kind and slot of each running attempt, sorted
	copied   map[taskOf]bool // tasks that have a running copy
	progress []int64         // by tracker: done plus the progress of its running attempts
	sorted   []int64         // progress of trackers with open slots
	totals   []time.Duration
}

// candidate is an attempt that is worth a copy.
type candidate struct {
	Attempt slots.AttemptID
	Tracker slots.TrackerID

	// Times at the latest look, under LATE. Total is the time that the attempt takes in all
	// and Left the rest of it, at its rate so far. Usual is the usual time of a task, and
	// Slowest the least total time in the slowest quarter.
	Total, Left, Usual, Slowest time.Duration

	// Under Hadoop's own rule: the average progress of its job's tasks of its kind, and the
	// progress of the attempt, at the latest look.
	Average, Progress slots.Progress
}

// taskOf names a task.
type taskOf struct {
	job  slots.JobID
	kind slots.Kind
	task slots.TaskID
}

// measured has the measurements of a job's tasks.
type measured struct {
	mapsDone time.Duration // the time at which all maps were done; negative: they are not
	kinds    [trace.Kinds]sample
}

// sample has the times of the last finished tasks of a job and kind.
type sample struct {
	times  []time.Duration // of the last mostSample tasks, in a ring
	ended  int             // number of tasks that finished
	judged int             // ended when usual was set
	tasks  int32           // number of tasks, as far as known
	usual  time.Duration   // the usual time of a task, at the latest look
}

// every returns the time between two looks at running tasks of the kind.
func (k *sample) every() time.Duration { return max(leastWait, k.usual/looksATask) }

// place is a slot's tracker, and when its latest attempt began.
type place struct {
	tracker slots.TrackerID
	began   time.Duration
	at      int32 // index of its running attempt, during a look
}

// newSpeculation returns a speculation for one Ledger, by the options that concern copies.
func newSpeculation(o *Options) *speculation {
	s := &speculation{least: o.CopyAfter, given: o.CopyAfter > 0, byAverage: o.CopyRule == copyHadoop, due: -1, copied: map[taskOf]bool{}}
	if !s.given {
		s.least = leastRun
	}
	return s
}

// known reports whether the usual time of a job's tasks of a kind is known. Under Hadoop's own
// rule CopyAfter can stand for it.
func (s *speculation) known(k *sample) bool {
	return enough(k.ended, k.tasks) || s.byAverage && s.given
}

// started notes an attempt that a grant has started on a slot of the visited tracker. A task
// that has a copy now is no candidate any more.
func (s *speculation) started(v *slots.View, o slots.Start) {
	*At(&s.places, o.Slot) = place{tracker: v.Tracker(), began: v.Now()}
	s.forgetTask(o.Attempt)
	s.wake(v.Now(), &s.of(o.Attempt.Job).kinds[o.Attempt.Kind])
}

// changed updates the measurements of a job that has changed. It drops those of a job that has
// ended.
func (s *speculation) changed(now time.Duration, j slots.JobView) {
	id := j.ID()
	if j.Ended() {
		if int(id) < len(s.jobs) {
			s.jobs[id] = nil
		}
		s.forget(func(c *candidate) bool { return c.Attempt.Job == id })
		return
	}
	m := s.of(id)
	for k := range m.kinds {
		m.kinds[k].tasks = j.Total(slots.Kind(k))
	}
	if done := MapsDone(j); done != (m.mapsDone >= 0) {
		m.mapsDone = -1
		if done {
			m.mapsDone = now
		}
	}
}

// observe updates the measurements and candidates by a fact: the end of an attempt, the loss of
// a tracker, or the drop of a task.
func (s *speculation) observe(f *slots.Fact) {
	switch {
	case f.Op == trace.OpDrop: // its attempts are killed, and end later
		s.forgetTask(slots.AttemptID{Job: slots.JobID(f.Job), Kind: f.Kind, Task: slots.TaskID(f.Task)})
	case f.Op == trace.OpLostTracker:
		s.forget(func(c *candidate) bool { return int64(c.Tracker) == f.A })
	case f.Op == trace.OpFinish && f.Slot >= 0 && int(f.Slot) < len(s.places):
		a := slots.AttemptID{Job: slots.JobID(f.Job), Kind: f.Kind, Task: slots.TaskID(f.Task)}
		s.forgetTask(a)
		if f.Has(trace.OK) {
			s.finished(a, f.At, s.places[f.Slot])
		}
		s.wake(f.At, &s.of(a.Job).kinds[a.Kind])
	}
}

// wake makes a look due soon, if none is due. k are the tasks that give reason for it.
func (s *speculation) wake(now time.Duration, k *sample) {
	if s.due < 0 && s.known(k) {
		s.due = now + k.every()
	}
}

// finished adds the time of an attempt that committed its task. p is where and when the
// attempt started.
func (s *speculation) finished(a slots.AttemptID, now time.Duration, p place) {
	*At(&s.done, p.tracker) += int64(slots.AllDone)
	m := s.of(a.Job)
	k, took := &m.kinds[a.Kind], now-m.since(a.Kind, p.began)
	if len(k.times) < mostSample {
		k.times = append(k.times, took)
	} else {
		k.times[k.ended%mostSample] = took
	}
	k.ended++
}

// since returns the time from which an attempt's time counts: its start, or for a
// reduce the end of its job's maps. A reduce that waits for maps is not slow.
func (m *measured) since(k slots.Kind, began time.Duration) time.Duration {
	if k == slots.Reduce {
		return max(began, m.mapsDone)
	}
	return began
}

// of returns the measurements of a job. It makes them if there are none.
func (s *speculation) of(id slots.JobID) *measured {
	m := At(&s.jobs, id)
	if *m == nil {
		*m = &measured{mapsDone: -1}
	}
	return *m
}

// forgetTask drops the candidate of the attempt's task, if there is one.
func (s *speculation) forgetTask(a slots.AttemptID) {
	s.forget(func(c *candidate) bool {
		return c.Attempt.Job == a.Job && c.Attempt.Kind == a.Kind && c.Attempt.Task == a.Task
	})
}

// forget drops the candidates for which gone returns true.
func (s *speculation) forget(gone func(c *candidate) bool) {
	s.list = slices.DeleteFunc(s.list, func(c candidate) bool { return gone(&c) })
}

// expire drops the candidates that would end before a copy that starts now. It reports whether
// there were any. Under Hadoop's own rule it does nothing.
func (s *speculation) expire(now time.Duration) bool {
	if s.byAverage {
		return false
	}
	n := len(s.list)
	s.forget(func(c *candidate) bool { return !pays(c.Left-(now-s.at), c.Usual) })
	return len(s.list) < n
}

// candidates returns how many tasks of kind k are worth a copy.
func (s *speculation) candidates(k slots.Kind) (n int32) {
	for i := range s.list {
		if s.list[i].Attempt.Kind == k {
			n++
		}
	}
	return n
}

// candidatesOf returns how many tasks of kind k of a job are worth a copy.
func (s *speculation) candidatesOf(id slots.JobID, k slots.Kind) (n int32) {
	for i := range s.list {
		if a := s.list[i].Attempt; a.Job == id && a.Kind == k {
			n++
		}
	}
	return n
}

// each calls f with every candidate of kind k. f must not keep or change it.
func (s *speculation) each(k slots.Kind, f func(c *candidate)) {
	for i := range s.list {
		if s.list[i].Attempt.Kind == k {
			f(&s.list[i])
		}
	}
}

// pick returns the task of a job that the visited tracker should copy. Of the candidates on
// other trackers, it is the one with the longest time left. If s.local is set, it is the one
// whose input is nearest, and of several the one with the longest time left. ok is false if
// there is none or the visited tracker is slow.
func (s *speculation) pick(v *slots.View, id slots.JobID, k slots.Kind) (best candidate, ok bool) {
	t := v.Tracker()
	if s.slowTracker(v, t) {
		return candidate{}, false
	}
	nearest := slots.LevelAny
	for _, c := range s.list {
		if c.Attempt.Job != id || c.Attempt.Kind != k || c.Tracker == t && v.Trackers() > 1 {
			continue
		}
		if !s.local || k != slots.Map {
			return c, true
		}
		if level := v.LocalTask(id, c.Attempt.Task, t); !ok || level > nearest {
			best, nearest, ok = c, level, true
		}
	}
	return best, ok
}

// slowTracker reports whether a tracker is below the SlowNodeThreshold.
func (s *speculation) slowTracker(v *slots.View, t slots.TrackerID) bool {
	return v.Trackers() > 1 && int(t) < len(s.progress) && s.progress[t] < s.slow
}
