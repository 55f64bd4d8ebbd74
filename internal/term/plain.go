package term

import (
	"encoding/json"
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
	name := errs.OneLine(j.name)
	// A batch has too many jobs for one line, so its line has their sum.
	if m.several {
		ended, sum := m.all()
		j, name = &sum, fmt.Sprintf("%d of %d jobs ended", ended, len(m.jobs))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", name, m.phase(j, trace.Map))
	if rate := j.bytesPerSecond(trace.Map, now); rate > 0 {
		fmt.Fprintf(&b, " %s/s", humanize.IBytes(uint64(rate)))
	}
	if left := j.remaining(trace.Map, now); left > 0 {
		fmt.Fprintf(&b, " %s to go", roundTime(left))
	}
	if j.of(trace.Reduce).total > 0 {
		fmt.Fprintf(&b, ", %s", m.phase(j, trace.Reduce))
	}
	return b.String() + ", slots " + m.strip(now)
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
	if !dumb && IsTerminal(stderr) && (Terminal{}).Width(stderr) >= leastWidth {
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

// linesInterval is the time between two objects. A shorter run writes only the last object.
const linesInterval = time.Second

// jsonLines is the display for programs. It writes the state of the run as JSON objects, one per line.
type jsonLines struct{ w io.Writer }

// stateLine is the object for the state of a run. docs/formats.md describes its fields.
type stateLine struct {
	Kind        string    `json:"kind"` // "progress"
	Schema      int       `json:"schema"`
	AtSeconds   float64   `json:"at_s"`
	Policy      string    `json:"policy"`
	JobsTotal   int       `json:"jobs_total"`
	JobsEnded   int       `json:"jobs_ended"`
	Jobs        []jobLine `json:"jobs"`
	Slots       string    `json:"slots"`
	CPUSeconds  float64   `json:"cpu_s"`
	MemoryBytes int64     `json:"memory_bytes"`
	TempBytes   int64     `json:"temp_bytes"`
	Last        bool      `json:"last"`
}

// jobLine is a job that runs, or that has ended since the object before.
type jobLine struct {
	Name    string     `json:"name"`
	Ended   bool       `json:"ended"`
	Sealed  bool       `json:"sealed"`
	Maps    phaseFacts `json:"maps"`
	Reduces phaseFacts `json:"reduces"`
}

// phaseFacts has the figures of the tasks of one kind.
type phaseFacts struct {
	Total          int32   `json:"total"`
	Running        int32   `json:"running"`
	Done           int32   `json:"done"`
	Share          float64 `json:"share"`
	Bytes          int64   `json:"bytes"`
	BytesPerSecond float64 `json:"bytes_per_s"`
	RemainingS     float64 `json:"remaining_s"`
}

// noteLine is the object for a note of the run.
type noteLine struct {
	Kind string `json:"kind"` // "note"
	Note string `json:"note"`
}

// draw writes an object with the state of m.
func (l *jsonLines) draw(m *model, now time.Duration) { l.write(m.state(now)) }

// note writes an object for each line of text, without the prefix "mrlocal: ".
func (l *jsonLines) note(text string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l.write(noteLine{"note", strings.TrimPrefix(line, "mrlocal: ")})
	}
}

// close writes the last object. If the run was refused, m is nil, and there is none.
func (l *jsonLines) close(m *model, now time.Duration) {
	if m == nil {
		return
	}
	s := m.state(now)
	s.Last = true
	l.write(s)
}

// write writes object as a line of JSON. An error of the stream is ignored, as for all progress.
func (l *jsonLines) write(object any) {
	text, err := json.Marshal(object)
	if err != nil { // the objects have only texts and finite numbers, so this cannot happen
		return
	}
	_, _ = l.w.Write(append(text, '\n'))
}

// state returns the object for the state of m at time now. It marks the ended jobs that the object
// has as reported, so that each of them appears once.
func (m *model) state(now time.Duration) *stateLine {
	s := &stateLine{Kind: "progress", Schema: 1, AtSeconds: inSeconds(now), Policy: m.policy, JobsTotal: len(m.jobs), Jobs: []jobLine{},
		Slots: m.strip(now), CPUSeconds: inSeconds(m.usage.cpu), MemoryBytes: m.usage.memoryBytes, TempBytes: m.usage.tempBytes}
	for _, j := range m.jobs {
		if j.ended() {
			s.JobsEnded++
		}
		if !j.runs() && (j.reported || !j.ended()) {
			continue
		}
		j.reported = j.ended()
		s.Jobs = append(s.Jobs, jobLine{Name: j.name, Ended: j.ended(), Sealed: j.counts.Sealed, Maps: j.facts(trace.Map, now), Reduces: j.facts(trace.Reduce, now)})
	}
	return s
}

// facts returns the figures of the tasks of kind k.
func (j *shownJob) facts(k trace.Kind, now time.Duration) phaseFacts {
	t := j.of(k)
	return phaseFacts{Total: t.total, Running: t.running, Done: t.done, Share: t.share(),
		Bytes: int64(t.doneBytes(k)), BytesPerSecond: float64(int64(j.bytesPerSecond(k, now))), RemainingS: inSeconds(j.remaining(k, now))}
}

// inSeconds returns a time in seconds, cut to milliseconds.
func inSeconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
