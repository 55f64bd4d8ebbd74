package show

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"

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

// look says which features of a terminal a block must not use.
type look struct {
	noColor bool // no inverse cells either
	ascii   bool // its characters are not UTF-8
}

// block draws a model in 6 to 12 lines. They have a title, a bar for each phase of the running jobs,
// and a cell for each slot. The resources that the process uses and a legend follow. A block reuses
// its memory, so that a drawing of the same jobs allocates nothing.
type block struct {
	look
	out          []byte      // the drawing so far
	width, most  int         // the largest number of columns of a line, and of lines
	column, line int         // where the next character goes, from 0
	scratch      [24]byte    // for numbers
	jobs         []*shownJob // that the drawing shows
}

// draw draws m for a terminal of the given size. The result is valid until the next call. All
// lines but the last one end with "\r\n". No line reaches the last column, because terminals differ in
// what they do there.
func (b *block) draw(m *model, now time.Duration, columns, rows int) []byte {
	b.out, b.column, b.line = b.out[:0], 0, 0
	b.width, b.most = columns-1, min(mostLines, rows-1)
	// The title, the slots and the resources need at least this many lines next to the bars.
	const others = 3
	running := b.choose(m, b.most-others)
	b.title(m, now, running)
	for _, j := range b.jobs {
		for k := range j.kinds {
			if j.kinds[k].total > 0 {
				b.bar(j, trace.Kind(k), now)
			}
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
		if j := m.current(); j != nil && j.bars() <= bars {
			b.jobs = append(b.jobs, j)
		}
		return len(b.jobs)
	}
	for _, j := range m.jobs {
		if !j.runs() {
			continue
		}
		running++
		if bars -= j.bars(); bars >= 0 {
			b.jobs = append(b.jobs, j)
		}
	}
	return running
}

// bars returns the number of bars of the job: one for each kind that has tasks.
func (j *shownJob) bars() (n int) {
	for k := range j.kinds {
		if j.kinds[k].total > 0 {
			n++
		}
	}
	return n
}

// title draws the line with the policy and the time. For a batch, it also has the number of ended jobs.
func (b *block) title(m *model, now time.Duration, running int) {
	b.name(m.policy, max(leastBar, b.width/3))
	b.text("  ")
	b.duration(now)
	if m.several {
		ended := 0
		for _, j := range m.jobs {
			if j.ended() {
				ended++
			}
		}
		b.text("  ")
		b.number(int64(ended))
		b.text(" of ")
		b.number(int64(len(m.jobs)))
		if b.wide() {
			b.text(" jobs")
		}
		b.text(" ended")
		if hidden := running - len(b.jobs); hidden > 0 {
			b.text(", ")
			b.number(int64(hidden))
			b.text(" more run")
		}
	}
	b.end()
}

// bar draws the line of one kind of tasks of a job. It shows the share of done tasks as a bar and in
// percent. The bytes, their rate and the remaining time follow. Only a wide terminal gets the bytes.
func (b *block) bar(j *shownJob, k trace.Kind, now time.Duration) {
	// names is the number of columns for the name, and figures that for the figures after the bar.
	names := 6
	kind := [...]string{"M", "R"}[k&1]
	figures := len(" 100% 99.9MiB/s 59m59s")
	if b.wide() {
		names = min(24, b.width/4)
		kind = k.String()
		figures = len(" 100%  9.99 GiB  100 MiB/s  59m59s")
	}
	b.name(j.name, names)
	b.pad(names + 1)
	b.text(kind)
	b.text(" ")
	if b.wide() {
		b.pad(names + len(" reduce "))
	}
	b.share(j.kinds[k].share(), b.width-b.column-figures-len("[]"))
	// The place of an unknown figure stays blank, so at is the column where the next figure begins.
	at, unit := b.column, ""
	b.text(" ")
	b.right(int64(100*j.kinds[k].share()), 3)
	b.text("%")
	at += len(" 100%")
	if b.wide() {
		unit = " "
		at += b.field(j.kinds[k].doneBytes(k), at, len("  9.99 GiB"), unit, "")
	}
	at += b.field(j.bytesPerSecond(k, now), at, len(" 99.9MiB/s")+len(unit), unit, "/s")
	if left := j.remaining(k, now); left > 0 {
		b.pad(at + 1 + len(unit))
		b.duration(left)
	}
	b.end()
}

// share draws a bar for a share from 0 to 1, with the given number of columns between its brackets.
func (b *block) share(share float64, columns int) {
	columns = max(leastBar, columns)
	done := int(share * float64(columns))
	b.text("[")
	for i := range columns {
		if i < done {
			b.text("#")
		} else {
			b.text("-")
		}
	}
	b.text("]")
}

// field draws a size, aligned to the right, in the given number of columns that begin at column at. space
// stands between the digits and the prefix, and unit after it. If bytes is 0, it draws nothing. It
// returns columns.
func (b *block) field(bytes float64, at, columns int, space, unit string) int {
	if bytes <= 0 {
		return columns
	}
	digits, suffix := threeDigits(b.scratch[:0], bytes)
	b.pad(at + columns - len(digits) - len(space) - len(suffix) - len(unit))
	b.bytes(digits)
	b.text(space)
	b.text(suffix)
	b.text(unit)
	return columns
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
		b.text(" +")
		b.number(int64(left))
	}
	b.end()
}

// cell draws the cell c. The cell of a lent slot is inverse, unless the terminal has no colours.
func (b *block) cell(c byte, lent bool) {
	if lent && !b.noColor {
		b.out = append(b.out, "\x1b[7m"...)
	}
	switch {
	case c == idleCell && !b.ascii:
		b.out = append(b.out, "·"...)
	case c == missedCell && !b.ascii:
		b.out = append(b.out, "✕"...)
	default:
		b.out = append(b.out, c)
	}
	if lent && !b.noColor {
		b.out = append(b.out, "\x1b[0m"...)
	}
	b.column++
}

// usage draws the line of resources: leased memory, temporary files and, if known, cores.
func (b *block) usage(m *model) {
	if b.wide() {
		b.text("memory ")
	} else {
		b.text("mem ")
	}
	b.amount(m.usage.memoryBytes)
	if b.wide() {
		b.text(" leased")
	}
	b.text("  temp ")
	b.amount(m.usage.tempBytes)
	if cores := m.cores(); cores > 0 {
		b.text("  cores ")
		b.bytes(strconv.AppendFloat(b.scratch[:0], cores, 'f', 1, 64))
	}
	b.end()
}

// amount draws a number of bytes with three digits and its unit.
func (b *block) amount(bytes int64) {
	digits, suffix := threeDigits(b.scratch[:0], float64(bytes))
	b.bytes(digits)
	b.text(" ")
	b.text(suffix)
}

// legend draws the line that explains the cells.
func (b *block) legend() {
	if !b.wide() {
		b.text("M map S copy R reduce ")
		b.cell(missedCell, false)
		b.text(" failed ")
		b.cell('m', true)
		b.text(": lent")
		b.end()
		return
	}
	b.text("M map  S copy, sort  R reduce  ")
	b.cell('m', true)
	b.text(" ")
	b.cell('s', true)
	b.text(" ")
	b.cell('r', true)
	b.text(" lent  ")
	b.cell(idleCell, false)
	b.text(" idle  ")
	b.cell(missedCell, false)
	b.text(" failed, killed")
	b.end()
}

// wide reports whether the terminal has room for long names and for bytes.
func (b *block) wide() bool { return b.width >= wideWidth }

// text draws s, which must be ASCII. It cuts s at the end of the line.
func (b *block) text(s string) {
	s = s[:min(len(s), max(0, b.width-b.column))]
	b.out = append(b.out, s...)
	b.column += len(s)
}

// bytes draws s as text does. It avoids the allocation of a string.
func (b *block) bytes(s []byte) {
	s = s[:min(len(s), max(0, b.width-b.column))]
	b.out = append(b.out, s...)
	b.column += len(s)
}

// number draws n.
func (b *block) number(n int64) { b.bytes(strconv.AppendInt(b.scratch[:0], n, 10)) }

// right draws n, aligned to the right, in the given number of columns.
func (b *block) right(n int64, columns int) {
	digits := strconv.AppendInt(b.scratch[:0], n, 10)
	b.pad(b.column + columns - len(digits))
	b.bytes(digits)
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
		if b.ascii && len(cluster) > 1 {
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
func (b *block) pad(column int) {
	for b.column < column {
		b.text(" ")
		if b.column >= b.width {
			return
		}
	}
}

// duration draws a time in at most 7 columns: 9.9s, 59s, 59m59s, 99h59m.
func (b *block) duration(d time.Duration) {
	text := b.scratch[:0]
	switch seconds := int64(d.Seconds()); {
	case d < 10*time.Second:
		text = append(strconv.AppendFloat(text, d.Seconds(), 'f', 1, 64), 's')
	case seconds < 60:
		text = append(strconv.AppendInt(text, seconds, 10), 's')
	case seconds < 3600:
		text = append(strconv.AppendInt(text, seconds/60, 10), 'm')
		text = append(twoDigits(text, seconds%60), 's')
	default:
		text = append(strconv.AppendInt(text, seconds/3600, 10), 'h')
		text = append(twoDigits(text, seconds/60%60), 'm')
	}
	b.bytes(text)
}

// twoDigits appends n, from 0 to 99, with two digits.
func twoDigits(text []byte, n int64) []byte { return append(text, byte('0'+n/10), byte('0'+n%10)) }

// end ends a line. It also erases the rest of the line, which may be from an earlier drawing.
func (b *block) end() {
	b.out = append(b.out, "\x1b[K\r\n"...)
	b.column = 0
	b.line++
}

// threeDigits appends a number of bytes with at most three digits, and returns the unit of these
// digits.
func threeDigits(text []byte, bytes float64) (digits []byte, unit string) {
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
	return strconv.AppendFloat(text, bytes, 'f', decimals, 64), units[i]
}
