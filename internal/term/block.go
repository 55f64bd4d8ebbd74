package term

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"mrlocal/trace"
)

// Bounds of a block, in lines and columns.
const (
	mostLines  = 12 // of a block
	leastLines = 6  // a terminal needs more lines than this
	leastWidth = 40 // of a terminal
	leastBar   = 4  // columns between the brackets of a bar
	wideWidth  = 70 // from this width on, a block has long names and bytes

	stripLabel = "slots  "
)

// block draws a model in 6 to 12 lines. They have a title, a bar for each phase of the running jobs,
// and a cell for each slot. The resources that the process uses and a legend follow.
type block struct {
	Terminal
	out          []byte      // the drawing so far
	width, most  int         // the largest number of columns of a line, and of lines
	column, line int         // where the next character goes, from 0
	jobs         []*shownJob // that the drawing shows
}

// draw draws m for a terminal of the given size. The result is valid until the next call. All
// lines but the last one end with "\r\n". No line reaches the last column, because terminals differ in
// what they do there.
func (b *block) draw(m *model, now time.Duration, columns, rows int) []byte {
	// The user may have made the terminal too small for a block.
	if columns < leastWidth || rows <= leastLines {
		return nil
	}
	b.out, b.column, b.line = b.out[:0], 0, 0
	b.width, b.most = columns-1, min(mostLines, rows-1)
	// The title, the slots and the resources need at least this many lines next to the bars.
	const others = 3
	running := b.choose(m, b.most-others)
	b.title(m, now, running)
	for _, j := range b.jobs {
		for _, k := range j.phases() {
			b.bar(j, k, now)
		}
	}
	// One line is kept for the resources.
	b.slots(m, now, b.most-b.line-1)
	b.usage(m)
	if b.line < b.most {
		b.legend()
	}
	// A line feed at the end would scroll a terminal that is as high as the block.
	b.out = b.out[:len(b.out)-len("\r\n")]
	return b.out
}

// choose sets b.jobs, whose bars together need at most bars lines, and returns the number of
// running jobs. Of a chain, b.jobs has the current job.
func (b *block) choose(m *model, bars int) (running int) {
	b.jobs = b.jobs[:0]
	if !m.several {
		if j := m.current(); j != nil && len(j.phases()) <= bars {
			b.jobs = append(b.jobs, j)
		}
		return len(b.jobs)
	}
	for _, j := range m.jobs {
		if !j.runs() {
			continue
		}
		running++
		if bars -= len(j.phases()); bars >= 0 {
			b.jobs = append(b.jobs, j)
		}
	}
	return running
}

// title draws the line with the policy and the time. For a batch, it also has the number of ended jobs.
func (b *block) title(m *model, now time.Duration, running int) {
	b.name(m.policy, max(leastBar, b.width/3))
	b.text("  %s", duration(now))
	if m.several {
		ended, _ := m.all()
		jobs := ""
		if b.wide() {
			jobs = " jobs"
		}
		b.text("  %d of %d%s ended", ended, len(m.jobs), jobs)
		if hidden := running - len(b.jobs); hidden > 0 {
			b.text(", %d more run", hidden)
		}
	}
	b.end()
}

// bar draws the line of one kind of tasks of a job. It shows the share of done tasks as a bar and in
// percent. The bytes, their rate and the remaining time follow. Only a wide terminal gets the bytes.
func (b *block) bar(j *shownJob, k trace.Kind, now time.Duration) {
	// names is the number of columns for the name, and figures that for the figures after the bar.
	names, kind, figures, unit := 6, [...]string{"M", "R"}[k&1], len(" 100% 99.9MiB/s 59m59s"), ""
	if b.wide() {
		names, kind, figures, unit = min(24, b.width/4), k.String(), len(" 100%  9.99 GiB  100 MiB/s  59m59s"), " "
	}
	b.name(j.name, names)
	b.pad(names + 1)
	b.text("%s ", kind)
	if b.wide() {
		b.pad(names + len(" reduce "))
	}
	share := j.of(k).share()
	columns := max(leastBar, b.width-b.column-figures-len("[]"))
	done := min(columns, int(share*float64(columns)))
	b.text("[%s%s] %3d%%", strings.Repeat("#", done), strings.Repeat("-", columns-done), int64(100*share))
	// The place of an unknown figure stays blank.
	if b.wide() {
		b.text("%10s", size(j.of(k).doneBytes(k), unit, ""))
	}
	b.text("%*s", len(" 99.9MiB/s"+unit), size(j.bytesPerSecond(k, now), unit, "/s"))
	if left := j.remaining(k, now); left > 0 {
		b.text(" %s%s", unit, duration(left))
	}
	b.end()
}

// size formats a number of bytes with three digits; "" if it is 0. space stands between the digits and the
// prefix, and unit after it.
func size(bytes float64, space, unit string) string {
	if bytes <= 0 {
		return ""
	}
	digits, suffix := threeDigits(bytes)
	return digits + space + suffix + unit
}

// slots draws a cell for each slot, in at most the given number of lines. A space separates trackers. If there
// are too many slots, the last line ends with the number of the others.
func (b *block) slots(m *model, now time.Duration, lines int) {
	b.text(stripLabel)
	last, left := int32(-1), 0
	for i := range m.slots {
		c, lent, shown := m.cell(i, now)
		if !shown {
			continue
		}
		// The last line keeps room for the number of slots that have no cell.
		room := b.width
		if lines <= 1 {
			room -= len(" +1000000")
		}
		// 2 columns: a space before the cell of another tracker, and the cell.
		if left > 0 || b.column+2 > room && lines <= 1 {
			left++
			continue
		}
		if b.column+2 > room {
			b.end()
			b.pad(len(stripLabel))
			lines--
		} else if last >= 0 && m.slots[i].Tracker != last {
			b.text(" ")
		}
		last = m.slots[i].Tracker
		b.cell(c, lent)
	}
	if left > 0 {
		b.text(" +%d", left)
	}
	b.end()
}

// cell draws the cell c. The cell of a lent slot is inverse, unless the terminal has no colours.
func (b *block) cell(c byte, lent bool) {
	if lent && !b.NoColor {
		b.out = append(b.out, "\x1b[7m"...)
	}
	switch {
	case c == idleCell && !b.ASCII:
		b.out = append(b.out, "·"...)
	case c == missedCell && !b.ASCII:
		b.out = append(b.out, "✕"...)
	default:
		b.out = append(b.out, c)
	}
	if lent && !b.NoColor {
		b.out = append(b.out, "\x1b[0m"...)
	}
	b.column++
}

// usage draws the line of resources: leased memory, temporary files and, if known, cores.
func (b *block) usage(m *model) {
	format := "mem %s %s  temp %s %s"
	if b.wide() {
		format = "memory %s %s leased  temp %s %s"
	}
	memory, memoryUnit := threeDigits(float64(m.usage.memoryBytes))
	temp, tempUnit := threeDigits(float64(m.usage.tempBytes))
	b.text(format, memory, memoryUnit, temp, tempUnit)
	if cores := m.cores(); cores > 0 {
		b.text("  cores %.1f", cores)
	}
	b.end()
}

// legend draws the line that explains the cells. In its text a cell stands between bars.
func (b *block) legend() {
	text := "M map S copy R reduce |x| failed |m|: lent"
	if b.wide() {
		text = "M map  S copy, sort  R reduce  |m| |s| |r| lent  |.| idle  |x| failed, killed"
	}
	for i, part := range strings.Split(text, "|") {
		if i%2 == 0 {
			b.text("%s", part)
		} else {
			b.cell(part[0], part[0] != idleCell && part[0] != missedCell)
		}
	}
	b.end()
}

// wide reports whether the terminal has room for long names and for bytes.
func (b *block) wide() bool { return b.width >= wideWidth }

// text draws a text, which must be ASCII. It cuts it at the end of the line.
func (b *block) text(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	s = s[:min(len(s), max(0, b.width-b.column))]
	b.out = append(b.out, s...)
	b.column += len(s)
}

// name draws a name in at most the given number of columns. It drops characters without width, such as control
// characters, which could move the cursor. It ends before a wide character that does not fit. On a
// terminal without UTF-8 it draws ? for other than ASCII characters.
func (b *block) name(name string, columns int) {
	columns = min(columns, b.width-b.column)
	state := -1
	for len(name) > 0 {
		var cluster string
		var width int
		cluster, name, width, state = uniseg.FirstGraphemeClusterInString(name, state)
		if c, _ := utf8.DecodeRuneInString(cluster); width == 0 || c < ' ' || c == utf8.RuneError {
			continue
		}
		if b.ASCII && len(cluster) > 1 {
			cluster, width = "?", 1
		}
		if width > columns {
			return
		}
		b.out = append(b.out, cluster...)
		b.column += width
		columns -= width
	}
}

// pad draws spaces up to a column, at most to the end of the line.
func (b *block) pad(column int) { b.text("%*s", max(0, column-b.column), "") }

// duration formats a time in at most 7 columns: 9.9s, 59s, 59m59s, 99h59m.
func duration(d time.Duration) string {
	switch seconds := int64(d.Seconds()); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
	}
}

// end ends a line. It also erases the rest of the line, which may be from an earlier drawing.
func (b *block) end() {
	b.out = append(bytes.TrimRight(b.out, " "), "\x1b[K\r\n"...)
	b.column = 0
	b.line++
}

// threeDigits returns a number of bytes with at most three digits, and the unit of these digits.
func threeDigits(bytes float64) (digits, unit string) {
	const step = 1024
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	// From 999.5 on, rounding would give four digits.
	for bytes >= 999.5 && i < len(units)-1 {
		bytes /= step
		i++
	}
	decimals := 0
	switch {
	case i == 0:
	case bytes < 9.995:
		decimals = 2
	case bytes < 99.95:
		decimals = 1
	}
	return strconv.FormatFloat(bytes, 'f', decimals, 64), units[i]
}

// liveInterval is the time between two drawings.
const liveInterval = 100 * time.Millisecond

// eraseBelow moves the cursor to the start of its line and erases all from there to the end of the
// screen.
const eraseBelow = "\r\x1b[J"

// live draws on a terminal: a block, or the line of a tool. Between two drawings the cursor is at the start of the
// drawing. So a new drawing begins where the old one began, even if the terminal has got
// another width and broken lines again.
type live struct {
	w       io.Writer
	size    func() (columns, rows int)
	picture func(m *model, now time.Duration, columns, rows int) []byte // nothing: there is no drawing now
	next    []byte                                                      // scratch memory of draw
	shown   []byte                                                      // the bytes that drew the block on the screen; empty: there is no block
}

// newLive returns a display that draws a block on the terminal w. size returns the current size of w.
func newLive(w io.Writer, t Terminal, size func() (columns, rows int)) *live {
	return &live{w: w, size: size, picture: (&block{Terminal: t}).draw}
}

// draw draws the picture in place of the one before, if it has changed.
func (l *live) draw(m *model, now time.Duration) {
	columns, rows := l.size()
	drawing := l.picture(m, now, columns, rows)
	if len(drawing) == 0 {
		l.erase()
		return
	}
	l.next = l.frame(l.next[:0], drawing)
	// In a long run, most drawings are equal to the one before.
	if bytes.Equal(l.next, l.shown) {
		return
	}
	l.shown, l.next = l.next, l.shown
	_, _ = l.w.Write(l.shown)
}

// frame appends a drawing to text. It also appends the sequences that erase the rest of an older and
// higher block, and that move the cursor back to the start.
func (l *live) frame(text, drawing []byte) []byte {
	text = append(append(append(text, '\r'), drawing...), "\x1b[J\r"...)
	if up := bytes.Count(drawing, []byte("\n")); up > 0 {
		text = append(strconv.AppendInt(append(text, "\x1b["...), int64(up), 10), 'A')
	}
	return text
}

// note erases the block, writes text, and draws the block again below it.
func (l *live) note(text string) {
	if len(l.shown) == 0 {
		_, _ = io.WriteString(l.w, text)
		return
	}
	_, _ = io.WriteString(l.w, eraseBelow+text+string(l.shown))
}

// close removes the block.
func (l *live) close(*model, time.Duration) {
	l.erase()
}

// erase removes the block from the screen.
func (l *live) erase() {
	if len(l.shown) > 0 {
		_, _ = io.WriteString(l.w, eraseBelow)
		l.shown = l.shown[:0]
	}
}

// sizeOf returns a function that returns the size of the terminal w, or 0, 0 if w is not a
// terminal. The function asks the terminal at each call, because the user may resize the window.
func sizeOf(w io.Writer) func() (columns, rows int) {
	return func() (int, int) {
		if f, ok := w.(*os.File); ok {
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
				return columns, rows
			}
		}
		return 0, 0
	}
}
