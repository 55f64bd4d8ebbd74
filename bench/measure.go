package bench

import (
	"maps"
	"slices"
	"time"

	"mrlocal/trace"
)

// measures are figures that a run's events have and its report does not: the stages
// of map and shuffle [OMO21, Fig. 13], how many maps of a job end together
// [OMO21, Fig. 8], and the running tasks of each pool [DHFS13, Fig. 5].
type measures struct {
	firstReduce, mapsEnd, copiesEnd time.Duration // of the run; firstReduce negative: none started

	jobs  map[int32]*jobMeasures
	pools map[string][trace.Kinds][]span
	open  map[int32]opened // by slot
}

// jobMeasures holds what is kept of a job: its pool, and the times of its maps since the start
// of the run.
type jobMeasures struct {
	pool    string
	mapEnds []time.Duration // of maps that succeeded
}

// span is the time from the start to the end of an attempt.
type span struct{ from, to time.Duration }

// opened says which span the attempt on a slot has, so that its end is found without a search.
type opened struct {
	pool string
	kind trace.Kind
	at   int // in the spans of pool and kind
}

// newMeasures returns measures of a run that has not started.
func newMeasures() *measures {
	return &measures{firstReduce: -1, jobs: map[int32]*jobMeasures{}, pools: map[string][trace.Kinds][]span{}, open: map[int32]opened{}}
}

// Record implements trace.Sink.
func (m *measures) Record(s *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpSubmit:
		// A submission names the job and then its pool.
		if texts := s.Texts(e.Ref); len(texts) > 1 {
			m.jobs[e.Job] = &jobMeasures{pool: texts[1]}
		}
	case trace.OpStart:
		m.start(e)
	case trace.OpFinish:
		m.finish(e)
	case trace.OpPhase:
		// A reduce that enters its next phase has copied everything.
		if e.Kind == trace.Reduce && e.Phase != trace.PhaseCopy {
			m.copiesEnd = max(m.copiesEnd, e.At)
		}
	}
	return nil
}

// start begins the span of an attempt. Its end is -1 as long as the attempt runs.
func (m *measures) start(e *trace.Event) {
	if e.Kind == trace.Reduce && m.firstReduce < 0 {
		m.firstReduce = e.At
	}
	// Every attempt follows the submission of its job, so the job is there.
	pool := m.jobs[e.Job].pool
	spans := m.pools[pool]
	m.open[e.Slot] = opened{pool, e.Kind, len(spans[e.Kind])}
	spans[e.Kind] = append(spans[e.Kind], span{from: e.At, to: -1})
	m.pools[pool] = spans
}

// finish ends the span of an attempt, whether it succeeded or not. Only maps that succeeded end
// a map phase.
func (m *measures) finish(e *trace.Event) {
	if o, ok := m.open[e.Slot]; ok {
		m.pools[o.pool][o.kind][o.at].to = e.At
		delete(m.open, e.Slot)
	}
	if e.Kind == trace.Map && e.Has(trace.OK) {
		m.mapsEnd = max(m.mapsEnd, e.At)
		m.jobs[e.Job].mapEnds = append(m.jobs[e.Job].mapEnds, e.At)
	}
}

// running are the attempts of a kind that run for a pool at an instant; what
// ends just then is not counted, what starts then is.
func (m *measures) running(pool string, kind trace.Kind, at time.Duration) (n int) {
	for _, s := range m.pools[pool][kind] {
		if s.from <= at && (s.to < 0 || at < s.to) {
			n++
		}
	}
	return n
}

// lastWindow is the time before the end of a job's last map in which the maps of
// its last batch end [OMO21, section V-C].
const lastWindow = 10 * time.Second

// lastBatches returns, by job, how many maps end within lastWindow of the last one.
func (m *measures) lastBatches() (sizes []float64) {
	// The order of a map is random. Sorted ids give the same result for the same run.
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		ends := m.jobs[id].mapEnds
		if len(ends) == 0 {
			continue
		}
		// The last map itself is part of its batch.
		last, n := slices.Max(ends), 0
		for _, at := range ends {
			if last-at <= lastWindow {
				n++
			}
		}
		sizes = append(sizes, float64(n))
	}
	return sizes
}

// slotTime returns the slot-seconds of all attempts of a kind.
func (m *measures) slotTime(kind trace.Kind) float64 {
	var sum time.Duration
	for _, spans := range m.pools {
		for _, s := range spans[kind] {
			// An attempt without an end, with -1, counts as nothing.
			sum += max(0, s.to-s.from)
		}
	}
	return sum.Seconds()
}

// cpuShares adds up what the CPUs of a cluster do, as vmstat shows it. A task that
// computes or reduces uses one core, as long as its tracker has a free one. A core
// that is idle while a task of its tracker reads or writes waits for I/O.
type cpuShares struct {
	cores    int                   // per tracker; 0: not known
	trackers []int32               // by slot
	at       []activity            // by tracker
	doing    map[int32]trace.Phase // by slot

	last time.Duration
	// user is the time of cores that compute, waited that of cores that wait for a disk.
	user, waited float64 // core-seconds so far

	mapUser, mapWaited float64 // core-seconds until the last map ended
	mapsEnd            time.Duration
}

// activity counts the tasks of a tracker by the resource that they use.
type activity struct{ computing, io int }

// Open is called by the stream before the first event.
func (c *cpuShares) Open(h *trace.Header) error {
	c.doing = map[int32]trace.Phase{}
	for _, s := range h.Slots {
		c.trackers = append(c.trackers, s.Tracker)
		// The header lists slots, not trackers. Their numbers have no gaps.
		for int(s.Tracker) >= len(c.at) {
			c.at = append(c.at, activity{})
		}
	}
	return nil
}

// Record implements trace.Sink.
func (c *cpuShares) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpStart:
		c.advance(e.At)
		// A start is no event of a phase, so the first phase follows from the kind of the task.
		first := trace.PhaseCompute
		if e.Kind == trace.Reduce {
			first = trace.PhaseCopy
		}
		c.change(e.Slot, first)
	case trace.OpPhase:
		c.advance(e.At)
		c.change(e.Slot, e.Phase)
	case trace.OpFinish:
		c.advance(e.At)
		c.change(e.Slot, trace.PhaseNone)
		if e.Kind == trace.Map {
			// The last map to finish leaves its values here.
			c.mapUser, c.mapWaited, c.mapsEnd = c.user, c.waited, e.At
		}
	}
	return nil
}

// advance adds the core-seconds since the last event.
func (c *cpuShares) advance(now time.Duration) {
	d := (now - c.last).Seconds()
	if c.last = now; d == 0 {
		return
	}
	for i := range c.at {
		// Cores that compute come first. Only the rest can wait for I/O.
		user := min(c.cores, c.at[i].computing)
		c.user += d * float64(user)
		c.waited += d * float64(min(c.cores-user, c.at[i].io))
	}
}

// change says that the task on a slot enters a phase. PhaseNone ends the task.
func (c *cpuShares) change(slot int32, to trace.Phase) {
	// The header has no tracker for such a slot, so its task is not counted.
	if slot < 0 || int(slot) >= len(c.trackers) {
		return
	}
	t := &c.at[c.trackers[slot]]
	t.count(c.doing[slot], -1)
	t.count(to, 1)
	c.doing[slot] = to
}

// count adds n tasks in phase p. Copying counts as neither: it uses the network, which vmstat
// does not show.
func (t *activity) count(p trace.Phase, n int) {
	switch p {
	case trace.PhaseCompute, trace.PhaseReduce:
		t.computing += n
	case trace.PhaseIO, trace.PhaseSort:
		t.io += n
	}
}

// of returns seconds as a share of all core-seconds until an instant.
func (c *cpuShares) of(seconds float64, until time.Duration) float64 {
	return seconds / (float64(c.cores*len(c.at)) * until.Seconds())
}
