// Package chart draws a line chart as SVG: axes with ticks and units, a line and a
// marker per series, and a legend.
//
// It writes the SVG as text, without a library, so that the same numbers always give the
// same bytes. Colours follow the light or dark setting of the viewer. Series also differ
// by marker and dashes, for people who cannot tell the colours apart.
//
// The package keeps nothing. Neighbours: `mrlocal sweep` and `mrlocal reproduce` draw
// their tables with it, package bench how time grows with the input.
package chart

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Chart is the content of a chart.
type Chart struct {
	Title        string
	XName, YName string // names of the axes with their units
	Log          bool   // both axes are logarithmic; then every value is above 0
	Series       []Series
}

// Series is a line through points, in their order.
type Series struct {
	Name   string
	Points []Point
}

// Point is one value.
type Point struct{ X, Y float64 }

// Add adds a point to the series of that name, and makes the series if there is none. It
// replaces a point with the same X.
func (c *Chart) Add(name string, p Point) {
	i := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		c.Series = append(c.Series, Series{Name: name})
		i = len(c.Series) - 1
	}
	s := &c.Series[i]
	if at := slices.IndexFunc(s.Points, func(q Point) bool { return q.X == p.X }); at >= 0 {
		s.Points[at] = p
		return
	}
	s.Points = append(s.Points, p)
}

// Sizes in pixels.
const (
	plotWidth   = 560
	plotHeight  = 320
	left        = 76 // of the plot, for ticks and the name of the y axis
	top         = 48 // above the plot, for the title
	below       = 56 // the plot, for ticks and the name of the x axis
	legendGap   = 20
	legendRow   = 22
	letterWidth = 7.2 // of 12 px text, roughly
	markerSize  = 4
)

// WriteSVG writes the chart to w, and fails if w does. An axis starts at 0, or at a round
// number below its least value; a logarithmic axis starts at a power of ten.
func (c *Chart) WriteSVG(w io.Writer) error {
	x, y := c.axes()
	longest := 0
	for _, s := range c.Series {
		longest = max(longest, utf8.RuneCountInString(s.Name))
	}
	width := left + plotWidth + legendGap + 34 + int(float64(longest)*letterWidth) + 12
	height := max(top+plotHeight+below, top+legendRow*len(c.Series)+below)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, height, width, height, escape(c.Title))
	b.WriteString(style)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", escape(c.Title), width, height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="26">%s</text>`+"\n", left, escape(c.Title))
	c.grid(&b, x, y)
	for i := range c.Series {
		c.line(&b, i, x, y)
	}
	c.legend(&b)
	b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("draw chart: %w", err)
	}
	return nil
}

// style has all colours. Those of the series are from the palette of Okabe and Ito, which
// colour-blind people can tell apart.
const style = `<style>
text { font: 12px sans-serif; fill: #222222; }
.title { font-size: 15px; font-weight: bold; }
.ground { fill: #ffffff; }
.grid { stroke: #dddddd; stroke-width: 1; }
.axis { stroke: #222222; stroke-width: 1; }
.s { fill: none; stroke-width: 2; }
.s0 { stroke: #0072b2; } .m0 { fill: #0072b2; }
.s1 { stroke: #d55e00; } .m1 { fill: #d55e00; }
.s2 { stroke: #009e73; } .m2 { fill: #009e73; }
.s3 { stroke: #cc79a7; } .m3 { fill: #cc79a7; }
.s4 { stroke: #e69f00; } .m4 { fill: #e69f00; }
.s5 { stroke: #56b4e9; } .m5 { fill: #56b4e9; }
@media (prefers-color-scheme: dark) {
text { fill: #dddddd; }
.ground { fill: #1b1b1b; }
.grid { stroke: #3a3a3a; }
.axis { stroke: #dddddd; }
.s0 { stroke: #4ba3d9; } .m0 { fill: #4ba3d9; }
}
</style>
`

// colours is how many classes s0, s1, ... the style has.
const colours = 6

// axis maps values to pixels. If log is set, low, high and step are decimal logarithms.
type axis struct {
	low, high, step float64
	pixels          float64
	log             bool
}

func (c *Chart) axes() (x, y axis) {
	var xs, ys []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	if c.Log {
		return logAxisOf(xs, plotWidth), logAxisOf(ys, plotHeight)
	}
	return axisOf(xs, plotWidth), axisOf(ys, plotHeight)
}

// logAxisOf returns an axis of whole decades that covers all values.
func logAxisOf(values []float64, pixels float64) axis {
	a := axis{low: 0, high: 1, step: 1, pixels: pixels, log: true}
	if len(values) > 0 {
		a.low = math.Floor(math.Log10(slices.Min(values)))
		a.high = max(math.Ceil(math.Log10(slices.Max(values))), a.low+1)
	}
	return a
}

// axisOf returns an axis of at most about 8 round steps that covers 0 and all values.
func axisOf(values []float64, pixels float64) axis {
	low, high := 0.0, 0.0
	if len(values) > 0 {
		low, high = min(0, slices.Min(values)), max(0, slices.Max(values))
	}
	if low == high {
		high = low + 1
	}
	const steps = 8
	step := math.Pow(10, math.Floor(math.Log10((high-low)/steps)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*m) <= steps {
			step *= m
			break
		}
	}
	const slack = 1e-9 // of a step, so that a value on a tick does not add another step
	return axis{low: math.Floor(low/step+slack) * step, high: math.Ceil(high/step-slack) * step, step: step, pixels: pixels}
}

// at returns the distance of a value from the start of the axis, in pixels.
func (a axis) at(v float64) float64 {
	if a.log {
		v = math.Log10(v)
	}
	return (v - a.low) / (a.high - a.low) * a.pixels
}

// ticks returns the values that get a label.
func (a axis) ticks() []float64 {
	n := int(math.Round((a.high - a.low) / a.step))
	ticks := make([]float64, n+1)
	for i := range ticks {
		ticks[i] = a.low + float64(i)*a.step
		if a.log {
			ticks[i] = math.Pow10(int(ticks[i]))
		}
	}
	return ticks
}

// word returns the label of a tick, with as many decimals as the step has.
func (a axis) word(v float64) string {
	if a.log {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	decimals := max(0, int(-math.Floor(math.Log10(a.step)+1e-9)))
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// grid draws the axes, their ticks and names, and the horizontal lines.
func (c *Chart) grid(b *strings.Builder, x, y axis) {
	bottom := top + plotHeight
	for _, v := range y.ticks() {
		at := pixel(float64(bottom) - y.at(v))
		fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%s" x2="%d" y2="%s"/>`+"\n", left, at, left+plotWidth, at)
		fmt.Fprintf(b, `<text x="%d" y="%s" dy="4" text-anchor="end">%s</text>`+"\n", left-8, at, y.word(v))
	}
	for _, v := range x.ticks() {
		at := pixel(left + x.at(v))
		fmt.Fprintf(b, `<line class="axis" x1="%s" y1="%d" x2="%s" y2="%d"/>`+"\n", at, bottom, at, bottom+5)
		fmt.Fprintf(b, `<text x="%s" y="%d" text-anchor="middle">%s</text>`+"\n", at, bottom+20, x.word(v))
	}
	fmt.Fprintf(b, `<path class="axis" fill="none" d="M%d %dV%dH%d"/>`+"\n", left, top, bottom, left+plotWidth)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", left+plotWidth/2, bottom+44, escape(c.XName))
	fmt.Fprintf(b, `<text transform="translate(20 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", top+plotHeight/2, escape(c.YName))
}

// line draws series i.
func (c *Chart) line(b *strings.Builder, i int, x, y axis) {
	var path strings.Builder
	for n, p := range c.Series[i].Points {
		command := "L"
		if n == 0 {
			command = "M"
		}
		path.WriteString(command + pixel(left+x.at(p.X)) + " " + pixel(top+plotHeight-y.at(p.Y)))
	}
	fmt.Fprintf(b, `<path class="s s%d"%s d="%s"/>`+"\n", i%colours, dashes(i), path.String())
	for _, p := range c.Series[i].Points {
		marker(b, i, left+x.at(p.X), top+plotHeight-y.at(p.Y))
	}
}

// dashes returns the dashes of series i, which differ between series of one colour.
func dashes(i int) string {
	patterns := [...]string{"", ` stroke-dasharray="7 4"`, ` stroke-dasharray="2 3"`}
	return patterns[i/colours%len(patterns)]
}

// marker draws the shape of series i around a point.
func marker(b *strings.Builder, i int, x, y float64) {
	const r = markerSize
	class := fmt.Sprintf("m%d", i%colours)
	switch i % 4 {
	case 0:
		fmt.Fprintf(b, `<circle class="%s" cx="%s" cy="%s" r="%d"/>`+"\n", class, pixel(x), pixel(y), r)
	case 1:
		fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%d" height="%d"/>`+"\n", class, pixel(x-r), pixel(y-r), 2*r, 2*r)
	case 2:
		fmt.Fprintf(b, `<path class="%s" d="M%s %sl%d %dh-%dz"/>`+"\n", class, pixel(x), pixel(y-r-1), r+1, 2*r+1, 2*(r+1))
	default:
		fmt.Fprintf(b, `<path class="%s" d="M%s %sl%d %dl-%d %dl-%d -%dz"/>`+"\n", class, pixel(x), pixel(y-r-1), r+1, r+1, r+1, r+1, r+1, r+1)
	}
}

// legend draws a line, a marker and the name of each series.
func (c *Chart) legend(b *strings.Builder) {
	x := left + plotWidth + legendGap
	for i, s := range c.Series {
		y := top + 6 + i*legendRow
		fmt.Fprintf(b, `<path class="s s%d"%s d="M%d %dh26"/>`+"\n", i%colours, dashes(i), x, y)
		marker(b, i, float64(x+13), float64(y))
		fmt.Fprintf(b, `<text x="%d" y="%d" dy="4">%s</text>`+"\n", x+34, y, escape(s.Name))
	}
}

// pixel returns a coordinate with one decimal.
func pixel(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// escape returns text for use in XML, without control characters, which XML forbids.
func escape(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == '\ufffe' || r == '\uffff' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return html.EscapeString(clean)
}
