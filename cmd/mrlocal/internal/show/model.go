// Package show shows the progress of a run on standard error. On a terminal it is a live block, and
// elsewhere a line every few seconds. Programs can get JSON objects. A table comes at the end.
//
// A Screen belongs to one run. Its follower reads the events of the run with a lossy reader, so that a
// slow terminal does not slow the run down. The follower applies the events to a model, the state of
// jobs and slots, and a display draws the model. A Picture keeps all events of a run and draws the
// gantt of --gantt.
//
// The model and the block are free of side effects. A block turns a model and the size of a terminal
// into bytes, and the live display writes these bytes. It does not change the mode of the terminal, so
// nothing must be restored if the process is killed.
package show

import (
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/trace"
)

// model is the state of a run after the events so far. All times in it are since the start of the
// run. The goroutine of the follower owns it.
type model struct {
	policy string
	jobs   []*shownJob // in order of submission
	slots  []slotState // by slot
	now    time.Duration

	usage, before usage // the last two samples, of which before is the older one

	several bool // several jobs were in the run at the same time, so it is a batch and not a chain
}

// shownJob is the state of one job.
type shownJob struct {
	id     int32
	name   string
	kinds  [trace.Kinds]tasks // the maps and the reduces
	sealed bool               // the number of maps is final
	state  shownState

	mapsEnd time.Duration // when the last map was done; 0: not yet
}

// shownState is how far a job has come.
type shownState uint8

const (
	shownOpen     shownState = iota
	shownEnded               // its last event has come
	shownReported            // a JSON object has shown it as ended
)

func (s shownState) String() string { return [...]string{"open", "ended", "reported"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s shownState) Next() []shownState {
	return [...][]shownState{{shownEnded}, {shownReported}, nil}[s]
}

// usage is a sample of the resources that the process uses.
type usage struct {
	at, cpu                time.Duration // cpu is the CPU time so far
	memoryBytes, tempBytes int64         // leased memory, temporary files
}

// tasks is the state of the tasks of one kind of a job.
type tasks struct {
	total int32
	done  int32
	bytes int64 // that finished maps have read, or that reduces have copied
	// first is the start of the first attempt, or -1. last is the end of the last finished task.
	first, last time.Duration
	// running has the progress of each running attempt, in parts per million. A task may have several.
	running map[shownAttempt]int64
}

// shownAttempt identifies an attempt within its job and kind: the task, and the number of the attempt.
type shownAttempt struct{ task, n int32 }

// slotState is the state of a slot, which a cell shows.
type slotState struct {
	tracker    int32
	closed     bool
	busy, lent bool
	kind       trace.Kind  // of the attempt on a busy slot
	phase      trace.Phase // likewise
	// missed is when the last attempt failed or was killed, if none has started on the slot since. Else it is
	// -1.
	missed time.Duration
}

// Cells of slots without an attempt. slotState.cell has those of busy slots.
const (
	idleCell   = '.'
	missedCell = 'x'
)

// missedTime is how long the cell of a slot shows that an attempt failed or was killed there.
const missedTime = 2 * time.Second

// newModel returns the model of a run with these slots before its first event.
func newModel(slots []trace.Slot) *model {
	m := &model{slots: make([]slotState, len(slots))}
	for i, s := range slots {
		m.slots[i] = slotState{tracker: s.Tracker, closed: s.Extra, missed: -1}
	}
	return m
}

// apply changes the model by the next event. texts returns the texts for Event.Ref.
func (m *model) apply(e *trace.Event, texts func(ref int32) []string) {
	m.now = max(m.now, e.At)
	switch e.Op {
	case trace.OpOpen:
		m.slot(e.Slot).closed = false
	case trace.OpDrain, trace.OpClose:
		m.slot(e.Slot).closed = true
	case trace.OpSubmit:
		m.submit(e, texts(e.Ref))
	case trace.OpUsage:
		m.before, m.usage = m.usage, usage{e.At, time.Duration(e.A), e.B, e.C}
	case trace.OpPhase:
		m.slot(e.Slot).phase = e.Phase
	case trace.OpReady, trace.OpStart, trace.OpProgress, trace.OpSeen, trace.OpFetch, trace.OpFinish, trace.OpLostOutput, trace.OpDrop, trace.OpRestore, trace.OpMapsDone, trace.OpJobEnd:
		if j := m.job(e.Job); j != nil {
			m.task(j, e)
		}
	}
}

// submit adds a job. texts begins with its name. If the job before has not ended, the run is a batch.
func (m *model) submit(e *trace.Event, texts []string) {
	j := &shownJob{id: e.Job, name: "job", sealed: e.Has(trace.Sealed)}
	if len(texts) > 0 {
		j.name = texts[0]
	}
	// A submission has the number of maps in A and of reduces in B.
	for k, total := range [trace.Kinds]int64{e.A, e.B} {
		j.kinds[k] = tasks{total: int32(total), first: -1, running: map[shownAttempt]int64{}}
	}
	// In a chain, a job is submitted after the one before has ended.
	m.several = m.several || m.current() != nil && !m.current().ended()
	m.jobs = append(m.jobs, j)
}

// task changes the state of job j by an event of one of its tasks, or of the whole job.
func (m *model) task(j *shownJob, e *trace.Event) {
	// The mask keeps the index in range even for a wrong event.
	t, a := &j.kinds[e.Kind&1], shownAttempt{e.Task, e.N}
	switch e.Op {
	// The engine divides the input into splits while the job runs. Until the job is sealed, the
	// number of maps may grow.
	case trace.OpReady:
		j.kinds[trace.Map].total, j.sealed = int32(e.B), e.Has(trace.Sealed)
	case trace.OpStart:
		t.running[a] = 0
		if t.first < 0 {
			t.first = e.At
		}
		m.slot(e.Slot).start(e)
	case trace.OpProgress, trace.OpSeen:
		// The lossy reader may have lost the start of the attempt.
		if _, ok := t.running[a]; ok {
			t.running[a] = e.A
		}
	case trace.OpFetch:
		t.bytes += e.C
	case trace.OpFinish:
		delete(t.running, a)
		m.slot(e.Slot).end(e)
		t.finish(e)
	// The journal of an earlier run has the output of this map.
	case trace.OpRestore:
		t.done++
	// The output of a map is lost, so the map is not done any more.
	case trace.OpLostOutput:
		t.done--
	// The job has one task less than it announced.
	case trace.OpDrop:
		t.total--
	case trace.OpMapsDone:
		j.mapsEnd = e.At
	case trace.OpJobEnd:
		invariant.Reach(&j.state, shownEnded)
	}
}

// job returns the job with that id, or nil. The id is the index in m.jobs unless the lossy reader
// has lost a submission.
func (m *model) job(id int32) *shownJob {
	if id >= 0 && int(id) < len(m.jobs) && m.jobs[id].id == id {
		return m.jobs[id]
	}
	for _, j := range m.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

// slot returns the state of a slot. If the header did not list the slot, it adds the slot, so that
// a wrong event does no harm. For an impossible number it returns a state that is not shown.
func (m *model) slot(id int32) *slotState {
	if id < 0 {
		return &slotState{}
	}
	// The bound keeps a wrong event from taking all memory.
	for int(id) >= len(m.slots) && len(m.slots) < 1<<16 {
		m.slots = append(m.slots, slotState{missed: -1})
	}
	if int(id) >= len(m.slots) {
		return &slotState{}
	}
	return &m.slots[id]
}

// start sets the state at the start of an attempt. A reduce begins with its copy phase.
func (s *slotState) start(e *trace.Event) {
	s.busy = true
	s.lent = e.Has(trace.Lent)
	s.kind = e.Kind
	s.missed = -1
	s.phase = trace.PhaseCompute
	if e.Kind == trace.Reduce {
		s.phase = trace.PhaseCopy
	}
}

// end sets the state at the end of an attempt.
func (s *slotState) end(e *trace.Event) {
	s.busy = false
	if !e.Has(trace.OK) {
		s.missed = e.At
	}
}

// cell returns the character for the slot at time now. M is a map, S is a reduce that copies or
// sorts, R is a reduce in its reduce phase. Lower case means lent. A slot without an attempt has
// idleCell or missedCell.
func (s *slotState) cell(now time.Duration) byte {
	switch {
	case s.busy:
	case s.missed >= 0 && now-s.missed < missedTime:
		return missedCell
	default:
		return idleCell
	}
	c := byte('M')
	switch {
	case s.kind == trace.Reduce && s.phase == trace.PhaseReduce:
		c = 'R'
	case s.kind == trace.Reduce:
		c = 'S'
	}
	if s.lent {
		c |= 0x20
	}
	return c
}

// shown reports whether the slot has a cell. A closed slot has one only while it is busy.
func (s *slotState) shown() bool { return s.busy || !s.closed }

// strip returns the cells of all slots that have one, in the order of the slots.
func (m *model) strip(now time.Duration) string {
	cells := make([]byte, 0, len(m.slots))
	for i := range m.slots {
		if s := &m.slots[i]; s.shown() {
			cells = append(cells, s.cell(now))
		}
	}
	return string(cells)
}

// current returns the job that was submitted last, or nil.
func (m *model) current() *shownJob {
	if len(m.jobs) == 0 {
		return nil
	}
	return m.jobs[len(m.jobs)-1]
}

// ended reports whether the job has ended.
func (j *shownJob) ended() bool { return j.state >= shownEnded }

// runs reports whether a task of the job has started and the job has not ended. The displays leave
// out jobs that wait for their first slot.
func (j *shownJob) runs() bool {
	return !j.ended() && (j.kinds[trace.Map].started() || j.kinds[trace.Reduce].started())
}

// all returns the number of ended jobs, and a job whose tasks are the sums of those of all jobs.
func (m *model) all() (ended int, sum shownJob) {
	for k := range sum.kinds {
		sum.kinds[k].running = map[shownAttempt]int64{}
	}
	// The sum is sealed if all jobs that have not ended are.
	sum.sealed = true
	for n, j := range m.jobs {
		if j.ended() {
			ended++
		}
		sum.sealed = sum.sealed && (j.sealed || j.ended())
		for k := range j.kinds {
			t := &j.kinds[k]
			sum.kinds[k].total += t.total
			sum.kinds[k].done += t.done
			for _, ppm := range t.running {
				// Attempts of different jobs may have the same id, so the sum gives them new ones.
				sum.kinds[k].running[shownAttempt{int32(n), int32(len(sum.kinds[k].running))}] = ppm
			}
		}
	}
	return ended, sum
}

// started reports whether a task has started.
func (t *tasks) started() bool { return t.done > 0 || len(t.running) > 0 }

// share returns the share of the tasks that is done, from 0 to 1. A running attempt counts with its
// progress.
func (t *tasks) share() float64 {
	if t.total <= 0 {
		return 0
	}
	done := float64(t.done)
	for _, ppm := range t.running {
		done += float64(ppm) / 1e6
	}
	return min(1, max(0, done/float64(t.total)))
}

// finish counts the end of an attempt. If a reduce has failed, its copied bytes no longer count,
// because its next attempt copies them again.
func (t *tasks) finish(e *trace.Event) {
	switch {
	case !e.Has(trace.OK):
		if e.Kind == trace.Reduce {
			t.bytes = max(0, t.bytes-e.D)
		}
		return
	case e.Kind == trace.Map:
		t.bytes += e.A
	}
	t.done++
	t.last = e.At
}

// doneBytes returns the bytes that the tasks have read or copied. For running maps it is an
// estimate, which assumes that each map reads as much as the finished ones on average.
func (t *tasks) doneBytes(k trace.Kind) float64 {
	switch {
	case k == trace.Map && t.done <= 0:
		return 0
	case k == trace.Reduce:
		return float64(t.bytes)
	}
	return float64(t.bytes) / float64(t.done) * t.share() * float64(t.total)
}

// bytesPerSecond returns the mean rate at which tasks of the kind have read or copied so far, or 0
// if it is not known yet.
func (j *shownJob) bytesPerSecond(k trace.Kind, now time.Duration) float64 {
	t := &j.kinds[k]
	// After the last task, the rate is that of the whole phase, so it does not change any more.
	switch {
	case k == trace.Map && j.mapsEnd > 0:
		now = j.mapsEnd
	case t.done == t.total:
		now = t.last
	}
	seconds := (now - t.first).Seconds()
	if seconds <= 0 || t.first < 0 {
		return 0
	}
	return t.doneBytes(k) / seconds
}

// remaining estimates the time that the tasks of the kind still need. It assumes that they go on at
// the speed so far. It returns 0 if there is too little to go by.
func (j *shownJob) remaining(k trace.Kind, now time.Duration) time.Duration {
	t := &j.kinds[k]
	share := t.share()
	// Below 2 % the speed is too uncertain. While the number of maps may grow, the share of done
	// maps has no meaning.
	if share < 0.02 || share >= 1 || t.first < 0 || k == trace.Map && !j.sealed {
		return 0
	}
	return time.Duration(float64(now-t.first) / share * (1 - share))
}

// cores returns the mean number of cores that the process used between the last two samples, or 0
// if there are fewer than two.
func (m *model) cores() float64 {
	if m.usage.at <= m.before.at {
		return 0
	}
	return float64(m.usage.cpu-m.before.cpu) / float64(m.usage.at-m.before.at)
}
