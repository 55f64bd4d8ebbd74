package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/golden"
)

func draw(t interface{ Fatal(...any) }, c *Chart) []byte {
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheChartOfASweep(t *testing.T) {
	c := &Chart{Title: "fig6.yaml", XName: "share of the map slots lent", YName: "makespan (s)"}
	for _, s := range []struct {
		name string
		y    []float64
	}{
		{"borrow-reduce 0", []float64{880, 800, 760, 740, 720, 720, 700, 700, 700, 700, 680}},
		{"borrow-reduce 1", []float64{720, 640, 600, 580, 560, 560, 540, 540, 540, 540, 520}},
	} {
		series := Series{Name: s.name}
		for i, y := range s.y {
			series.Points = append(series.Points, Point{float64(i) / 10, y})
		}
		c.Series = append(c.Series, series)
	}
	golden.Check(t, "testdata/sweep.svg", draw(t, c))
}

func TestAxesCoverTheValuesInRoundSteps(t *testing.T) {
	for _, c := range []struct {
		values []float64
		ticks  string
	}{
		{[]float64{1, 8}, "0 1 2 3 4 5 6 7 8"},
		{[]float64{0, 1}, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{520, 880}, "0 200 400 600 800 1000"},
		{[]float64{-0.1, 0.55}, "-0.1 0.0 0.1 0.2 0.3 0.4 0.5 0.6"},
		{[]float64{0}, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{nil, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{0.003}, "0.0000 0.0005 0.0010 0.0015 0.0020 0.0025 0.0030"},
	} {
		a := axisOf(c.values, 100)
		var words []string
		for _, v := range a.ticks() {
			words = append(words, a.word(v))
		}
		if got := strings.Join(words, " "); got != c.ticks {
			t.Errorf("%v: %s, want %s", c.values, got, c.ticks)
		}
	}
}

func TestLogarithmicAxesCoverTheValuesInDecades(t *testing.T) {
	for _, c := range []struct {
		values []float64
		ticks  string
	}{
		{[]float64{1, 8}, "1 10"},
		{[]float64{1, 8192}, "1 10 100 1000 10000"},
		{[]float64{0.007, 20}, "0.001 0.01 0.1 1 10 100"},
		{[]float64{10}, "10 100"},
		{nil, "1 10"},
	} {
		a := logAxisOf(c.values, 100)
		var words []string
		for _, v := range a.ticks() {
			words = append(words, a.word(v))
		}
		if got := strings.Join(words, " "); got != c.ticks {
			t.Errorf("%v: %s, want %s", c.values, got, c.ticks)
		}
	}
}

// TestEveryChartIsXML draws charts with any names and values. The result is well-formed
// XML, every point lies in the plot, and a second chart has the same bytes.
func TestEveryChartIsXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Chart{Title: rapid.String().Draw(t, "title"), XName: rapid.String().Draw(t, "x"), YName: "<&\">\x00\xff"}
		value := rapid.Float64Range(-1e9, 1e9)
		if c.Log = rapid.Bool().Draw(t, "log"); c.Log {
			value = rapid.Float64Range(1e-9, 1e9)
		}
		for range rapid.IntRange(0, 15).Draw(t, "series") {
			s := Series{Name: rapid.String().Draw(t, "name")}
			for range rapid.IntRange(0, 4).Draw(t, "points") {
				s.Points = append(s.Points, Point{value.Draw(t, "x"), value.Draw(t, "y")})
			}
			c.Series = append(c.Series, s)
		}
		text := draw(t, c)
		d := xml.NewDecoder(bytes.NewReader(text))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
		}
		x, y := c.axes()
		for _, s := range c.Series {
			for _, p := range s.Points {
				if px, py := x.at(p.X), y.at(p.Y); px < -0.01 || px > plotWidth+0.01 || py < -0.01 || py > plotHeight+0.01 || math.IsNaN(px+py) {
					t.Fatal(fmt.Sprintf("%v is drawn at %v %v", p, px, py))
				}
			}
		}
		if !bytes.Equal(text, draw(t, c)) {
			t.Fatal("drawn twice, two pictures")
		}
	})
}
