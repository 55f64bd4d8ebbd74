package svg

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
)

// Chart is the content of a line chart: axes with ticks and units, a line and markers for each
// series, and a legend. Its colours follow the light or dark setting of the viewer.
type Chart struct {
	Title        string
	XName, YName string // names of the axes with their units
	Steps        bool   // series are steps up, each before its point; both axes begin at 0
	Series       []Series
}

// Series is a line through points in their order.
type Series struct {
	Name   string
	Points []Point
	Bands  []Band // in ascending order of X; nil: none
}

// Point is a point of a series.
type Point struct{ X, Y float64 }

// Band is the interval from Low to High at a point of a series, such as a confidence interval.
type Band struct{ X, Low, High float64 }

// AddBand appends a band to the series of that name. It panics if there is no such series.
func (c *Chart) AddBand(name string, b Band) {
	i := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == name })
	c.Series[i].Bands = append(c.Series[i].Bands, b)
}

// Add appends a point to the series of that name. It adds the series if there is none. If the series
// has a point with the same X, Add replaces it.
func (c *Chart) Add(name string, p Point) {
	i := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		c.Series = append(c.Series, Series{Name: name})
		i = len(c.Series) - 1
	}
	s := &c.Series[i]
	// Of two measurements of the same configuration, the last one counts.
	if at := slices.IndexFunc(s.Points, func(q Point) bool { return q.X == p.X }); at >= 0 {
		s.Points[at] = p
		return
	}
	s.Points = append(s.Points, p)
}

// These are sizes in pixels.
const (
	plotWidth        = 560
	plotHeight       = 320
	chartLeft        = 76 // room left of the plot, for ticks and the name of the y axis
	chartTop         = 48 // room above the plot, for the title
	chartBelow       = 56 // room below the plot, for ticks and the name of the x axis
	legendGap        = 20 // room between plot and legend
	chartLegendRow   = 22
	chartLetterWidth = 7.2 // approximate width of a letter in 12 px text; a wide one, as of Japanese, has two
	markerSize       = 4   // half the width of a marker

	mostMarkers = plotWidth / (2 * markerSize) // a line of more points has no markers, and the axis no short ticks
)

// WriteSVG draws the chart to w. It fails if w does. The x axis reaches from the least to the
// greatest value and has ticks at values. The y axis reaches from a round number at or below the
// least value to one at or above the greatest.
//
// If n series share a segment of a line, each of them draws every n-th dash of the segment. If they
// share a point, their markers stand side by side around it.
func (c *Chart) WriteSVG(w io.Writer) error {
	x, y := c.axes()
	// The legend stands right of the plot, so the longest name decides the width of the picture.
	longest := 0
	for _, s := range c.Series {
		longest = max(longest, errs.Columns(s.Name))
	}
	// 34 pixels are the sample of the line and a gap; 12 are the right margin.
	width := chartLeft + plotWidth + legendGap + 34 + int(float64(longest)*chartLetterWidth) + 12
	// A chart of many series is as high as its legend.
	height := max(chartTop+plotHeight+chartBelow, chartTop+chartLegendRow*len(c.Series)+chartBelow)
	// A chart is small, so one call writes all of it.
	var b strings.Builder
	// Screen readers read out aria-label. Browsers show title as a tooltip.
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, height, width, height, Escape(c.Title))
	b.WriteString(chartStyle)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", Escape(c.Title), width, height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="26">%s</text>`+"\n", chartLeft, Escape(cut(c.Title, 16.5, float64(width-chartLeft))))
	c.grid(&b, x, y)
	// All series get their pixels before the first one is drawn, because drawing a line needs the
	// segments that it shares with others.
	lines := c.place(x, y)
	for i := range lines {
		c.band(&b, i, x, y)
	}
	for i := range lines {
		if c.Steps {
			lines.steps(&b, i)
		} else {
			lines.line(&b, i)
		}
	}
	c.legend(&b)
	// This note explains that dashes are not gaps in the data.
	if !c.Steps && lines.share() {
		fmt.Fprintf(&b, `<text x="%d" y="%d">dashes in turn: equal values</text>`+"\n", chartLeft, chartTop-6)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return errs.About("draw chart", err)
}

// chartStyle is the style element. The colours of the series are from the palette of Okabe and Ito,
// which colour-blind people can tell apart.
//
//go:embed chart.xml
var chartStyle string

// chartColours is the number of classes s0, s1, ... in chartStyle.
const chartColours = 6

// chartAxis maps values to pixels. If log is set, low, high and step are decimal logarithms.
type chartAxis struct {
	low, high, step float64   // range, and distance of ticks
	pixels, pad     float64   // length; the range leaves pad pixels free at each end
	values          []float64 // values with a tick, ascending; nil: a tick at every step
}

// axes returns axes that cover all points and bands of all series.
func (c *Chart) axes() (x, y chartAxis) {
	var xs, ys []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
		for _, b := range s.Bands {
			ys = append(ys, b.Low, b.High)
		}
	}
	if c.Steps {
		return axisOf(xs, plotWidth), axisOf(ys, plotHeight)
	}
	x, y = dataAxisOf(xs, plotWidth), axisOf(ys, plotHeight)
	if y.low != 0 { // a line on the x axis would look like a line at 0
		y.pad = yPad
	}
	return x, y
}

// xPad and yPad are pixels that stay free at both ends of an axis. They leave room for markers that
// stand side by side.
const (
	xPad = 24
	yPad = 14
)

// dataAxisOf returns an axis from the least to the greatest value, with a tick at each value.
func dataAxisOf(values []float64, pixels float64) chartAxis {
	if len(values) == 0 {
		return axisOf(nil, pixels)
	}
	// Series mostly share their X values, and each value has one tick. Sorted makes a copy.
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	a := chartAxis{low: values[0], high: values[len(values)-1], pixels: pixels, pad: xPad, values: values}
	if a.low == a.high { // the value stands in the middle
		half := max(1, math.Abs(a.low)) / 2
		a.low, a.high = a.low-half, a.high+half
	}
	return a
}

// axisOf returns an axis that covers all values in at most about 8 round steps. It covers 0 as well if all
// values are equal, or if the least is less than a quarter of the greatest.
func axisOf(values []float64, pixels float64) chartAxis {
	low, high := 0.0, 0.0
	if len(values) > 0 {
		low, high = slices.Min(values), slices.Max(values)
	}
	if low < high/4 {
		low = min(0, low)
	}
	// The test is relative. So values that differ only by rounding errors count as equal.
	if high-low <= 1e-9*max(math.Abs(low), math.Abs(high)) {
		low, high = min(0, low), max(0, high)
	}
	if low == high {
		high = low + 1
	}
	const steps = 8
	// The exact step lies between this power of ten and the next. So one of the factors below gives
	// a step that is large enough, at the latest the factor 10.
	step := math.Pow(10, math.Floor(math.Log10((high-low)/steps)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*m) <= steps {
			step *= m
			break
		}
	}
	const slack = 1e-9 // in steps, so that a rounding error of a value on a tick adds no step
	return chartAxis{low: math.Floor(low/step+slack) * step, high: math.Ceil(high/step-slack) * step, step: step, pixels: pixels}
}

// at returns the distance of a value from the start of the axis, in pixels.
func (a chartAxis) at(v float64) float64 {
	return a.pad + (v-a.low)/(a.high-a.low)*(a.pixels-2*a.pad)
}

// labelGap is the least gap between two labels of the x axis, in pixels.
const labelGap = 10

// stride returns the least n at which labels on every n-th value do not overlap. n is 1, 2 or 5
// times a power of ten.
func (a chartAxis) stride() int {
	for unit := 1; ; unit *= 10 {
		// The loop ends, because n = len(a.values) leaves a single label.
		for _, n := range []int{unit, 2 * unit, 5 * unit} {
			if n >= len(a.values) || a.apart(n) {
				return n
			}
		}
	}
}

// apart reports whether labels on every n-th value keep labelGap apart.
func (a chartAxis) apart(n int) bool {
	end := math.Inf(-1) // right end of the label before
	for i := 0; i < len(a.values); i += n {
		// Labels are centred on their values.
		half := chartLetterWidth * float64(len(a.word(a.values[i]))) / 2
		at := a.at(a.values[i])
		if at-half < end+labelGap {
			return false
		}
		end = at + half
	}
	return true
}

// ticks returns the values that have a label.
func (a chartAxis) ticks() []float64 {
	if a.values != nil {
		var ticks []float64
		for i, n := 0, a.stride(); i < len(a.values); i += n {
			ticks = append(ticks, a.values[i])
		}
		return ticks
	}
	// low and high are a whole number of steps apart, except for rounding errors.
	n := int(math.Round((a.high - a.low) / a.step))
	ticks := make([]float64, n+1)
	for i := range ticks {
		ticks[i] = a.low + float64(i)*a.step
	}
	return ticks
}

// word returns the label of a tick. On an axis with steps it has as many decimals as the step.
func (a chartAxis) word(v float64) string {
	if a.values != nil && v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a.values != nil { // at most six significant digits
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	// A step of 0.05 needs two decimals. The logarithm of 0.1 may be just below -1. The small term
	// keeps such a step at one decimal.
	decimals := max(0, int(-math.Floor(math.Log10(a.step)+1e-9)))
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	// A tick at 0 may be slightly negative by rounding. Its label has no sign.
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// grid draws the axes, their ticks and names, and the horizontal lines.
func (c *Chart) grid(b *strings.Builder, x, y chartAxis) {
	// In SVG y grows downwards, so values count up from bottom.
	bottom := chartTop + plotHeight
	for _, v := range y.ticks() {
		at := chartPixel(float64(bottom) - y.at(v))
		fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%s" x2="%d" y2="%s"/>`+"\n", chartLeft, at, chartLeft+plotWidth, at)
		fmt.Fprintf(b, `<text x="%d" y="%s" dy="4" text-anchor="end">%s</text>`+"\n", chartLeft-8, at, y.word(v))
	}
	for _, v := range x.ticks() {
		at := chartPixel(chartLeft + x.at(v))
		fmt.Fprintf(b, `<line class="axis" x1="%s" y1="%d" x2="%s" y2="%d"/>`+"\n", at, bottom, at, bottom+6)
		fmt.Fprintf(b, `<text x="%s" y="%d" text-anchor="middle">%s</text>`+"\n", at, bottom+20, x.word(v))
	}
	for _, v := range x.values { // short ticks for values without a label
		if len(x.values) > mostMarkers {
			break
		}
		at := chartPixel(chartLeft + x.at(v))
		fmt.Fprintf(b, `<line class="axis" x1="%s" y1="%d" x2="%s" y2="%d"/>`+"\n", at, bottom, at, bottom+3)
	}
	// Both axes are one path: down the left side, then along the bottom.
	fmt.Fprintf(b, `<path class="axis" fill="none" d="M%d %dV%dH%d"/>`+"\n", chartLeft, chartTop, bottom, chartLeft+plotWidth)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", chartLeft+plotWidth/2, bottom+44, Escape(c.XName))
	fmt.Fprintf(b, `<text transform="translate(20 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", chartTop+plotHeight/2, Escape(c.YName))
}

// chartLines has the points of each series in pixels of the picture.
type chartLines [][]Point

// place returns the lines of all series. It rounds coordinates to the decimals that are written, so
// that points are equal if they look equal.
func (c *Chart) place(x, y chartAxis) chartLines {
	placed := make(chartLines, len(c.Series))
	for i, s := range c.Series {
		for _, p := range s.Points {
			placed[i] = append(placed[i], Point{X: math.Round(10*(chartLeft+x.at(p.X))) / 10, Y: math.Round(10*(chartTop+plotHeight-y.at(p.Y))) / 10})
		}
	}
	return placed
}

// band draws the bands of series i: one area, and a vertical line from Low to High at each point. The
// line also shows the band of a single point.
func (c *Chart) band(b *strings.Builder, i int, x, y chartAxis) {
	var upper, lower []string
	bands := c.Series[i].Bands
	for _, p := range bands {
		low := chartPixel(chartTop + plotHeight - y.at(p.Low))
		high := chartPixel(chartTop + plotHeight - y.at(p.High))
		at := chartPixel(chartLeft + x.at(p.X))
		fmt.Fprintf(b, `<path class="s s%d" stroke-opacity="0.5" d="M%s %sV%s"/>`+"\n", i%chartColours, at, low, high)
		upper, lower = append(upper, at+" "+high), append(lower, at+" "+low)
	}
	if len(bands) > 1 {
		slices.Reverse(lower)
		fmt.Fprintf(b, `<path class="m%d" fill-opacity="0.15" stroke="none" d="M%sL%sz"/>`+"\n", i%chartColours, strings.Join(upper, "L"), strings.Join(lower, "L"))
	}
}

// sharing returns the number of series for which has is true, and the rank of series i among them,
// from 0. Series i always counts.
func (l chartLines) sharing(i int, has func([]Point) bool) (rank, count int) {
	for n := range l {
		if n == i {
			rank = count
		}
		// A series always counts itself, so count is at least 1.
		if n == i || has(l[n]) {
			count++
		}
	}
	return rank, count
}

// segment returns the number of series with a segment from a to b, and the rank of series i among
// them. A segment in the opposite direction is a different one.
func (l chartLines) segment(i int, a, b Point) (rank, count int) {
	return l.sharing(i, func(points []Point) bool {
		for n := 1; n < len(points); n++ {
			if points[n-1] == a && points[n] == b {
				return true
			}
		}
		return false
	})
}

// share reports whether any segment belongs to several series.
func (l chartLines) share() bool {
	for i, points := range l {
		for n := 1; n < len(points); n++ {
			if _, count := l.segment(i, points[n-1], points[n]); count > 1 {
				return true
			}
		}
	}
	return false
}

// line draws series i: its own segments as one path, each shared segment as a path, and the markers.
func (l chartLines) line(b *strings.Builder, i int) {
	points := l[i]
	var path strings.Builder
	move := true // the next segment does not continue path, so its start must be written
	for n := 1; n < len(points); n++ {
		from, to := points[n-1], points[n]
		rank, count := l.segment(i, from, to)
		if count > 1 {
			l.shared(b, i, from, to, rank, count)
			move = true
			continue
		}
		if move {
			path.WriteString("M" + chartPixel(from.X) + " " + chartPixel(from.Y))
		}
		path.WriteString("L" + chartPixel(to.X) + " " + chartPixel(to.Y))
		move = false
	}
	if path.Len() > 0 {
		fmt.Fprintf(b, `<path class="s s%d"%s d="%s"/>`+"\n", i%chartColours, chartDashes(i), path.String())
	}
	if len(points) > mostMarkers {
		return
	}
	// Markers come after the lines, so that they lie on top.
	for n, p := range points {
		rank, count := l.sharing(i, func(points []Point) bool { return slices.Contains(points, p) })
		chartMarker(b, i, p.X+(float64(rank)-float64(count-1)/2)*l.besides(i, n, count), p.Y)
	}
}

// steps draws series i as steps, and markers on a dozen of them. Other series have theirs at other places of a step.
// So equal series are seen.
func (l chartLines) steps(b *strings.Builder, i int) {
	var path strings.Builder
	every := max(1, len(l[i])/12)
	for n, p := range l[i] {
		if n > 0 && p != l[i][n-1] {
			path.WriteString("H" + chartPixel(p.X) + "V" + chartPixel(p.Y))
		}
		if n%every == i%every && n > 0 {
			defer chartMarker(b, i, p.X, p.Y+(l[i][n-1].Y-p.Y)*float64(i)/float64(len(l)))
		}
	}
	if len(l[i]) > 0 {
		fmt.Fprintf(b, `<path class="s s%d"%s d="M%s %s%s"/>`+"\n", i%chartColours, chartDashes(i), chartPixel(l[i][0].X), chartPixel(l[i][0].Y), path.String())
	}
}

// mostDash is the longest dash of a shared segment, in pixels.
const mostDash = 9

// shared draws every count-th dash of a segment, beginning with dash number rank.
func (l chartLines) shared(b *strings.Builder, i int, from, to Point, rank, count int) {
	// On a short segment the dashes are shorter, so that each of its series has at least one.
	dash := min(mostDash, math.Hypot(to.X-from.X, to.Y-from.Y)/float64(count))
	offset := -dash * float64(rank)
	if len(l[i]) > mostMarkers { // dashes go on from one segment to the next
		dash, offset = mostDash, from.X-mostDash*float64(rank)
	}
	fmt.Fprintf(b, `<path class="s s%d" stroke-dasharray="%s %s" stroke-dashoffset="%s" d="M%s %sL%s %s"/>`+"\n", i%chartColours,
		chartPixel(dash), chartPixel(dash*float64(count-1)), chartPixel(offset), chartPixel(from.X), chartPixel(from.Y), chartPixel(to.X), chartPixel(to.Y))
}

// besides returns the distance in pixels between the markers of count series at point n of series i.
// All these markers take at most two thirds of the distance to the next point.
func (l chartLines) besides(i, n, count int) float64 {
	// A point without neighbours has at least this room, because of the pads at both ends.
	room := 3.0 * xPad
	for _, other := range []int{n - 1, n + 1} {
		if other >= 0 && other < len(l[i]) && l[i][other].X != l[i][n].X {
			room = min(room, math.Abs(l[i][other].X-l[i][n].X))
		}
	}
	return min(2*markerSize, room*2/3/float64(count))
}

// chartDashes returns the attribute for the dashes of series i. The first six series have full lines.
// The next six repeat the colours with long dashes, and six more with dots.
func chartDashes(i int) string {
	patterns := [...]string{"", ` stroke-dasharray="7 4"`, ` stroke-dasharray="2 3"`}
	return patterns[i/chartColours%len(patterns)]
}

// chartMarker draws the marker of series i around a point.
func chartMarker(b *strings.Builder, i int, x, y float64) {
	const r = markerSize
	class := fmt.Sprintf("m%d", i%chartColours)
	// There are four shapes and six colours. So two series have the same marker only if their
	// numbers differ by a multiple of twelve, and then their dashes differ.
	switch i % 4 {
	case 0:
		fmt.Fprintf(b, `<circle class="%s" cx="%s" cy="%s" r="%d"/>`+"\n", class, chartPixel(x), chartPixel(y), r)
	case 1:
		fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%d" height="%d"/>`+"\n", class, chartPixel(x-r), chartPixel(y-r), 2*r, 2*r)
	case 2:
		fmt.Fprintf(b, `<path class="%s" d="M%s %sl%d %dh-%dz"/>`+"\n", class, chartPixel(x), chartPixel(y-r-1), r+1, 2*r+1, 2*(r+1))
	default:
		fmt.Fprintf(b, `<path class="%s" d="M%s %sl%d %dl-%d %dl-%d -%dz"/>`+"\n", class, chartPixel(x), chartPixel(y-r-1), r+1, r+1, r+1, r+1, r+1, r+1)
	}
}

// legend draws a piece of line, a marker and the name for each series.
func (c *Chart) legend(b *strings.Builder) {
	x := chartLeft + plotWidth + legendGap
	for i, s := range c.Series {
		y := chartTop + 6 + i*chartLegendRow
		fmt.Fprintf(b, `<path class="s s%d"%s d="M%d %dh26"/>`+"\n", i%chartColours, chartDashes(i), x, y)
		chartMarker(b, i, float64(x+13), float64(y))
		fmt.Fprintf(b, `<text x="%d" y="%d" dy="4">%s</text>`+"\n", x+34, y, Escape(s.Name))
	}
}

// chartPixel returns a coordinate with at most one decimal.
func chartPixel(v float64) string {
	// A tenth of a pixel is finer than screens show. It also keeps files equal on machines whose
	// floating-point results differ in the last digits.
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}
