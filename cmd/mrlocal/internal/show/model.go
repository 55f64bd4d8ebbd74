// Package show draws a run on standard error. A terminal has a live block, other places a line
// every few seconds, and programs objects of JSON. A table comes at the end.
//
// A Screen belongs to one run. It follows the events of the run with a lossy
// reader, so a slow terminal does not slow the run. The model is pure: events
// go in, the state of jobs and slots comes out, and the displays draw it. A
// Picture keeps all events of a run and draws the gantt of --gantt. Nothing
// here writes to standard output.
//
// A block is pure as well: a model and the size of a terminal go in, the bytes of a
// picture come out. The live display writes them and changes no mode of the terminal,
// so that there is none to restore, however the process ends.
package show

import (
	"time"

	"mrlocal/trace"
)

// model is the state of a run, made from its events.
type model struct {
	policy string
	jobs   []*jobState // in order of submission
	slots  []slotState
	now    time.Duration

	usage, before usage // the last two samples of what the process uses

	several bool // jobs were in the run at the same time: it is a batch, not a chain
}

// jobState counts the tasks of one job.
type jobState struct {
	id   int32
	name string
	// kinds has the maps and the reduces of the job.
	kinds  [trace.Kinds]tasks
	sealed bool // the number of maps is final
	ended  bool

	mapsEnd time.Duration

	reported bool // a line of JSON has said that the job has ended
}

// usage is a sample of what the process uses.
type usage struct {
	at, cpu                time.Duration
	memoryBytes, tempBytes int64
}

// tasks counts the tasks of one kind.
type tasks struct {
	total int32
	done  int32
	// bytes is what finished maps have read, or what reduces have copied.
	bytes int64
	// first is when the first attempt started, or -1. last is when the last one was done.
	first, last time.Duration
	// Several attempts of one task may run at once. Each counts for itself in share.
	running map[shownAttempt]int64 // progress, parts per million
}

// shownAttempt identifies an attempt within its job and kind.
type shownAttempt struct{ task, n int32 }

// slotState is what the strip shows of a slot.
type slotState struct {
	tracker int32
	closed  bool
	// What runs there.
	busy, lent bool
	kind       trace.Kind
	phase      trace.Phase
	// missed is when an attempt failed or was killed there and nothing ran since, or -1.
	missed time.Duration
}

// Cells of slots that run nothing. Busy ones have the letter of what they run.
const (
	idleCell   = '.'
	missedCell = 'x'
)

// missedTime is how long a slot shows that its attempt failed or was killed.
const missedTime = 2 * time.Second

// newModel returns the state before the first event.
func newModel(slots []trace.Slot) *model {
	m := &model{slots: make([]slotState, len(slots))}
	for i, s := range slots {
		m.slots[i] = slotState{tracker: s.Tracker, closed: s.Extra, missed: -1}
	}
	return m
}

// apply changes the state by the next event. The function texts resolves
// Event.Ref.
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

// submit adds a job. A job that comes while another one runs makes the run a batch.
func (m *model) submit(e *trace.Event, texts []string) {
	j := &jobState{id: e.Job, name: "job", sealed: e.Has(trace.Sealed)}
	if len(texts) > 0 {
		j.name = texts[0]
	}
	// A submission has the number of maps in A and of reduces in B.
	for k, total := range [trace.Kinds]int64{e.A, e.B} {
		j.kinds[k] = tasks{total: int32(total), first: -1, running: map[shownAttempt]int64{}}
	}
	// The jobs of a chain never overlap.
	m.several = m.several || m.current() != nil && !m.current().ended
	m.jobs = append(m.jobs, j)
}

// task counts the event of a task, or of a whole job.
func (m *model) task(j *jobState, e *trace.Event) {
	// The mask keeps the index in range, whatever the event says.
	t, a := &j.kinds[e.Kind&1], shownAttempt{e.Task, e.N}
	switch e.Op {
	// The engine splits input while the job runs, so the number of maps may grow until the job
	// is sealed.
	case trace.OpReady:
		j.kinds[trace.Map].total, j.sealed = int32(e.B), e.Has(trace.Sealed)
	case trace.OpStart:
		t.running[a] = 0
		if t.first < 0 {
			t.first = e.At
		}
		m.slot(e.Slot).start(e)
	case trace.OpProgress, trace.OpSeen:
		// The lossy reader may have missed the start of the attempt.
		if _, ok := t.running[a]; ok {
			t.running[a] = e.A
		}
	case trace.OpFetch:
		t.bytes += e.C
	case trace.OpFinish:
		delete(t.running, a)
		m.slot(e.Slot).end(e)
		t.finish(e)
	// A killed run has done the map.
	case trace.OpRestore:
		t.done++
	// The map runs again, so it counts as not done.
	case trace.OpLostOutput:
		t.done--
	// The run needs one task less than it had announced.
	case trace.OpDrop:
		t.total--
	case trace.OpMapsDone:
		j.mapsEnd = e.At
	case trace.OpJobEnd:
		j.ended = true
	}
}

// job finds a job by its id, or returns nil. The id is the index, unless the
// lossy reader missed submissions.
func (m *model) job(id int32) *jobState {
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

// slot returns the slot of an event. It adds a slot that the header did not
// list, so that an unexpected event never breaks a display.
func (m *model) slot(id int32) *slotState {
	if id < 0 {
		return &slotState{}
	}
	// The bound keeps a broken event from taking all memory.
	for int(id) >= len(m.slots) && len(m.slots) < 1<<16 {
		m.slots = append(m.slots, slotState{missed: -1})
	}
	if int(id) >= len(m.slots) {
		return &slotState{}
	}
	return &m.slots[id]
}

// start is the begin of an attempt. A reduce copies first.
func (s *slotState) start(e *trace.Event) {
	s.busy, s.lent, s.kind, s.missed = true, e.Has(trace.Lent), e.Kind, -1
	s.phase = trace.PhaseCompute
	if e.Kind == trace.Reduce {
		s.phase = trace.PhaseCopy
	}
}

// end is the end of the attempt.
func (s *slotState) end(e *trace.Event) {
	s.busy = false
	if !e.Has(trace.OK) {
		s.missed = e.At
	}
}

// cell returns the letter of what the slot runs: M for a map, S for a reduce that copies
// or sorts, R for one that reduces. Lower case means lent.
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

// shown reports whether the slot has a cell: closed ones have none while they are idle.
func (s *slotState) shown() bool { return s.busy || !s.closed }

// strip returns the cells of all slots that are shown.
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
func (m *model) current() *jobState {
	if len(m.jobs) == 0 {
		return nil
	}
	return m.jobs[len(m.jobs)-1]
}

// runs reports whether the job has started and not ended. Jobs that wait for slots would
// fill a block without saying anything.
func (j *jobState) runs() bool {
	return !j.ended && (j.kinds[trace.Map].started() || j.kinds[trace.Reduce].started())
}

// all counts the ended jobs and adds up the tasks of all jobs.
func (m *model) all() (ended int, sum jobState) {
	for k := range sum.kinds {
		sum.kinds[k].running = map[shownAttempt]int64{}
	}
	// The sum is sealed if every job that still runs is.
	sum.sealed = true
	for n, j := range m.jobs {
		if j.ended {
			ended++
		}
		sum.sealed = sum.sealed && (j.sealed || j.ended)
		for k := range j.kinds {
			t := &j.kinds[k]
			sum.kinds[k].total += t.total
			sum.kinds[k].done += t.done
			for _, ppm := range t.running {
				// Ids of attempts repeat from job to job, so the sum numbers them anew.
				sum.kinds[k].running[shownAttempt{int32(n), int32(len(sum.kinds[k].running))}] = ppm
			}
		}
	}
	return ended, sum
}

// started reports whether a task has started.
func (t *tasks) started() bool { return t.done > 0 || len(t.running) > 0 }

// share returns which part of the tasks is done, 0 to 1. A running attempt
// counts by its progress.
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

// finish counts the end of an attempt. A failed one is not done: the task gets another one,
// which copies anew.
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

// doneBytes returns what the tasks have read or copied. A running map is assumed to read as
// much as a finished one does on average.
func (t *tasks) doneBytes(k trace.Kind) float64 {
	switch {
	case k == trace.Map && t.done <= 0:
		return 0
	case k == trace.Reduce:
		return float64(t.bytes)
	}
	return float64(t.bytes) / float64(t.done) * t.share() * float64(t.total)
}

// bytesPerSecond returns the rate at which tasks of the kind have read or copied so far, or
// 0 if that is not known yet.
func (j *jobState) bytesPerSecond(k trace.Kind, now time.Duration) float64 {
	t := &j.kinds[k]
	// After the last task has ended, the rate is that of the whole phase and stays.
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

// remaining estimates the time that the tasks of the kind still need from their pace so
// far. It returns 0 if there is no basis for an estimate.
func (j *jobState) remaining(k trace.Kind, now time.Duration) time.Duration {
	t := &j.kinds[k]
	share := t.share()
	// Below two percent the pace is too uncertain. An open number of maps makes the share
	// meaningless.
	if share < 0.02 || share >= 1 || t.first < 0 || k == trace.Map && !j.sealed {
		return 0
	}
	return time.Duration(float64(now-t.first) / share * (1 - share))
}

// cores returns how many cores the process has used between the last two samples.
func (m *model) cores() float64 {
	if m.usage.at <= m.before.at {
		return 0
	}
	return float64(m.usage.cpu-m.before.cpu) / float64(m.usage.at-m.before.at)
}
