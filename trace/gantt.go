package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// GanttOptions say how to draw a gantt.
type GanttOptions struct {
	Cell  time.Duration          // time per column; 0: the least of 1, 2, 2.5, 5, 10, … for which the run fits Width
	Width int                    // columns of a line, its label included; 0: 80
	Names func(job int32) string // names for the legend; nil: no legend
}

const (
	defaultGanttWidth = 80
	leastGanttColumns = 10 // of the chart itself, however narrow the line
)

// Gantt draws one row per slot and one column per cell of time. A cell has the letter
// of the job that used the slot longest in it; of two jobs with equal times, the
// earlier one. The letter is in lower case if the task was of the other kind than the
// row's, because the slot was lent or had changed its home kind. A cell is `.` if the
// slot was idle longer than any job used it. An attempt that has not ended is drawn up
// to the last event.
//
// Jobs have the letters A to Z in the order of their numbers, then the digits 0 to 9,
// and then start again. The lower case of a digit is the sign above it on a keyboard.
// If there are several trackers, each has a heading above its slots.
//
//	         0s        10s       20s
//	map    0 AAAAAAAAAABBBBBBBBBBaaaaa
//	reduce 1 ..........AAAAAAAAAAAAAAA
//
// Gantt fails if w does.
func (t *Timeline) Gantt(w io.Writer, o GanttOptions) error {
	slots := slices.Clone(t.slots)
	slices.SortStableFunc(slots, func(a, b Slot) int { return cmp.Compare(a.Tracker, b.Tracker) })
	label := t.label()
	if o.Width <= 0 {
		o.Width = defaultGanttWidth
	}
	if o.Cell <= 0 {
		o.Cell = t.Cell(o.Width)
	}
	columns := int((t.End + o.Cell - 1) / o.Cell)
	rows := newGanttRows(len(slots), columns, o.Cell)
	for i := range t.spans {
		rows[t.spans[i].slot].book(&t.spans[i], t.until(&t.spans[i]), o.Cell)
	}

	var b strings.Builder
	axis(&b, label, columns, o.Cell)
	several := len(slots) > 0 && slots[0].Tracker != slots[len(slots)-1].Tracker
	for i, s := range slots {
		if several && (i == 0 || slots[i-1].Tracker != s.Tracker) {
			fmt.Fprintf(&b, "tracker %d\n", s.Tracker)
		}
		row := &rows[s.ID]
		if s.Extra && !row.used {
			continue
		}
		home := s.Home.String()
		if s.Extra {
			home = "extra"
		}
		fmt.Fprintf(&b, "%-6s %*d ", home, label-8, s.ID)
		b.Write(row.text())
		b.WriteByte('\n')
	}
	if o.Names != nil {
		t.legend(&b, o.Names, o.Width)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("draw gantt: %w", err)
	}
	return nil
}

// Cell returns the time per column with which the run fits width columns. Gantts with
// the same time per column compare.
func (t *Timeline) Cell(width int) time.Duration {
	return cellFor(t.End, max(leastGanttColumns, width-t.label()))
}

// label returns the width of the labels of the rows.
func (t *Timeline) label() int {
	return len(fmt.Sprintf("%-6s %d ", Reduce, max(0, len(t.slots)-1)))
}

// ganttRow is the row of one slot. For each cell it has the letter of the longest
// user, that user's time, and the time in which the slot was idle.
type ganttRow struct {
	letter []byte
	most   []time.Duration
	idle   []time.Duration
	used   bool
}

func newGanttRows(slots, columns int, cell time.Duration) []ganttRow {
	rows := make([]ganttRow, slots)
	for i := range rows {
		rows[i] = ganttRow{letter: make([]byte, columns), most: make([]time.Duration, columns), idle: make([]time.Duration, columns)}
		for c := range rows[i].idle {
			rows[i].idle[c] = cell
		}
	}
	return rows
}

// book adds an attempt that uses the slot from s.from to to.
func (r *ganttRow) book(s *span, to, cell time.Duration) {
	r.used = true
	for c := int(s.from / cell); c < len(r.letter); c++ {
		from, end := max(s.from, time.Duration(c)*cell), min(to, time.Duration(c+1)*cell)
		if end <= from {
			break
		}
		r.idle[c] -= end - from
		if end-from > r.most[c] {
			r.most[c], r.letter[c] = end-from, letterOf(s.job, s.lent)
		}
	}
}

func (r *ganttRow) text() []byte {
	out := make([]byte, len(r.letter))
	for c := range out {
		out[c] = r.letter[c]
		if r.letter[c] == 0 || r.idle[c] > r.most[c] {
			out[c] = '.'
		}
	}
	return out
}

const (
	ganttHome = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	ganttLent = "abcdefghijklmnopqrstuvwxyz)!@#$%^&*("
)

func letterOf(job int32, lent bool) byte {
	if lent {
		return ganttLent[int(job)%len(ganttLent)]
	}
	return ganttHome[int(job)%len(ganttHome)]
}

// axis writes a time every ten columns, if there is room for it.
func axis(b *strings.Builder, label, columns int, cell time.Duration) {
	line := strings.Repeat(" ", label)
	for c := 0; c < columns; c += 10 {
		mark := (time.Duration(c) * cell).String()
		if at := label + c; at > len(line) || c == 0 {
			line += strings.Repeat(" ", at-len(line)) + mark
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// legend writes a name for each letter that was drawn. If several jobs share a letter,
// it names the first and counts the others.
func (t *Timeline) legend(b *strings.Builder, names func(int32) string, width int) {
	started := map[int32]bool{}
	for i := range t.spans {
		started[t.spans[i].job] = true
	}
	var entries []string
	digits := false
	for letter := range int32(len(ganttHome)) {
		first, more := int32(-1), 0
		for job := letter; job < t.jobs; job += int32(len(ganttHome)) {
			switch {
			case !started[job]:
			case first < 0:
				first = job
			default:
				more++
			}
		}
		if first < 0 {
			continue
		}
		digits = digits || letter >= 26
		entry := fmt.Sprintf("%c %s", ganttHome[letter], names(first))
		if more > 0 {
			entry += fmt.Sprintf(" and %d more", more)
		}
		entries = append(entries, entry)
	}
	if digits {
		entries = append(entries, "(lent: a to z, and )!@#$%^&*( for 0 to 9)")
	}
	writeWrapped(b, entries, width)
}

// writeWrapped writes entries, two blanks apart, in lines of at most width columns.
func writeWrapped(b *strings.Builder, entries []string, width int) {
	used := 0
	for i, e := range entries {
		n := utf8.RuneCountInString(e)
		switch {
		case i == 0:
		case used+2+n > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteString("  ")
			used += 2
		}
		b.WriteString(e)
		used += n
	}
	if len(entries) > 0 {
		b.WriteByte('\n')
	}
}

// cellFor returns the least round time (1, 2, 2.5 or 5 times a power of ten) with
// which the given number of cells covers whole.
func cellFor(whole time.Duration, columns int) time.Duration {
	least := (whole + time.Duration(columns) - 1) / time.Duration(columns)
	for unit := time.Duration(1); ; unit *= 10 {
		for _, c := range []time.Duration{unit, 2 * unit, 5 * unit / 2, 5 * unit} {
			if c >= least {
				return c
			}
		}
	}
}
