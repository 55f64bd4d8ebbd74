package omo

import (
	"time"

	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Window is a window of time of a run: how many containers were released in it, and how
// many OMO would have expected as it began [OMO21, Fig. 7].
type Window struct {
	From     time.Duration
	Released int64
	Expected float64
}

// Releases watches the events of a run, under any policy, for [OMO21, Fig. 7]. Its monitor
// is OMO's. What it expects of a window is F_e of [OMO21, eq. 1] for the containers that
// are available when the window begins, times the window's length. A container that is
// released at the instant at which a window ends is in that window.
type Releases struct {
	window  time.Duration
	monitor monitor
	jobs    []watched
	level   int32 // available containers
	windows []Window
}

// watched is what of a job's containers is available.
type watched struct {
	reduces  int32 // running
	mapsDone bool
}

var _ trace.Sink = (*Releases)(nil)

// NewReleases returns a watcher with windows of the given length, which is above 0.
func NewReleases(window time.Duration) *Releases {
	return &Releases{window: window, monitor: monitor{window: window}, windows: []Window{{}}}
}

// Windows returns the windows up to the one that has the last event. The slice belongs to
// the watcher.
func (r *Releases) Windows() []Window { return r.windows }

// Record implements trace.Sink.
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

// count adds n attempts of a kind that run.
func (r *Releases) count(j *watched, k trace.Kind, n int32) {
	if k == trace.Reduce {
		j.reduces += n
	}
	// Reduces that wait for maps are not available [OMO21, "available containers"].
	if k == trace.Map || j.mapsDone {
		r.level += n
	}
}

// advance begins the windows that begin before an event at an instant.
func (r *Releases) advance(at time.Duration) {
	for begin := time.Duration(len(r.windows)) * r.window; begin < at; begin += r.window {
		r.monitor.close(begin, r.window)
		m := &r.monitor
		expected := estimatedFrequency(m.frequency, float64(r.level), m.averages)
		r.windows = append(r.windows, Window{From: begin, Expected: expected * r.window.Seconds()})
	}
}
