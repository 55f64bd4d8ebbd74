//go:build unix

package term

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"mrlocal"
	"mrlocal/trace"
)

// onTerminal calls f with a terminal of that size. It returns the screen at the end, and the
// bytes that were written.
func onTerminal(t *testing.T, columns, rows int, f func(tty *os.File, now func() string)) (end, written string) {
	t.Helper()
	p, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	s := newScreen(columns, rows)
	var mu sync.Mutex
	var all strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := p.Read(buf)
			mu.Lock()
			all.Write(buf[:n])
			_, _ = s.vt.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	f(tty, func() string {
		mu.Lock()
		defer mu.Unlock()
		return s.text()
	})
	_ = tty.Close()
	<-done
	_ = p.Close()
	return s.text(), all.String()
}

// begin starts a run on the screen and returns its stream.
func begin(s *Screen) *trace.Stream {
	var o mrlocal.Options
	o.Stderr, o.Note, o.Watch = s.Stacks(), s.Note, s.Watch
	stream := trace.NewStream()
	o.Watch(stream)
	stream.Open(trace.Header{Policy: "fair", Slots: twoSlots})
	e := submit()
	e.Ref = stream.Refer("wordcount", "pool", "user")
	stream.Append(e)
	stream.Append(start(trace.Map, 0, 0, 0))
	return stream
}

// wait waits until text is on the screen.
func wait(t *testing.T, now func() string, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(now(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q never appears:\n%s", text, now())
		}
	}
}

func TestATerminalIsLeftAsItWas(t *testing.T) {
	for name, end := range map[string]func(s *Screen){
		"at the end":    func(s *Screen) {},
		"at a failure":  func(s *Screen) { s.Note("attempt J/m/0 failed") },
		"when panicked": func(s *Screen) { panic("a bug") },
	} {
		screen, written := onTerminal(t, 80, 24, func(tty *os.File, now func() string) {
			_, _ = io.WriteString(tty, "$ mrlocal run\n")
			s := NewScreen(tty, "auto", Terminal{}, nil, plainLine)
			defer func() { _ = recover(); _, _ = io.WriteString(tty, "$ \n") }()
			defer s.Stop()
			begin(s)
			wait(t, now, "wordcount")
			end(s)
		})
		want := "$ mrlocal run\n$\n"
		if name == "at a failure" {
			want = "$ mrlocal run\nmrlocal: attempt J/m/0 failed\n$\n"
		}
		if screen != want {
			t.Errorf("%s: %q, want %q", name, screen, want)
		}
		// The display sets no mode that must be restored: it hides no cursor and shows no alternate
		// screen.
		if strings.Contains(written, "\x1b[?") {
			t.Errorf("%s: the terminal gets a mode: %q", name, written)
		}
	}
}

// The display draws again at the new size.
func TestANewSizeIsSeen(t *testing.T) {
	onTerminal(t, 80, 24, func(tty *os.File, now func() string) {
		s := NewScreen(tty, "auto", Terminal{}, nil, plainLine)
		defer s.Stop()
		begin(s)
		wait(t, now, "wordcount           map")
		if err := pty.Setsize(tty, &pty.Winsize{Cols: 40, Rows: 10}); err != nil {
			t.Fatal(err)
		}
		wait(t, now, "wordco M")
	})
}

func TestOtherTerminalsGetLines(t *testing.T) {
	for name, c := range map[string]struct {
		t             Terminal
		columns, rows int
	}{
		"dumb": {Terminal{Dumb: true}, 80, 24}, "narrow": {Terminal{}, 39, 24}, "low": {Terminal{}, 80, 6},
	} {
		onTerminal(t, c.columns, c.rows, func(tty *os.File, _ func() string) {
			if s := NewScreen(tty, "auto", c.t, nil, plainLine); s.tears {
				t.Errorf("%s: a live block", name)
			}
		})
	}
	if s := NewScreen(io.Discard, "auto", Terminal{}, nil, plainLine); s.tears {
		t.Error("no terminal: a live block")
	}
}

func TestTheEnvironmentDescribesTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want Terminal
	}{
		"a usual one":    {map[string]string{"LANG": "en_GB.UTF-8", "TERM": "xterm"}, Terminal{}},
		"no colour":      {map[string]string{"LC_ALL": "C.utf8", "NO_COLOR": "1"}, Terminal{NoColor: true}},
		"a dumb one":     {map[string]string{"LANG": "de_DE.UTF-8", "TERM": "dumb"}, Terminal{Dumb: true}},
		"the C locale":   {map[string]string{"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, Terminal{ASCII: true}},
		"nothing is set": {nil, Terminal{ASCII: true}},
	} {
		if got := TerminalOf(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// plainLine returns the line of a note.
func plainLine(err error) string { return "mrlocal: " + err.Error() + "\n" }

// Gantts have colours on a terminal that has some, and only there.
func TestGanttsHaveColoursOnATerminal(t *testing.T) {
	var p Picture
	onTerminal(t, 60, 20, func(tty *os.File, _ func() string) {
		for _, c := range []struct {
			w     io.Writer
			set   string // of the environment, which is 1
			color bool
		}{{tty, "", true}, {tty, "NO_COLOR", false}, {io.Discard, "", false}} {
			if o := p.Options(c.w, func(name string) string {
				return map[string]string{c.set: "1"}[name]
			}); o.Colour != c.color || c.w == tty && o.Width != 60 || c.w != tty && o.Width != 80 {
				t.Errorf("with %q: colour %v, %d columns", c.set, o.Colour, o.Width)
			}
		}
	})
}
