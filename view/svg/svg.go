// Package svg draws SVG pictures. Write draws the slots of a run: one row for each slot, and time
// from left to right. Chart is a line chart, for the tables of `mrlocal sweep` and `mrlocal
// reproduce`.
//
// The hue and the letter of a bar are those of its job; of its pool, if there are more jobs than letters. All other
// signs are in the table view.SignOf, which the page draws, too. Every sign has a shape in addition to its colour,
// so that a black-and-white print shows the same. The series of a chart differ by marker and dashes, too.
//
// The same model gives the same bytes. Bars narrower than a pixel are drawn together. So the
// size of a picture depends on its pixels, and not on the length of the run.
package svg

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mrlocal/trace"
	"mrlocal/view"
)

// Width is the usual width of a picture, in pixels.
const Width = 1200

// These are sizes in pixels, except fewLanes.
const (
	right       = 16  // margin right of the plot
	head        = 82  // room for title, headline, summary and axis
	fewLanes    = 200 // most rows that are high enough for letters and labels
	legendRow   = 20
	groupGap    = 18  // height of the heading of a tracker
	letterWidth = 7.0 // approximate width of a letter in 12 px text
)

// picture is a picture of slots while Write draws it. Lengths are in pixels.
type picture struct {
	w      *bufio.Writer // keeps its first error until Flush
	m      *view.Model
	byPool bool              // letters and hues stand for pools
	left   float64           // room left of the plot, for labels
	plot   float64           // width of the plot
	row    float64           // height of a lane with its margin
	canvas                   // of bars
	bars   [][]int32         // by slot: indexes of its bars, in order
	parts  [][]trace.Segment // by bar, in order
	spills [][]view.Spill    // by slot
}

// Write draws the slots of a model to w, in a picture of that width, which is at least 400 pixels. It fails if w does.
func Write(w io.Writer, m *view.Model, width int) error {
	p := newPicture(w, m, width)
	lanes := shown(m)
	if len(lanes) > fewLanes { // low rows, so that the picture of a cluster fits on a screen
		p.row, p.canvas.height = 6, 5
	}
	legend := p.legend()
	height := head + p.rowsHeight(lanes) + float64(len(legend)*legendRow) + 24
	fmt.Fprintf(p.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" role="img" aria-label="%s">`+"\n",
		int(p.left+p.plot)+right, height, int(p.left+p.plot)+right, height, Escape("Slots of a run under "+m.Policy))
	fmt.Fprintf(p.w, "<title>%s</title>\n%s%s", Escape("Slots of a run under "+m.Policy), style(), patterns)
	fmt.Fprintf(p.w, `<rect class="ground" width="100%%" height="100%%"/>`+"\n"+`<text class="title" x="10" y="20">%s</text>`+"\n", Escape(m.Policy))
	fmt.Fprintf(p.w, `<text x="10" y="39">%s</text>`+"\n", Escape(view.Headline([]view.Named{{Name: m.Policy, Model: m}})))
	fmt.Fprintf(p.w, `<text class="small" x="10" y="56">%s</text>`+"\n", Escape(Summary(m)))
	bottom := head + p.rowsHeight(lanes)
	p.axis(bottom)
	p.rows(lanes)
	for i, line := range legend {
		fmt.Fprintf(p.w, `<g transform="translate(10 %.0f)">%s</g>`+"\n", bottom+16+float64(i*legendRow), line)
	}
	p.w.WriteString("</svg>\n")
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("draw svg: %w", err)
	}
	return nil
}

// newPicture returns a picture of m of that width. It sorts bars, phases and spills by slot once.
// Write then draws each row in one pass.
func newPicture(w io.Writer, m *view.Model, width int) *picture {
	out := bufio.NewWriterSize(w, 64<<10)
	p := &picture{w: out, m: m, byPool: m.ByPool(), left: 150, row: 24, canvas: canvas{out, 20}, bars: make([][]int32, len(m.Lanes)), parts: make([][]trace.Segment, len(m.Bars)), spills: make([][]view.Spill, len(m.Lanes))}
	p.plot = float64(width) - p.left - right
	// Bars and spills are in the order of their events, so each list by slot is, too.
	for i := range m.Bars {
		slot := m.Bars[i].Slot
		p.bars[slot] = append(p.bars[slot], int32(i))
	}
	for _, s := range m.Spills {
		slot := m.Bars[s.Bar].Slot
		p.spills[slot] = append(p.spills[slot], s)
	}
	m.EachSegment(func(bar int, s trace.Segment) { p.parts[bar] = append(p.parts[bar], s) })
	return p
}

// Summary describes a run in one line: numbers of attempts and of drawn slots, length of the run,
// loans, and how attempts ended.
func Summary(m *view.Model) string {
	t := m.Totals()
	text := fmt.Sprintf("%d attempts on %d slots in %s; %d on a lent slot, %s of %s busy slot time", t.Bars, len(shown(m)), view.Words(m.Last), t.Lent, view.Words(t.LentTime), view.Words(t.Busy))
	for _, part := range []struct {
		n    int
		word string
	}{{t.Speculative, "copies"}, {t.Ends[trace.EndKilled] + t.Ends[trace.EndLost], "killed"}, {t.Ends[trace.EndFailed], "failed"}, {t.Ends[trace.EndNone], "running"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	if m.Dropped > 0 {
		text += fmt.Sprintf("; %d events did not fit", m.Dropped)
	}
	return text
}

// shown returns the slots that have rows: all except extra slots that ran nothing.
func shown(m *view.Model) (rows []view.Lane) {
	uses := m.SlotUses()
	for _, l := range m.Lanes {
		if !l.Extra || uses[l.Slot].Attempts > 0 {
			rows = append(rows, l)
		}
	}
	return rows
}

// several reports whether the lanes are of several trackers. If they are, each tracker has a
// heading.
func several(lanes []view.Lane) bool {
	return len(lanes) > 0 && lanes[0].Tracker != lanes[len(lanes)-1].Tracker
}

// rowsHeight returns the height in pixels of all rows and of the headings of trackers. rows uses the
// same sizes.
func (p *picture) rowsHeight(lanes []view.Lane) float64 {
	h := float64(len(lanes)) * p.row
	if several(lanes) {
		groups := 1
		for i := 1; i < len(lanes); i++ {
			if lanes[i].Tracker != lanes[i-1].Tracker {
				groups++
			}
		}
		h += float64(groups * groupGap)
	}
	return h
}

// x returns the place of a time, in pixels from the left edge of the picture. The right end of the
// plot is the time of the last event.
func (p *picture) x(at time.Duration) float64 {
	return p.left + p.plot*float64(at)/float64(max(1, p.m.Last))
}

// axis draws about ten vertical lines, down to bottom, with a round time above each.
func (p *picture) axis(bottom float64) {
	step := trace.Round(p.m.Last, 10)
	for at := time.Duration(0); 0 <= at && at <= p.m.Last; at += step { // 0 <= at: a hostile file may make at overflow
		x := num(p.x(at))
		fmt.Fprintf(p.w, `<line class="grid" x1="%s" y1="%d" x2="%s" y2="%.0f"/><text class="small" x="%s" y="%d" text-anchor="middle">%s</text>`+"\n", x, head-8, x, bottom, x, head-12, view.Words(at))
	}
}

// rows draws the lanes from top to bottom. They are sorted by tracker, and the first lane of each
// tracker comes after a heading.
func (p *picture) rows(lanes []view.Lane) {
	y := float64(head)
	for i, l := range lanes {
		if several(lanes) && (i == 0 || lanes[i-1].Tracker != l.Tracker) {
			fmt.Fprintf(p.w, `<text class="small" x="10" y="%s">tracker %d%s</text>`+"\n", num(y+13), l.Tracker, p.lost(l.Tracker))
			y += groupGap
		}
		p.label(l, y, i == 0 || lanes[i-1].Home != l.Home)
		p.lane(l, y)
		y += p.row
	}
}

// lost returns the end of the heading of a tracker: when it was lost, or "".
func (p *picture) lost(tracker int32) string {
	for _, l := range p.m.Losses {
		if l.Tracker == tracker {
			return ", lost at " + view.Words(l.At)
		}
	}
	return ""
}

// label writes the badge of a slot's home kind and the number of the slot. If rows are too low for
// text, only the first row of consecutive slots of one kind has a label. first marks that row.
func (p *picture) label(l view.Lane, y float64, first bool) {
	fmt.Fprintf(p.w, `<line class="row" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", num(p.left), num(y+p.row-1), num(p.left+p.plot), num(y+p.row-1))
	if p.row < 12 {
		if first {
			fmt.Fprintf(p.w, `<text class="small" x="32" y="%s">%s slots</text>`+"\n", num(y+9), l.Home)
		}
		return
	}
	kind := l.Home.String()
	if l.Extra {
		kind = "extra " + kind
	}
	text := fmt.Sprintf("%s %d", kind, l.Slot)
	if l.Core >= 0 {
		text += fmt.Sprintf(", core %d", l.Core)
	}
	fmt.Fprintf(p.w, `%s<text class="label" x="32" y="%s">%s</text>`+"\n", badge(l.Home, 12, y+4), num(y+15), text)
}

// badge returns the sign of a home kind: M on black, R on white.
func badge(k trace.Kind, x, y float64) string {
	class, letter := "mapbadge", "M"
	if k == trace.Reduce {
		class, letter = "reducebadge", "R"
	}
	return fmt.Sprintf(`<rect class="%s" x="%s" y="%s" width="15" height="14"/><text class="badge %s-text" x="%s" y="%s" text-anchor="middle">%s</text>`, class, num(x), num(y), class, num(x+7.5), num(y+11), letter)
}

// lane draws the bars and spills of a slot, and that its tracker is lost. Consecutive bars that are narrower than a
// pixel become one shape. y is the top edge of the row.
func (p *picture) lane(l view.Lane, y float64) {
	var few []int32 // narrow bars that are not drawn yet
	flush := func() {
		if len(few) > 0 {
			p.many(l, few, y)
			few = few[:0]
		}
	}
	for _, loss := range p.m.Losses {
		if x := p.x(loss.At); loss.Tracker == l.Tracker {
			fmt.Fprintf(p.w, `<g class="lost"><title>the tracker is lost at %s</title>`, view.Words(loss.At))
			p.rect(string(view.SignOf(view.SignLost).Mark), x, y+1, p.left+p.plot-x)
			p.w.WriteString("</g>\n")
		}
	}
	for _, i := range p.bars[l.Slot] {
		b := &p.m.Bars[i]
		from, to := p.x(b.From), p.x(p.m.Until(b))
		// The bars of a group begin within 1.5 px. So the number of groups in a row depends on the
		// width of the plot and not on the number of attempts.
		if len(few) > 0 && from-p.x(p.m.Bars[few[0]].From) >= 1.5 {
			flush()
		}
		if to-from < 1 {
			few = append(few, i)
			continue
		}
		flush()
		p.one(l, int(i), y)
	}
	flush()
	for _, s := range p.spills[l.Slot] {
		p.strip(p.x(s.From), y, max(1, p.x(s.To)-p.x(s.From)), "<title>"+Escape(fmt.Sprintf("spill of %s: %d bytes, %s to %s", p.m.TaskName(&p.m.Bars[s.Bar]), s.Bytes, view.Words(s.From), view.Words(s.To)))+"</title>")
		p.w.WriteByte('\n')
	}
}

// many draws narrow bars as one shape, from the start of the first bar to the end of the last one.
// The shape has the hue of the first bar.
func (p *picture) many(l view.Lane, bars []int32, y float64) {
	if len(bars) == 1 {
		p.one(l, int(bars[0]), y)
		return
	}
	lent := 0
	for _, i := range bars {
		if p.m.Bars[i].Lent {
			lent++
		}
	}
	b, last := &p.m.Bars[bars[0]], &p.m.Bars[bars[len(bars)-1]]
	x, width := p.x(b.From), max(1, p.x(p.m.Until(last))-p.x(b.From))
	fmt.Fprintf(p.w, `<g class="many" data-bars="%d" data-lent="%d"><title>%s</title>`, len(bars), lent,
		Escape(fmt.Sprintf("%d attempts from %s to %s, %d of them on a lent slot", len(bars), view.Words(b.From), view.Words(p.m.Until(last)), lent)))
	p.phase(p.hue(b), view.PhaseSign(b.Kind.FirstPhase()), x, y+1, width)
	// The shape has a hatch if at least half of its bars are on a lent slot. The title has the
	// exact numbers.
	if 2*lent >= len(bars) {
		p.rect(string(view.SignOf(view.LentSign(b.Kind)).Mark), x, y+1, width)
	}
	p.w.WriteString("</g>\n")
}

// hue returns the number of the colour of a bar's job or pool.
func (p *picture) hue(b *view.Bar) int { return view.HueIndex(p.m.Group(b.Job, p.byPool)) }

// one draws bar i of lane l. y is the top edge of the row. Later shapes cover earlier ones. So it
// draws the phases first, and then the sign of its end, the hatch of a loan, the outline of a copy and
// the letter.
func (p *picture) one(l view.Lane, i int, y float64) {
	b := &p.m.Bars[i]
	class := "bar"
	if b.Lent {
		class += " lent"
	}
	x, width := p.x(b.From), max(1, p.x(p.m.Until(b))-p.x(b.From))
	hue := p.hue(b)
	y++
	fmt.Fprintf(p.w, `<g class="%s"><title>%s</title>`, class, Escape(describe(p.m, b, l)))
	mark := view.NoMark
	switch b.How {
	case trace.EndKilled, trace.EndLost:
		mark = view.SignOf(view.SignKilled).Mark
	case trace.EndFailed:
		mark = view.SignOf(view.SignFailed).Mark
	}
	if mark != view.Cross {
		for _, s := range p.parts[i] {
			p.phase(hue, view.PhaseSign(s.Phase), p.x(s.From), y, p.x(s.To)-p.x(s.From))
		}
	}
	p.mark(mark, x, y, width)
	if b.Lent {
		p.mark(view.SignOf(view.LentSign(b.Kind)).Mark, x, y, width)
	}
	if b.Speculative {
		p.mark(view.SignOf(view.SignSpeculative).Mark, x, y, width)
	}
	if width >= 10 && p.canvas.height >= 12 {
		letter := trace.Letter(p.m.Group(b.Job, p.byPool), b.Lent || b.Moved)
		fmt.Fprintf(p.w, `<text class="letter" x="%s" y="%s" text-anchor="middle">%s</text>`, num(x+min(width/2, 60)), num(y+p.canvas.height-5), Escape(string(letter)))
	}
	p.w.WriteString("</g>\n")
}

// describe describes a bar in one line: its task, slot and times, its rule, and how it ended. l is the
// lane of the bar's slot.
func describe(m *view.Model, b *view.Bar, l view.Lane) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s, attempt %d, of pool %s, on %s slot %d, %s to %s", m.TaskName(b), b.N, m.Pools[m.Jobs[b.Job].Pool].Name, l.Home, l.Slot, view.Words(b.From), view.Words(m.Until(b)))
	if b.Lent {
		fmt.Fprintf(&t, "; the %s slot is lent to a %s", b.Kind.Other(), b.Kind)
	}
	if b.Moved {
		t.WriteString("; the slot has changed its home kind")
	}
	if b.Speculative {
		t.WriteString("; a copy of a running task")
	}
	if rule := m.Rules[b.Rule]; rule != "" {
		t.WriteString("; rule " + rule)
	}
	switch b.How {
	case trace.EndKilled:
		t.WriteString("; killed")
	case trace.EndLost:
		t.WriteString("; lost with its tracker")
	case trace.EndFailed:
		t.WriteString("; failed")
	case trace.EndNone:
		t.WriteString("; still running")
	}
	return t.String()
}

// num returns a coordinate with at most two decimals.
func num(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Escape returns text with all markup escaped, for XML and HTML. Characters that XML does not allow,
// and invalid UTF-8, become U+FFFD.
func Escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // fails only if b does
	return b.String()
}
