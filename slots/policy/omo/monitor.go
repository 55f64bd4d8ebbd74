package omo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/yarn"
	"mrlocal/trace"
)

// monitor is the release-frequency monitor [OMO21, section IV-A]. For each window t it
// measures f_t, the containers released per second, and a_t, the average number of available
// containers. F_o and A_o are their exponential moving averages.
//
// A window lasts T_w, or the least multiple of T_w in which several containers are released.
// T_w is the paper's 10 s, and for short maps a third of the time of a map [OMO21, "smoothing
// and window"]. Until the first window has ended, F_o and A_o are those of the time so far. So
// there are estimates for a short job, too. Time in which no container is available does not
// count.
//
// A container that is released at the instant at which a window ends is in that
// window. The zero value has measured nothing.
type monitor struct {
	window time.Duration // T_w as the user has set it; 0: by the time of a map

	begun  bool          // a container has been available
	step   time.Duration // T_w of the current window; 0: not known yet
	length time.Duration // of the current window, a multiple of step
	from   time.Duration // start of the current window
	count  int64         // R_t: containers released in the current window so far
	area   int64         // integral of the available containers over the current window, in nanoseconds
	level  int32         // containers available now
	since  time.Duration // the time until which area counts

	windows             int64   // number of windows that have ended
	frequency, averages float64 // F_o and A_o

	// With containers of resources.
	asked []asked        // F_o for each request
	left  []slots.Vector // by tracker: resources that were free when the current window began
	freed []slots.Vector // by tracker: resources that tasks have released in the current window
}

// asked is a request for a container, and the release rate of such containers. Before its first
// window has ended, the rate of tasks counts instead.
type asked struct {
	request   slots.Vector
	windows   int64   // number of windows that have ended
	frequency float64 // F_o
}

const (
	longestWindow  = 10 * time.Second      // the paper's T_w [OMO21, section V-C]
	windowsInAMap  = 3                     // so that maps of 30 s have windows of 10 s
	shortestWindow = 50 * time.Millisecond // for the short maps of real runs
	several        = 4                     // the least number of releases in a window
)

// lasts returns T_w for maps that take mapTime on average.
func (m *monitor) lasts(mapTime time.Duration) time.Duration {
	if m.window > 0 {
		return m.window
	}
	return min(longestWindow, max(shortestWindow, mapTime/windowsInAMap))
}

// available sets how many containers are available from now on [OMO21, "available
// containers"].
func (m *monitor) available(now time.Duration, n int32) {
	if !m.begun {
		m.begun = n > 0
		m.from, m.since = now, now
	}
	m.accrue(now)
	m.level = n
}

// accrue brings area up to a time. The level has been constant since the last call.
func (m *monitor) accrue(to time.Duration) {
	if to <= m.since {
		return
	}
	if m.level == 0 {
		m.from += to - m.since // time without available containers is in no window
	}
	m.area += int64(to-m.since) * int64(m.level)
	m.since = to
}

// released counts a container that is released now. mapTime is as for close.
func (m *monitor) released(now, mapTime time.Duration) {
	m.close(now-1, mapTime)
	if m.step == 0 {
		m.step = m.lasts(mapTime)
		m.extend(now - 1)
	}
	m.count++
}

// extend makes the current window longer by multiples of step, so that it ends after now.
func (m *monitor) extend(now time.Duration) {
	m.length = max(m.length, m.step*((now-m.from)/m.step+1))
}

// close ends the current window if it is over by now, and reports whether the estimates have
// changed. mapTime is the average time of a map; 0: not known.
func (m *monitor) close(now, mapTime time.Duration) bool {
	if !m.begun || mapTime == 0 || m.step == 0 {
		return false
	}
	if m.level == 0 {
		m.accrue(now)
	}
	end := m.from + m.length
	if m.count < several {
		m.extend(now)
	}
	if m.count < several || end > now {
		return m.soFar(now)
	}
	m.accrue(end)
	f, a := m.rates(m.length)
	if m.windows == 0 {
		m.frequency, m.averages = f, a
	} else {
		// F_o(t) = α·f_t + (1-α)·F_o(t-1), and the same for A_o [OMO21, section IV-A].
		m.frequency, m.averages = policy.Moved(m.frequency, f), policy.Moved(m.averages, a)
	}
	m.windows++
	for i := range m.asked {
		a := &m.asked[i]
		f := float64(m.containers(a.request)) / m.length.Seconds()
		if a.windows++; a.windows > 1 {
			f = policy.Moved(a.frequency, f)
		}
		a.frequency = f
	}
	clear(m.freed)
	m.from, m.count, m.area = end, 0, 0
	m.step = m.lasts(mapTime)
	m.length = m.step
	return true
}

// ask returns the number of a request, and counts the releases of its containers from now on.
func (m *monitor) ask(request slots.Vector) int32 {
	for i := range m.asked {
		if m.asked[i].request == request {
			return int32(i)
		}
	}
	m.asked = append(m.asked, asked{request: request})
	return int32(len(m.asked) - 1)
}

// gave counts the resources that a task releases on a tracker when it ends.
func (m *monitor) gave(t slots.TrackerID, needs slots.Vector) {
	of := policy.At(&m.freed, t)
	*of = of.Plus(needs)
}

// containers returns R_t for one request [OMO21, section IV-A]:
//
//	R_t = sum over the nodes k of min over the resources i of floor(R_ik / req_i)
//
// R_ik is the amount that tasks have released on node k in the window, plus the amount that was
// free at its start. Containers that were free then are subtracted, because they
// are not released in the window [OMO21, "containers of resources"].
func (m *monitor) containers(request slots.Vector) (n int64) {
	for t := range m.freed {
		left := *policy.At(&m.left, slots.TrackerID(t))
		n += yarn.Makes(left.Plus(m.freed[t]), request) - yarn.Makes(left, request)
	}
	return n
}

// frequencyOf returns F_o for a request, or that of tasks if no window of the request has ended.
func (m *monitor) frequencyOf(number int32) float64 {
	if int(number) < len(m.asked) && m.asked[number].windows > 0 {
		return m.asked[number].frequency
	}
	return m.frequency
}

// soFar sets the estimates from the first window before its end, and reports whether it did.
func (m *monitor) soFar(now time.Duration) bool {
	if m.windows > 0 || m.count == 0 || now <= m.from {
		return false
	}
	m.accrue(now)
	m.frequency, m.averages = m.rates(now - m.from)
	return true
}

// rates returns f_t and a_t of the current window, which has this length.
func (m *monitor) rates(length time.Duration) (frequency, available float64) {
	return float64(m.count) / length.Seconds(), float64(m.area) / float64(length)
}

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
