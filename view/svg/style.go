package svg

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/trace"
	"mrlocal/view"
)

// frame has the style element and the patterns of a picture. Words in capitals stand for colours.
//
//go:embed style.xml
var frame string

// style returns frame in the colours of a theme, with a class for each hue in each tone, and a pattern for reduces of
// bands in each hue.
func style(dark bool) string {
	theme := view.Light()
	if dark {
		theme = view.Dark()
	}
	var b, rules strings.Builder
	for i, hue := range theme.Hues[:view.HueCount+1] { // the last is grey
		for id := range view.SignCount {
			s := view.SignOf(id)
			if s.Height > 0 {
				fmt.Fprintf(&b, ".h%d%s { fill: %s; } ", i, s.Name, hue.Tones[s.Name].Hex())
			}
			if s.Mark == view.Rule {
				fmt.Fprintf(&b, ".h%drule { stroke: %s; } .h%drules { fill: url(#rules%d); } ", i, hue.Text[s.Name].Hex(), i, i)
				fmt.Fprintf(&rules, `<pattern id="rules%d" width="8" height="8" patternUnits="userSpaceOnUse"><path class="h%drule" d="M0 4.5h8"/></pattern>`+"\n", i, i)
			}
		}
		b.WriteByte('\n')
	}
	return strings.NewReplacer("GROUND", theme.Ground.Hex(), "INK", theme.Ink.Hex(), "QUIET", theme.Quiet.Hex(), "LINE", theme.Line.Hex(), "SOFT", theme.Soft.Hex(), "TONES", b.String(), "RULES", rules.String()).Replace(frame)
}

// sign is an entry of the legend: a drawing in SVG, 26 by 14 pixels, and its words.
type sign struct{ drawing, words string }

// legend returns the lines of the legend as SVG: jobs or pools first, then the signs that occur.
func (p *picture) legend() []string {
	var all []sign
	for id, occurs := range p.occurring() {
		if id := view.SignID(id); occurs {
			all = append(all, sign{sample(id), view.SignOf(id).Words})
		}
	}
	if p.level < 3 {
		all = append(all, sign{badge(trace.Map, 0, 0), "home: map"}, sign{badge(trace.Reduce, 0, 0), "home: reduce"})
	}
	return append(p.wrap(p.names(), mostNames), p.wrap(all, len(all))...)
}

// occurring returns the signs that the rows have. Bands have no signs of phases and ends.
func (p *picture) occurring() (set [view.SignCount]bool) {
	set[view.SignIdle] = true
	for _, r := range p.runs {
		for id := range view.SignCount {
			if view.SignOf(id).Height == 0 && (p.level == 0 || id == view.SignLentMap || id == view.SignLentReduce || id == view.SignLost) {
				set[id] = set[id] || r.Model.Occurs(id)
			}
		}
		for phase, took := range r.Model.Totals().Phases {
			id := view.PhaseSign(trace.Phase(phase))
			if p.level > 0 && id != view.SignCompute && id != view.SignIO {
				id = view.SignReduce
			} else if p.level > 0 {
				id = view.SignCompute
			}
			set[id] = set[id] || took > 0
		}
	}
	return set
}

// sample returns the drawing of a sign for the legend.
func sample(id view.SignID) string {
	s := view.SignOf(id)
	var b bytes.Buffer
	c := canvas{&b, 14}
	phase := view.SignCompute
	switch {
	case s.Height > 0:
		phase = id
	case id == view.SignLentReduce:
		phase = view.SignReduce
	}
	if id != view.SignIdle && s.Mark != view.Cross && s.Mark != view.Network {
		c.phase(0, phase, 0, 0, 26)
	}
	if s.Height > 0 {
		s.Mark = view.NoMark // phase has drawn it
	}
	c.mark(s.Mark, 0, 0, 26)
	return b.String()
}

// names returns the entries for jobs or pools. Runs of different workloads may have several names for one number.
func (p *picture) names() (signs []sign) {
	sample := func(hue int, letter, words string) {
		signs = append(signs, sign{fmt.Sprintf(`<rect class="h%dcompute" width="26" height="14"/><rect class="outline" width="26" height="14"/><text class="letter" x="13" y="12" text-anchor="middle">%s</text>`, hue, letter), cut(words, 14, 240)})
	}
	for i := 0; ; i++ {
		var names []string
		for _, r := range p.runs {
			name := ""
			if m := r.Model; p.Pools && i < len(m.Pools) {
				name = m.Pools[i].Name
			} else if !p.Pools && i < len(m.Jobs) {
				name = m.Jobs[i].Name
			} else {
				continue
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if names == nil {
			break
		}
		if !p.rest[int32(i)] {
			sample(view.HueIndex(int32(i)), string(trace.Letter(int32(i), false)), strings.Join(names, " or "))
		}
	}
	if len(p.rest) > 0 {
		sample(view.HueCount, "", errs.Counted(len(p.rest), "other"))
	}
	return signs
}

// wrap puts entries into lines that are at most as wide as the picture, and returns their SVG. If they need more lines
// than most, the last line says how many are left out.
func (p *picture) wrap(signs []sign, most int) (lines []string) {
	const rest = 110 // room for the number of entries that are left out
	var line strings.Builder
	x, room := 0.0, p.width-2*margin
	for i, s := range signs {
		width := 32 + wide(s.words, 14) + 18
		last := len(lines) == most-1
		if over := x+width > room; over && last || last && i < len(signs)-1 && x+width > room-rest {
			fmt.Fprintf(&line, `<text x="%s" y="12">and %d more</text>`, num(x), len(signs)-i)
			break
		} else if over {
			lines = append(lines, line.String())
			line.Reset()
			x = 0
		}
		fmt.Fprintf(&line, `<g transform="translate(%s 0)">%s<text x="32" y="12">%s</text></g>`, num(x), s.drawing, Escape(s.words))
		x += width
	}
	if line.Len() > 0 {
		lines = append(lines, line.String())
	}
	return lines
}

// em estimates the width of a character in font sizes. It is a little more than in common fonts, because the font of a
// viewer is not known.
func em(r rune) float64 {
	switch {
	case strings.ContainsRune("fijlrtI.,:;'|!()[] ", r):
		return 0.4
	case r >= 0x1f000:
		return 1.4
	case r >= 0x1100:
		return 1.1
	case strings.ContainsRune("mMW%@…", r) || r > '~':
		return 1.02
	case 'A' <= r && r <= 'Z' || r == 'w':
		return 0.82
	}
	return 0.63
}

// wide estimates the width of a text in pixels.
func wide(text string, size float64) (sum float64) {
	for _, r := range text {
		sum += size * em(r)
	}
	return sum
}

// fits returns the number of bytes of text that fit into a width.
func fits(text string, size, width float64) int {
	for i, r := range text {
		if width -= size * em(r); width < 0 {
			return i
		}
	}
	return len(text)
}

// cut returns text, or its beginning and … if it is wider than width.
func cut(text string, size, width float64) string {
	return strings.Join(lines(text, size, width, 1), "")
}

// lines breaks text into at most so many lines of a width, between words if it can. If more is left, the last line ends
// in ….
func lines(text string, size, width float64, most int) (all []string) {
	for text != "" {
		end := fits(text, size, width)
		switch {
		case end == len(text):
			return append(all, text)
		case len(all) == most-1:
			return append(all, text[:fits(text, size, width-size*em('…'))]+"…")
		}
		if at := strings.LastIndexByte(text[:end+1], ' '); at > 0 {
			end = at
		}
		all = append(all, text[:end])
		text = strings.TrimLeft(text[end:], " ")
	}
	return all
}

// canvas draws signs on w. height is that of a bar, in pixels.
type canvas struct {
	w      io.Writer
	height float64
}

// rect draws a rectangle with the height of a bar. x, y and width are in pixels.
func (c canvas) rect(class string, x, y, width float64) {
	fmt.Fprintf(c.w, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(x), num(y), num(width), num(c.height))
}

// phase draws the sign of a phase in a hue. y is the top edge of the bar. The edge of a phase that does not fill the
// whole height has a line.
func (c canvas) phase(hue int, id view.SignID, x, y, width float64) {
	s := view.SignOf(id)
	top := y + c.height*(1-s.Height)
	fmt.Fprintf(c.w, `<rect class="h%d%s" x="%s" y="%s" width="%s" height="%s"/>`, hue, s.Name, num(x), num(top), num(width), num(c.height*s.Height))
	if s.Height < 1 {
		fmt.Fprintf(c.w, `<path class="edge" d="M%s %sh%s"/>`, num(x), num(top), num(width))
	}
	switch s.Mark {
	case view.Dots:
		fmt.Fprintf(c.w, `<rect class="dots" x="%s" y="%s" width="%s" height="%s"/>`, num(x), num(top), num(width), num(c.height*s.Height))
	case view.Rule:
		fmt.Fprintf(c.w, `<path class="rule h%drule" d="M%s %sh%s"/>`, hue, num(x), num(y+c.height*ruleAt), num(width))
	}
}

// ruleAt is the place of the line of view.Rule, as a share of the bar's height from its top.
const ruleAt = 0.25

// mark draws the mark of a whole bar, and its outline.
func (c canvas) mark(m view.Mark, x, y, width float64) {
	switch m {
	case view.Up, view.Down, view.Network:
		c.rect(string(m), x, y, width)
	case view.Cross:
		c.rect("hollow", x, y, width)
		fmt.Fprintf(c.w, `<path class="cross" d="M%s %sL%s %sM%s %sL%s %s"/>`, num(x), num(y), num(x+width), num(y+c.height), num(x), num(y+c.height), num(x+width), num(y))
	case view.Dashes:
		c.rect("dashesground", x, y, width)
		c.rect("dashes", x, y, width)
		return
	case view.Strip:
		c.strip(x+width/4, y, width/2, "")
	}
	c.rect("outline", x, y, width)
	if m == view.Corner {
		deep := min(width, max(7, c.height/5))
		right := x + width + 0.5
		fmt.Fprintf(c.w, `<path class="corner" d="M%s %sL%s %sL%s %sZ"/>`, num(right), num(y-0.5), num(right-deep), num(y-0.5), num(right), num(y+deep))
	}
}

// strip draws the strip of a spill. title is an element or "".
func (c canvas) strip(x, y, width float64, title string) {
	high := max(4, c.height/8)
	fmt.Fprintf(c.w, `<rect class="strip" x="%s" y="%s" width="%s" height="%s">%s</rect>`, num(x), num(y+c.height-high), num(width), num(high), title)
}
