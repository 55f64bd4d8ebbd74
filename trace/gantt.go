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

// Grouping says what has a letter in a gantt.
type Grouping uint8

// ByDefault is ByJob as long as there are letters for all jobs, and otherwise ByPool if there are
// several pools, and fewer than jobs.
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
	Names func(job int32) string   // names for the legend; nil: no legend
	Word  func(name string) string // shown for a pool's name in the legend; nil: the name
}

const (
	defaultGanttWidth = 80
	leastGanttColumns = 10 // of the chart itself, however narrow the line
)

// Gantt draws one row per slot and one column per cell of time. A cell has the letter of the job,
// pool or phase that used the slot longest in it. Of two attempts with equal times, the earlier one
// counts. The letter is in lower case if the task was of the other kind than the row's. Then the
// slot was lent or had changed its home kind. A cell is `.` if the slot was idle longer than any
// job used it. An attempt that has not ended is drawn up to the last event.
//
// Jobs have the letters A to Z in the order of their numbers, then the digits 0 to 9, and then A
// again. Pools have letters in the order of their first jobs. The lower case of a digit is the sign
// above it on a keyboard. Phases have letters of their own: M for a map that computes, I for one in
// an I/O period. A reduce has C, S and R while it copies, sorts and reduces, and H while it is
// held. The legend names what is drawn, and no more. If there are several trackers, each has a
// heading above its slots.
//
//	         0s        10s       20s
//	map    0 AAAAAAAAAABBBBBBBBBBaaaaa
//	reduce 1 ..........AAAAAAAAAAAAAAA
//
// Gantt fails if w does.
func (t *Timeline) Gantt(w io.Writer, o GanttOptions) error {
	// The rows are ordered by tracker. The slots of the timeline stay in the order of their
	// numbers.
	slots := slices.Clone(t.slots)
	slices.SortStableFunc(slots, func(a, b Slot) int { return cmp.Compare(a.Tracker, b.Tracker) })
	label := t.label()
	if o.Width <= 0 {
		o.Width = defaultGanttWidth
	}
	if o.Cell <= 0 {
		o.Cell = t.Cell(o.Width)
	}
	o.By = t.grouping(o.By)
	// The last cell may be used in part.
	columns := int((t.End + o.Cell - 1) / o.Cell)
	rows := newGanttRows(len(slots), columns, o.Cell)
	t.bookAll(rows, o.By, o.Cell)
	// The letters that appear; the legend names only these.
	drawn := map[byte]bool{}

	var b strings.Builder
	axis(&b, label, columns, o.Cell)
	several := len(slots) > 0 && slots[0].Tracker != slots[len(slots)-1].Tracker
	for i, s := range slots {
		if several && (i == 0 || slots[i-1].Tracker != s.Tracker) {
			fmt.Fprintf(&b, "tracker %d\n", s.Tracker)
		}
		row := &rows[s.ID]
		// Most extra slots never open, and their rows would say nothing.
		if s.Extra && !row.used {
			continue
		}
		home := s.Home.String()
		if s.Extra {
			home = "extra"
		}
		text := row.text()
		fmt.Fprintf(&b, "%-6s %*d %s\n", home, label-8, s.ID, text)
		for _, letter := range text {
			drawn[letter] = true
		}
	}
	if o.Names != nil {
		t.legend(&b, drawn, o)
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

// newGanttRows returns rows without a letter, all of whose time is idle. cell is the time of a
// column.
func newGanttRows(slots, columns int, cell time.Duration) []ganttRow {
	rows := make([]ganttRow, slots)
	for i := range rows {
		rows[i] = ganttRow{letter: make([]byte, columns), most: make([]time.Duration, columns), idle: make([]time.Duration, columns)}
		for c := range rows[i].idle {
			// Each attempt that is booked takes its time from this.
			rows[i].idle[c] = cell
		}
	}
	return rows
}

// grouping chooses what has a letter.
func (t *Timeline) grouping(by Grouping) Grouping {
	switch {
	case by != ByDefault:
		return by
	// Letters that many jobs share say little. Pools help if there are fewer of them.
	case int(t.jobs) > Letters && len(t.pools) > 1 && len(t.pools) < int(t.jobs):
		return ByPool
	}
	return ByJob
}

// bookAll adds all attempts to the rows of their slots. An attempt takes its phases one after
// the other.
func (t *Timeline) bookAll(rows []ganttRow, by Grouping, cell time.Duration) {
	phases := t.phases
	if by != ByPhase {
		phases = nil
	}
	// Phases are in the order of time over all attempts, so each attempt needs its own last one.
	begun := make([]phaseStart, len(t.spans)) // of each attempt, the phase that it is in
	for i := range t.spans {
		s := &t.spans[i]
		begun[i] = phaseStart{at: s.from, phase: firstPhase(s.kind)}
	}
	book := func(span int32, to time.Duration) {
		s := &t.spans[span]
		rows[s.slot].book(t.letterOf(s, begun[span].phase, by), begun[span].at, to, cell)
	}
	for _, p := range phases {
		// The phase before ends where this one begins.
		book(p.span, p.at)
		begun[p.span] = p
	}
	for i := range t.spans {
		book(int32(i), t.until(&t.spans[i]))
	}
}

// firstPhase returns the phase in which an attempt starts.
func firstPhase(k Kind) Phase {
	if k == Map {
		return PhaseCompute
	}
	return PhaseCopy
}

// letterOf returns the letter of an attempt in a phase.
func (t *Timeline) letterOf(s *span, phase Phase, by Grouping) byte {
	switch by {
	case ByPhase:
		return Letter(int32(strings.IndexByte(ganttHome, phaseLetters[phase])), s.lent)
	case ByPool:
		return Letter(t.poolOf(s.job), s.lent)
	}
	return Letter(s.job, s.lent)
}

// poolOf returns the number of a job's pool; one more than there are if it is not known.
func (t *Timeline) poolOf(job int32) int32 {
	if int(job) < len(t.pool) && t.pool[job] >= 0 {
		return t.pool[job]
	}
	return int32(len(t.pools))
}

// phaseLetters and phaseWords have an element for each Phase.
var (
	phaseLetters = [...]byte{PhaseNone: 'X', PhaseCompute: 'M', PhaseIO: 'I', PhaseCopy: 'C', PhaseSort: 'S', PhaseReduce: 'R', PhaseHeld: 'H'}
	phaseWords   = [...]string{PhaseNone: "other", PhaseCompute: "map", PhaseIO: "map I/O", PhaseCopy: "copy", PhaseSort: "sort", PhaseReduce: "reduce", PhaseHeld: "held"}
)

// book adds the use of the slot from from to to.
func (r *ganttRow) book(letter byte, from, to, cell time.Duration) {
	r.used = true
	// An attempt of zero length still counts as a use of the slot, but takes no cell.
	for c := int(from / cell); c < len(r.letter); c++ {
		start, end := max(from, time.Duration(c)*cell), min(to, time.Duration(c+1)*cell)
		if end <= start {
			break
		}
		r.idle[c] -= end - start
		// The comparison is strict, so the earlier of two equal attempts keeps the cell.
		if end-start > r.most[c] {
			r.most[c], r.letter[c] = end-start, letter
		}
	}
}

// text returns the row: a letter where the slot was busy for most of a cell, a dot elsewhere.
func (r *ganttRow) text() []byte {
	out := make([]byte, len(r.letter))
	for c := range out {
		out[c] = r.letter[c]
		// A cell shows its longest state, and idleness is one of them.
		if r.letter[c] == 0 || r.idle[c] > r.most[c] {
			out[c] = '.'
		}
	}
	return out
}

const (
	// The signs of the second line stand above the digits 0 to 9 on an American keyboard.
	ganttHome = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	ganttLent = "abcdefghijklmnopqrstuvwxyz)!@#$%^&*("
)

// Letters is how many letters there are for jobs or pools; after that many they repeat.
const Letters = len(ganttHome)

// Letter returns the letter of job or pool i in all pictures: in lower case on a lent slot.
func Letter(i int32, lent bool) byte {
	if lent {
		return ganttLent[int(i)%Letters]
	}
	return ganttHome[int(i)%Letters]
}

// axis writes a time every ten columns, if there is room for it.
func axis(b *strings.Builder, label, columns int, cell time.Duration) {
	line := strings.Repeat(" ", label)
	for c := 0; c < columns; c += 10 {
		mark := (time.Duration(c) * cell).String()
		// A mark that would touch the one before it is left out.
		if at := label + c; at > len(line) || c == 0 {
			line += strings.Repeat(" ", at-len(line)) + mark
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// legend writes a name for each letter that was drawn. If several jobs or pools share a
// letter, it names the first and counts the others.
func (t *Timeline) legend(b *strings.Builder, drawn map[byte]bool, o GanttOptions) {
	names := make([]string, 0, t.jobs) // by number; "" was not started
	var entries []string
	switch o.By {
	case ByPhase:
		entries = append(entries, "phases:")
		for p, letter := range phaseLetters {
			// The bit 0x20 makes a capital letter lower case, which is how a lent slot is drawn.
			if drawn[letter] || drawn[letter|0x20] {
				entries = append(entries, fmt.Sprintf("%c %s", letter, phaseWords[p]))
			}
		}
	case ByPool:
		entries = append(entries, "pools:")
		for _, name := range t.pools {
			if o.Word != nil {
				name = o.Word(name)
			}
			names = append(names, name)
		}
		// The number after the last pool, which poolOf returns for jobs without one.
		names = append(names, "(no pool)")
	default:
		for job := range t.jobs {
			names = append(names, o.Names(job))
		}
	}
	entries = append(entries, t.lettered(names, drawn, o.By)...)
	if len(entries) > 0 {
		writeWrapped(b, entries, o.Width)
	}
}

// lettered returns an entry for each letter that was drawn, with the names that share it.
func (t *Timeline) lettered(names []string, drawn map[byte]bool, by Grouping) []string {
	// A job that never started has no letter in the picture, although it shares one.
	started := make([]bool, len(names))
	for i := range t.spans {
		switch by {
		case ByPool:
			started[t.poolOf(t.spans[i].job)] = true
		case ByJob:
			started[t.spans[i].job] = true
		}
	}
	var entries []string
	digits := false
	for letter := range min(Letters, len(names)) {
		if !drawn[ganttHome[letter]] && !drawn[ganttLent[letter]] {
			continue
		}
		first, more := -1, 0
		// These numbers share the letter. It was drawn, so one of them has started, and first is
		// set.
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

// writeWrapped writes entries, two blanks apart, in lines of at most width columns.
func writeWrapped(b *strings.Builder, entries []string, width int) {
	used := 0
	for i, e := range entries {
		// Names may be in any language; a rune counts as one column.
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
	// Rounded up, so that the cells cover the whole time.
	least := (whole + time.Duration(columns) - 1) / time.Duration(columns)
	for unit := time.Duration(1); ; unit *= 10 {
		for _, c := range []time.Duration{unit, 2 * unit, 5 * unit / 2, 5 * unit} {
			if c >= least {
				return c
			}
		}
	}
}
