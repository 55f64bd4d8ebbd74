package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mrlocal/internal/errs"
)

// Grouping says what has a letter in a gantt.
type Grouping uint8

// ByDefault is ByJob if there are letters for all jobs. Otherwise it is ByPool if there are
// several pools, but fewer than jobs.
const (
	ByDefault Grouping = iota
	ByPool
	ByJob
	ByPhase // of attempts; needs Timeline.KeepPhases
)

// GanttOptions say how to draw a gantt.
type GanttOptions struct {
	Cell  time.Duration            // time per column; 0: the least of 1, 2, 2.5, 5, 10, … for which the run fits Width
	Width int                      // columns of a line, its label included; 0: 80
	By    Grouping                 // what has a letter
	Names func(job int32) string   // returns the name of a job for the legend; nil: no legend
	Word  func(name string) string // returns the text for the name of a pool in the legend; nil: the name
	// Marks draws a letter only where an attempt or phase begins, and signs for copies, kills, failures, lost trackers.
	Marks  bool
	Colour bool // with Marks: cells have the colour of their job, pool or phase, by escape sequences of terminals
}

const (
	defaultGanttWidth = 80
	leastGanttColumns = 10 // columns of the chart without labels, however narrow the line
)

// Gantt draws one row per slot and one column per cell of time. A cell has the letter of the job,
// pool or phase that used the slot longest in it. Of two attempts with equal times, the earlier one
// counts. The letter is in lower case if the kind of the task differs from that of the row. Then
// the slot was lent or had changed its home kind. A cell is `.` if the slot was idle longer than
// any job used it. An attempt that has not ended is drawn up to the last event.
//
// Jobs have the letters A to Z in the order of their numbers, then the digits 0 to 9, and then A
// again. Pools have letters in the order of their first jobs. The lower case of a digit is the sign
// above it on a keyboard. Phases have letters of their own: M for a map that computes, I for one in
// an I/O period. A reduce has C, S and R while it copies, sorts and reduces, and H while it is
// held. The legend names only letters that are drawn. If there are several trackers, each has a
// heading above its slots.
//
// With Marks the cells after the first one of an attempt or phase are `-`, or `~` on a lent slot. The second cell of
// a copy is `+`. The last cell of an attempt is `/` if it was killed, and `?` if it failed. An attempt of one cell has
// such a sign in place of its letter. A slot of a lost tracker is `=` from the loss on. The legend has these signs.
//
//	         0s        10s       20s
//	map    0 AAAAAAAAAABBBBBBBBBBaaaaa
//	reduce 1 ..........AAAAAAAAAAAAAAA
//
// Gantt fails if w does.
func (t *Timeline) Gantt(w io.Writer, o GanttOptions) error {
	// The rows are ordered by tracker; t.attempts.slots stays in the order of ids.
	slots := slices.Clone(t.attempts.slots)
	slices.SortStableFunc(slots, func(a, b Slot) int { return cmp.Compare(a.Tracker, b.Tracker) })
	label := t.label()
	if o.Width <= 0 {
		o.Width = defaultGanttWidth
	}
	if o.Cell <= 0 {
		o.Cell = t.Cell(o.Width)
	}
	o.By = t.grouping(o.By)
	// The run may end within the last cell.
	columns := int((t.End + o.Cell - 1) / o.Cell)
	rows := newGanttRows(len(slots), columns, o.Cell)
	owners := t.fillAll(rows, o.By, o.Cell)
	drawn := map[byte]bool{}

	var b strings.Builder
	axis(&b, label, columns, o.Width, o.Cell)
	several := len(slots) > 0 && slots[0].Tracker != slots[len(slots)-1].Tracker
	for i, s := range slots {
		if several && (i == 0 || slots[i-1].Tracker != s.Tracker) {
			fmt.Fprintf(&b, "tracker %d\n", s.Tracker)
		}
		row := &rows[s.ID]
		// Most extra slots never open, so their rows are left out.
		if s.Extra && !row.used {
			continue
		}
		home := s.Home.String()
		if s.Extra {
			home = "extra"
		}
		text := row.text()
		for _, letter := range text {
			drawn[letter] = true
		}
		if o.Marks {
			t.mark(text, row, s, owners, o.Cell)
		}
		for _, sign := range text {
			drawn[sign] = true
		}
		fmt.Fprintf(&b, "%-6s %*d ", home, label-8, s.ID)
		row.write(&b, text, o.Colour)
	}
	if o.Names != nil {
		t.legend(&b, drawn, o)
	}
	_, err := io.WriteString(w, b.String())
	return errs.About("draw gantt", err)
}

// Cell returns the least round time per column with which the run fits lines of width columns.
// Two gantts are comparable if both have the same time per column.
func (t *Timeline) Cell(width int) time.Duration {
	return Round(t.End, max(leastGanttColumns, width-t.label()))
}

// label returns the width of the labels of the rows.
func (t *Timeline) label() int {
	return len(fmt.Sprintf("%-6s %d ", Reduce, max(0, len(t.attempts.slots)-1)))
}

// ganttRow is the row of one slot. The slices have an element for each cell.
type ganttRow struct {
	letter []byte          // of the longest use; 0: none
	owner  []int32         // of the longest use: index into what fillAll returns
	most   []time.Duration // time of the longest use
	idle   []time.Duration // time in which the slot was idle
	used   bool            // an attempt ran on the slot
}

// newGanttRows returns rows without letters, in which all time is idle. cell is the time of a
// column.
func newGanttRows(slots, columns int, cell time.Duration) []ganttRow {
	rows := make([]ganttRow, slots)
	for i := range rows {
		// fill takes the time of each attempt from idle.
		rows[i] = ganttRow{letter: make([]byte, columns), owner: make([]int32, columns), most: make([]time.Duration, columns), idle: slices.Repeat([]time.Duration{cell}, columns)}
	}
	return rows
}

// grouping resolves ByDefault.
func (t *Timeline) grouping(by Grouping) Grouping {
	switch {
	case by != ByDefault:
		return by
	// Several jobs would share a letter.
	case int(t.jobs) > Letters && len(t.Pools) > 1 && len(t.Pools) < int(t.jobs):
		return ByPool
	}
	return ByJob
}

// fillAll adds all attempts to the rows of their slots. With ByPhase it adds the phases of an
// attempt one after the other. It returns the number of the attempt of each part that it added.
func (t *Timeline) fillAll(rows []ganttRow, by Grouping, cell time.Duration) (owners []int32) {
	phases := t.Phases
	if by != ByPhase {
		phases = nil
	}
	for i := range t.Spans { // also those of no length
		rows[t.Spans[i].Slot].used = true
	}
	EachSegment(len(t.Spans), func(i int) *Span { return &t.Spans[i] }, slices.Values(phases), t.End, func(i int, s Segment) {
		span := &t.Spans[i]
		rows[span.Slot].fill(t.letterOf(span, s.Phase, by), int32(len(owners)), s.From, s.To, cell)
		owners = append(owners, int32(i))
	})
	return owners
}

// mark puts the signs of Marks into the text of the row of a slot.
func (t *Timeline) mark(text []byte, row *ganttRow, slot Slot, owners []int32, cell time.Duration) {
	lost, isLost := t.lost[slot.Tracker]
	for c := range text {
		// same reports whether the cell that is by cells further has the attempt of cell c.
		same := func(by int) bool {
			d := c + by
			return d >= 0 && d < len(text) && text[d] != '.' && text[d] != '=' && owners[row.owner[d]] == owners[row.owner[c]]
		}
		if text[c] == '.' {
			if isLost && time.Duration(c+1)*cell > lost {
				text[c] = '='
			}
			continue
		}
		s := &t.Spans[owners[row.owner[c]]]
		switch {
		case !same(1) && (s.How == EndKilled || s.How == EndLost) && s.To >= 0:
			text[c] = '/'
		case !same(1) && s.How == EndFailed:
			text[c] = '?'
		case s.Speculative && (same(-1) && !same(-2) || !same(-1) && !same(1)):
			text[c] = '+'
		case !same(-1) || row.owner[c-1] != row.owner[c]:
		case s.Lent || s.Moved:
			text[c] = '~'
		default:
			text[c] = '-'
		}
	}
}

// write writes the text of a row as a line. With colour, each letter has a background of its own, as far as there are
// colours.
func (r *ganttRow) write(b *strings.Builder, text []byte, colour bool) {
	const colours = 6 // bright green to bright cyan and bright red, on which black can be read
	for c, before := 0, -1; c <= len(text); c++ {
		hue := -1
		if colour && c < len(text) && text[c] != '.' && text[c] != '=' {
			hue = max(strings.IndexByte(ganttHome, r.letter[c]), strings.IndexByte(ganttLent, r.letter[c])) % colours
		}
		if hue != before && before >= 0 {
			b.WriteString("\x1b[0m")
		}
		if hue != before && hue >= 0 {
			fmt.Fprintf(b, "\x1b[30;%dm", 101+(hue+1)%colours)
		}
		before = hue
		if c < len(text) {
			b.WriteByte(text[c])
		}
	}
	b.WriteByte('\n')
}

// letterOf returns the letter of an attempt in a phase.
func (t *Timeline) letterOf(s *Span, phase Phase, by Grouping) byte {
	switch by {
	case ByPhase:
		return Letter(int32(strings.IndexByte(ganttHome, phaseLetters[phase])), s.Lent || s.Moved)
	case ByPool:
		return Letter(t.poolOf(s.Job), s.Lent || s.Moved)
	}
	return Letter(s.Job, s.Lent || s.Moved)
}

// poolOf returns the number of a job's pool, or the number of pools if it is not known.
func (t *Timeline) poolOf(job int32) int32 {
	if int(job) < len(t.pool) && t.pool[job] >= 0 {
		return t.pool[job]
	}
	return int32(len(t.Pools))
}

// phaseLetters and phaseWords have an element for each Phase.
var (
	phaseLetters = [...]byte{PhaseNone: 'X', PhaseCompute: 'M', PhaseIO: 'I', PhaseCopy: 'C', PhaseSort: 'S', PhaseReduce: 'R', PhaseHeld: 'H'}
	phaseWords   = [...]string{PhaseNone: "other", PhaseCompute: "map", PhaseIO: "map I/O", PhaseCopy: "copy", PhaseSort: "sort", PhaseReduce: "reduce", PhaseHeld: "held"}
)

// fill adds the use of the slot by part owner between the times from and to.
func (r *ganttRow) fill(letter byte, owner int32, from, to, cell time.Duration) {
	for c := int(from / cell); c < len(r.letter); c++ {
		start, end := max(from, time.Duration(c)*cell), min(to, time.Duration(c+1)*cell)
		if end <= start {
			break
		}
		r.idle[c] -= end - start
		if end-start > r.most[c] {
			r.most[c], r.letter[c], r.owner[c] = end-start, letter, owner
		}
	}
}

// text returns the row: letters, and dots for the cells in which the slot was idle longer than any
// use.
func (r *ganttRow) text() []byte {
	out := slices.Clone(r.letter)
	for c := range out {
		if r.letter[c] == 0 || r.idle[c] > r.most[c] {
			out[c] = '.'
		}
	}
	return out
}

const (
	// The signs in ganttLent are above the digits 0 to 9 on an American keyboard.
	ganttHome = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	ganttLent = "abcdefghijklmnopqrstuvwxyz)!@#$%^&*("
)

// Letters is the number of letters for jobs or pools. Job number Letters has the first letter
// again.
const Letters = len(ganttHome)

// Letter returns the letter of job or pool i in all pictures, in lower case on a lent slot. i must
// not be negative.
func Letter(i int32, lent bool) byte {
	if lent {
		return ganttLent[int(i)%Letters]
	}
	return ganttHome[int(i)%Letters]
}

// axis writes a time every ten columns, if there is room for it in lines of width columns, or in those of the rows if
// they are wider.
func axis(b *strings.Builder, label, columns, width int, cell time.Duration) {
	line, used := "", 0
	for c := 0; c < columns; c += 10 {
		mark := (time.Duration(c) * cell).String()
		at, n := label+c, errs.Columns(mark)
		// A mark is left out if it would touch the one before.
		if c == 0 || at > used && at+n <= max(width, label+columns) {
			line += strings.Repeat(" ", at-used) + mark
			used = at + n
		}
	}
	b.WriteString(line + "\n")
}

// legend writes a name for each letter that was drawn. If several jobs or pools share a
// letter, it names the first and counts the others.
func (t *Timeline) legend(b *strings.Builder, drawn map[byte]bool, o GanttOptions) {
	names := make([]string, 0, t.jobs) // of jobs or pools, by number
	var entries []string
	switch o.By {
	case ByPhase:
		entries = append(entries, "phases:")
		for p, letter := range phaseLetters {
			// letter|0x20 is the lower case, of a lent slot.
			if drawn[letter] || drawn[letter|0x20] {
				entries = append(entries, fmt.Sprintf("%c %s", letter, phaseWords[p]))
			}
		}
	case ByPool:
		entries = append(entries, "pools:")
		for _, name := range t.Pools {
			if o.Word != nil {
				name = o.Word(name)
			}
			names = append(names, name)
		}
		// poolOf returns this number for jobs without a pool.
		names = append(names, "(no pool)")
	default:
		for job := range t.jobs {
			names = append(names, o.Names(job))
		}
	}
	entries = append(entries, t.lettered(names, drawn, o.By)...)
	for _, sign := range []string{"- goes on", "~ goes on, lent", "+ copy", "/ killed", "? failed", "= tracker lost"} {
		if drawn[sign[0]] {
			entries = append(entries, sign)
		}
	}
	writeWrapped(b, entries, o.Width)
}

// lettered returns an entry of the legend for each letter that was drawn. Of several jobs or pools
// with the letter, it names the first one that started and counts the others that started.
func (t *Timeline) lettered(names []string, drawn map[byte]bool, by Grouping) []string {
	started := make([]bool, len(names))
	for i := range t.Spans {
		switch by {
		case ByPool:
			started[t.poolOf(t.Spans[i].Job)] = true
		case ByJob:
			started[t.Spans[i].Job] = true
		}
	}
	var entries []string
	digits := false
	for letter := range min(Letters, len(names)) {
		if !drawn[ganttHome[letter]] && !drawn[ganttLent[letter]] {
			continue
		}
		first, more := -1, 0
		// These numbers share the letter. One of them has started, because the letter was drawn.
		for n := letter; n < len(names); n += Letters {
			switch {
			case !started[n]:
			case first < 0:
				first = n
			default:
				more++
			}
		}
		digits = digits || letter >= 26 && drawn[ganttLent[letter]]
		entry := fmt.Sprintf("%c %s", ganttHome[letter], names[first])
		if more > 0 {
			entry += fmt.Sprintf(" and %d more", more)
		}
		entries = append(entries, entry)
	}
	if digits {
		entries = append(entries, "(lent: a to z, and )!@#$%^&*( for 0 to 9)")
	}
	return entries
}

// writeWrapped writes entries, two blanks apart, in lines of at most width columns. Only a longer word makes a longer
// line.
func writeWrapped(b *strings.Builder, entries []string, width int) {
	used := 0
	for i, e := range entries {
		n := errs.Columns(e)
		if n > width {
			e = errs.Wrap(e, "", "  ", width)
		}
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

// Round returns the least round time of which parts multiples cover whole. A round time is 1, 2, 2.5 or 5 times
// a power of ten, in nanoseconds.
func Round(whole time.Duration, parts int) time.Duration {
	whole = min(whole, 1<<62) // only a hostile file has a longer time, which would overflow below
	least := max(1, (whole+time.Duration(parts)-1)/time.Duration(parts))
	for unit := time.Duration(1); ; unit *= 10 {
		for _, c := range []time.Duration{unit, 2 * unit, 5 * unit / 2, 5 * unit} {
			if c >= least {
				return c
			}
		}
	}
}
