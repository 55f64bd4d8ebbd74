package policy

import (
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Speculation keeps which running tasks are worth a copy. Look looks at all running
// attempts together; between two looks only those that ended are dropped.
//
// It owns 8 bytes a slot and 16 bytes a tracker. For each running job it owns the times
// of its last finished attempts, at most half a KiB. It keeps no View.
type Speculation struct {
	least time.Duration // that an attempt has run before it is copied
	given bool          // the user gave least

	byAverage bool // Hadoop's own rule finds the candidates (average.go), else LATE

	local  bool        // a map whose input is on the visited tracker goes before one that ends later
	places []place     // by slot
	jobs   []*measured // by JobID; nil: nothing is known, or the job has ended
	done   []int64     // by tracker: progress of the tasks that finished there, in parts per million

	due  time.Duration // of the next look; negative: there is nothing to look at
	at   time.Duration // of the latest look
	list []Candidate   // the longest time left first
	slow int64         // a tracker with less progress is slow

	// During a look.
	running []slots.SlotView
	copied  map[taskOf]bool // tasks that have a running copy
	made    []int64         // by tracker, done and the progress of what runs
	sorted  []int64
	totals  []time.Duration
}

// Candidate is an attempt that is worth a copy.
type Candidate struct {
	Attempt slots.AttemptID
	Tracker slots.TrackerID

	// Times at the latest look: what the attempt takes in all and what is left, at
	// its rate so far; what is usual; and what the slowest quarter takes at least.
	Total, Left, Usual, Slowest time.Duration

	// Under Hadoop's own rule only the average progress of its job's tasks of its kind, and
	// its own.
	Average, Progress slots.PPM
}

// taskOf names a task.
type taskOf struct {
	job  slots.JobID
	kind slots.Kind
	task slots.TaskID
}

// measured is what is known about a job's tasks.
type measured struct {
	mapsDone time.Duration // negative: they are not
	kinds    [trace.Kinds]sample
}

// sample is how long the last finished tasks of a job and kind took.
type sample struct {
	times []time.Duration // a ring
	ended int
	tasks int32         // of the job and kind, as far as known
	usual time.Duration // at the latest look
}

// every returns the time between two looks at running tasks of the kind.
func (k *sample) every() time.Duration { return max(leastWait, k.usual/looksATask) }

// place is a slot's tracker, and when its latest attempt began.
type place struct {
	tracker slots.TrackerID
	began   time.Duration
}

// newSpeculation returns a Speculation for one Ledger, by the options that concern copies.
func newSpeculation(o *Options) *Speculation {
	s := &Speculation{least: o.CopyAfter, given: o.CopyAfter > 0, byAverage: o.CopyRule == copyHadoop, due: -1, copied: map[taskOf]bool{}}
	if !s.given {
		s.least = leastRun
	}
	return s
}

// known reports whether enough is known of a job's tasks of a kind to copy one.
func (s *Speculation) known(k *sample) bool {
	return enough(k.ended, k.tasks) || s.byAverage && s.given
}

// Started takes in what a grant started on a slot of the visited tracker. A task that
// has a copy is no candidate any more.
func (s *Speculation) Started(v *slots.View, o slots.Start) {
	*At(&s.places, o.Slot) = place{v.Tracker(), v.Now()}
	s.forgetTask(o.Attempt)
	s.wake(v.Now(), &s.of(o.Attempt.Job).kinds[o.Attempt.Kind])
}

// Changed takes in a job that changed.
func (s *Speculation) Changed(now time.Duration, j slots.JobView) {
	id := j.ID()
	if j.Ended() {
		if int(id) < len(s.jobs) {
			s.jobs[id] = nil
		}
		s.forget(func(c *Candidate) bool { return c.Attempt.Job == id })
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

// Observe takes in a fact: the end of an attempt or of a tracker, or that a task is not needed.
func (s *Speculation) Observe(f *slots.Fact) {
	switch {
	case f.Op == trace.OpDrop: // its attempts are killed, and end later
		s.forgetTask(slots.AttemptID{Job: slots.JobID(f.Job), Kind: f.Kind, Task: slots.TaskID(f.Task)})
	case f.Op == trace.OpLostTracker:
		s.forget(func(c *Candidate) bool { return int64(c.Tracker) == f.A })
	case f.Op == trace.OpFinish && f.Slot >= 0 && int(f.Slot) < len(s.places):
		a := slots.AttemptID{Job: slots.JobID(f.Job), Kind: f.Kind, Task: slots.TaskID(f.Task)}
		s.forgetTask(a)
		if f.Has(trace.OK) {
			s.finished(a, f.At, s.places[f.Slot])
		}
		s.wake(f.At, &s.of(a.Job).kinds[a.Kind])
	}
}

// wake makes a look due soon, if none is due.
func (s *Speculation) wake(now time.Duration, k *sample) {
	if s.due < 0 && s.known(k) {
		s.due = now + k.every()
	}
}

// finished counts a task that finished.
func (s *Speculation) finished(a slots.AttemptID, now time.Duration, p place) {
	*At(&s.done, p.tracker) += int64(slots.One)
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

func (s *Speculation) of(id slots.JobID) *measured {
	m := At(&s.jobs, id)
	if *m == nil {
		*m = &measured{mapsDone: -1}
	}
	return *m
}

func (s *Speculation) forgetTask(a slots.AttemptID) {
	s.forget(func(c *Candidate) bool {
		return c.Attempt.Job == a.Job && c.Attempt.Kind == a.Kind && c.Attempt.Task == a.Task
	})
}

func (s *Speculation) forget(gone func(c *Candidate) bool) {
	s.list = slices.DeleteFunc(s.list, func(c Candidate) bool { return gone(&c) })
}

// Due returns when the next look is due; negative: there is nothing to look at.
func (s *Speculation) Due() time.Duration { return s.due }

// Expire drops the candidates that would end before a copy that starts now, and
// reports whether there were any. Hadoop's own rule does not ask for that.
func (s *Speculation) Expire(now time.Duration) bool {
	if s.byAverage {
		return false
	}
	n := len(s.list)
	s.forget(func(c *Candidate) bool { return !pays(c.Left-(now-s.at), c.Usual) })
	return len(s.list) < n
}

// Candidates returns how many tasks of kind k are worth a copy.
func (s *Speculation) Candidates(k slots.Kind) (n int32) {
	for i := range s.list {
		if s.list[i].Attempt.Kind == k {
			n++
		}
	}
	return n
}

// Of returns how many tasks of kind k of a job are worth a copy.
func (s *Speculation) Of(id slots.JobID, k slots.Kind) (n int32) {
	for i := range s.list {
		if a := s.list[i].Attempt; a.Job == id && a.Kind == k {
			n++
		}
	}
	return n
}

// Each calls f with every candidate of kind k.
func (s *Speculation) Each(k slots.Kind, f func(c *Candidate)) {
	for i := range s.list {
		if s.list[i].Attempt.Kind == k {
			f(&s.list[i])
		}
	}
}

// For returns the task of a job that the visited tracker should copy: of the tasks
// that run elsewhere the one with the longest time left. Where maps at their input go
// first, it is the one of these that are nearest. There is none if the tracker is slow.
func (s *Speculation) For(v *slots.View, id slots.JobID, k slots.Kind) (best Candidate, ok bool) {
	t := v.Tracker()
	if s.slowTracker(v, t) {
		return Candidate{}, false
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
func (s *Speculation) slowTracker(v *slots.View, t slots.TrackerID) bool {
	return v.Trackers() > 1 && int(t) < len(s.made) && s.made[t] < s.slow
}
