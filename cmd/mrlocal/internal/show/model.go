// Package show draws a run on standard error: a live block on a terminal, a line
// every few seconds elsewhere, and a table at the end.
//
// A Screen belongs to one run. It follows the events of the run with a lossy
// reader, so a slow terminal does not slow the run. The model is pure: events
// go in, the state of jobs and slots comes out, and the displays draw it. A
// Picture keeps all events of a run and draws the gantt of --gantt. Nothing
// here writes to standard output.
package show

import (
	"time"

	"mrlocal/trace"
)

// model is the state of a run, made from its events.
type model struct {
	jobs  []*jobState // in order of submission
	slots []slotState
	now   time.Duration

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

	inBytes        int64 // read by finished maps
	start, mapsEnd time.Duration
}

// tasks counts the tasks of one kind.
type tasks struct {
	total int32
	done  int32
	// Several attempts of one task may run at once. Each counts for itself in share.
	running map[shownAttempt]int64 // progress, parts per million
}

// shownAttempt identifies an attempt within its job and kind.
type shownAttempt struct{ task, n int32 }

// slotState is what the strip shows of a slot.
type slotState struct {
	home   trace.Kind
	closed bool
	cell   byte // M, R, m, r or .
}

// newModel returns the state before the first event.
func newModel(slots []trace.Slot) *model {
	m := &model{slots: make([]slotState, len(slots))}
	for i, s := range slots {
		m.slots[i] = slotState{home: s.Home, closed: s.Extra, cell: '.'}
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
	case trace.OpReady, trace.OpStart, trace.OpProgress, trace.OpSeen, trace.OpFinish, trace.OpLostOutput, trace.OpDrop, trace.OpRestore, trace.OpMapsDone, trace.OpJobEnd:
		if j := m.job(e.Job); j != nil {
			m.task(j, e)
		}
	}
}

// submit adds a job. A job that comes while another one runs makes the run a batch.
func (m *model) submit(e *trace.Event, texts []string) {
	j := &jobState{id: e.Job, name: "job", sealed: e.Has(trace.Sealed), start: e.At}
	if len(texts) > 0 {
		j.name = texts[0]
	}
	// A submission has the number of maps in A and of reduces in B.
	for k, total := range [trace.Kinds]int64{e.A, e.B} {
		j.kinds[k] = tasks{total: int32(total), running: map[shownAttempt]int64{}}
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
		m.slot(e.Slot).cell = cell(e.Kind, e.Has(trace.Lent))
	case trace.OpProgress, trace.OpSeen:
		// The lossy reader may have missed the start of the attempt.
		if _, ok := t.running[a]; ok {
			t.running[a] = e.A
		}
	case trace.OpFinish:
		delete(t.running, a)
		m.slot(e.Slot).cell = '.'
		// A failed attempt is not done: the task gets another one.
		if e.Has(trace.OK) {
			t.done++
			if e.Kind == trace.Map {
				j.inBytes += e.A
			}
		}
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
		m.slots = append(m.slots, slotState{cell: '.'})
	}
	if int(id) >= len(m.slots) {
		return &slotState{}
	}
	return &m.slots[id]
}

// cell returns the letter of a kind of task; lower case means lent.
func cell(k trace.Kind, lent bool) byte {
	c := byte('M')
	if k == trace.Reduce {
		c = 'R'
	}
	if lent {
		c |= 0x20
	}
	return c
}

// strip returns one letter for each slot: M or R for the kind of task that runs
// there, and "." if the slot is idle. A lent slot has a letter in lower case. It
// leaves out slots that are closed and idle.
func (m *model) strip() string {
	cells := make([]byte, 0, len(m.slots))
	for i := range m.slots {
		if s := &m.slots[i]; !s.closed || s.cell != '.' {
			cells = append(cells, s.cell)
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

// active returns at most so many jobs that have started and not ended, in order
// of submission.
func (m *model) active(most int) []*jobState {
	var jobs []*jobState
	for _, j := range m.jobs {
		if len(jobs) == most {
			break
		}
		// Jobs that wait for slots would fill the block without saying anything.
		if !j.ended && (j.kinds[trace.Map].started() || j.kinds[trace.Reduce].started()) {
			jobs = append(jobs, j)
		}
	}
	return jobs
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

// bytesPerSecond returns the rate at which the maps read, or 0 if no map has
// finished. A running map is assumed to read as much as a finished one does on
// average.
func (j *jobState) bytesPerSecond(now time.Duration) float64 {
	// After the maps have ended, the rate is that of the whole map phase and stays.
	end := now
	if j.mapsEnd > 0 {
		end = j.mapsEnd
	}
	seconds := (end - j.start).Seconds()
	t := &j.kinds[trace.Map]
	if seconds <= 0 || t.done <= 0 {
		return 0
	}
	perMap := float64(j.inBytes) / float64(t.done)
	return perMap * t.share() * float64(t.total) / seconds
}

// remaining estimates the time that the maps still need from their pace so far.
// It returns 0 if there is no basis for an estimate.
func (j *jobState) remaining(now time.Duration) time.Duration {
	share := j.kinds[trace.Map].share()
	// Below two percent the pace is too uncertain. An open number of maps makes the share
	// meaningless.
	if share < 0.02 || share >= 1 || !j.sealed {
		return 0
	}
	passed := float64(now - j.start)
	return time.Duration(passed / share * (1 - share))
}
