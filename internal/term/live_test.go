package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/hinshun/vt10x"

	"mrlocal/internal/testkit"
	"mrlocal/trace"
)

// screen is a simulated terminal for tests.
type screen struct {
	vt            vt10x.Terminal
	columns, rows int
}

func newScreen(columns, rows int) *screen {
	return &screen{vt10x.New(vt10x.WithSize(columns, rows)), columns, rows}
}

func (s *screen) Write(p []byte) (int, error) {
	// As the line discipline of a terminal does, a line feed also returns to the first column.
	p = bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	return s.vt.Write(p)
}

func (s *screen) size() (columns, rows int) { return s.columns, s.rows }

// text returns the text on the screen. Carets in the line below mark inverse cells.
func (s *screen) text() string {
	const reverse = 1
	var b strings.Builder
	for y := range s.rows {
		var line, marks strings.Builder
		for x := range s.columns {
			c := s.vt.Cell(x, y)
			line.WriteRune(max(c.Char, ' '))
			mark := ' '
			if c.Mode&reverse != 0 {
				mark = '^'
			}
			marks.WriteRune(mark)
		}
		for _, l := range []string{line.String(), marks.String()} {
			if l = strings.TrimRight(l, " "); l != "" {
				b.WriteString(l + "\n")
			}
		}
	}
	return b.String()
}

// several returns a model of a batch: the given number of jobs runs on the given number of slots of three trackers.
func several(jobs, slots int) *model {
	all := make([]trace.Slot, slots)
	for i := range all {
		all[i] = trace.Slot{ID: int32(i), Tracker: int32(i * 3 / slots), Home: trace.Kind(i % 2)}
	}
	m := newModel(all)
	m.policy = "pi-dhfs"
	apply := func(e trace.Event) {
		m.apply(&e, func(int32) []string {
			return []string{[]string{"count", "links-of-the-wiki-by-name", "作業\x1b[31m", "sort"}[e.Job%4]}
		})
	}
	for j := range int32(jobs) {
		apply(trace.Event{Op: trace.OpSubmit, Job: j, A: 40, B: 3, Flags: trace.Sealed})
	}
	const second = time.Second
	for i := range int32(slots) {
		job, home := i%int32(jobs), trace.Kind(i%2)
		switch i % 7 {
		case 0, 1, 2:
			flags := trace.Flags(0)
			if home == trace.Reduce {
				flags = trace.Lent
			}
			apply(trace.Event{At: second, Op: trace.OpStart, Job: job, Task: i, Slot: i, Flags: flags})
			apply(trace.Event{At: second, Op: trace.OpProgress, Job: job, Task: i, Slot: i, A: 250_000})
		case 3, 4:
			flags := trace.Flags(0)
			if home == trace.Map {
				flags = trace.Lent
			}
			apply(trace.Event{At: second, Op: trace.OpStart, Kind: trace.Reduce, Job: job, Task: i, Slot: i, Flags: flags})
			apply(trace.Event{At: second, Op: trace.OpFetch, Kind: trace.Reduce, Job: job, Task: i, Slot: i, C: 5 << 20})
			if i%7 == 4 {
				apply(trace.Event{At: second, Op: trace.OpPhase, Kind: trace.Reduce, Job: job, Task: i, Slot: i, Phase: trace.PhaseReduce})
			}
		case 5:
			apply(trace.Event{At: second, Op: trace.OpStart, Job: job, Task: i, Slot: i})
			apply(trace.Event{At: 3 * second, Op: trace.OpFinish, Job: job, Task: i, Slot: i, A: 64 << 20, Flags: trace.OK})
		case 6:
			apply(trace.Event{At: second, Op: trace.OpStart, Job: job, Task: i, Slot: i})
			apply(trace.Event{At: 3 * second, Op: trace.OpFinish, Job: job, Task: i, Slot: i})
		}
	}
	apply(trace.Event{At: 2 * second, Op: trace.OpUsage, A: int64(second), B: 300 << 20, C: 2 << 30})
	apply(trace.Event{At: 3 * second, Op: trace.OpUsage, A: int64(3 * second), B: 312 << 20, C: 2 << 30})
	return m
}

// TestBlocks compares blocks with testdata/block.txt. A case is: columns, rows, jobs, slots,
// the time, and what the terminal lacks.
func TestBlocks(t *testing.T) {
	datadriven.RunTest(t, "testdata/block.txt", func(t *testing.T, d *datadriven.TestData) string {
		var columns, rows, jobs, slots int
		var at, lacks string
		if n, err := fmt.Sscan(d.FullCmd(), &columns, &rows, &jobs, &slots, &at, &lacks); n < 6 {
			d.Fatalf(t, "%v", err)
		}
		now, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		s := newScreen(columns, rows)
		l := newLive(s, Terminal{NoColor: strings.Contains(lacks, "colour"), ASCII: strings.Contains(lacks, "utf-8")}, s.size)
		l.draw(several(jobs, slots), now)
		if lacks == "colour" && bytes.Contains(l.shown, []byte("\x1b[7m")) {
			t.Error("a terminal without colour gets inverse cells")
		}
		lines := bytes.Count(l.shown, []byte("\n")) + 1
		if lines < leastLines || lines > mostLines || lines >= rows {
			t.Errorf("%s: %d lines on %d rows", d.Pos, lines, rows)
		}
		return s.text()
	})
}

// A batch is drawn on few rows. A new drawing covers the old one even after a change of the size.
func TestABlockIsDrawnOverTheOneBefore(t *testing.T) {
	s := newScreen(80, 24)
	l := newLive(s, Terminal{}, s.size)
	_, _ = s.Write([]byte("$ mrlocal batch\n"))
	large, small := several(4, 200), several(1, 2)
	l.draw(large, 3*time.Second)
	l.note("mrlocal: a note\n")
	l.draw(small, 4*time.Second)
	want := newScreen(80, 24)
	other := newLive(want, Terminal{}, want.size)
	_, _ = want.Write([]byte("$ mrlocal batch\nmrlocal: a note\n"))
	other.draw(small, 4*time.Second)
	if s.text() != want.text() {
		t.Errorf("the screen:\n%s\nwant:\n%s", s.text(), want.text())
	}
	// A terminal that becomes too small loses the block, and gets it back when it grows again.
	s.columns = leastWidth - 1
	l.draw(small, 5*time.Second)
	if got := s.text(); got != "$ mrlocal batch\nmrlocal: a note\n" {
		t.Errorf("narrow: %q", got)
	}
	s.columns = 80
	l.draw(small, 4*time.Second)
	if s.text() != want.text() {
		t.Errorf("wide again:\n%s", s.text())
	}
	l.close(nil, 0)
	l.close(nil, 0)
	if got := s.text(); got != "$ mrlocal batch\nmrlocal: a note\n" {
		t.Errorf("after the end: %q", got)
	}
}

// At the bottom of the screen a block scrolls once and then stays.
func TestABlockAtTheBottomOfTheScreenStays(t *testing.T) {
	s := newScreen(80, 10)
	_, _ = s.Write([]byte(strings.Repeat("a line\n", 12)))
	l := newLive(s, Terminal{}, s.size)
	m := several(2, 12)
	l.draw(m, 3*time.Second)
	before := s.text()
	for i := range 5 {
		l.draw(m, time.Duration(4+i)*time.Second)
	}
	l.draw(m, 3*time.Second)
	if after := s.text(); after != before || !strings.Contains(after, "memory") || strings.Count(after, "pi-dhfs") != 1 {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// A drawing that has not changed writes nothing.
func TestADrawingCostsLittle(t *testing.T) {
	var w countingWriter
	l := newLive(&w, Terminal{}, func() (int, int) { return 80, 24 })
	m := several(6, 200)
	l.draw(m, 30*time.Second)
	l.draw(m, 30*time.Second+time.Millisecond)
	if w.writes != 1 {
		t.Errorf("%d writes", w.writes)
	}
}

type countingWriter struct{ writes int }

func (w *countingWriter) Write(p []byte) (int, error) { w.writes++; return len(p), nil }

// BenchmarkBlock is a redraw of 8 bars and 16 slots.
func BenchmarkBlock(b *testing.B) {
	var w countingWriter
	l := newLive(&w, Terminal{}, func() (int, int) { return 80, 24 })
	m := several(6, 16)
	at := time.Minute
	b.ReportAllocs()
	for b.Loop() {
		at += time.Second
		l.draw(m, at)
	}
}

func TestObjectsShowTheState(t *testing.T) {
	var b bytes.Buffer
	l := &jsonLines{&b}
	m := several(3, 14)
	l.draw(m, 3*time.Second)
	l.note("mrlocal: a \"note\"\ngoroutine 1:\n")
	m.apply(&trace.Event{Op: trace.OpJobEnd, Job: 1, A: 1}, texts)
	l.draw(m, 4*time.Second)
	l.close(m, 4500*time.Millisecond)
	(&jsonLines{&b}).close(nil, 0)
	testkit.Golden(t, "testdata/progress.jsonl", b.Bytes())
	for _, text := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if !json.Valid([]byte(text)) {
			t.Errorf("no JSON: %s", text)
		}
	}
}

func TestDigitsOfSizes(t *testing.T) {
	for bytes, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1023.9 * 1024: "1.00 MiB", 312 << 20: "312 MiB", 20 << 30: "20.0 GiB", 1 << 60: "1024 PiB"} {
		digits, unit := threeDigits(bytes)
		if got := string(digits) + " " + unit; got != want {
			t.Errorf("%v: %s, want %s", bytes, got, want)
		}
	}
}
