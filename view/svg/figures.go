package svg

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
// dashes, maps and reduces together. All panels have the same scales. It fails if w does.
func Usage(w io.Writer, runs []view.Named, title string) error {
	out, light := bufio.NewWriter(w), view.Light()
	var all []*view.Curves
	last, most, panels := time.Duration(1), 1.0, 0
	for _, r := range runs {
		last = max(last, r.Model.Last)
	}
	both := func(v [trace.Kinds][]float64, i int) float64 { return v[trace.Map][i] + v[trace.Reduce][i] }
	for _, r := range runs {
		c := r.Model.Curves(0, last, usageSteps, r.Model.Sharing)
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
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw svg: %w", err)
	}
	return nil
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
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw svg: %w", err)
	}
	return nil
}
