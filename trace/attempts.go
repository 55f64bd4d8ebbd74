package trace

import "time"

// Never stands for the time of an event that has not happened.
const Never time.Duration = -1

// How is the end of an attempt.
type How uint8

const (
	EndNone   How = iota // the attempt has not ended
	EndOK                // also if another attempt had finished the task before
	EndFailed            // with an error of the task
	EndKilled            // by an order of the Ledger
	EndLost              // its tracker was lost
)

var howNames = [...]string{"running", "ok", "failed", "killed", "lost"}

// String returns the end as a word; "?" for an unknown one.
func (h How) String() string { return nameOf(howNames[:], uint8(h)) }

// Span is the time of an attempt on a slot. It has no pointer, because readers keep millions.
type Span struct {
	Seq                uint64 // number of the event that started it
	From, To           time.Duration
	Slot, Job, Task, N int32 // N: number of the attempt within its task, from 0
	Kind               Kind
	How                How  // To is Never while it is EndNone
	Lent               bool // the slot is lent: the task is not of its home kind
	Moved              bool // the home kind of the slot differs from that in the header
	Speculative        bool // the attempt is a copy
	Only               bool // no other attempt of the task ran when it started
	Done               bool // it has finished its task; false if another attempt did before
	Last               bool // no other attempt of the task ran when it ended
}

// Attempt is a Span with its phases and figures.
type Attempt struct {
	Span
	Row      int32                        // number of the attempt in the run, from 0, in the order of starts
	First    bool                         // it is the first attempt on its slot
	killing  bool                         // the Ledger has ordered its end
	Progress int64                        // in parts per million
	Phase    Phase                        // PhaseNone before the first one
	Since    time.Duration                // when the phase began
	Copied   time.Duration                // when a reduce began to sort or to reduce; Never: it has not
	Phases   [PhaseHeld + 1]time.Duration // the time in each phase that has ended

	InBytes, OutBytes, CopyBytes int64 // read, written, and copied from maps; InBytes, OutBytes at its end only
	CPU                          time.Duration
}

// JobTasks counts the tasks of a job, by kind. A task is done once it is committed, dropped or restored.
type JobTasks struct {
	Total, Done, Running [Kinds]int32 // Running: attempts, copies among them
	Dropped              [Kinds]int32 // tasks of Done that were not needed
	Progress             [Kinds]int64 // sum over running attempts without copies, in parts per million
	Bytes                [Kinds]int64 // read by maps that are done; copied by reduces that run or are done
	Sealed, Ended        bool         // Sealed: the number of maps is final

	tasks [Kinds][]taskState // by number; nil once the job has ended and no attempt of it runs
}

// taskState is the state of a task.
type taskState struct {
	at      int32 // notDone, dropped, restored, or committed plus the tracker of the attempt
	running int32 // attempts
}

const (
	notDone   int32 = iota
	dropped         // not needed
	restored        // its output is on no tracker
	committed       // on tracker 0
)

// Attempts is the fold of a run's events. It knows for each slot its latest attempt, and for each job its
// tasks, as the Ledger has them. It serves live readers, which may lose events, and whole files. Memory: about
// 250 bytes per slot and 8 per task of the jobs that have not ended.
type Attempts struct {
	slots   []Slot
	latest  []Attempt // by slot; Seq 0: none
	home    []Kind    // by slot, now
	jobs    []*JobTasks
	count   int32 // attempts so far
	places  int   // states of tasks so far
	changed []*Attempt
	gone    Attempt // of a slot whose end of an attempt was lost
}

// Open takes the slots of the run, before the first event. It keeps the slice of h.
func (f *Attempts) Open(h *Header) error {
	*f = Attempts{slots: h.Slots, latest: make([]Attempt, len(h.Slots)), home: make([]Kind, len(h.Slots))}
	for i, s := range h.Slots {
		f.home[i], f.latest[i].How = s.Home, EndLost
	}
	return nil
}

// Latest returns the latest attempt on a slot, which may have ended; nil: there is none. The next attempt on
// the slot replaces it.
func (f *Attempts) Latest(slot int32) *Attempt {
	if slot < 0 || int(slot) >= len(f.latest) || f.latest[slot].Seq == 0 {
		return nil
	}
	return &f.latest[slot]
}

// Home returns the home kind of a slot of the header.
func (f *Attempts) Home(slot int32) Kind { return f.home[slot] }

// Job returns the tasks of a job, which the next event may change; nil: it has not been submitted.
func (f *Attempts) Job(job int32) *JobTasks {
	if job < 0 || int(job) >= len(f.jobs) {
		return nil
	}
	return f.jobs[job]
}

// Runs returns the running attempt that e is about, or nil. An attempt may report something after its end.
func (f *Attempts) Runs(e *Event) *Attempt {
	a := f.Latest(e.Slot)
	if a == nil || a.How != EndNone || a.Job != e.Job || a.Task != e.Task || a.N != e.N || a.Kind != e.Kind {
		return nil
	}
	return a
}

// Keep puts the span of a in its place in rows, which has the spans of all earlier attempts.
func (a *Attempt) Keep(rows []Span) []Span {
	if int(a.Row) == len(rows) {
		return append(rows, a.Span)
	}
	rows[a.Row] = a.Span
	return rows
}

// Apply adds the next event. It returns the attempts that the event starts, changes or ends. They are valid
// until the next call. An event that names an unknown slot or job changes nothing there.
// hot: runs once per event.
func (f *Attempts) Apply(e *Event) []*Attempt {
	f.changed = f.changed[:0]
	switch e.Op {
	case OpStart:
		f.start(e)
	case OpFinish:
		f.finish(e)
	case OpClose:
		// Only the slot of a lost tracker closes under an attempt. A live reader may have lost OpLostTracker.
		f.lose(e, e.Slot)
	case OpLostTracker:
		f.lostTracker(e)
	case OpHome:
		if e.Slot >= 0 && int(e.Slot) < len(f.home) {
			f.home[e.Slot] = e.Kind
		}
	case OpKill, OpPhase, OpProgress, OpSeen, OpFetch:
		if a := f.Runs(e); a != nil {
			f.report(a, e)
		}
	case OpSubmit, OpReady, OpDrop, OpRestore, OpLostOutput, OpJobEnd:
		f.jobEvent(e)
	}
	return f.changed
}

// start puts a new attempt on its slot.
func (f *Attempts) start(e *Event) {
	if e.Slot < 0 || int(e.Slot) >= len(f.latest) {
		return
	}
	a := &f.latest[e.Slot]
	first := a.Seq == 0
	if a.How == EndNone {
		f.gone = *a
		f.end(&f.gone, e.At, EndLost)
	}
	*a = Attempt{
		Span: Span{
			Seq: max(1, e.Seq), From: e.At, To: Never, Slot: e.Slot, Job: e.Job, Task: e.Task, N: e.N, Kind: e.Kind, Only: true,
			Lent: e.Has(Lent), Speculative: e.Has(Speculative), Moved: f.home[e.Slot] != f.slots[e.Slot].Home,
		},
		Row: f.count, First: first, Since: e.At, Copied: Never,
	}
	f.count++
	if j, t := f.task(e.Job, e.Kind, e.Task); t != nil {
		a.Only = t.running == 0
		t.running++
		j.Running[e.Kind]++
	}
	f.changed = append(f.changed, a)
}

// report notes what a running attempt reports, or that it has to end.
func (f *Attempts) report(a *Attempt, e *Event) {
	switch e.Op {
	case OpKill:
		a.killing = true
	case OpPhase:
		a.enter(e.At, e.Phase)
	case OpFetch:
		f.copied(a, e.C)
	default:
		if j := f.Job(a.Job); j != nil && !a.Speculative {
			j.Progress[a.Kind] += e.A - a.Progress
		}
		a.Progress = e.A
	}
	f.changed = append(f.changed, a)
}

// copied adds bytes that an attempt has copied from maps.
func (f *Attempts) copied(a *Attempt, bytes int64) {
	a.CopyBytes += bytes
	if j := f.Job(a.Job); j != nil {
		j.Bytes[Reduce] += bytes
	}
}

// enter ends the current phase of an attempt and begins p.
func (a *Attempt) enter(now time.Duration, p Phase) {
	if int(p) >= len(a.Phases) { // of a newer version; the phase before goes on
		return
	}
	if a.Phases[a.Phase] += now - a.Since; a.Copied < 0 && (p == PhaseSort || p == PhaseReduce) {
		a.Copied = now
	}
	a.Phase, a.Since = p, now
}

// finish ends the attempt of e. A task is done even if a live reader has lost the start of its attempt.
func (f *Attempts) finish(e *Event) {
	how := EndFailed
	switch {
	case e.Has(OK):
		how = EndOK
	case e.Has(Killed):
		how = EndKilled
	}
	a := f.Runs(e)
	if a == nil {
		if e.Slot >= 0 && int(e.Slot) < len(f.slots) && how == EndOK && f.latest[e.Slot].How != EndNone {
			f.commit(e.Job, e.Kind, e.Task, e.Slot)
		}
		return
	}
	if how == EndFailed && a.killing { // as the Ledger counts it
		how = EndKilled
	}
	a.InBytes, a.OutBytes, a.CPU = e.A, e.B, time.Duration(e.C)
	f.copied(a, e.D-a.CopyBytes)
	f.end(a, e.At, how)
}

// end ends an attempt. It counts its task as done if the attempt commits it.
func (f *Attempts) end(a *Attempt, now time.Duration, how How) {
	a.enter(now, PhaseNone)
	a.To, a.How, a.Last = now, how, true
	if j, t := f.task(a.Job, a.Kind, a.Task); t != nil {
		t.running--
		a.Last = t.running == 0
		j.Running[a.Kind]--
		if !a.Speculative {
			j.Progress[a.Kind] -= a.Progress
		}
		a.Done = how == EndOK && f.commit(a.Job, a.Kind, a.Task, a.Slot)
		switch {
		case a.Done && a.Kind == Map:
			j.Bytes[Map] += a.InBytes
		case !a.Done:
			j.Bytes[Reduce] -= a.CopyBytes
		}
		j.retire()
	}
	f.changed = append(f.changed, a)
}

// task returns a job and the state of one of its tasks, or nil if there is none.
func (f *Attempts) task(job int32, k Kind, task int32) (*JobTasks, *taskState) {
	j := f.Job(job)
	if j == nil || k >= Kinds || task < 0 || task >= MaxTasks || j.retired() {
		return nil, nil
	}
	if int(task) >= len(j.tasks[k]) {
		more := max(int(task)+1, int(j.Total[k])) - len(j.tasks[k])
		if f.places += more; f.places > MaxTasks { // only in a hostile file, which names tasks that no job has
			f.places -= more
			return nil, nil
		}
		j.tasks[k] = append(j.tasks[k], make([]taskState, more)...)
	}
	return j, &j.tasks[k][task]
}

// retired reports whether the job has ended and no attempt of it runs.
func (j *JobTasks) retired() bool { return j.Ended && j.Running[Map]+j.Running[Reduce] <= 0 }

// retire frees the states of the tasks if nothing of the job is left.
func (j *JobTasks) retire() {
	if j.retired() {
		j.tasks = [Kinds][]taskState{}
	}
}

// commit counts a task as done by an attempt on a slot, and its other attempts as ordered to end. It reports
// false if the task is done already, or its job has ended.
func (f *Attempts) commit(job int32, k Kind, task, slot int32) bool {
	j, t := f.task(job, k, task)
	if t == nil || j.Ended || t.at != notDone {
		return false
	}
	j.set(k, t, committed+f.slots[slot].Tracker)
	f.killTask(t, job, k, task)
	return true
}

// set changes where the output of a task is, and counts the task as done or not done.
func (j *JobTasks) set(k Kind, t *taskState, at int32) {
	if at != notDone {
		j.Done[k]++
	} else {
		j.Done[k]--
	}
	t.at = at
}

// kill notes that the Ledger orders the end of the running attempts that match. Their events follow later.
func (f *Attempts) kill(match func(a *Attempt) bool) {
	for i := range f.latest {
		if a := &f.latest[i]; a.How == EndNone && match(a) {
			a.killing = true
		}
	}
}

// killTask notes that the Ledger orders the end of all attempts of a task.
func (f *Attempts) killTask(t *taskState, job int32, k Kind, task int32) {
	if t.running > 0 {
		f.kill(func(a *Attempt) bool { return a.Job == job && a.Kind == k && a.Task == task })
	}
}

// jobEvent changes the tasks of a job.
func (f *Attempts) jobEvent(e *Event) {
	if e.Op == OpSubmit && e.Job >= 0 {
		for int(e.Job) >= len(f.jobs) {
			f.jobs = append(f.jobs, nil)
		}
		f.jobs[e.Job] = &JobTasks{Total: [Kinds]int32{int32(e.A), int32(e.B)}, Sealed: e.Has(Sealed)}
		return
	}
	j := f.Job(e.Job)
	if j == nil || j.Ended {
		return
	}
	switch e.Op {
	case OpReady:
		if !j.Sealed {
			j.Total[Map], j.Sealed = max(j.Total[Map], int32(e.A), int32(e.B)), e.Has(Sealed)
		}
		return
	case OpJobEnd:
		j.Ended = true
		if j.retire(); !j.retired() {
			f.kill(func(a *Attempt) bool { return a.Job == e.Job })
		}
		return
	}
	_, t := f.task(e.Job, e.Kind, e.Task)
	switch {
	case t == nil:
	case e.Op == OpLostOutput && t.at >= restored:
		j.set(e.Kind, t, notDone)
	case e.Op == OpRestore && t.at == notDone && t.running == 0:
		j.set(e.Kind, t, restored)
	case e.Op == OpDrop && t.at == notDone:
		if e.Kind == Map && !j.Sealed {
			j.Total[Map] = max(j.Total[Map], e.Task+1)
		}
		j.set(e.Kind, t, dropped)
		j.Dropped[e.Kind]++
		f.killTask(t, e.Job, e.Kind, e.Task)
	}
}

// lose ends the attempt on a slot with its tracker.
func (f *Attempts) lose(e *Event, slot int32) {
	if a := f.Latest(slot); a != nil && a.How == EndNone {
		f.end(a, e.At, EndLost)
	}
}

// lostTracker ends the attempts on a tracker. The maps that were committed there are not done any more, if
// their job has reduces: the outputs of other jobs are results, which are elsewhere.
func (f *Attempts) lostTracker(e *Event) {
	for i := range f.slots {
		if int64(f.slots[i].Tracker) == e.A {
			f.lose(e, int32(i))
		}
	}
	for _, j := range f.jobs {
		if j == nil || j.Ended || j.Total[Reduce] == 0 {
			continue
		}
		for i := range j.tasks[Map] {
			if t := &j.tasks[Map][i]; int64(t.at) == int64(committed)+e.A {
				j.set(Map, t, notDone)
			}
		}
	}
}
