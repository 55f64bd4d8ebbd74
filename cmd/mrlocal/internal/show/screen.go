package show

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/report"
	"mrlocal/trace"
)

// Screen is standard error during one run: notes, progress and, at the end, a
// table. Its methods may be called from any goroutine.
type Screen struct {
	stderr  io.Writer
	quiet   bool // no table
	picture *Picture

	// Verbose shows the table and the names that were skipped after every run. Otherwise
	// they appear on a terminal alone, after a run of more than longSeconds.
	// Silent hides them and all notes. Both are set before the run.
	Verbose, Silent bool

	// Also watches the run too; nil: nobody. It is set before Attach.
	Also func(*trace.Stream)

	follower *follower // nil: no progress
	tears    bool      // results on the same terminal would tear the display
	display  display   // of follower

	mu   sync.Mutex   // orders notes and the end of the display
	part bytes.Buffer // of stacks: the line that has not ended yet; under mu
	held []string     // notes that appear with the table; under mu
}

// Terminal says what the environment says of the terminal.
type Terminal struct {
	Dumb    bool // it cannot move its cursor
	NoColor bool // its user wants no colours
	ASCII   bool // its characters are not UTF-8
}

// TerminalOf reads TERM, NO_COLOR and the locale with the function getenv, such as os.Getenv.
func TerminalOf(getenv func(string) string) Terminal {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	utf := strings.Contains(strings.ToLower(strings.ReplaceAll(locale, "-", "")), "utf8")
	return Terminal{Dumb: getenv("TERM") == "dumb", NoColor: getenv("NO_COLOR") != "", ASCII: !utf}
}

// NewScreen chooses the display by the mode, a value of --progress. "auto" is a live block on a
// terminal and lines elsewhere, and "plain" a line every ten seconds. "json" is an object a
// second, and "none" neither progress nor table. A terminal that cannot move its cursor, or is
// too small for the block, gets lines. The picture watches the run too; it may be nil.
func NewScreen(stderr io.Writer, mode string, t Terminal, picture *Picture) *Screen {
	s := &Screen{stderr: stderr, quiet: mode == "none" || mode == "json", picture: picture}
	size := sizeOf(stderr)
	columns, rows := size()
	switch {
	case mode == "none":
		return s
	case mode == "json":
		s.display = &lines{stderr}
	case mode == "auto" && !t.Dumb && IsTerminal(stderr) && columns >= leastWidth && rows > leastLines:
		s.display, s.tears = newLive(stderr, look{t.NoColor, t.ASCII}, size), true
	default:
		s.display = plain{stderr}
	}
	// The goroutine starts with the first event stream, in watch.
	s.follower = follow(s.display)
	return s
}

// Attach makes the run of o report to the screen. The display ends with ctx at once, however
// long the run takes to end.
func (s *Screen) Attach(ctx context.Context, o *mrlocal.Options) {
	context.AfterFunc(ctx, s.Stop)
	// All that the engine writes during the run goes through the screen, so nothing tears the
	// block.
	o.Stderr, o.Note, o.Warn = stacks{s}, s.Note, s.Note
	o.Watch = func(stream *trace.Stream) {
		if s.picture != nil {
			s.picture.Watch(stream)
		}
		if s.follower != nil {
			s.follower.watch(stream)
		}
		if s.Also != nil {
			s.Also(stream)
		}
	}
}

// Results returns the writer for the results of the run on standard output. On
// a terminal the first write ends the display, since both would mix.
func (s *Screen) Results(stdout io.Writer) io.Writer {
	// A result in a file or pipe does not disturb the display, which goes on.
	if s.tears && IsTerminal(stdout) {
		return &results{w: stdout, before: s.Stop}
	}
	return stdout
}

// Stop ends the display. It may be called more than once.
func (s *Screen) Stop() {
	if s.follower == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Under mu no note is being written, so the block is gone before the next line.
	s.follower.stop()
}

// Note writes a one-line message of the run. A note on skipped names appears with the
// table.
func (s *Screen) Note(text string) {
	if s.Silent {
		return
	}
	line := argv.ErrorLine("", errors.New(text))
	// These words are those of the engine's note on hidden names.
	if strings.HasPrefix(text, "skipped ") && strings.Contains(text, " starting with . or _") {
		s.mu.Lock()
		s.held = append(s.held, line)
		s.mu.Unlock()
		return
	}
	s.Write(line)
}

// Write puts whole lines on the screen, above a live block.
func (s *Screen) Write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeLocked(text)
}

// writeLocked writes whole lines; the caller holds mu. A running display places them.
func (s *Screen) writeLocked(text string) {
	// After stop the display must not draw, so text goes straight to standard error.
	if s.follower != nil && !s.follower.stopped() {
		s.display.note(text)
		return
	}
	_, _ = io.WriteString(s.stderr, text)
}

// longSeconds is how long a run takes that a person wants to hear about.
const longSeconds = 2

// Table writes the table of a run that is over, and the notes that wait for it, where
// they help: see Verbose. The mode "none" has no table.
func (s *Screen) Table(r *mrlocal.Report) {
	s.mu.Lock()
	// The lock is released before Write takes it again.
	held := strings.Join(s.held, "")
	s.held = nil
	s.mu.Unlock()
	if s.Silent || !s.Verbose && (s.quiet || r.MakespanSeconds <= longSeconds || !IsTerminal(s.stderr)) {
		return
	}
	s.Write(held)
	_ = table(s.stderr, r)
	if s.Verbose {
		_ = report.WriteFigures(s.stderr, r)
	}
}

// stacks passes the stacks of failed user code on, whole lines at a time.
type stacks struct{ s *Screen }

// Write shows stacks above the bars, line by line. Several attempts may fail at once.
func (w stacks) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	// Writes may end in the middle of a line.
	w.s.part.Write(p)
	// The rest of a line waits for its end. A line that never ends is not shown.
	if end := bytes.LastIndexByte(w.s.part.Bytes(), '\n'); end >= 0 {
		w.s.writeLocked(string(w.s.part.Next(end + 1)))
	}
	return len(p), nil
}

// results calls before ahead of the first write to w.
type results struct {
	w      io.Writer
	before func()
	once   sync.Once
}

func (r *results) Write(p []byte) (int, error) {
	r.once.Do(r.before)
	return r.w.Write(p)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
