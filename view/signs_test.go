package view_test

import (
	"testing"

	"mrlocal/view"
)

// TestSignsCanBeSeen checks that lines and marks have a contrast of 3 : 1 with what lies next to them, in both themes
// and all hues, and text of 4.5 : 1.
func TestSignsCanBeSeen(t *testing.T) {
	for name, theme := range map[string]*view.Theme{"light": view.Light(), "dark": view.Dark()} {
		least := func(what string, a, b view.Colour, want float64) {
			if got := a.Contrast(b); got < want {
				t.Errorf("%s: %s has %.2f : 1, want %v", name, what, got, want)
			}
		}
		// Hatches, dashes, strips and corners are ink next to ground.
		least("ink", theme.Ink, theme.Ground, 4.5)
		least("quiet text", theme.Quiet, theme.Ground, 4.5)
		least("the network of a lost tracker", theme.Line, theme.Ground, 3)
		least("the network of a lost tracker on a band", theme.Line, theme.Band, 3)
		least("the line of the moment", theme.Accent, theme.Ground, 3)
		for i, hue := range theme.Hues {
			least(name, hue.Line, theme.Ground, 3) // outlines
			least(name, hue.Line, theme.Band, 3)
			for tone, text := range hue.Text { // letters, and the rule of a reduce
				least(tone+" text", text, hue.Tones[tone], 4.5)
			}
			if reduce := view.SignOf(view.SignReduce); reduce.Mark != view.Rule || i >= view.HueCount {
				continue
			}
			least("the rule of a reduce against a map", hue.Text["reduce"], hue.Tones["compute"], 3)
		}
	}
}

// TestSignsDifferByShape checks that no two signs differ by their tone alone.
func TestSignsDifferByShape(t *testing.T) {
	type shape struct {
		height float64
		mark   view.Mark
	}
	seen := map[shape]string{}
	for id := range view.SignCount {
		s := view.SignOf(id)
		at := shape{s.Height, s.Mark}
		if before, twice := seen[at]; twice {
			t.Errorf("%s looks like %s but for its tone", s.Name, before)
		}
		seen[at] = s.Name
	}
}
