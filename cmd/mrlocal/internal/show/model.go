// Package show turns a run into what a person sees on standard error: a live
// block on a terminal, a line now and then elsewhere, and a table at the end.
//
// Model is pure: events in, a picture of jobs and slots out. Plain and the live
// block draw it from a lossy reader of the run's trace.Stream, so a slow
// terminal never holds up the run. Nothing here writes to standard output.
//
// Neighbours: trace supplies the events, engine.Report the table's figures;
// cmd/mrlocal decides which display a run gets.
package show

import (
	"time"

	"mrlocal/trace"
)

// Model is the state of a run as its events tell it.
type Model struct {
	jobs  []*jobState // in order of submission
	slots []slotState
	now   time.Duration

	several bool // jobs were in the run at the same time: a batch, not a chain
}

// jobState counts one job's tasks.
type jobState struct {
	id     int32
	name   string
	kinds  [trace.Kinds]tasks
	sealed bool // the number of maps is final
	ended  bool

	inBytes        int64 // of finished maps
	start, mapsEnd time.Duration
}

// tasks of one kind.
type tasks struct {
	total   int32
	done    int32
	running map[attempt]int64 // progress, parts per million
}

type attempt struct{ task, n int32 }

type slotState struct {
	home   trace.Kind
	closed bool
	cell   byte // M, R, m, r or .
}

// NewModel knows the slots before the first event.
func NewModel(slots []trace.Slot) *Model {
	m := &Model{slots: make([]slotState, len(slots))}
	for i, s := range slots {
		m.slots[i] = slotState{home: s.Home, closed: s.Extra, cell: '.'}
	}
	return m
}

// Apply takes the next event; texts resolves Event.Ref.
func (m *Model) Apply(e *trace.Event, texts func(ref int32) []string) {
	m.now = max(m.now, e.At)
	switch e.Op {
	case trace.OpOpen:
		m.slot(e.Slot).closed = false
	case trace.OpDrain, trace.OpClose:
		m.slot(e.Slot).closed = true
	case trace.OpSubmit:
		m.submit(e, texts(e.Ref))
	case trace.OpReady, trace.OpStart, trace.OpProgress, trace.OpFinish, trace.OpLostOutput, trace.OpDrop, trace.OpMapsDone, trace.OpJobEnd:
		if j := m.job(e.Job); j != nil {
			m.task(j, e)
		}
	}
}

func (m *Model) submit(e *trace.Event, texts []string) {
	j := &jobState{id: e.Job, name: "job", sealed: e.Has(trace.Sealed), start: e.At}
	if len(texts) > 0 {
		j.name = texts[0]
	}
	for k, total := range [trace.Kinds]int64{e.A, e.B} {
		j.kinds[k] = tasks{total: int32(total), running: map[attempt]int64{}}
	}
	m.several = m.several || m.current() != nil && !m.current().ended
	m.jobs = append(m.jobs, j)
}

func (m *Model) task(j *jobState, e *trace.Event) {
	t, a := &j.kinds[e.Kind&1], attempt{e.Task, e.N}
	switch e.Op {
	case trace.OpReady:
		j.kinds[trace.Map].total, j.sealed = int32(e.B), e.Has(trace.Sealed)
	case trace.OpStart:
		t.running[a] = 0
		m.slot(e.Slot).cell = cell(e.Kind, e.Has(trace.Lent))
	case trace.OpProgress:
		if _, ok := t.running[a]; ok {
			t.running[a] = e.A
		}
	case trace.OpFinish:
		delete(t.running, a)
		m.slot(e.Slot).cell = '.'
		if e.Has(trace.OK) {
			t.done++
			if e.Kind == trace.Map {
				j.inBytes += e.A
			}
		}
	case trace.OpLostOutput:
		t.done--
	case trace.OpDrop:
		t.total--
	case trace.OpMapsDone:
		j.mapsEnd = e.At
	case trace.OpJobEnd:
		j.ended = true
	}
}

// job finds by id: its place, unless submissions were missed.
func (m *Model) job(id int32) *jobState {
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

// slot is that of an event; one the header did not list is added, so that an
// unexpected event never breaks a display.
func (m *Model) slot(id int32) *slotState {
	if id < 0 {
		return &slotState{}
	}
	for int(id) >= len(m.slots) && len(m.slots) < 1<<16 {
		m.slots = append(m.slots, slotState{cell: '.'})
	}
	if int(id) >= len(m.slots) {
		return &slotState{}
	}
	return &m.slots[id]
}

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

// Strip is one cell a slot: M or R for what runs there, lower case where the
// slot is lent, "." idle. Slots that are closed and idle are left out.
func (m *Model) Strip() string {
	cells := make([]byte, 0, len(m.slots))
	for i := range m.slots {
		if s := &m.slots[i]; !s.closed || s.cell != '.' {
			cells = append(cells, s.cell)
		}
	}
	return string(cells)
}

// current is the job at work: the last that was submitted.
func (m *Model) current() *jobState {
	if len(m.jobs) == 0 {
		return nil
	}
	return m.jobs[len(m.jobs)-1]
}

// active are the jobs of which something has started and that have not ended,
// at most as many as asked for, in order of submission.
func (m *Model) active(most int) []*jobState {
	var jobs []*jobState
	for _, j := range m.jobs {
		if len(jobs) == most {
			break
		}
		if !j.ended && (j.kinds[trace.Map].started() || j.kinds[trace.Reduce].started()) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// all are the jobs and tasks of the run taken together.
func (m *Model) all() (ended int, sum jobState) {
	for k := range sum.kinds {
		sum.kinds[k].running = map[attempt]int64{}
	}
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
				sum.kinds[k].running[attempt{int32(n), int32(len(sum.kinds[k].running))}] = ppm
			}
		}
	}
	return ended, sum
}

func (t *tasks) started() bool { return t.done > 0 || len(t.running) > 0 }

// share is the part of the kind's work that is done, 0 to 1; running attempts
// count by their progress.
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

// bytesPerSecond is the rate at which the maps read; what running maps have
// read is judged by the mean of those that finished.
func (j *jobState) bytesPerSecond(now time.Duration) float64 {
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

// remaining is how long the maps have still to go at their pace so far; 0 when
// that cannot be told.
func (j *jobState) remaining(now time.Duration) time.Duration {
	share := j.kinds[trace.Map].share()
	if share < 0.02 || share >= 1 || !j.sealed {
		return 0
	}
	passed := float64(now - j.start)
	return time.Duration(passed / share * (1 - share))
}
