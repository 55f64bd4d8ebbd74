package omo

import "time"

// monitor is the release-frequency monitor [OMO21, section IV-A]. For each window t it
// takes f_t, the containers released in it a second, and a_t, those available in it
// on average. F_o and A_o are their exponential moving averages.
//
// A window is as long as a map takes on average [OMO21, "smoothing and window"]. Each
// available container is then released about once in it. In shorter windows waves of
// maps show as spikes, in longer ones they show too late. The paper's windows are
// 10 s. A window in which no container was available does not count.
//
// A container that is released at the instant at which a window ends is in that
// window. The zero value has seen nothing.
type monitor struct {
	begun  bool          // something has run
	length time.Duration // T_w of the window that goes on; 0: not known yet
	from   time.Duration // where it began
	count  int64         // R_t so far
	area   int64         // available containers, summed over the nanoseconds so far
	level  int32         // available containers
	since  time.Duration // until then area has the level

	windows             int64   // that counted
	frequency, averages float64 // F_o and A_o
}

const (
	smoothing      = 0.5                   // α of the moving averages; the paper gives no value [OMO21, "smoothing and window"]
	shortestWindow = 50 * time.Millisecond // of a real run
	mostWindows    = 64                    // after so many windows the averages hold nothing of what was before
)

// available sets how many containers are available from now on [OMO21, "available
// containers"].
func (m *monitor) available(now time.Duration, n int32) {
	if !m.begun {
		m.begun, m.from, m.since = n > 0, now, now
	}
	m.accrue(now)
	m.level = n
}

func (m *monitor) accrue(to time.Duration) {
	m.area += int64(to-m.since) * int64(m.level)
	m.since = to
}

// released counts a container that was released, in the window that now is in. The
// first window ends with the first map.
func (m *monitor) released(now, mapTime time.Duration) {
	if m.length > 0 {
		m.close(now-1, mapTime)
	}
	m.count++
}

// close takes in all windows that ended by now, and reports whether any counted.
// mapTime is what a map takes on average; 0: not known.
func (m *monitor) close(now, mapTime time.Duration) bool {
	if !m.begun || mapTime == 0 {
		return false
	}
	if m.length == 0 {
		m.length = max(mapTime, shortestWindow, now-m.from)
	}
	before := m.windows
	for end := m.from + m.length; end <= now; end = m.from + m.length {
		m.accrue(end)
		m.fold()
		m.from, m.count, m.area = end, 0, 0
		m.length = max(mapTime, shortestWindow)
		if skip := (now-m.from)/m.length - mostWindows; skip > 0 {
			m.from += skip * m.length
			m.since = m.from
		}
	}
	return m.windows > before
}

// fold ends a window: F_o(t) = α·f_t + (1-α)·F_o(t-1), and the same for A_o [OMO21,
// section IV-A].
func (m *monitor) fold() {
	if m.area == 0 {
		return
	}
	f, a := float64(m.count)/m.length.Seconds(), float64(m.area)/float64(m.length)
	if m.windows == 0 {
		m.frequency, m.averages = f, a
	} else {
		m.frequency = moved(m.frequency, f)
		m.averages = moved(m.averages, a)
	}
	m.windows++
}

func moved(old, x float64) float64 {
	return float64(smoothing*x) + float64((1-smoothing)*old)
}
