package bench

import (
	"maps"
	"slices"
	"time"

	"mrlocal/trace"
)

// measures has the attempts of a run, for what its report does not have:
//
//	the stages of map and shuffle [OMO21, Fig. 13]
//	how many maps of a job end together [OMO21, Fig. 8]
//	the running tasks of each pool [DHFS13, Fig. 5]
type measures struct{ line trace.Timeline }

// firstReduce returns the start of the first reduce; negative: none has started.
func (m *measures) firstReduce() time.Duration {
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == trace.Reduce {
			return s.From
		}
	}
	return trace.Never
}

// mapsEnd returns the end of the last map that finished its task.
func (m *measures) mapsEnd() (end time.Duration) {
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == trace.Map && s.Done {
			end = max(end, s.To)
		}
	}
	return end
}

// copyingEnd returns the end of the last copy phase: a reduce that enters its next phase has copied everything.
func (m *measures) copyingEnd() (end time.Duration) {
	for _, p := range m.line.Phases {
		if m.line.Spans[p.Span].Kind == trace.Reduce && p.Phase != trace.PhaseCopy {
			end = max(end, p.At)
		}
	}
	return end
}

// lastWindow is the length of a job's last batch of maps [OMO21, section V-C]. Its maps end within
// this time before the end of the last map.
const lastWindow = 10 * time.Second

// lastBatches returns the size of each job's last batch of maps, in the order of job numbers. It leaves
// out jobs without a map that finished its task.
func (m *measures) lastBatches() (sizes []float64) {
	ends := map[int32][]time.Duration{}
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == trace.Map && s.Done {
			ends[s.Job] = append(ends[s.Job], s.To)
		}
	}
	for _, job := range slices.Sorted(maps.Keys(ends)) {
		last, n := slices.Max(ends[job]), 0
		for _, at := range ends[job] {
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
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == kind {
			sum += max(0, s.To-s.From)
		}
	}
	return sum.Seconds()
}
