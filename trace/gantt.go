package trace

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// GanttOptions are how a gantt is drawn.
type GanttOptions struct {
	Cell  time.Duration          // of a column; 0: so that Width columns suffice
	Width int                    // columns; 0: 72
	Names func(job int32) string // for the legend; nil: none is written
}

// Gantt draws one row per slot and one column per cell of time: the letter of
// the job that used the slot longest in that cell, lower case when the slot was
// lent, `.` when it was mostly idle. Letters follow the jobs' numbers and start
// again after Z.
//
//	         0s        10s       20s
//	map    0 AAAAAAAAAABBBBBBBBBBaaaaa
//	reduce 1 ..........AAAAAAAAAAAAAAA
func Gantt(w io.Writer, h *Header, events []Event, o GanttOptions) error {
	var end time.Duration
	for i := range events {
		end = max(end, events[i].At)
	}
	if o.Width <= 0 {
		o.Width = 72
	}
	if o.Cell <= 0 {
		o.Cell = roundCell((end + time.Duration(o.Width) - 1) / time.Duration(o.Width))
	}
	columns := int((end + o.Cell - 1) / o.Cell)
	rows := newGanttRows(h.Slots, columns)
	fill(rows, events, o.Cell)

	var b strings.Builder
	label := len(fmt.Sprintf("%-6s %d ", Reduce, max(0, len(h.Slots)-1)))
	axis(&b, label, columns, o.Cell)
	for i, s := range h.Slots {
		if s.Extra && rows[i].idle {
			continue
		}
		home := s.Home.String()
		if s.Extra {
			home = "extra"
		}
		fmt.Fprintf(&b, "%-6s %*d ", home, label-8, s.ID)
		b.Write(rows[i].text())
		b.WriteByte('\n')
	}
	if o.Names != nil {
		legend(&b, events, o.Names)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("draw gantt: %w", err)
	}
	return nil
}

// ganttRow is one slot: per cell, who used it longest so far and how long.
type ganttRow struct {
	letter []byte
	most   []time.Duration
	rest   []time.Duration // idle time left of the cell
	idle   bool            // never used

	from time.Duration
	job  byte // 0: idle now
}

func newGanttRows(slots []Slot, columns int) []ganttRow {
	rows := make([]ganttRow, len(slots))
	for i := range rows {
		rows[i] = ganttRow{letter: make([]byte, columns), most: make([]time.Duration, columns), rest: make([]time.Duration, columns), idle: true}
	}
	return rows
}

// fill walks the events and books each attempt's time on its slot.
func fill(rows []ganttRow, events []Event, cell time.Duration) {
	for i := range rows {
		for c := range rows[i].rest {
			rows[i].rest[c] = cell
		}
	}
	for i := range events {
		e := &events[i]
		if e.Slot < 0 || int(e.Slot) >= len(rows) || e.Op != OpStart && e.Op != OpFinish && e.Op != OpClose {
			continue
		}
		r := &rows[e.Slot]
		if e.Op == OpStart {
			r.from, r.job, r.idle = e.At, letterOf(e.Job, e.Has(Lent)), false
			continue
		}
		r.book(e.At, cell)
	}
	if len(events) > 0 {
		for i := range rows {
			rows[i].book(events[len(events)-1].At, cell)
		}
	}
}

// book ends the attempt on the slot at time to.
func (r *ganttRow) book(to, cell time.Duration) {
	if r.job == 0 {
		return
	}
	for c := int(r.from / cell); c < len(r.letter); c++ {
		from, end := max(r.from, time.Duration(c)*cell), min(to, time.Duration(c+1)*cell)
		if end <= from {
			break
		}
		r.rest[c] -= end - from
		if end-from > r.most[c] {
			r.most[c], r.letter[c] = end-from, r.job
		}
	}
	r.job = 0
}

func (r *ganttRow) text() []byte {
	out := make([]byte, len(r.letter))
	for c := range out {
		out[c] = r.letter[c]
		if r.letter[c] == 0 || r.rest[c] > r.most[c] {
			out[c] = '.'
		}
	}
	return out
}

func letterOf(job int32, lent bool) byte {
	letter := byte('A' + job%26)
	if lent {
		letter += 'a' - 'A'
	}
	return letter
}

// axis writes a time every ten columns.
func axis(b *strings.Builder, label, columns int, cell time.Duration) {
	line := strings.Repeat(" ", label)
	for c := 0; c < columns; c += 10 {
		mark := (time.Duration(c) * cell).String()
		if at := label + c; at >= len(line) || c == 0 {
			line += strings.Repeat(" ", at-len(line)) + mark
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// legend names the letters of the jobs that started something.
func legend(b *strings.Builder, events []Event, names func(int32) string) {
	seen := map[int32]bool{}
	for i := range events {
		if e := &events[i]; e.Op == OpStart && !seen[e.Job] && len(seen) < 26 {
			seen[e.Job] = true
			fmt.Fprintf(b, "%c %s\n", letterOf(e.Job, false), names(e.Job))
		}
	}
}

// roundCell rounds up to 1, 2 or 5 times a power of ten nanoseconds.
func roundCell(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if m*unit >= d {
				return m * unit
			}
		}
	}
}
