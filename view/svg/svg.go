// Package svg draws SVG pictures. Write draws what happened in runs: the headline, the slots of all runs on one axis of
// time, and the signs that occur. Usage draws the slots in use of each pool. Chart is a line chart, for the tables of
// `mrlocal sweep` and `mrlocal reproduce`; Heat shows a figure over two settings.
//
// The hue and the letter of a bar are those of its job; of its pool, if there are many jobs in few pools. All other
// signs are in the table view.SignOf, which the page draws, too. Every sign has a shape in addition to its colour,
// so that a black-and-white print shows the same. The series of a chart differ by marker and dashes, too.
//
// The same models give the same bytes. Bars narrower than a pixel are drawn together. So the
// size of a picture depends on its pixels, and not on the length of the run.
package svg

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
	"mrlocal/view"
)

// Options are the options of Write. The zero value gives a light picture of 1280×720 pixels.
type Options struct {
	Title  string // a line above the headline; "": none
	Square bool   // 1080×1080 pixels
	Dark   bool
	Pools  bool   // letters and hues stand for pools, also if there are few jobs
	Link   string // an address of http or https, which stands at the foot; "": none
}

// MostRuns is the most runs of a picture.
const MostRuns = mostRows

// These are sizes in pixels, except mostRows, mostNames and mostGroups.
const (
	mostRows   = 24 // of all runs together
	mostNames  = 2  // lines of the legend with names
	margin     = 32
	labels     = 250 // room left of the plot for the names of runs and rows
	right      = 88  // room right of the plot for the time of an end
	legendRow  = 24
	mostRow    = 150
	mostGroups = 12 // jobs or pools of bands
	leastBand  = 14
)

// picture is a picture of runs while Write draws it. Lengths are in pixels.
type picture struct {
	Options
	w             *bufio.Writer // keeps its first error until Flush
	runs          []view.Named
	last          time.Duration // the end of the axis
	width, height float64
	plot          float64          // width of the plot
	rowsOf        [][][]trace.Slot // by run
	rest          map[int32]bool   // jobs or pools that bands show as others
	level         int              // how many slots a row stands for: 0: one, 1: those of a tracker and kind, 2: of a kind, 3: of a run
}

// block is the part of a picture that one run has.
type block struct {
	*picture
	canvas
	w      *bufio.Writer // that of the picture
	m      *view.Model
	bars   [][]int32         // by slot: indexes of its bars, in order
	parts  [][]trace.Segment // by bar, in order
	spills [][]view.Spill    // by slot
}

// Write draws runs of one workload to w, at most MostRuns. It fails if w does.
func Write(w io.Writer, runs []view.Named, o Options) error {
	p := &picture{Options: o, w: bufio.NewWriterSize(w, 64<<10), runs: runs, last: 1, width: 1280, height: 720}
	if o.Square {
		p.width, p.height = 1080, 1080
	}
	p.plot = p.width - 2*margin - labels - right
	for _, r := range runs {
		p.last = max(p.last, r.Model.Last)
		jobs, pools := len(r.Model.Jobs), len(r.Model.Pools)
		p.Pools = p.Pools || r.Model.ByPool() || jobs > view.HueCount && 1 < pools && pools < jobs
	}
	if p.divide(); p.level > 0 {
		p.merge()
	}
	words := view.Headline(runs)
	for _, r := range runs {
		if r.Model.Dropped > 0 {
			words += fmt.Sprintf(" %s of %s did not fit.", errs.Counted(r.Model.Dropped, "event"), r.Name)
		}
	}
	fmt.Fprintf(p.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n", p.width, p.height, p.width, p.height, Escape(words))
	fmt.Fprintf(p.w, "<title>%s</title>\n%s"+`<rect class="ground" width="100%%" height="100%%"/>`+"\n", Escape(words), style(o.Dark))
	top, foot := p.head(words), p.foot()
	p.rows(top+36, foot-12)
	p.w.WriteString("</svg>\n")
	return errs.About("draw svg", p.w.Flush())
}

// head writes title and headline. It returns their lower edge.
func (p *picture) head(words string) float64 {
	y, room := float64(margin)-8, p.width-2*margin
	write := func(class, text string, size, row float64, most int) {
		for _, line := range lines(text, size, room, most) {
			y += row
			fmt.Fprintf(p.w, `<text class="%s" x="%d" y="%s">%s</text>`+"\n", class, margin, num(y), Escape(line))
		}
	}
	write("name", p.Title, 17.6, 22, 1)
	first, rest, more := strings.Cut(words, ". ")
	if more {
		first += "."
	}
	write("title", first, 24.2, 28, 3)
	write("lead", rest, 15, 22, 3)
	return y
}

// foot writes the legend and the link at the lower edge. It returns the upper edge of the legend.
func (p *picture) foot() float64 {
	if p.Link != "" {
		fmt.Fprintf(p.w, `<a href="%s"><text class="quiet" x="%d" y="%s">%s</text></a>`, Escape(p.Link), margin, num(p.height-14), Escape(cut(p.Link, 13, p.width-2*margin)))
	}
	legend := p.legend()
	top := p.height - 32 - float64(len(legend)*legendRow)
	for i, line := range legend {
		fmt.Fprintf(p.w, `<g transform="translate(%d %.0f)">%s</g>`+"\n", margin, top+float64(i*legendRow), line)
	}
	return top
}

// rows draws all runs with their axis, from top to bottom. Bands of more slots are higher.
func (p *picture) rows(top, bottom float64) {
	first, slots, rows := p.last, 0, 0
	for i, r := range p.runs {
		rows += len(p.rowsOf[i])
		for _, lanes := range p.rowsOf[i] {
			slots += len(lanes)
		}
		if over(r.Model) {
			first = min(first, r.Model.Makespan())
		}
	}
	gap := min(14, 120/float64(len(p.runs))) // between runs
	room := bottom - top - gap*float64(len(p.runs)-1)
	each := min(leastBand, room/float64(max(1, rows)))
	room = min(room-each*float64(rows), (mostRow-each)*float64(slots))
	height := func(lanes []trace.Slot) float64 { return each + room*float64(len(lanes))/float64(slots) }
	bottom = top + room + each*float64(rows) + gap*float64(len(p.runs)-1)
	step := trace.Round(p.last, 10)
	for at := time.Duration(0); 0 <= at && at <= p.last; at += step { // 0 <= at: a hostile file may make at overflow
		x := num(p.x(at))
		fmt.Fprintf(p.w, `<line class="grid" x1="%s" y1="%s" x2="%s" y2="%s"/><text class="quiet" x="%s" y="%s" text-anchor="middle">%s</text>`+"\n", x, num(top-4), x, num(bottom), x, num(top-8), view.Words(at))
	}
	y := top
	for i, r := range p.runs {
		b := p.block(r.Model)
		fmt.Fprintf(p.w, `<text class="name" x="%d" y="%s">%s</text>`+"\n", margin, num(y+15), Escape(cut(r.Name, 17.6, labels-118)))
		from := y
		for _, lanes := range p.rowsOf[i] {
			b.canvas.height = height(lanes) - 3
			b.label(lanes, y)
			if p.level > 0 {
				b.band(lanes, y)
			} else {
				b.lane(lanes[0], y)
			}
			y += height(lanes)
		}
		if over(r.Model) {
			x := num(p.x(r.Model.Makespan()))
			fmt.Fprintf(p.w, `<line class="end" x1="%s" y1="%s" x2="%s" y2="%s"/><text class="endtime" x="%s" y="%s">%s</text>`+"\n", x, num(from-3), x, num(y), num(p.x(r.Model.Makespan())+8), num(from+16), view.Words(r.Model.Makespan()))
		}
		y += gap
	}
	if x := num(p.x(first)); len(p.runs) > 1 {
		fmt.Fprintf(p.w, `<line class="first" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", x, num(top), x, num(bottom))
	}
}

// over reports whether all jobs of a run have ended.
func over(m *view.Model) bool {
	return len(m.Jobs) > 0 && !slices.ContainsFunc(m.Jobs, func(j view.DrawnJob) bool { return j.Finish < 0 })
}

// divide divides the slots of each run into rows: a row for each slot or, if these are more than mostRows, for each
// tracker and kind, for each kind, or for each run. Extra slots that ran nothing have no row.
func (p *picture) divide() {
	for p.level = range 4 {
		p.rowsOf = nil
		rows := 0
		for _, r := range p.runs {
			at := map[[3]int32]int{}
			var run [][]trace.Slot
			for _, l := range shown(r.Model) {
				key := [3]int32{int32(l.Home), l.Tracker, l.ID}
				clear(key[3-p.level:])
				i, ok := at[key]
				if !ok {
					i = len(run)
					at[key], run = i, append(run, nil)
				}
				run[i] = append(run[i], l)
			}
			p.rowsOf = append(p.rowsOf, run)
			rows += len(run)
		}
		if rows <= mostRows {
			return
		}
	}
}

// block sorts bars, phases and spills of a run by slot once. Each row is then drawn in one pass.
func (p *picture) block(m *view.Model) *block {
	b := &block{picture: p, w: p.w, m: m, canvas: canvas{w: p.w}, bars: make([][]int32, len(m.Lanes)), parts: make([][]trace.Segment, len(m.Bars)), spills: make([][]view.Spill, len(m.Lanes))}
	// Bars and spills are in the order of their events, so each list by slot is, too.
	for i := range m.Bars {
		slot := m.Bars[i].Slot
		b.bars[slot] = append(b.bars[slot], int32(i))
	}
	for _, s := range m.Spills {
		slot := m.Bars[s.Bar].Slot
		b.spills[slot] = append(b.spills[slot], s)
	}
	m.EachSegment(func(bar int, s trace.Segment) { b.parts[bar] = append(b.parts[bar], s) })
	return b
}

// Summary describes a run in one line: numbers of attempts and of drawn slots, length of the run,
// loans, and how attempts ended.
func Summary(m *view.Model) string {
	t := m.Totals()
	text := fmt.Sprintf("%s on %s in %s; %d on a lent slot, %s of %s busy slot time", errs.Counted(t.Bars, "attempt"), errs.Counted(len(shown(m)), "slot"), view.Words(m.Last), t.Lent, view.Words(t.LentTime), view.Words(t.Busy))
	for _, part := range []struct {
		n    int
		word string
	}{{t.Speculative, "speculative"}, {t.Ends[trace.EndKilled] + t.Ends[trace.EndLost], "killed"}, {t.Ends[trace.EndFailed], "failed"}, {t.Ends[trace.EndNone], "running"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	if m.Dropped > 0 {
		text += fmt.Sprintf("; %s did not fit", errs.Counted(m.Dropped, "event"))
	}
	return text
}

// shown returns the slots that have rows: all except extra slots that ran nothing.
func shown(m *view.Model) (rows []trace.Slot) {
	uses := m.SlotUses()
	for _, l := range m.Lanes {
		if !l.Extra || uses[l.ID].Attempts > 0 {
			rows = append(rows, l)
		}
	}
	return rows
}

// x returns the place of a time, in pixels from the left edge of the picture.
func (p *picture) x(at time.Duration) float64 {
	return margin + labels + p.plot*float64(at)/float64(p.last)
}

// label writes the badge of a row's home kind, and its slot or its number of slots.
func (p *block) label(lanes []trace.Slot, y float64) {
	l, last := lanes[0], lanes[len(lanes)-1]
	x, middle := float64(margin+labels-108), y+p.canvas.height/2
	text := fmt.Sprintf("%d slots", len(lanes))
	if len(lanes) == 1 {
		text = fmt.Sprintf("slot %d", l.ID)
	}
	if all := p.m.Lanes; l.Tracker == last.Tracker && all[0].Tracker != all[len(all)-1].Tracker {
		text = fmt.Sprintf("T%d %s", l.Tracker, text)
	}
	fmt.Fprintf(p.w, `<path class="row" d="M%s %sh%s"/><text class="quiet" x="%s" y="%s">%s</text>`+"\n", num(margin+labels), num(y+p.canvas.height+1.5), num(p.plot), num(x+20), num(middle+4.5), text)
	if !slices.ContainsFunc(lanes, func(o trace.Slot) bool { return o.Home != l.Home }) {
		p.w.WriteString(badge(l.Home, x, middle-7))
	}
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
func (p *block) lane(l trace.Slot, y float64) {
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
			p.rect(string(view.SignOf(view.SignLost).Mark), x, y+1, p.x(p.last)-x)
			p.w.WriteString("</g>\n")
		}
	}
	for _, i := range p.bars[l.ID] {
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
	for _, s := range p.spills[l.ID] {
		p.strip(p.x(s.From), y, max(1, p.x(s.To)-p.x(s.From)), "<title>"+Escape(fmt.Sprintf("spill of %s: %d bytes, %s to %s", p.m.TaskName(&p.m.Bars[s.Bar]), s.Bytes, view.Words(s.From), view.Words(s.To)))+"</title>")
		p.w.WriteByte('\n')
	}
}

// many draws narrow bars as one shape, from the start of the first bar to the end of the last one.
// The shape has the hue of the first bar.
func (p *block) many(l trace.Slot, bars []int32, y float64) {
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
func (p *block) hue(b *view.Bar) int { return view.HueIndex(p.m.Group(b.Job, p.Pools)) }

// one draws bar i of lane l. y is the top edge of the row. Later shapes cover earlier ones. So it
// draws the phases first, and then the sign of its end, the hatch of a loan, the outline of a copy and
// the letter.
func (p *block) one(l trace.Slot, i int, y float64) {
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
		letter := trace.Letter(p.m.Group(b.Job, p.Pools), b.Lent || b.Moved)
		fmt.Fprintf(p.w, `<text class="letter" x="%s" y="%s" text-anchor="middle">%s</text>`, num(x+min(width/2, 60)), num(y+p.canvas.height/2+5), Escape(string(letter)))
	}
	p.w.WriteString("</g>\n")
}

// describe describes a bar in one line: its task, slot and times, its rule, and how it ended. l is the
// lane of the bar's slot.
func describe(m *view.Model, b *view.Bar, l trace.Slot) string {
	text := fmt.Sprintf("%s, attempt %d, of pool %s, on %s slot %d, %s to %s", m.TaskName(b), b.N, m.Pools[m.Jobs[b.Job].Pool].Name, l.Home, l.ID, view.Words(b.From), view.Words(m.Until(b)))
	rule := m.Rules[b.Rule]
	how := map[trace.How]string{trace.EndKilled: "killed", trace.EndLost: "lost with its tracker", trace.EndFailed: "failed", trace.EndNone: "still running"}[b.How]
	for _, part := range []struct {
		holds bool
		words string
	}{
		{b.Lent, fmt.Sprintf("the %s slot is lent to a %s", b.Kind.Other(), b.Kind)}, {b.Moved, "the slot has changed its home kind"},
		{b.Speculative, "a copy of a running task"}, {rule != "", "rule " + rule}, {how != "", how},
	} {
		if part.holds {
			text += "; " + part.words
		}
	}
	return text
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
