package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/trace"
)

// plainInterval is how often Plain writes a line; a run that is shorter
// writes none.
const plainInterval = 3 * time.Second

// Line is the whole run in one line, for displays that cannot go back.
func (m *Model) Line(now time.Duration) string {
	j := m.current()
	if j == nil {
		return "starting"
	}
	if m.several {
		return m.batchLine()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", j.name, m.phase(j, trace.Map))
	if rate := j.bytesPerSecond(now); rate > 0 {
		fmt.Fprintf(&b, " %s/s", humanize.IBytes(uint64(rate)))
	}
	if left := j.remaining(now); left > 0 {
		fmt.Fprintf(&b, " %s to go", roundTime(left))
	}
	if j.kinds[trace.Reduce].total > 0 {
		fmt.Fprintf(&b, ", %s", m.phase(j, trace.Reduce))
	}
	fmt.Fprintf(&b, ", slots %s", m.Strip())
	return b.String()
}

// batchLine is a run of several jobs.
func (m *Model) batchLine() string {
	ended, sum := m.all()
	text := fmt.Sprintf("%d of %d jobs ended: %s", ended, len(m.jobs), m.phase(&sum, trace.Map))
	if sum.kinds[trace.Reduce].total > 0 {
		text += ", " + m.phase(&sum, trace.Reduce)
	}
	return text + ", slots " + m.Strip()
}

func (m *Model) phase(j *jobState, k trace.Kind) string {
	t := &j.kinds[k]
	more := ""
	if k == trace.Map && !j.sealed {
		more = "+"
	}
	return fmt.Sprintf("%s %.0f%% (%d/%d%s)", k, 100*t.share(), t.done, t.total, more)
}

func roundTime(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// Plain writes a line every few seconds.
type Plain struct {
	w io.Writer
}

// NewPlain writes to w, standard error.
func NewPlain(w io.Writer) *Plain { return &Plain{w: w} }

func (p *Plain) interval() time.Duration { return plainInterval }

func (p *Plain) draw(m *Model, now time.Duration) {
	fmt.Fprintf(p.w, "mrlocal: %s\n", m.Line(now))
}

// Note writes a message of the run.
func (p *Plain) Note(text string) { fmt.Fprint(p.w, text) }

func (p *Plain) close() {}
