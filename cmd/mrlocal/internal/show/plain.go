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
const plainInterval = 3 * time.Second

// line describes the whole run in one line.
func (m *model) line(now time.Duration) string {
	j := m.current()
	if j == nil {
		return "starting"
	}
	// A batch has too many jobs for one line, so it gets their sum.
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
	fmt.Fprintf(&b, ", slots %s", m.strip())
	return b.String()
}

// batchLine describes a run of several jobs.
func (m *model) batchLine() string {
	ended, sum := m.all()
	text := fmt.Sprintf("%d of %d jobs ended: %s", ended, len(m.jobs), m.phase(&sum, trace.Map))
	if sum.kinds[trace.Reduce].total > 0 {
		text += ", " + m.phase(&sum, trace.Reduce)
	}
	return text + ", slots " + m.strip()
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
func (p plain) close() {}
