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

// running counts the attempts of a kind that run for a pool at an instant. An
// attempt that ends at that instant does not count. One that starts then does.
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
