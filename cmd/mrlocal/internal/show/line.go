package show

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/trace"
)

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

// NewQuietScreen returns a screen for a tool: it shows a line of progress on a
// terminal if the run takes longer than two seconds, and nothing elsewhere. A
// dumb terminal shows nothing.
func NewQuietScreen(stderr io.Writer, dumb bool) *Screen {
	s := &Screen{stderr: stderr, quiet: true}
	if !dumb && isTerminal(stderr) && Width(stderr) >= leastWidth {
		s.display = &line{w: stderr}
		s.follower = follow(s.display)
	}
	return s
}

func (l *line) interval() time.Duration { return lineInterval }

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
	if rate := j.bytesPerSecond(now); rate > 0 {
		text += "  " + humanize.IBytes(uint64(rate)) + "/s"
	}
	// The line must not wrap: a carriage return goes back one line only.
	text = text[:min(len(text), Width(l.w)-1)]
	_, _ = io.WriteString(l.w, eraseLine+text)
	l.drawn = true
}

// note removes the line first. The next drawing brings it back below the note.
func (l *line) note(text string) {
	l.close()
	_, _ = io.WriteString(l.w, text)
}

func (l *line) close() {
	if l.drawn {
		_, _ = io.WriteString(l.w, eraseLine)
		l.drawn = false
	}
}
