package omo

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/yarn"
)

// monitor is the release-frequency monitor [OMO21, section IV-A]. For each window t it
// takes f_t, the containers released in it a second, and a_t, those available in it
// on average. F_o and A_o are their exponential moving averages.
//
// A window lasts T_w, or as many times T_w as it takes until several containers were
// released in it. T_w is the
// paper's 10 s, and for short maps a third of what a map takes [OMO21, "smoothing and
// window"]. Until the first window has ended F_o and A_o are those of the time so far, so
// that a short job decides too. Time in which no container was available does not count.
//
// A container that is released at the instant at which a window ends is in that
// window. The zero value has seen nothing.
type monitor struct {
	window time.Duration // T_w as chosen; 0: by the time of a map

	begun  bool          // something has run
	step   time.Duration // T_w of the window that goes on; 0: not known yet
	length time.Duration // of the window, some times step
	from   time.Duration // where it began
	count  int64         // R_t so far
	area   int64         // available containers, summed over the nanoseconds so far
	level  int32         // available containers
	since  time.Duration // until then area has the level

	windows             int64   // that ended
	frequency, averages float64 // F_o and A_o

	// With containers of resources: F_o for each request, and by tracker what was free when
	// the window began, and what tasks have given back in it.
	asked       []asked
	left, freed []demand.Vector
}

// asked is a request for a container, and how often a container of it is released. Before
// its first window has ended F_o is that of tasks.
type asked struct {
	request   demand.Vector
	windows   int64
	frequency float64
}

const (
	smoothing      = 0.5                   // α of the moving averages; the paper gives no value [OMO21, "smoothing and window"]
	longestWindow  = 10 * time.Second      // the paper's T_w [OMO21, section V-C]
	windowsInAMap  = 3                     // so that 10 s belong to maps of 30 s
	shortestWindow = 50 * time.Millisecond // of a real run
	several        = 4                     // releases in a window, at least
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
		m.begun, m.from, m.since = n > 0, now, now
	}
	m.accrue(now)
	m.level = n
}

// accrue adds the time since the last call, at the level that held in it.
func (m *monitor) accrue(to time.Duration) {
	if to <= m.since {
		return
	}
	if m.level == 0 {
		m.from += to - m.since // a pause belongs to no window
	}
	m.area += int64(to-m.since) * int64(m.level)
	m.since = to
}

// released counts a container that was released, in the window that now is in.
func (m *monitor) released(now, mapTime time.Duration) {
	m.close(now-1, mapTime)
	if m.step == 0 {
		m.step = m.lasts(mapTime)
		m.extend(now - 1)
	}
	m.count++
}

// extend makes the window longer, so that it ends after now.
func (m *monitor) extend(now time.Duration) {
	m.length = max(m.length, m.step*((now-m.from)/m.step+1))
}

// close ends the window if it is over by now, and reports whether the estimates have
// changed. mapTime is what a map takes on average; 0: not known.
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
		m.frequency, m.averages = moved(m.frequency, f), moved(m.averages, a)
	}
	m.windows++
	for i := range m.asked {
		a := &m.asked[i]
		f := float64(m.containers(a.request)) / m.length.Seconds()
		if a.windows++; a.windows > 1 {
			f = moved(a.frequency, f)
		}
		a.frequency = f
	}
	clear(m.freed)
	m.from, m.count, m.area = end, 0, 0
	m.step = m.lasts(mapTime)
	m.length = m.step
	return true
}

// ask returns the number of a request, whose containers are counted from now on.
func (m *monitor) ask(request demand.Vector) int32 {
	for i := range m.asked {
		if m.asked[i].request == request {
			return int32(i)
		}
	}
	m.asked = append(m.asked, asked{request: request})
	return int32(len(m.asked) - 1)
}

// gave counts what a task gives back to a tracker when it ends.
func (m *monitor) gave(t slots.TrackerID, needs demand.Vector) {
	of := policy.At(&m.freed, t)
	*of = of.Plus(needs)
}

// containers is R_t for one request [OMO21, section IV-A]:
//
//	R_t = sum over the nodes k of min over the resources i of floor(R_ik / req_i)
//
// R_ik is what the window gave back on node k, and what was left there when it began. What
// was a container then is not released in it [OMO21, "containers of resources"].
func (m *monitor) containers(request demand.Vector) (n int64) {
	for t := range m.freed {
		left := *policy.At(&m.left, slots.TrackerID(t))
		n += yarn.Makes(left.Plus(m.freed[t]), request) - yarn.Makes(left, request)
	}
	return n
}

// frequencyOf returns F_o for a request, or for tasks if nothing is known of it yet.
func (m *monitor) frequencyOf(number int32) float64 {
	if int(number) < len(m.asked) && m.asked[number].windows > 0 {
		return m.asked[number].frequency
	}
	return m.frequency
}

// soFar takes the estimates from the first window while it goes on.
func (m *monitor) soFar(now time.Duration) bool {
	if m.windows > 0 || m.count == 0 || now <= m.from {
		return false
	}
	m.accrue(now)
	m.frequency, m.averages = m.rates(now - m.from)
	return true
}

// rates returns f_t and a_t of a window.
func (m *monitor) rates(length time.Duration) (frequency, available float64) {
	return float64(m.count) / length.Seconds(), float64(m.area) / float64(length)
}

func moved(old, x float64) float64 {
	return float64(smoothing*x) + float64((1-smoothing)*old)
}
