package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/trace"
)

// plainInterval is the time between two lines. A shorter run writes none.
const plainInterval = 10 * time.Second

// line describes the whole run in one line.
func (m *model) line(now time.Duration) string {
	j := m.current()
	if j == nil {
		return "starting"
	}
	// A batch has too many jobs for one line, so it gets their sum.
	if m.several {
		return m.batchLine(now)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", j.name, m.phase(j, trace.Map))
	if rate := j.bytesPerSecond(trace.Map, now); rate > 0 {
		fmt.Fprintf(&b, " %s/s", humanize.IBytes(uint64(rate)))
	}
	if left := j.remaining(trace.Map, now); left > 0 {
		fmt.Fprintf(&b, " %s to go", roundTime(left))
	}
	if j.kinds[trace.Reduce].total > 0 {
		fmt.Fprintf(&b, ", %s", m.phase(j, trace.Reduce))
	}
	fmt.Fprintf(&b, ", slots %s", m.strip(now))
	return b.String()
}

// batchLine describes a run of several jobs.
func (m *model) batchLine(now time.Duration) string {
	ended, sum := m.all()
	text := fmt.Sprintf("%d of %d jobs ended: %s", ended, len(m.jobs), m.phase(&sum, trace.Map))
	if sum.kinds[trace.Reduce].total > 0 {
		text += ", " + m.phase(&sum, trace.Reduce)
	}
	return text + ", slots " + m.strip(now)
}

// phase describes the tasks of one kind. A plus sign says that more maps may come.
func (m *model) phase(j *jobState, k trace.Kind) string {
	t := &j.kinds[k]
	more := ""
	if k == trace.Map && !j.sealed {
		more = "+"
	}
	return fmt.Sprintf("%s %.0f%% (%d/%d%s)", k, 100*t.share(), t.done, t.total, more)
}

// roundTime rounds a time to the precision that a display needs.
func roundTime(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// plain writes a line every few seconds to w.
type plain struct{ w io.Writer }

func (p plain) interval() time.Duration { return plainInterval }

func (p plain) draw(m *model, now time.Duration) {
	fmt.Fprintf(p.w, "mrlocal: %s\n", m.line(now))
}

func (p plain) note(text string) { fmt.Fprint(p.w, text) }

// Lines of the plain display stay, so there is nothing to remove.
func (p plain) close(*model, time.Duration) {}

const (
	quietTime    = 2 * time.Second // a run that is shorter shows no line
	lineInterval = 500 * time.Millisecond
	eraseLine    = "\r\x1b[K"
)

// line draws the progress of a run on one line of a terminal, once the run takes
// longer than quietTime.
type line struct {
	w     io.Writer
	drawn bool
}

// NewQuietScreen returns a screen for a tool. It shows a line of progress on a terminal if the
// run takes longer than two seconds, and nothing elsewhere. A dumb terminal shows nothing.
func NewQuietScreen(stderr io.Writer, dumb bool) *Screen {
	s := &Screen{stderr: stderr, quiet: true}
	if !dumb && IsTerminal(stderr) && Width(stderr) >= leastWidth {
		s.display, s.tears = &line{w: stderr}, true
		s.follower = follow(s.display)
	}
	return s
}

func (l *line) interval() time.Duration { return lineInterval }

// draw writes the one line of progress over the last one.
func (l *line) draw(m *model, now time.Duration) {
	j := m.current()
	// Most runs of a tool are short, and a line that only flashes disturbs.
	if now < quietTime || j == nil {
		return
	}
	text := j.name
	for k := range j.kinds {
		if t := &j.kinds[k]; t.total > 0 {
			text += fmt.Sprintf("  %s %d/%d", trace.Kind(k), t.done, t.total)
		}
	}
	if rate := j.bytesPerSecond(trace.Map, now); rate > 0 {
		text += "  " + humanize.IBytes(uint64(rate)) + "/s"
	}
	// The line must not wrap: a carriage return goes back one line only.
	text = text[:min(len(text), Width(l.w)-1)]
	_, _ = io.WriteString(l.w, eraseLine+text)
	l.drawn = true
}

// note removes the line first. The next drawing brings it back below the note.
func (l *line) note(text string) {
	l.erase()
	_, _ = io.WriteString(l.w, text)
}

func (l *line) close(*model, time.Duration) { l.erase() }

func (l *line) erase() {
	if l.drawn {
		_, _ = io.WriteString(l.w, eraseLine)
		l.drawn = false
	}
}
