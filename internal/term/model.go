// Package term shows the progress of a run on standard error. On a terminal it is a live block, and
// elsewhere a line every few seconds. Programs can get JSON objects. A table comes at the end.
//
// A Screen belongs to one run. Its follower applies each event of the run to a model, the state of
// jobs and slots, and a display draws the model into memory. The goroutine of the screen writes that to the
// terminal, so that a slow one does not slow the run down. A Picture keeps all events of a run and draws the
// gantt of --gantt.
//
// The model and the block are free of side effects. A block turns a model and the size of a terminal
// into bytes, and the live display writes these bytes. It does not change the mode of the terminal, so
// nothing must be restored if the process is killed.
package term

import (
	"time"

	"mrlocal/trace"
)

// model is the state of a run after the events so far. All times in it are since the start of the
// run. The lock of the follower guards it.
type model struct {
	policy   string
	jobs     []*shownJob // in order of submission
	attempts trace.Attempts
	slots    []trace.Slot
	closed   []bool // by slot
	now      time.Duration

	usage, before usage // the last two samples, of which before is the older one

	several bool // several jobs were in the run at the same time, so it is a batch and not a chain
}

// shownJob is the state of one job.
type shownJob struct {
	id          int32
	name        string
	counts      *trace.JobTasks            // of the attempts
	first, last [trace.Kinds]time.Duration // the start of the first attempt, or -1; the end of the last finished task
	mapsEnd     time.Duration              // when the last map was done; 0: not yet
	reported    bool                       // a JSON object has shown the job as ended
}

// usage is a sample of the resources that the process uses.
type usage struct {
	at, cpu                time.Duration // cpu is the CPU time so far
	memoryBytes, tempBytes int64         // leased memory, temporary files
}

// tasks is the state of the tasks of one kind of a job.
type tasks struct {
	total, done, running int32 // without the tasks that are not needed; running: attempts
	ppm                  int64 // progress of the running attempts together, in parts per million
	bytes                int64 // that finished maps have read, or that reduces have copied
}

// of returns the state of the tasks of kind k.
func (j *shownJob) of(k trace.Kind) tasks {
	c := j.counts
	return tasks{c.Total[k] - c.Dropped[k], c.Done[k] - c.Dropped[k], c.Running[k], c.Progress[k], c.Bytes[k]}
}

// phases returns the kinds of tasks that the job has.
func (j *shownJob) phases() (all []trace.Kind) {
	for k := range trace.Kind(trace.Kinds) {
		if j.of(k).total > 0 {
			all = append(all, k)
		}
	}
	return all
}

// Cells of slots without an attempt. model.cell has those of busy slots.
const (
	idleCell   = '.'
	missedCell = 'x'
)

// missedTime is how long the cell of a slot shows that an attempt failed or was killed there.
const missedTime = 2 * time.Second

// newModel returns the model of a run with these slots before its first event.
func newModel(slots []trace.Slot) *model {
	m := &model{slots: slots, closed: make([]bool, len(slots))}
	for i, s := range slots {
		m.closed[i] = s.Extra
	}
	_ = m.attempts.Open(&trace.Header{Slots: slots}) // it never fails
	return m
}

// apply changes the model by the next event. texts returns the texts for Event.Ref.
func (m *model) apply(e *trace.Event, texts func(ref int32) []string) {
	m.now = max(m.now, e.At)
	for _, a := range m.attempts.Apply(e) {
		if j := m.job(a.Job); j != nil {
			j.attempt(a)
		}
	}
	switch e.Op {
	case trace.OpOpen, trace.OpDrain, trace.OpClose:
		if e.Slot >= 0 && int(e.Slot) < len(m.closed) {
			m.closed[e.Slot] = e.Op != trace.OpOpen
		}
	case trace.OpSubmit:
		m.submit(e, texts(e.Ref))
	case trace.OpUsage:
		m.before, m.usage = m.usage, usage{e.At, time.Duration(e.A), e.B, e.C}
	case trace.OpMapsDone:
		if j := m.job(e.Job); j != nil {
			j.mapsEnd = e.At
		}
	}
}

// submit adds a job. texts begins with its name. If the job before has not ended, the run is a batch.
func (m *model) submit(e *trace.Event, texts []string) {
	j := &shownJob{id: e.Job, name: "job", counts: m.attempts.Job(e.Job)}
	if len(texts) > 0 {
		j.name = texts[0]
	}
	for k := range j.first {
		j.first[k] = -1
	}
	// In a chain, a job is submitted after the one before has ended.
	m.several = m.several || m.current() != nil && !m.current().ended()
	m.jobs = append(m.jobs, j)
}

// attempt notes the times of an attempt that has started or ended.
func (j *shownJob) attempt(a *trace.Attempt) {
	if j.first[a.Kind] < 0 {
		j.first[a.Kind] = a.From
	}
	if a.Done {
		j.last[a.Kind] = a.To
	}
}

// job returns the job with that id, or nil. The id is the index in m.jobs if the submissions come in order.
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

// cell returns the character for a slot at time now, and whether the slot is lent. M is a map, S is a reduce
// that copies or sorts, R is a reduce in its reduce phase. Lower case means lent. A slot without an attempt has
// idleCell or missedCell. shown is false for a closed slot without an attempt.
func (m *model) cell(slot int, now time.Duration) (c byte, lent, shown bool) {
	a := m.attempts.Latest(int32(slot))
	switch {
	case a != nil && a.How == trace.EndNone:
	case a != nil && a.How != trace.EndOK && now-a.To < missedTime:
		return missedCell, false, !m.closed[slot]
	default:
		return idleCell, false, !m.closed[slot]
	}
	c = 'M'
	switch {
	case a.Kind == trace.Reduce && a.Phase == trace.PhaseReduce:
		c = 'R'
	case a.Kind == trace.Reduce:
		c = 'S'
	}
	if a.Lent {
		c |= 0x20
	}
	return c, a.Lent, true
}

// strip returns the cells of all slots that have one, in the order of the slots.
func (m *model) strip(now time.Duration) string {
	cells := make([]byte, 0, len(m.slots))
	for i := range m.slots {
		if c, _, shown := m.cell(i, now); shown {
			cells = append(cells, c)
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
func (j *shownJob) ended() bool { return j.counts.Ended }

// runs reports whether a task of the job has started and the job has not ended. The displays leave
// out jobs that wait for their first slot.
func (j *shownJob) runs() bool {
	return !j.ended() && (j.of(trace.Map).started() || j.of(trace.Reduce).started())
}

// all returns the number of ended jobs, and a job whose tasks are the sums of those of all jobs. It has no rate and no
// remaining time.
func (m *model) all() (ended int, sum shownJob) {
	// The sum is sealed if all jobs that have not ended are.
	all := trace.JobTasks{Sealed: true}
	for _, j := range m.jobs {
		if j.ended() {
			ended++
		}
		all.Sealed = all.Sealed && (j.counts.Sealed || j.ended())
		for k := range trace.Kind(trace.Kinds) {
			t := j.of(k)
			all.Total[k] += t.total
			all.Done[k] += t.done
			all.Progress[k] += t.ppm
		}
	}
	return ended, shownJob{counts: &all, first: [trace.Kinds]time.Duration{-1, -1}}
}

// started reports whether a task has started.
func (t tasks) started() bool { return t.done > 0 || t.running > 0 }

// share returns the share of the tasks that is done, from 0 to 1. A running attempt counts with its
// progress.
func (t tasks) share() float64 {
	if t.total <= 0 {
		return 0
	}
	return min(1, max(0, (float64(t.done)+float64(t.ppm)/1e6)/float64(t.total)))
}

// doneBytes returns the bytes that the tasks have read or copied. For running maps it is an
// estimate, which assumes that each map reads as much as the finished ones on average.
func (t tasks) doneBytes(k trace.Kind) float64 {
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
	t := j.of(k)
	// After the last task, the rate is that of the whole phase, so it does not change any more.
	switch {
	case k == trace.Map && j.mapsEnd > 0:
		now = j.mapsEnd
	case t.done == t.total:
		now = j.last[k]
	}
	seconds := (now - j.first[k]).Seconds()
	if seconds <= 0 || j.first[k] < 0 {
		return 0
	}
	return t.doneBytes(k) / seconds
}

// remaining estimates the time that the tasks of the kind still need. It assumes that they go on at
// the speed so far. It returns 0 if there is too little to go by.
func (j *shownJob) remaining(k trace.Kind, now time.Duration) time.Duration {
	share := j.of(k).share()
	// Below 2 % the speed is too uncertain. While the number of maps may grow, the share of done
	// maps has no meaning.
	if share < 0.02 || share >= 1 || j.first[k] < 0 || k == trace.Map && !j.counts.Sealed {
		return 0
	}
	return time.Duration(float64(now-j.first[k]) / share * (1 - share))
}

// cores returns the mean number of cores that the process used between the last two samples, or 0
// if there are fewer than two.
func (m *model) cores() float64 {
	if m.usage.at <= m.before.at {
		return 0
	}
	return float64(m.usage.cpu-m.before.cpu) / float64(m.usage.at-m.before.at)
}
