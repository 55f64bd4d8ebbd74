package term

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/errs"
	"mrlocal/trace"
)

// plainInterval is the time between two lines. A shorter run writes no line.
const plainInterval = 10 * time.Second

// line returns a line on the state of the whole run.
func (m *model) line(now time.Duration) string {
	j := m.current()
	if j == nil {
		return "starting"
	}
	// A batch has too many jobs for one line, so its line has their sum.
	if m.several {
		return m.batchLine(now)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", errs.OneLine(j.name), m.phase(j, trace.Map))
	if rate := j.bytesPerSecond(trace.Map, now); rate > 0 {
		fmt.Fprintf(&b, " %s/s", humanize.IBytes(uint64(rate)))
	}
	if left := j.remaining(trace.Map, now); left > 0 {
		fmt.Fprintf(&b, " %s to go", roundTime(left))
	}
	if j.of(trace.Reduce).total > 0 {
		fmt.Fprintf(&b, ", %s", m.phase(j, trace.Reduce))
	}
	fmt.Fprintf(&b, ", slots %s", m.strip(now))
	return b.String()
}

// batchLine returns a line on the sum of all jobs.
func (m *model) batchLine(now time.Duration) string {
	ended, sum := m.all()
	text := fmt.Sprintf("%d of %d jobs ended: %s", ended, len(m.jobs), m.phase(&sum, trace.Map))
	if sum.of(trace.Reduce).total > 0 {
		text += ", " + m.phase(&sum, trace.Reduce)
	}
	return text + ", slots " + m.strip(now)
}

// phase returns the share and the counts of the tasks of one kind of a job. A plus sign means that
// there may be more maps.
func (m *model) phase(j *shownJob, k trace.Kind) string {
	t := j.of(k)
	more := ""
	if k == trace.Map && !j.counts.Sealed {
		more = "+"
	}
	return fmt.Sprintf("%s %.0f%% (%d/%d%s)", k, 100*t.share(), t.done, t.total, more)
}

// roundTime rounds a remaining time for a line: to seconds, or below 10 s to tenths.
func roundTime(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// plain is the display that writes a line every plainInterval to w.
type plain struct{ w io.Writer }

// draw writes a line on the state of m.
func (p plain) draw(m *model, now time.Duration) {
	fmt.Fprintf(p.w, "mrlocal: %s\n", m.line(now))
}

// note writes text.
func (p plain) note(text string) { fmt.Fprint(p.w, text) }

// close does nothing, because the lines stay.
func (p plain) close(*model, time.Duration) {}

const (
	quietTime    = 2 * time.Second // a shorter run of a tool shows no progress
	lineInterval = 500 * time.Millisecond
)

// NewQuietScreen returns a screen for a tool. On a terminal it shows a line of progress if the run
// takes longer than quietTime. Elsewhere, and on a dumb terminal, it shows nothing. line is as for NewScreen.
func NewQuietScreen(stderr io.Writer, dumb bool, line func(error) string) *Screen {
	s := &Screen{out: outbox{to: stderr}, line: line, quiet: true}
	if !dumb && IsTerminal(stderr) && Width(stderr) >= leastWidth {
		s.show(&live{w: &s.out, size: sizeOf(stderr), picture: oneLine}, lineInterval)
		s.tears = true
	}
	return s
}

// oneLine draws a line with the current job of a chain, from quietTime on.
func oneLine(m *model, now time.Duration, columns, _ int) []byte {
	j := m.current()
	if now < quietTime || j == nil {
		return nil
	}
	text := errs.OneLine(j.name)
	for _, k := range j.phases() {
		text += fmt.Sprintf("  %s %d/%d", k, j.of(k).done, j.of(k).total)
	}
	if rate := j.bytesPerSecond(trace.Map, now); rate > 0 {
		text += "  " + humanize.IBytes(uint64(rate)) + "/s"
	}
	// A carriage return goes back to the start of one line only, so the text must not wrap.
	return []byte(text[:max(0, min(len(text), columns-1))])
}
