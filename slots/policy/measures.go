package policy

import (
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Measures are what a policy learns from facts: the task monitor TM [OMO21, section
// V-A].
type Measures struct {
	started []time.Duration // by slot: when its latest attempt started
	samples []Sample
	All     Sample // of all jobs

	// bandwidth is B, the bytes that one reduce copies in a second: the exponential
	// moving average over the reduces of the run. Waiting for maps is no copying
	// [OMO21, "shuffle estimate"]. instant: copies take no time.
	bandwidth float64
	instant   bool
}

// copySmoothing is the weight of the newest reduce in B. [OMO21] gives none; it is
// that of F_o and A_o [OMO21, "smoothing and window"].
const copySmoothing = 0.5

// Sample is what was measured of finished tasks: by kind how many there are and how
// long they took together, and the bytes that the maps put out.
type Sample struct {
	Tasks [trace.Kinds]int64
	took  [trace.Kinds]time.Duration
	out   int64
}

// Mean returns how long a task of kind k takes on average; 0: none has finished.
func (s *Sample) Mean(k slots.Kind) time.Duration {
	if s.Tasks[k] == 0 {
		return 0
	}
	return s.took[k] / time.Duration(s.Tasks[k])
}

// MapOutput returns d, the bytes that a map puts out on average.
func (s *Sample) MapOutput() float64 {
	if s.Tasks[slots.Map] == 0 {
		return 0
	}
	return float64(s.out) / float64(s.Tasks[slots.Map])
}

// Of returns what was measured of a job.
func (m *Measures) Of(id slots.JobID) *Sample { return At(&m.samples, id) }

// Start takes in when a grant started an attempt on a slot.
func (m *Measures) Start(now time.Duration, s slots.SlotID) { *At(&m.started, s) = now }

// Freed reports whether a fact is the end of an attempt on a slot.
func Freed(f *slots.Fact) bool { return f.Op == trace.OpFinish && f.Slot >= 0 }

// Finish takes in the end of an attempt. Only attempts that committed count.
func (m *Measures) Finish(f *slots.Fact) {
	if !f.Has(trace.OK) || int(f.Slot) >= len(m.started) {
		return
	}
	took, out, bytes, copied := f.At-m.started[f.Slot], f.B, f.D, time.Duration(f.E)
	for _, s := range []*Sample{m.Of(slots.JobID(f.Job)), &m.All} {
		s.Tasks[f.Kind]++
		s.took[f.Kind] += took
		if f.Kind == slots.Map {
			s.out += out
		}
	}
	switch {
	case f.Kind == slots.Map || bytes == 0:
	case copied <= 0:
		m.instant = true
	default:
		m.instant = false
		m.bandwidth = smoothed(m.bandwidth, float64(bytes)/copied.Seconds())
	}
}

// smoothed returns the moving average after a value; the first one is 0 before it.
func smoothed(average, next float64) float64 {
	if average == 0 {
		return next
	}
	return float64(copySmoothing*next) + float64((1-copySmoothing)*average)
}

// CopyBandwidth returns B in bytes a second: as measured, or before that as the
// configuration has it. It is 0 if neither is known, or copies take no time.
func (m *Measures) CopyBandwidth(v *slots.View) float64 {
	switch {
	case m.instant:
		return 0
	case m.bandwidth > 0:
		return m.bandwidth
	}
	return float64(v.CopyBandwidth())
}
