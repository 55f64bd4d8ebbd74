package svg

import (
	"fmt"
	"strconv"
	"strings"

	"mrlocal/trace"
	"mrlocal/view"
)

// tones has, for each phase, its class, its word in the legend, and the share of the hue in its
// colour, as in mix.
var tones = [...]struct {
	class, word string
	share       float64
}{
	trace.PhaseNone: {"n", "other", 0.5}, trace.PhaseCompute: {"m", "map", 1}, trace.PhaseIO: {"i", "map I/O", 0.6}, trace.PhaseCopy: {"c", "shuffle", 0.35},
	trace.PhaseSort: {"s", "sort", 0.65}, trace.PhaseReduce: {"r", "reduce", 1.3}, trace.PhaseHeld: {"h", "held back", 0.15},
}

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
.copy { fill: none; stroke: #000000; stroke-width: 1.8; stroke-dasharray: 5 3; }
.hollow { fill: #ffffff; }
.cross { fill: none; stroke-width: 1.5; }
.notch { fill: #ffffff; stroke: #222222; stroke-width: 0.8; }
.lentmap { fill: url(#lentmap); } .lentreduce { fill: url(#lentreduce); } .held { fill: url(#held); }
.spill { fill: #000000; stroke: #ffffff; stroke-width: 0.6; }
.letter { font-weight: bold; stroke: #ffffff; stroke-width: 3; paint-order: stroke; stroke-linejoin: round; fill: #000000; }
`)
	for hue := range view.HueCount {
		for _, t := range tones {
			fmt.Fprintf(&b, ".h%d%s { fill: %s; } ", hue, t.class, mix(view.Hue(int32(hue)), t.share))
		}
		fmt.Fprintf(&b, ".h%dline { stroke: %s; }\n", hue, view.Hue(int32(hue)))
	}
	b.WriteString("</style>\n")
	return b.String()
}

// mix returns a colour, as #rrggbb, with the given share of hue; the rest is white. If share is above
// 1, what exceeds 1 is the share of black.
func mix(hue string, share float64) string {
	out := "#"
	for i := 1; i < 7; i += 2 {
		v, _ := strconv.ParseUint(hue[i:i+2], 16, 8) // never fails: hue is a constant of package view
		c := 255 - share*(255-float64(v))
		if share > 1 {
			c = float64(v) * (2 - share)
		}
		out += fmt.Sprintf("%02x", int(c+0.5))
	}
	return out
}

// patterns are the hatches of lent slots at 45 degrees: / for a map and \ for a reduce. Dots are for
// a reduce that is held back.
const patterns = `<defs>
<pattern id="lentmap" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="#ffffff" stroke-width="3.2"/><path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="#000000" stroke-width="1.6"/></pattern>
<pattern id="lentreduce" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-2 6L2 10M0 0L8 8M6 -2L10 2" stroke="#ffffff" stroke-width="3.2"/><path d="M-2 6L2 10M0 0L8 8M6 -2L10 2" stroke="#000000" stroke-width="1.6"/></pattern>
<pattern id="held" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r="1.2" fill="#000000"/></pattern>
</defs>
`

// sign is an entry of the legend: a drawing in SVG, 26 by 14 pixels, and its words.
type sign struct{ drawing, words string }

// legend returns the lines of the legend as SVG: jobs or pools first, then the signs.
func (p *picture) legend() []string {
	box := func(classes ...string) string {
		var b strings.Builder
		for _, c := range append(classes, "outline") {
			fmt.Fprintf(&b, `<rect class="%s" width="26" height="14"/>`, c)
		}
		return b.String()
	}
	signs := []sign{
		{box("h0m", "lentmap"), "reduce slot lent to a map"},
		{box("h0m", "lentreduce"), "map slot lent to a reduce"},
	}
	for _, phase := range []trace.Phase{trace.PhaseCompute, trace.PhaseIO, trace.PhaseCopy, trace.PhaseSort, trace.PhaseReduce} {
		signs = append(signs, sign{box("h0" + tones[phase].class), tones[phase].word})
	}
	signs = append(signs,
		sign{box("h0h", "held"), "reduce held back"},
		sign{`<rect class="h0m" width="26" height="14"/><rect class="spill" x="6" y="10" width="12" height="4"/>`, "spill"},
		sign{`<rect class="h0m" width="26" height="14"/><rect class="copy" width="26" height="14"/>`, "speculative copy"},
		sign{box("hollow") + `<path class="cross h0line" d="M0 0L26 14M0 14L26 0"/>`, "killed"},
		sign{box("h0m") + `<path class="notch" d="M26.5 -0.5L19 7L26.5 14.5Z"/>`, "failed"},
		sign{box("ground"), "idle"},
		sign{badge(trace.Map, 0, 0), "home: map"}, sign{badge(trace.Reduce, 0, 0), "home: reduce"},
	)
	return append(p.wrap(p.names()), p.wrap(signs)...)
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
		drawing := fmt.Sprintf(`<rect class="h%dm" width="26" height="14"/><rect class="outline" width="26" height="14"/><text class="letter" x="13" y="11.5" text-anchor="middle">%c</text>`, view.HueIndex(int32(i)), trace.Letter(int32(i), false))
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
