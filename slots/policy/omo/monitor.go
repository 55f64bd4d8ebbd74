package omo

import "time"

// monitor is the release-frequency monitor (O2): per window t it takes f_t, the
// containers released in it a second, and a_t, those available in it on average;
// F_o and A_o are their exponential moving averages.
//
// A window is as long as a map takes on average: then each available container
// is released about once in it, so that waves of maps show neither as spikes, as
// they do in shorter windows, nor too late, as in longer ones. (The paper's
// windows are 10 s.) A window in which no container was available says nothing
// and does not count.
//
// Windows are closed on the right: what is released at the instant at which one
// ends is in it. The zero value has seen nothing.
type monitor struct {
	begun  bool          // something has run
	length time.Duration // T_w of the window that goes on; 0: not known yet
	from   time.Duration // where it began
	count  int64         // R_t so far
	area   int64         // of available containers over time, so far
	level  int32         // available containers
	since  time.Duration // of the level, or of what area has of it

	windows             int64   // that counted
	frequency, averages float64 // F_o and A_o
}

const (
	smoothing      = 0.5                   // α of the moving averages; the paper calls it β and gives no value (A51)
	shortestWindow = 50 * time.Millisecond // of a real run (O2)
	mostWindows    = 64                    // back: after so many nothing is left of what was before
)

// available says how many containers are available from now on: those that run
// maps, and those that run reduces of jobs whose map stage is complete (O3).
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

// released counts a container that was released, after all windows that ended
// before. The first window ends with the first map.
func (m *monitor) released(now, mapTime time.Duration) {
	if m.length > 0 {
		m.close(now-1, mapTime)
	}
	m.count++
}

// close takes in all windows that ended by now, and reports whether there were
// any. mapTime is what a map takes on average; 0: not known.
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

// fold is F_o(t) = α·f_t + (1-α)·F_o(t-1), and the same of A_o.
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
