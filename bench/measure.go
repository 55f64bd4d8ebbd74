package bench

import (
	"maps"
	"slices"
	"time"

	"mrlocal/trace"
)

// measures is a trace.Sink that collects what the report of a run does not have:
//
//	the stages of map and shuffle [OMO21, Fig. 13]
//	how many maps of a job end together [OMO21, Fig. 8]
//	the running tasks of each pool [DHFS13, Fig. 5]
type measures struct {
	firstReduce time.Duration // start of the first reduce; negative: none has started
	mapsEnd     time.Duration // end of the last map that succeeded
	copyingEnd  time.Duration // end of the last copy phase

	jobs  map[int32]*jobMeasures
	pools map[string][trace.Kinds][]span // by pool and kind: all attempts
	open  map[int32]opened               // by slot: the running attempt
}

// jobMeasures has the pool of a job and the times at which its maps ended.
type jobMeasures struct {
	pool    string
	mapEnds []time.Duration // only maps that succeeded
}

// span is the time of an attempt; to is negative while the attempt runs.
type span struct{ from, to time.Duration }

// opened is the place of a running attempt's span: measures.pools[pool][kind][at].
type opened struct {
	pool string
	kind trace.Kind
	at   int
}

// newMeasures returns measures for a run that has not started.
func newMeasures() *measures {
	return &measures{firstReduce: -1, jobs: map[int32]*jobMeasures{}, pools: map[string][trace.Kinds][]span{}, open: map[int32]opened{}}
}

// Record adds an event, as a trace.Sink. It never fails.
func (m *measures) Record(s *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpSubmit:
		// The texts of a submission are the name of the job, its pool and its user.
		if texts := s.Texts(e.Ref); len(texts) > 1 {
			m.jobs[e.Job] = &jobMeasures{pool: texts[1]}
		}
	case trace.OpStart:
		m.start(e)
	case trace.OpFinish:
		m.finish(e)
	case trace.OpClose:
		m.close(e) // of a lost tracker: no end of the attempt follows
	case trace.OpPhase:
		// A reduce that enters its next phase has copied everything.
		if e.Kind == trace.Reduce && e.Phase != trace.PhaseCopy {
			m.copyingEnd = max(m.copyingEnd, e.At)
		}
	}
	return nil
}

// start begins the span of an attempt.
func (m *measures) start(e *trace.Event) {
	if e.Kind == trace.Reduce && m.firstReduce < 0 {
		m.firstReduce = e.At
	}
	// The submission of a job always comes before its attempts, so the job is known.
	pool := m.jobs[e.Job].pool
	spans := m.pools[pool] // a copy of the array, which is stored again below
	m.open[e.Slot] = opened{pool, e.Kind, len(spans[e.Kind])}
	spans[e.Kind] = append(spans[e.Kind], span{from: e.At, to: -1})
	m.pools[pool] = spans
}

// close ends the span of the attempt on a slot, if there is one.
func (m *measures) close(e *trace.Event) {
	if o, ok := m.open[e.Slot]; ok {
		m.pools[o.pool][o.kind][o.at].to = e.At
		delete(m.open, e.Slot)
	}
}

// finish ends the span of an attempt. Only maps that succeeded count for mapsEnd and mapEnds.
func (m *measures) finish(e *trace.Event) {
	m.close(e)
	if e.Kind == trace.Map && e.Has(trace.OK) {
		m.mapsEnd = max(m.mapsEnd, e.At)
		m.jobs[e.Job].mapEnds = append(m.jobs[e.Job].mapEnds, e.At)
	}
}

// running returns the number of a pool's attempts of a kind that run at a time. An attempt that
// starts at that time counts, and one that ends at that time does not.
func (m *measures) running(pool string, kind trace.Kind, at time.Duration) (n int) {
	for _, s := range m.pools[pool][kind] {
		if s.from <= at && (s.to < 0 || at < s.to) {
			n++
		}
	}
	return n
}

// lastWindow is the length of a job's last batch of maps [OMO21, section V-C]. Its maps end within
// this time before the end of the last map.
const lastWindow = 10 * time.Second

// lastBatches returns the size of each job's last batch of maps, in the order of job numbers. It leaves
// out jobs without a map that succeeded.
func (m *measures) lastBatches() (sizes []float64) {
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		ends := m.jobs[id].mapEnds
		if len(ends) == 0 {
			continue
		}
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

// slotTime returns the slot-seconds of all attempts of a kind that have ended.
func (m *measures) slotTime(kind trace.Kind) float64 {
	var sum time.Duration
	for _, spans := range m.pools {
		for _, s := range spans[kind] {
			sum += max(0, s.to-s.from)
		}
	}
	return sum.Seconds()
}
