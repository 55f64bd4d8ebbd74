package svg

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
	"mrlocal/view"
)

// Responses draws the distribution of the response times of jobs: for each run, the share of its jobs that succeeded
// within a time. It fails if w does.
func Responses(w io.Writer, runs []view.Named, title string) error {
	c := &Chart{Title: title, XName: "response time (s)", YName: "share of jobs", Steps: true}
	for _, r := range runs {
		s := Series{Name: cut(r.Name, 12, 240), Points: []Point{{}}}
		for i, j := range r.Model.Responses() {
			s.Points = append(s.Points, Point{j.Response().Seconds(), float64(i+1) / float64(len(r.Model.Jobs))})
		}
		c.Series = append(c.Series, s)
	}
	return c.WriteSVG(w)
}

// These are sizes of the curves of Usage in pixels, except usageSteps.
const (
	usageSteps = 240 // values of each curve
	usageWidth = 920
	usageLeft  = 260 // room left of the curves, for the names of run and pool
	usageHigh  = 70  // of one pool
	usageRow   = usageHigh + 14
)

// Usage draws a panel for each run and pool over time: the slots in use as an area, and the fair share as a line of
// dashes, maps and reduces together. All panels have the same scales, and fair shares of one definition
// (view.Yardstick). It fails if w does.
func Usage(w io.Writer, runs []view.Named, title string) error {
	out, light := bufio.NewWriter(w), view.Light()
	var all []*view.Curves
	last, most, panels := time.Duration(1), 1.0, 0
	for _, r := range runs {
		last = max(last, r.Model.Last)
	}
	both := func(v [trace.Kinds][]float64, i int) float64 { return v[trace.Map][i] + v[trace.Reduce][i] }
	for _, r := range runs {
		c := r.Model.Curves(0, last, usageSteps, cmp.Or(view.Yardstick(runs), r.Model.Sharing))
		all, panels = append(all, c), panels+len(c.Pools)
		for _, p := range c.Pools {
			for i := range c.Steps {
				most = max(most, both(p.Use, i), p.ShareAt(i))
			}
		}
	}
	width, height := usageLeft+usageWidth+20, 84+panels*usageRow
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Slots in use and fair share of each pool over time">%s<rect class="ground" width="100%%" height="100%%"/>`, width, height, width, height, style(false))
	fmt.Fprintf(out, `<text class="name" x="12" y="18">%s</text>`, Escape(cut(title, 17.6, float64(width-24))))
	x := func(i int) string { return num(usageLeft + usageWidth*float64(i)/usageSteps) }
	bottom, words := 24.0, []string{"slots in use, maps and reduces together"}
	for n, r := range runs {
		for k, p := range all[n].Pools {
			name := "other pools"
			if p.Pool >= 0 {
				name = r.Model.Pools[p.Pool].Name
			}
			bottom += usageRow
			var area, line strings.Builder
			fmt.Fprintf(&area, "M%d %s", usageLeft, num(bottom))
			for i := range usageSteps { // a value is for a whole step of time, so the curve has a horizontal line for it
				fmt.Fprintf(&area, "V%sH%s", num(bottom-usageHigh*both(p.Use, i)/most), x(i+1))
				fmt.Fprintf(&line, "L%s %sH%s", x(i), num(bottom-usageHigh*p.ShareAt(i)/most), x(i+1))
			}
			fmt.Fprintf(out, `<text class="name" x="12" y="%s">%s</text><text x="12" y="%s">%s</text>`, num(bottom-usageHigh/2-6), Escape(cut(r.Name, 17.6, usageLeft-50)), num(bottom-usageHigh/2+14), Escape(cut(name, 14, usageLeft-50)))
			fmt.Fprintf(out, `<text class="quiet" x="%d" y="%s" text-anchor="end">%s</text><text class="quiet" x="%d" y="%s" text-anchor="end">0</text>`, usageLeft-6, num(bottom-usageHigh+12), num(most), usageLeft-6, num(bottom))
			fmt.Fprintf(out, `<path class="layer h%dcompute" fill-opacity="0.6" d="%sV%sZ"/>`, view.HueIndex(int32(k)), area.String(), num(bottom))
			if p.Share != nil { // a path begins with M, so it takes the place of the first L
				fmt.Fprintf(out, `<path d="M%s" fill="none" stroke="%s" stroke-width="1.6" stroke-dasharray="6 3"/>`, line.String()[1:], light.Ink.Hex())
			}
		}
		if word := "dashes: " + all[n].Definition(); all[n].Sharing != slots.NoShares && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for i, y := 0, bottom+18; i <= 4; i++ {
		fmt.Fprintf(out, `<text class="quiet" x="%s" y="%s" text-anchor="middle">%s</text>`, x(i*usageSteps/4), num(y), view.Words(last/4*time.Duration(i)))
	}
	for i, line := range lines(strings.Join(words, "; "), 13, float64(width-24), 2) {
		fmt.Fprintf(out, `<text class="quiet" x="12" y="%s">%s</text>`, num(bottom+38+float64(16*i)), Escape(line))
	}
	out.WriteString("</svg>\n")
	return errs.About("draw svg", out.Flush())
}

// Heat is a heat map: a figure over two settings, with a panel for each of several policies.
type Heat struct {
	Title              string
	XName, YName, Name string     // of the axes, and of the figure with its unit
	Panels, Xs, Ys     []string   // in order, rows from below
	Cells              []HeatCell // without those that have no value
}

// HeatCell is a value of a Heat. Panel, X and Y are indexes of its lists.
type HeatCell struct {
	Panel, X, Y int
	Value       float64
}

// WriteSVG draws the heat map to w. The number of each cell is in it if there is room, so the colour is not needed. It
// fails if w does.
func (h *Heat) WriteSVG(w io.Writer) error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range h.Cells {
		low, high = min(low, c.Value), max(high, c.Value)
	}
	const left, top, between = 110, 76, 24
	row := max(30, 220/float64(len(h.Ys)))
	cell := float64(min(64, max(14, 1400/(len(h.Xs)*len(h.Panels)))))
	panel := float64(len(h.Xs))*cell + between
	width, bottom := max(480, left+panel*float64(len(h.Panels))), top+row*float64(len(h.Ys))
	out, light := bufio.NewWriter(w), view.Light()
	text := func(x, y float64, more, words string) {
		fmt.Fprintf(out, `<text x="%s" y="%s" %s>%s</text>`+"\n", num(x), num(y), more, Escape(words))
	}
	digits := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	const middle = `text-anchor="middle"`
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" role="img" aria-label="%s">%s<rect class="ground" width="100%%" height="100%%"/>`+"\n", width, bottom+64, Escape(h.Title), style(false))
	text(10, 24, `class="name"`, cut(h.Title, 17.6, width-20))
	text(10, 44, "", fmt.Sprintf("%s: %s (pale) to %s (deep)", h.Name, digits(low), digits(high)))
	text(0, 0, middle+fmt.Sprintf(` transform="translate(20 %s) rotate(-90)"`, num((top+bottom)/2)), cut(h.YName, 14, bottom-20))
	text(left+(width-left)/2, bottom+52, middle, cut(h.XName, 14, width-left))
	for i, y := range h.Ys {
		text(left-8, bottom-row*(float64(i)+0.5)+5, `text-anchor="end" class="quiet"`, cut(y, 13, left-36))
	}
	for i, p := range h.Panels {
		x, each := left+panel*float64(i), int(math.Ceil(48/cell)) // values of the x axis for one label
		text(x, top-8, "", cut(p, 14, panel-8))
		for k := 0; k < len(h.Xs); k += each {
			text(x+cell*(float64(k)+0.5), bottom+20, middle+` class="quiet"`, cut(h.Xs[k], 13, cell*float64(each)))
		}
	}
	for _, c := range h.Cells {
		x, y, ink := left+panel*float64(c.Panel)+cell*float64(c.X), bottom-row*float64(c.Y+1), light.Ink
		fill := light.Ground.Mix(light.Hues[0].Tones["compute"], 0.08+0.92*(c.Value-low)/max(high-low, 1e-300))
		if fill.Contrast(light.Ground) > fill.Contrast(ink) {
			ink = light.Ground
		}
		fmt.Fprintf(out, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, num(x), num(y), num(cell), num(row), fill.Hex())
		if word := digits(c.Value); wide(word, 13) <= cell {
			text(x+cell/2, y+row/2+5, middle+fmt.Sprintf(` style="fill: %s"`, ink.Hex()), word)
		}
	}
	out.WriteString("</svg>\n")
	return errs.About("draw svg", out.Flush())
}

// layer is the part of a band that tasks of one group and kind take, on their own slots or on lent ones.
type layer struct {
	group int32
	kind  trace.Kind
	lent  bool
}

// These groups are no job or pool: all but the largest ones together, and the slots of lost trackers.
const (
	others = math.MaxInt32 - 1
	lost   = math.MaxInt32
)

// merge notes which groups are drawn as others, because bands of many thin layers show nothing.
func (p *picture) merge() {
	busy := map[int32]time.Duration{}
	for _, r := range p.runs {
		for i := range r.Model.Bars {
			b := &r.Model.Bars[i]
			busy[r.Model.Group(b.Job, p.Pools)] += r.Model.Until(b) - b.From
		}
	}
	order := slices.SortedFunc(maps.Keys(busy), func(a, b int32) int { return cmp.Or(cmp.Compare(busy[b], busy[a]), cmp.Compare(a, b)) })
	p.rest = map[int32]bool{}
	for _, group := range order[min(len(order), mostGroups):] {
		p.rest[group] = true
	}
}

// band draws slots as one row: the busy slots by group, kind and loan on top of each other, in columns of a pixel, and
// the lost ones above them.
func (p *block) band(lanes []trace.Slot, y float64) {
	sums := map[layer][]float64{}
	put := func(l layer, from, to time.Duration) {
		if sums[l] == nil {
			sums[l] = make([]float64, int(p.plot))
		}
		x0, x1 := p.x(from)-p.x(0), p.x(to)-p.x(0)
		for i := int(x0); i < len(sums[l]) && float64(i) < x1; i++ {
			sums[l][i] += min(float64(i+1), x1) - max(float64(i), x0)
		}
	}
	for _, l := range lanes {
		for _, i := range p.bars[l.ID] {
			b := &p.m.Bars[i]
			group := p.m.Group(b.Job, p.Pools)
			if p.rest[group] {
				group = others
			}
			put(layer{group, b.Kind, b.Lent}, b.From, p.m.Until(b))
		}
		for _, loss := range p.m.Losses {
			if loss.Tracker == l.Tracker {
				put(layer{group: lost}, loss.At, p.last)
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(sums), func(a, b layer) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.kind, b.kind), int(view.Bit(a.lent)-view.Bit(b.lent)))
	})
	at := func(v float64) float64 { return y + p.canvas.height*(1-min(1, v/float64(len(lanes)))) }
	low := make([]float64, int(p.plot))
	under, letters := low, "" // the lower edge of the group, and the letters, which lie above all layers
	for i, l := range order {
		if i == 0 || order[i-1].group != l.group {
			under = low
		}
		high := slices.Clone(low)
		for x, v := range sums[l] {
			high[x] += v
		}
		hue := view.HueIndex(l.group)
		if l.group == others {
			hue = view.HueCount // grey
		}
		s := view.SignOf([]view.SignID{view.SignCompute, view.SignReduce}[l.kind])
		class, mark := fmt.Sprintf("layer h%d%s", hue, s.Name), string(s.Mark)
		switch {
		case l.group == lost:
			class = string(view.SignOf(view.SignLost).Mark)
		case l.lent:
			mark = string(view.SignOf(view.LentSign(l.kind)).Mark)
		case s.Mark == view.Rule:
			mark = fmt.Sprintf("h%drules", hue)
		}
		area := p.area(low, high, at)
		fmt.Fprintf(p.w, `<path class="%s" d="%s"/>`, class, area)
		if mark != "" {
			fmt.Fprintf(p.w, `<path class="%s" d="%s"/>`, mark, area)
		}
		if low = high; l.group < others && (i == len(order)-1 || order[i+1].group != l.group) {
			letters += p.widest(l.group, under, high, at)
		}
	}
	p.w.WriteString(letters + "\n")
}

// area returns the data of a path around the columns between low and high, without columns of no height at both ends.
// at returns the place of a value.
func (p *block) area(low, high []float64, at func(v float64) float64) string {
	first, end := 0, len(low)
	for ; first < end-1 && low[first] == high[first]; first++ {
	}
	for ; first < end-1 && low[end-1] == high[end-1]; end-- {
	}
	x := func(i int) string { return num(p.x(0) + float64(i)) }
	var there, back []string // steps along high, and along low in the other direction
	for i := first; i < end; i++ {
		if i == first || high[i] != high[i-1] {
			there = append(there, "H"+x(i)+"V"+num(at(high[i])))
		}
		if i == first || low[i] != low[i-1] {
			back = append(back, "V"+num(at(low[i]))+"H"+x(i))
		}
	}
	slices.Reverse(back)
	return "M" + x(first) + " " + num(at(low[first])) + strings.Join(there, "") + "H" + x(end) + strings.Join(back, "") + "Z"
}

// widest returns the letter of a group as SVG, at the place where the area between low and high is highest. It
// returns "" if the area is too small for it.
func (p *block) widest(group int32, low, high []float64, at func(v float64) float64) string {
	const half = 8
	best, from, to := 2.0*half, 0, 0 // the middle of equally high places
	for i := half; i+half < len(low); i++ {
		least := math.Inf(1)
		for _, k := range []int{i - half, i, i + half} {
			least = min(least, at(low[k])-at(high[k]))
		}
		switch {
		case least > best:
			best, from, to = least, i, i
		case least == best && to == i-1:
			to = i
		}
	}
	if to == 0 {
		return ""
	}
	x := (from + to) / 2
	return fmt.Sprintf(`<text class="letter" x="%s" y="%s" text-anchor="middle">%c</text>`, num(p.x(0)+float64(x)), num((at(low[x])+at(high[x]))/2+5), trace.Letter(group, false))
}
