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
	places []slotState // by slot
	jobs   []*measured // by JobID; nil: nothing is known, or the job has ended
	groups []group     // those with running attempts, and others
	copies []copied    // the running copies, and others
	marked int64       // number of calls of markCopied
	done   []int64     // by tracker: progress of the tasks that finished there, in parts per billion

	due   time.Duration // of the next look; negative: there is nothing to look at
	asked time.Duration // time from which a Probe asked for progress; negative: no Probe is due
	at    time.Duration // of the latest look
	list  []candidate   // the longest time left first
	slow  int64         // a tracker with less progress is slow

	worth     [trace.Kinds]int32   // number of candidates by kind
	inPool    [trace.Kinds][]int32 // the same by pool of their jobs
	recounted []group              // those whose number of candidates has changed since a look or expire ranked them
	marks     [64]uint64           // the bits of markOf of the candidates, and of some that are none any more
	expires   time.Duration        // before this time no candidate would end before a copy

	// Of the latest look. progress is kept for slowTracker, the rest is scratch.
	looks    int64   // number of looks so far
	progress []int64 // by tracker: done plus the progress of its running attempts
	sorted   []int64 // progress of trackers with open slots
	totals   []time.Duration
	rates    []rate
	found    []paying // the longest time left first
	fresh    []paying // those that the look before has not found
}

// running is an attempt that has been started. It may have ended.
type running struct {
	slot   slots.SlotID
	starts uint32 // slotState.starts; another number there: it has ended
	began  time.Duration
}

// copied is a copy, and the attempt next to which it was started.
type copied struct{ copy, of running }

// rate is the progress of an attempt, and the time that it took.
type rate struct {
	elapsed time.Duration
	done    slots.Progress
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

// paying is a running attempt whose copy pays: its slot, and its Left as a candidate.
type paying struct {
	slot   slots.SlotID
	starts uint32 // slotState.starts
	left   time.Duration
}

// measured has the measurements of a job's tasks.
type measured struct {
	pool     slots.PoolID  // of the job
	mapsDone time.Duration // the time at which all maps were done; negative: they are not
	kinds    [trace.Kinds]sample
}

// sample has the times of the last finished tasks of a job and kind.
type sample struct {
	times []time.Duration // of the last mostSample tasks, in a ring
	order []time.Duration // the same times, sorted
	ended int             // number of tasks that finished
	tasks int32           // number of tasks, as far as known
	usual time.Duration   // the usual time of a task, at the latest look

	running   []running     // the running attempts in the order of their starts, and others
	listed    bool          // it is in speculation.groups
	from, to  int           // of its rates in speculation.rates, at the latest look
	slowest   time.Duration // as slowestOf, at the latest look that needed it
	selected  int64         // speculation.looks at that look
	worth     int32         // number of candidates
	ranked    int32         // worth when the job was ranked last (Copies.ranked)
	recounted bool          // it is in speculation.recounted
}

// add adds the time of a finished task. If there are enough, it replaces the oldest one.
func (k *sample) add(took time.Duration) {
	at, n := k.ended%mostSample, len(k.times)
	k.ended++
	if n < mostSample {
		k.times, k.order = append(k.times, took), append(k.order, took)
	} else {
		n, _ = slices.BinarySearch(k.order, k.times[at])
		k.times[at] = took
	}
	// The place at n is free. It moves to where took belongs.
	for ; n > 0 && k.order[n-1] > took; n-- {
		k.order[n] = k.order[n-1]
	}
	for ; n+1 < len(k.order) && k.order[n+1] < took; n++ {
		k.order[n] = k.order[n+1]
	}
	k.order[n] = took
}

// setUsual sets the usual time of a task to the median of the finished tasks, if there are any.
func (k *sample) setUsual() {
	if n := len(k.order); n > 0 {
		k.usual = k.order[n/2]
	}
}

// every returns the time between two looks at running tasks of the kind.
func (k *sample) every() time.Duration { return max(leastWait, k.usual/looksATask) }

// slotState is what is known of a slot: its tracker, and its latest attempt with the time of its start.
type slotState struct {
	tracker slots.TrackerID
	began   time.Duration
	attempt slots.AttemptID
	starts  uint32 // number of attempts so far

	copied int64 // speculation.marked when its task had a copy for the last time

	found int64         // speculation.looks at the latest look that found it
	left  time.Duration // its Left as a candidate, at that look
}

// newSpeculation returns a speculation for one Ledger, by the options that concern copies.
func newSpeculation(o *Options) *speculation {
	s := &speculation{least: o.CopyAfter, given: o.CopyAfter > 0, byAverage: o.CopyRule == copyHadoop, due: -1, asked: -1}
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

// Started notes an attempt that a grant has started on a slot of the visited tracker. A task
// that has a copy now is not a candidate any more.
func (s *speculation) Started(v *slots.View, o slots.Start) {
	p := At(&s.places, o.Slot)
	p.tracker = v.Tracker()
	p.began = v.Now()
	p.attempt = o.Attempt
	p.starts++
	p.found, p.copied = -1, -1
	r := running{o.Slot, p.starts, v.Now()}
	s.forgetTask(o.Attempt)
	k := &s.of(o.Attempt.Job).kinds[o.Attempt.Kind]
	if _, _, speculative, _ := v.RunningOn(o.Slot); speculative {
		c := copied{r, r}
		for i := range k.running {
			if of := &k.running[i]; s.places[of.slot].attempt.Task == o.Attempt.Task && s.runs(v, of) {
				c.of = *of
			}
		}
		s.copies = append(s.copies, c)
	}
	if len(k.running) == cap(k.running) { // before it grows, those that have ended leave it
		k.running = slices.DeleteFunc(k.running, func(r running) bool { return !s.runs(v, &r) })
	}
	k.running = append(k.running, r)
	if !k.listed {
		k.listed = true
		s.groups = append(s.groups, group{o.Attempt.Job, o.Attempt.Kind})
	}
	s.wake(v.Now(), k)
}

// Changed updates the measurements of a job that has changed. It drops those of a job that has
// ended.
func (s *speculation) Changed(now time.Duration, j slots.JobView) {
	id := j.ID()
	if j.Ended() {
		s.forget(func(c *candidate) bool { return c.Attempt.Job == id })
		if int(id) < len(s.jobs) {
			s.jobs[id] = nil
		}
		return
	}
	m := s.of(id)
	m.pool = j.Pool()
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

// Observe updates the measurements and candidates by a fact: the end of an attempt, the loss of
// a tracker, or the drop of a task.
func (s *speculation) Observe(f *slots.Fact) {
	switch {
	case f.Op == trace.OpDrop: // its attempts are killed, and end later
		s.forgetTask(slots.AttemptID{Job: slots.JobID(f.Job), Kind: f.Kind, Task: slots.TaskID(f.Task)})
	case f.Op == trace.OpLostTracker:
		s.forget(func(c *candidate) bool { return int64(c.Tracker) == f.A })
	case f.Op == trace.OpFinish && f.Slot >= 0 && int(f.Slot) < len(s.places):
		a := slots.AttemptID{Job: slots.JobID(f.Job), Kind: f.Kind, Task: slots.TaskID(f.Task)}
		s.forgetTask(a)
		if f.Has(trace.OK) {
			p, m := s.places[f.Slot], s.of(a.Job)
			*At(&s.done, p.tracker) += int64(slots.AllDone)
			m.kinds[a.Kind].add(f.At - m.since(a.Kind, p.began))
		}
		s.wake(f.At, &s.of(a.Job).kinds[a.Kind])
	}
}

// answered reports whether the driver has answered the Probe for the next look. A later look needs another one.
func (s *speculation) answered(now time.Duration) bool {
	if s.asked < 0 || now < s.asked {
		return false
	}
	s.asked = -1
	return true
}

// probe asks for the progress of all running attempts, which the next look needs.
func (s *speculation) probe(v *slots.View, d *slots.Decision) {
	if s.asked < 0 {
		s.asked = max(s.due, v.Now()+1) // not now: the progress of this Assign is reported already
	}
	d.Probe(s.asked)
}

// wake makes a look due soon, if none is due. k has the tasks that were started or have ended.
func (s *speculation) wake(now time.Duration, k *sample) {
	if s.due < 0 && s.known(k) {
		s.due = now + k.every()
	}
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
	if at, bit := markOf(a); s.worth[a.Kind] > 0 && s.marks[at]&bit != 0 {
		s.forget(func(c *candidate) bool { return of(c.Attempt) == of(a) })
	}
}

// markOf returns the place of a task in speculation.marks. Few tasks share one.
func markOf(a slots.AttemptID) (at uint32, bit uint64) {
	h := (uint32(a.Job)*0x9e3779b1 ^ uint32(a.Task)*0x85ebca77 ^ uint32(a.Kind)<<31) >> 20
	return h >> 6, 1 << (h & 63)
}

// forget drops the candidates for which gone returns true.
func (s *speculation) forget(gone func(c *candidate) bool) {
	kept := 0
	for i := range s.list {
		if c := &s.list[i]; gone(c) {
			s.count(c, -1)
			continue
		}
		if kept < i {
			s.list[kept] = s.list[i]
		}
		kept++
	}
	s.list = s.list[:kept]
}

// count adds n candidates like c to the numbers of candidates.
func (s *speculation) count(c *candidate, n int32) {
	m, kind := s.of(c.Attempt.Job), c.Attempt.Kind
	k := &m.kinds[kind]
	if k.worth += n; !k.recounted {
		k.recounted = true
		s.recounted = append(s.recounted, group{c.Attempt.Job, kind})
	}
	s.worth[kind] += n
	*At(&s.inPool[kind], m.pool) += n
}

// expire drops the candidates that would end before a copy that starts now. It reports whether
// there were any. Under Hadoop's own rule it does nothing.
func (s *speculation) expire(now time.Duration) bool {
	if now < s.expires {
		return false
	}
	n := len(s.list)
	s.forget(func(c *candidate) bool { return !pays(c.Left-(now-s.at), c.Usual) })
	s.setExpires()
	return len(s.list) < n
}

// setExpires sets the time at which the first candidate would end before a copy that starts then.
func (s *speculation) setExpires() {
	s.expires = 1<<63 - 1
	for i := range s.list {
		if c := &s.list[i]; !s.byAverage {
			s.expires = min(s.expires, c.Left-c.Usual+s.at)
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

// Stragglers finds running tasks that are worth a copy, for a policy without an Order. Such a policy
// copies a task only where nothing pending can start. On each visit it calls Changed for the jobs
// that have changed, then Look, then Copy, and Ask at the end. It passes all facts to Observe, and
// all attempts that it has started to Started.
type Stragglers struct{ *speculation }

// Stragglers returns what finds the slow tasks of one Ledger. It uses only CopyAfter and CopyRule of o.
func (o *Options) Stragglers() *Stragglers { return &Stragglers{newSpeculation(o)} }

// Worth returns how many running tasks of kind k are worth a copy.
func (s *Stragglers) Worth(k slots.Kind) int32 { return s.worth[k] }

// Look drops stale candidates. If the driver has answered a Probe, it finds the tasks that are worth
// a copy now.
func (s *Stragglers) Look(v *slots.View) {
	if s.answered(v.Now()) {
		s.look(v)
	} else {
		s.expire(v.Now())
	}
	for _, g := range s.recounted { // there are no rankings that count candidates
		s.of(g.job).kinds[g.kind].recounted = false
	}
	s.recounted = s.recounted[:0]
}

// Copy calls start with the tasks that the visited tracker may copy, the longest time left first,
// until one starts. It reports whether one did. why has the reasons of the copy.
func (s *Stragglers) Copy(v *slots.View, start func(a slots.AttemptID, why slots.Why) bool) bool {
	if s.slowTracker(v, v.Tracker()) {
		return false
	}
	for k := range slots.Kind(trace.Kinds) {
		for i := range s.list {
			c := &s.list[i]
			if c.Attempt.Kind != k || c.Tracker == v.Tracker() && v.Trackers() > 1 {
				continue
			}
			if start(c.Attempt, slots.Why{Numbers: copyNumbers(c)}) {
				return true
			}
		}
	}
	return false
}

// Ask asks for the progress of all running attempts, and for a wake-up at that time, if a look is due
// then.
func (s *Stragglers) Ask(v *slots.View, d *slots.Decision) {
	if s.due >= 0 {
		s.probe(v, d)
		d.WakeAt(max(s.asked, v.Now()))
	}
}
