package omo

import (
	"time"

	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Window is a window of time of a run [OMO21, Fig. 7].
type Window struct {
	From     time.Duration // its start, from the start of the run
	Released int64         // number of containers released in it
	Expected float64       // number of containers that OMO's monitor expects at its start
}

// Releases computes the numbers of [OMO21, Fig. 7] from the events of a run under any policy. It
// uses OMO's monitor. The expected number of a window is F_e of [OMO21, eq. 1], for the
// containers that are available when the window begins, times the window's length. A container
// that is released at the instant at which a window ends is in that window.
type Releases struct {
	window  time.Duration // length of a window
	monitor monitor
	jobs    []watched // by id
	level   int32     // number of available containers
	windows []Window
}

// watched is the state of a job that decides which of its containers are available.
type watched struct {
	reduces  int32 // number of running reduces
	mapsDone bool
}

var _ trace.Sink = (*Releases)(nil)

// NewReleases returns a Releases with windows of the given length, which must be above 0.
func NewReleases(window time.Duration) *Releases {
	return &Releases{window: window, monitor: monitor{window: window}, windows: []Window{{}}}
}

// Windows returns the windows up to the one with the last event. The slice belongs to r.
func (r *Releases) Windows() []Window { return r.windows }

// Record implements trace.Sink. s may be nil.
func (r *Releases) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op != trace.OpStart && e.Op != trace.OpFinish && e.Op != trace.OpMapsDone && e.Op != trace.OpLostOutput {
		return nil
	}
	r.advance(e.At)
	j := policy.At(&r.jobs, e.Job)
	switch {
	case e.Op == trace.OpMapsDone && !j.mapsDone:
		j.mapsDone = true
		r.level += j.reduces
	case e.Op == trace.OpLostOutput && j.mapsDone:
		j.mapsDone = false
		r.level -= j.reduces
	case e.Op == trace.OpStart:
		r.count(j, e.Kind, 1)
	case policy.Freed(e):
		r.monitor.released(e.At, r.window)
		r.windows[len(r.windows)-1].Released++
		r.count(j, e.Kind, -1)
	}
	r.monitor.available(e.At, r.level)
	return nil
}

// count adds n running attempts of a kind to the counts of a job.
func (r *Releases) count(j *watched, k trace.Kind, n int32) {
	if k == trace.Reduce {
		j.reduces += n
	}
	// Reduces that wait for maps are not available [OMO21, "available containers"].
	if k == trace.Map || j.mapsDone {
		r.level += n
	}
}

// advance begins the windows that start before the time at of an event.
func (r *Releases) advance(at time.Duration) {
	for begin := time.Duration(len(r.windows)) * r.window; begin < at; begin += r.window {
		r.monitor.close(begin, r.window)
		m := &r.monitor
		expected := estimatedFrequency(m.frequency, float64(r.level), m.averages)
		r.windows = append(r.windows, Window{From: begin, Expected: expected * r.window.Seconds()})
	}
}
