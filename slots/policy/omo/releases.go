package omo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/internal/errs"
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

const (
	mostWindows  = 10_000 // of a plot; bounds its memory
	releasesWide = 50     // columns of the longest bar
)

// PlotReleases reads an event file and writes a plot in the manner of [OMO21, Fig. 7], one line
// per window. A bar shows how many containers were released in the window. A + shows how
// many OMO's monitor expected when the window began. window must be above 0; name is that of
// the file, for errors. PlotReleases fails if the file is cut short, was changed or is not an event
// file, or if the plot would have more than 10,000 windows. Then it writes nothing.
func PlotReleases(w io.Writer, r io.Reader, name string, window time.Duration) error {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return errs.Inputf(name, "%v", err)
	}
	watch := NewReleases(window)
	for e, err := range d.All() {
		if err != nil {
			return errs.Inputf(name, "%v", err)
		}
		if e.At/window >= mostWindows {
			return errs.Optionf("", "the run has more than %d windows of %v", mostWindows, window)
		}
		_ = watch.Record(nil, e) // never fails
	}
	_, err = w.Write(releasePlot(watch.Windows()))
	return err
}

// releasePlot draws windows, one per line. The greatest number of the plot has releasesWide
// columns.
func releasePlot(windows []Window) []byte {
	most := 1.0
	for _, w := range windows {
		most = max(most, float64(w.Released), w.Expected)
	}
	columns := func(n float64) int { return int(n/most*releasesWide + 0.5) } // rounded
	var b bytes.Buffer
	fmt.Fprintf(&b, "%12s %8s %8s\n", "from", "released", "expected")
	for _, w := range windows {
		// The + may stand behind the bar or on it.
		bar := []byte(strings.Repeat("#", columns(float64(w.Released))) + strings.Repeat(" ", releasesWide+1))
		bar[columns(w.Expected)] = '+'
		fmt.Fprintf(&b, "%12v %8d %8.1f %s\n", w.From, w.Released, w.Expected, bytes.TrimRight(bar, " "))
	}
	return b.Bytes()
}
