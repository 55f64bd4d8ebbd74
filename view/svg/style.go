package svg

import (
	"bytes"
	"fmt"
	"strings"

	"mrlocal/trace"
	"mrlocal/view"
)

// style returns the style element, with a class for each hue in each tone.
func style() string {
	var b strings.Builder
	b.WriteString(`<style>
text { font: 12px sans-serif; fill: #222222; }
.title { font-size: 15px; font-weight: bold; }
.small { font-size: 11px; }
.ground { fill: #ffffff; }
.grid { stroke: #d0d0d0; } .row { stroke: #eeeeee; }
.badge { font-size: 10px; font-weight: bold; } .mapbadge { fill: #222222; } .mapbadge-text { fill: #ffffff; }
.reducebadge { fill: #ffffff; stroke: #222222; }
.outline { fill: none; stroke: #222222; stroke-width: 0.6; }
.dashesground { fill: none; stroke: #ffffff; stroke-width: 3.2; } .dashes { fill: none; stroke: #000000; stroke-width: 1.8; stroke-dasharray: 5 3; }
.hollow { fill: #ffffff; }
.cross { fill: none; stroke: #222222; stroke-width: 1.5; } .edge { fill: none; stroke: #222222; stroke-width: 1; } .rule { fill: none; stroke-width: 2; }
.corner { fill: #ffffff; stroke: #222222; stroke-width: 0.8; }
.up { fill: url(#up); } .down { fill: url(#down); } .dots { fill: url(#dots); } .network { fill: url(#network); }
.strip { fill: #000000; stroke: #ffffff; stroke-width: 0.6; }
.letter { font-weight: bold; stroke: #ffffff; stroke-width: 3; paint-order: stroke; stroke-linejoin: round; fill: #000000; }
`)
	for i, hue := range view.Light().Hues[:view.HueCount] {
		for id := range view.SignCount {
			s := view.SignOf(id)
			if s.Height > 0 {
				fmt.Fprintf(&b, ".h%d%s { fill: %s; } ", i, s.Name, hue.Tones[s.Name].Hex())
			}
			if s.Mark == view.Rule {
				fmt.Fprintf(&b, ".h%drule { stroke: %s; } ", i, hue.Text[s.Name].Hex())
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("</style>\n")
	return b.String()
}

// patterns are hatches at 45 degrees, / and \, dots, and the network of both hatches.
const patterns = `<defs>
<pattern id="up" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="#ffffff" stroke-width="3.2"/><path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="#000000" stroke-width="1.6"/></pattern>
<pattern id="down" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-2 6L2 10M0 0L8 8M6 -2L10 2" stroke="#ffffff" stroke-width="3.2"/><path d="M-2 6L2 10M0 0L8 8M6 -2L10 2" stroke="#000000" stroke-width="1.6"/></pattern>
<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r="1.2" fill="#000000"/></pattern>
<pattern id="network" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M0 8L8 0M0 0L8 8" stroke="#80868f" stroke-width="1"/></pattern>
</defs>
`

// sign is an entry of the legend: a drawing in SVG, 26 by 14 pixels, and its words.
type sign struct{ drawing, words string }

// legend returns the lines of the legend as SVG: jobs or pools first, then the signs that occur.
func (p *picture) legend() []string {
	var all []sign
	for id := range view.SignCount {
		if p.m.Occurs(id) {
			all = append(all, sign{sample(id), view.SignOf(id).Words})
		}
	}
	all = append(all, sign{badge(trace.Map, 0, 0), "home: map"}, sign{badge(trace.Reduce, 0, 0), "home: reduce"})
	return append(p.wrap(p.names()), p.wrap(all)...)
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

// mostNames is the most jobs or pools that the legend names.
const mostNames = 36

// names returns the entries for jobs or pools.
func (p *picture) names() (signs []sign) {
	n := len(p.m.Jobs)
	if p.byPool {
		n = len(p.m.Pools)
	}
	for i := range min(n, mostNames) {
		name := ""
		if p.byPool {
			name = p.m.Pools[i].Name
		} else {
			name = p.m.Jobs[i].Name
		}
		// A longer name could be wider than the picture. It is cut between two characters.
		if runes := []rune(name); len(runes) > 30 {
			name = string(runes[:29]) + "…"
		}
		drawing := fmt.Sprintf(`<rect class="h%dcompute" width="26" height="14"/><rect class="outline" width="26" height="14"/><text class="letter" x="13" y="11.5" text-anchor="middle">%c</text>`, view.HueIndex(int32(i)), trace.Letter(int32(i), false))
		signs = append(signs, sign{drawing, name})
	}
	if n > mostNames {
		signs = append(signs, sign{"", fmt.Sprintf("and %d more, with the same letters again", n-mostNames)})
	}
	return signs
}

// wrap puts entries into lines that are at most as wide as the picture. It returns their SVG.
func (p *picture) wrap(signs []sign) (lines []string) {
	var line strings.Builder
	x := 0.0
	for _, s := range signs {
		// The width of a text is not known before a viewer draws it, so this is an estimate.
		width := 32 + letterWidth*float64(len([]rune(s.words))) + 16
		if x > 0 && x+width > p.left+p.plot {
			lines = append(lines, line.String())
			line.Reset()
			x = 0
		}
		fmt.Fprintf(&line, `<g transform="translate(%s 0)">%s<text x="32" y="11.5">%s</text></g>`, num(x), s.drawing, Escape(s.words))
		x += width
	}
	if line.Len() > 0 {
		lines = append(lines, line.String())
	}
	return lines
}
