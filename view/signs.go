package view

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"mrlocal/trace"
)

// SignID numbers the signs of a picture, in the order of its legend.
type SignID uint8

const (
	SignLentMap    SignID = iota // a reduce slot is lent to a map
	SignLentReduce               // a map slot is lent to a reduce
	SignCompute
	SignIO
	SignSpill
	SignCopy
	SignHeld
	SignSort
	SignReduce
	SignSpeculative
	SignKilled
	SignFailed
	SignLost
	SignIdle
	SignCount
)

// Sign is what a phase, a bar or a stretch of a row looks like. All pictures draw it from this table.
type Sign struct {
	Name   string  `json:"name"` // of a phase: as trace.Phase has it
	Words  string  `json:"words"`
	Height float64 `json:"height"` // of a phase: the share of the bar's height that it fills, from the foot
	Tone   float64 `json:"tone"`   // of a phase: the share of the hue in its fill, the rest is ground; above 1 the excess is ink
	Mark   Mark    `json:"mark"`
}

// Mark is a shape that a sign adds to a bar. Marks are drawn in ink with ground next to them, or on plain ground,
// so that their contrast does not depend on the hue.
type Mark string

const (
	NoMark  Mark = ""
	Up      Mark = "up"      // hatch /
	Down    Mark = "down"    // hatch \
	Dots    Mark = "dots"    // dots on the ground
	Rule    Mark = "rule"    // a line through the upper part
	Strip   Mark = "strip"   // a strip at the foot
	Dashes  Mark = "dashes"  // a dashed outline
	Cross   Mark = "cross"   // hollow, with a cross
	Corner  Mark = "corner"  // a corner is cut off
	Network Mark = "network" // hatches / and \ over the blank row
)

var signs = [SignCount]Sign{
	SignLentMap:     {"lent-map", "reduce slot lent to a map", 0, 0, Up},
	SignLentReduce:  {"lent-reduce", "map slot lent to a reduce", 0, 0, Down},
	SignCompute:     {"compute", "map", 1, 1, NoMark},
	SignIO:          {"io", "map I/O", 0.86, 0.65, NoMark},
	SignSpill:       {"spill", "spill", 0, 0, Strip},
	SignCopy:        {"copy", "shuffle", 0.5, 0.38, NoMark},
	SignHeld:        {"held", "reduce held back", 0.5, 0, Dots},
	SignSort:        {"sort", "sort", 0.72, 0.65, NoMark},
	SignReduce:      {"reduce", "reduce", 1, 1.22, Rule},
	SignSpeculative: {"speculative", "copy of a running task", 0, 0, Dashes},
	SignKilled:      {"killed", "killed", 0, 0, Cross},
	SignFailed:      {"failed", "failed", 0, 0, Corner},
	SignLost:        {"lost", "tracker lost", 0, 0, Network},
	SignIdle:        {"idle", "idle", 0, 0, NoMark},
}

// SignOf returns a sign of the table.
func SignOf(id SignID) Sign { return signs[id] }

// PhaseSign returns the sign of a phase. A phase that is not known looks like the first phase of a map.
func PhaseSign(p trace.Phase) SignID {
	for id := range SignCount {
		if signs[id].Height > 0 && signs[id].Name == p.String() {
			return id
		}
	}
	return SignCompute
}

// LentSign returns the sign of a slot that is lent to a task of kind k.
func LentSign(k trace.Kind) SignID {
	if k == trace.Map {
		return SignLentMap
	}
	return SignLentReduce
}

// occurs notes that a picture of the model needs a sign.
func (m *Model) occurs(id SignID) { m.signs[id] = true }

// Occurs reports whether a picture of the model needs a sign. All pictures need that of an idle slot.
func (m *Model) Occurs(id SignID) bool { return m.signs[id] || id == SignIdle }

// Colour is red, green and blue, each from 0 to 255.
type Colour [3]float64

// Hex returns the colour as #rrggbb.
func (c Colour) Hex() string {
	return fmt.Sprintf("#%02x%02x%02x", int(c[0]+0.5), int(c[1]+0.5), int(c[2]+0.5))
}

// MarshalJSON returns Hex as JSON.
func (c Colour) MarshalJSON() ([]byte, error) { return json.Marshal(c.Hex()) }

// colour reads a colour such as #0072B2, which must be valid.
func colour(hex string) (c Colour) {
	for i := range c {
		v, _ := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8) // never fails: all texts are constants
		c[i] = float64(v)
	}
	return c
}

// Mix returns a with that share of b.
func (c Colour) Mix(b Colour, share float64) Colour {
	for i := range c {
		c[i] += (b[i] - c[i]) * share
	}
	return c
}

// luminance returns the relative luminance, as WCAG defines it.
func (c Colour) luminance() (sum float64) {
	for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			sum += weight * v / 12.92
		} else {
			sum += weight * math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// Contrast returns the contrast ratio of two colours, as WCAG defines it: from 1 to 21.
func (c Colour) Contrast(b Colour) float64 {
	x, y := c.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Hue has the colours of a job or pool.
type Hue struct {
	Tones map[string]Colour `json:"tones"` // of phases, by the names of their signs
	Text  map[string]Colour `json:"text"`  // black or white: letters and rules on these tones
	Line  Colour            `json:"line"`  // of outlines on the ground
}

// Theme has all colours of a picture.
type Theme struct {
	Ground Colour `json:"ground"`
	Band   Colour `json:"band"` // the ground of every second tracker
	Ink    Colour `json:"ink"`
	Quiet  Colour `json:"quiet"` // text of less weight
	Line   Colour `json:"line"`
	Soft   Colour `json:"soft"` // a line of less weight
	Accent Colour `json:"accent"`
	Hues   []Hue  `json:"hues"` // HueCount of them, and then two grey ones for what is not a single job or pool
}

// hues are the colours of Okabe and Ito, which colour-blind people can tell apart, and three greys.
var hues = [...]string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#7A7A7A", "#A0A0A0", "#606060"}

// HueCount is the number of colours of jobs and pools, which repeat after it.
const HueCount = len(hues) - 2

// HueIndex returns the number of the colour of job or pool i, from 0 to HueCount - 1.
func HueIndex(i int32) int { return int(i) % HueCount }

// Light and Dark return the two themes.
func Light() *Theme {
	return theme(Theme{colour("#ffffff"), colour("#f7f8fa"), colour("#16191d"), colour("#4d545e"), colour("#80868f"), colour("#e3e6ea"), colour("#8a2be2"), nil}, colour("#000000"))
}

// Dark returns the dark theme.
func Dark() *Theme {
	return theme(Theme{colour("#15181d"), colour("#1a1e24"), colour("#eceff3"), colour("#b1b8c2"), colour("#7d8490"), colour("#2b3038"), colour("#c9a2ff"), nil}, colour("#ffffff"))
}

// theme adds the hues to t. deep is what a tone above 1 is mixed with.
func theme(t Theme, deep Colour) *Theme {
	black, white := colour("#000000"), colour("#ffffff")
	for _, name := range hues {
		pure := colour(name)
		h := Hue{map[string]Colour{}, map[string]Colour{}, pure.Mix(t.Ink, 0.25)}
		for share := 0.25; h.Line.Contrast(t.Ground) < 4; share += 0.05 {
			h.Line = pure.Mix(t.Ink, share)
		}
		for _, s := range signs {
			if s.Height == 0 {
				continue
			}
			tone := t.Ground.Mix(pure, min(1, s.Tone))
			if s.Tone > 1 {
				tone = pure.Mix(deep, s.Tone-1)
			}
			h.Tones[s.Name], h.Text[s.Name] = tone, black
			if tone.Contrast(white) > tone.Contrast(black) {
				h.Text[s.Name] = white
			}
		}
		t.Hues = append(t.Hues, h)
	}
	return &t
}

// SignsScript returns the table of signs and the themes as a module of JavaScript, for the page.
func SignsScript() []byte {
	list, _ := json.Marshal(signs) // neither fails: structs of numbers and texts
	themes, _ := json.Marshal(map[string]*Theme{"light": Light(), "dark": Dark()})
	return fmt.Appendf(nil, "// package view generates this file from its table of signs.\nexport const signs = %s;\nexport const themes = %s;\n", list, themes)
}
