package term

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"mrlocal/internal/errs"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// Screen writes to standard error during one run: notes, progress and, at the end, a table. Any
// goroutine may call its methods.
type Screen struct {
	line    func(err error) string // returns the line of a note
	width   int                    // of the table
	quiet   bool                   // there is no table unless Verbose is true
	picture *Picture

	// Verbose is true to show the table, and the note on skipped names, after every run. By default
	// both appear only on a terminal, and after a run of more than longSeconds. Silent is true to
	// hide them and all notes. Both must be set before the run.
	Verbose, Silent bool

	// Also is called after Watch has followed the stream; nil: nothing is. It must be set before the run.
	Also func(*trace.Stream)

	tears    bool          // the display moves the cursor, so results on the same terminal would mix with it
	display  display       // nil: no progress is shown
	every    time.Duration // between two drawings
	follower follower      // has what display shows
	started  time.Time     // of the run
	ended    chan struct{} // closed by Stop
	once     sync.Once     // for Stop
	done     sync.WaitGroup

	mu       sync.Mutex   // orders drawings, notes and the end of the display
	stopping bool         // Stop was called; under mu
	stopped  bool         // display is closed; under mu
	out      outbox       // to which display writes; under mu
	part     bytes.Buffer // for stacks: a line that has not ended yet; under mu
	held     []string     // notes that appear with the table; under mu
}

// Terminal has the properties of the terminal that the environment variables show.
type Terminal struct {
	Dumb    bool // it cannot move its cursor
	NoColor bool // its user wants no colours, and no inverse cells
	ASCII   bool // its characters are not UTF-8
	Columns int  // of its lines; 0: those that the system knows
}

// TerminalOf reads TERM, NO_COLOR, COLUMNS and the locale with getenv, such as os.Getenv.
func TerminalOf(getenv func(string) string) Terminal {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	utf := strings.Contains(strings.ToLower(strings.ReplaceAll(locale, "-", "")), "utf8")
	columns, err := strconv.Atoi(getenv("COLUMNS"))
	if err != nil || columns < leastColumns || columns > mostColumns {
		columns = 0
	}
	return Terminal{Dumb: getenv("TERM") == "dumb", NoColor: getenv("NO_COLOR") != "", ASCII: !utf, Columns: columns}
}

// NewScreen returns the screen of one run. mode is a value of --progress:
//
//	auto   a live block on a terminal, plain elsewhere
//	plain  a line every 10 s
//	json   a JSON object every second
//	none   neither progress nor table
//
// A terminal that cannot move its cursor, or that is too small for the block, gets plain. picture
// may be nil. Otherwise Watch lets it watch the run too. line returns the line of a note, with its newline.
func NewScreen(stderr io.Writer, mode string, t Terminal, picture *Picture, line func(error) string) *Screen {
	s := &Screen{out: outbox{to: stderr}, line: line, width: t.Width(stderr), quiet: mode == "none" || mode == "json", picture: picture}
	size := sizeOf(stderr)
	columns, rows := size()
	switch {
	case mode == "none":
	case mode == "json":
		s.show(&jsonLines{&s.out}, linesInterval)
	case mode == "auto" && !t.Dumb && IsTerminal(stderr) && columns >= leastWidth && rows > leastLines:
		s.show(newLive(&s.out, t, size), liveInterval)
		s.tears = true
	default:
		s.show(plain{&s.out}, plainInterval)
	}
	return s
}

// Watch follows the stream of the run.
func (s *Screen) Watch(stream *trace.Stream) {
	if s.picture != nil {
		s.picture.Watch(stream)
	}
	if s.display != nil {
		s.follow(stream)
	}
	if s.Also != nil {
		s.Also(stream)
	}
}

// Stacks returns the writer for stacks of user code. The engine writes through the screen, so that its
// lines do not appear within the block.
func (s *Screen) Stacks() io.Writer { return stacks{s} }

// Results returns the writer for the results of the run on standard output. If stdout is a
// terminal, as the display may be, the first write ends the display.
func (s *Screen) Results(stdout io.Writer) io.Writer {
	if s.tears && IsTerminal(stdout) {
		return &results{w: stdout, before: s.Stop}
	}
	return stdout
}

// Note writes text as a line of the run. If Silent is true, it does nothing. It keeps a note on
// skipped names until Table.
func (s *Screen) Note(text string) {
	if s.Silent {
		return
	}
	line := s.line(errors.New(text))
	// The engine's note on hidden names has these words.
	if strings.HasPrefix(text, "skipped ") && strings.Contains(text, " starting with . or _") {
		s.mu.Lock()
		s.held = append(s.held, line)
		s.mu.Unlock()
		return
	}
	s.Write(line)
}

// Write writes whole lines. They appear above a live block.
func (s *Screen) Write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeLocked(text)
}

// writeLocked writes whole lines. The caller holds mu.
func (s *Screen) writeLocked(text string) {
	// A running display knows where lines may appear. After it has stopped, it must not draw.
	if s.display != nil && !s.stopped {
		s.change(func(*model, time.Duration) { s.display.note(text) })
		return
	}
	_, _ = io.WriteString(s.out.to, text)
}

// longSeconds is the makespan above which a run gets a table by default.
const longSeconds = 2

// Table writes the notes that it has kept, and the table of a run that has ended. Verbose and
// Silent say whether it does so. It must be called after Stop.
func (s *Screen) Table(r *report.Report) {
	s.mu.Lock()
	held := strings.Join(s.held, "")
	s.held = nil
	s.mu.Unlock()
	if s.Silent || !s.Verbose && (s.quiet || r.MakespanSeconds <= longSeconds || !IsTerminal(s.out.to)) {
		return
	}
	s.Write(held)
	text := table(r, s.width)
	if s.Verbose {
		text += errs.Fit(report.Figures(r), s.width)
	}
	_, _ = io.WriteString(s.out.to, text)
}

// stacks is a writer for the stacks of user code that has failed. It passes whole lines to the screen.
type stacks struct{ s *Screen }

// Write writes the whole lines of p and keeps the rest until its line ends. Several goroutines may
// call it, because several attempts may fail at once.
func (w stacks) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.part.Write(p)
	// A line that never ends is never shown.
	if end := bytes.LastIndexByte(w.s.part.Bytes(), '\n'); end >= 0 {
		w.s.writeLocked(string(w.s.part.Next(end + 1)))
	}
	return len(p), nil
}

// results is a writer to w that calls before once, at the first write.
type results struct {
	w      io.Writer
	before func()
	once   sync.Once
}

// Write calls before, if this is the first write, and then writes p.
func (r *results) Write(p []byte) (int, error) {
	r.once.Do(r.before)
	return r.w.Write(p)
}

// IsTerminal reports whether stream is an *os.File of a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// display shows a model. Its kinds are plain, jsonLines and live. Screen.mu orders the calls.
type display interface {
	// note shows whole lines.
	note(text string)
	// draw shows the state of m, which it may read during the call. now is the time since the start of the run.
	draw(m *model, now time.Duration)
	// close ends the display with the last state; nil: the run has not begun.
	close(m *model, now time.Duration)
}

// outbox keeps what a display writes until flush.
type outbox struct {
	bytes.Buffer
	to io.Writer
}

// follower is a trace.Sink that keeps the model of a run. The goroutine of the run waits for a drawing in memory at
// most, never for the terminal.
type follower struct {
	sync.Mutex
	model *model // nil: no header yet
	over  bool   // no event follows
}

// Open begins the model.
func (f *follower) Open(h *trace.Header) error {
	f.Lock()
	defer f.Unlock()
	f.model = newModel(h.Slots)
	f.model.policy = h.Policy
	return nil
}

// Record applies an event to the model.
func (f *follower) Record(s *trace.Stream, e *trace.Event) error {
	f.Lock()
	defer f.Unlock()
	f.model.apply(e, s.Texts)
	return nil
}

// Close keeps the last drawing until the end of the display.
func (f *follower) Close() error {
	f.Lock()
	defer f.Unlock()
	f.over = true
	return nil
}

// show makes s draw on d, which writes to s.out. Watch starts the goroutine that draws.
func (s *Screen) show(d display, every time.Duration) {
	s.display, s.every, s.ended = d, every, make(chan struct{})
}

// follow starts the goroutine that draws the run of the stream, unless Stop was called. It is called before the
// first event, on the goroutine of the stream. A signal may call Stop while a run begins.
func (s *Screen) follow(stream *trace.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.started = time.Now()
	stream.Attach(&s.follower)
	s.done.Add(1)
	go s.loop()
}

// loop draws until Stop.
func (s *Screen) loop() {
	defer s.done.Done()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		s.change(func(m *model, now time.Duration) {
			if m != nil && !s.follower.over {
				s.display.draw(m, now)
			}
		})
		s.mu.Unlock()
	}
}

// change calls a function that calls the display, and then writes what the display has written. The caller holds mu.
func (s *Screen) change(draw func(m *model, now time.Duration)) {
	s.follower.Lock()
	draw(s.follower.model, time.Since(s.started))
	s.follower.Unlock()
	_, _ = s.out.WriteTo(s.out.to) // errors of the terminal are ignored, as for all progress
	s.out.Reset()
}

// Stop ends the goroutine, waits for it, and removes a block or line from the terminal. It may be called again, and
// by any goroutine.
func (s *Screen) Stop() {
	if s.display == nil {
		return
	}
	s.once.Do(func() {
		s.mu.Lock()
		s.stopping = true
		s.mu.Unlock()
		close(s.ended)
		s.done.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change(s.display.close)
		s.stopped = true
	})
}

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
	_ = json.NewEncoder(l.w).Encode(object)
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
