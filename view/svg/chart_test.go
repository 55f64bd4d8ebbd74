package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/view"
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
	testkit.Golden(t, "testdata/sweep.svg", draw(t, c))
}

func TestAxesCoverTheValuesInRoundSteps(t *testing.T) {
	for _, c := range []struct {
		values []float64
		ticks  string
	}{
		{[]float64{1, 8}, "0 1 2 3 4 5 6 7 8"},
		{[]float64{2, 8}, "2 3 4 5 6 7 8"},
		{[]float64{-8, -1}, "-8 -7 -6 -5 -4 -3 -2 -1"},
		{[]float64{0, 1}, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{520, 880}, "500 550 600 650 700 750 800 850 900"},
		{[]float64{520, 520}, "0 100 200 300 400 500 600"},
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

// TestTheXAxisReachesFromTheFirstValueToTheLast checks that the axis has a tick at each value.
// Every n-th value has a label, and labels do not overlap.
func TestTheXAxisReachesFromTheFirstValueToTheLast(t *testing.T) {
	for _, c := range []struct {
		values []float64
		labels string
	}{
		{[]float64{54, 60, 66, 60, 54}, "54 60 66"},
		{[]float64{0, 0.1, 0.2, 0.1 + 0.2}, "0 0.1 0.2 0.3"},
		{[]float64{7}, "7"},
		{[]float64{-2, 1.5}, "-2 1.5"},
		{[]float64{1, 1000}, "1 1000"},
		{[]float64{268435456, 1342177280}, "268435456 1342177280"},
	} {
		a := dataAxisOf(c.values, plotWidth)
		var words []string
		for _, v := range a.ticks() {
			words = append(words, a.word(v))
		}
		if got := strings.Join(words, " "); got != c.labels {
			t.Errorf("%v: %s, want %s", c.values, got, c.labels)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 2, 300).Draw(t, "values")
		a := dataAxisOf(values, plotWidth)
		least, most := slices.Min(values), slices.Max(values)
		if least < most && (a.at(least) != xPad || math.Abs(a.at(most)-(plotWidth-xPad)) > 1e-6) {
			t.Fatalf("the axis has %v at %v and %v at %v", least, a.at(least), most, a.at(most))
		}
		for _, v := range values {
			if !slices.Contains(a.values, v) {
				t.Fatalf("no tick at %v", v)
			}
		}
		ticks := a.ticks()
		if ticks[0] != least {
			t.Fatalf("the first label is %v, not %v", ticks[0], least)
		}
		for i := 1; i < len(ticks); i++ {
			room := chartLetterWidth * float64(len(a.word(ticks[i]))+len(a.word(ticks[i-1]))) / 2
			if a.at(ticks[i])-a.at(ticks[i-1]) < room+labelGap-1e-6 {
				t.Fatalf("labels %s and %s touch", a.word(ticks[i-1]), a.word(ticks[i]))
			}
		}
	})
}

// TestManyPointsHaveNoMarkers: where markers would touch, the line is drawn without them, and the axis has ticks at
// labels only.
func TestManyPointsHaveNoMarkers(t *testing.T) {
	for _, n := range []int{mostMarkers, mostMarkers + 1} {
		c := &Chart{}
		for x := range n {
			c.Add("one", Point{float64(x), float64(x % 2)})
		}
		text := string(draw(t, c))
		markers, ticks := strings.Count(text, "<circle"), strings.Count(text, `class="axis"`)
		if few := n > mostMarkers; few != (markers == 1) || few != (ticks < n) {
			t.Errorf("%d points: %d markers with that of the legend, %d ticks", n, markers, ticks)
		}
	}
}

// TestALegendHasRoomForWideNames: a name of wide characters needs twice the room.
func TestALegendHasRoomForWideNames(t *testing.T) {
	width := func(name string) string {
		c := &Chart{}
		c.Add(name, Point{1, 1})
		return regexp.MustCompile(` width="\d+"`).FindString(string(draw(t, c)))
	}
	if wide, twice := width("日本語日本語日本語"), width("abcdefghiabcdefghi"); wide != twice || wide == width("abc") {
		t.Errorf("%s, want %s", wide, twice)
	}
}

// TestNoSeriesCoversAnother draws series that are partly equal. On a shared segment each series has its
// own dashes, and at a shared point its own marker.
func TestNoSeriesCoversAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Chart{}
		count := rapid.IntRange(2, 16).Draw(t, "series")
		for i := range count {
			for x := range rapid.IntRange(2, 9).Draw(t, "points") {
				c.Add(fmt.Sprint(i), Point{float64(x), float64(rapid.IntRange(1, 2).Draw(t, "y"))})
			}
		}
		x, y := c.axes()
		placed := c.place(x, y)
		for i := range placed {
			for n := 1; n < len(placed[i]); n++ {
				seen := map[int]bool{}
				_, want := placed.segment(i, placed[i][n-1], placed[i][n])
				for other := range placed {
					if n < len(placed[other]) && placed[other][n-1] == placed[i][n-1] && placed[other][n] == placed[i][n] {
						rank, got := placed.segment(other, placed[i][n-1], placed[i][n])
						if seen[rank] || rank >= got || got != want {
							t.Fatalf("series %d has dash %d of %d on a segment of %d series", other, rank, got, want)
						}
						seen[rank] = true
					}
				}
				if len(seen) != want {
					t.Fatalf("%d of %d series have dashes", len(seen), want)
				}
			}
		}
		drawn := map[string]bool{}
		text := string(draw(t, c))
		for _, at := range markersOf(text) {
			if drawn[at] {
				t.Fatalf("two markers at %s in\n%s", at, text)
			}
			drawn[at] = true
		}
		if equal := placed.share(); equal != strings.Contains(text, "dashes in turn") || equal != strings.Contains(text, "stroke-dashoffset") {
			t.Fatalf("equal segments: %v, in\n%s", equal, text)
		}
	})
}

// markersOf returns the middle of each circle, square, triangle and diamond in the plot.
func markersOf(text string) (places []string) {
	for line := range strings.SplitSeq(text, "\n") {
		var class int
		var x, y float64
		for format, shift := range map[string]float64{
			`<circle class="m%d" cx="%g" cy="%g" r="4"/>`: 0, `<rect class="m%d" x="%g" y="%g" width="8"`: markerSize, `<path class="m%d" d="M%g %gl`: 0,
		} {
			if n, _ := fmt.Sscanf(line, format, &class, &x, &y); n == 3 && x < chartLeft+plotWidth {
				up := shift
				if strings.HasPrefix(line, "<path") {
					up = markerSize + 1
				}
				places = append(places, fmt.Sprintf("%.1f %.1f", x+shift, y+up))
			}
		}
	}
	return places
}

// TestEveryChartIsXML draws charts with any names and values. The result is well-formed
// XML, every point lies in the plot, and a second chart has the same bytes.
func TestEveryChartIsXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Chart{Title: rapid.String().Draw(t, "title"), XName: rapid.String().Draw(t, "x"), YName: "<&\">\x00\xff"}
		value := rapid.Float64Range(-1e9, 1e9)
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

// TestLinesOfAChartCanBeSeen computes the contrast of lines, markers and text with the ground, in both themes.
func TestLinesOfAChartCanBeSeen(t *testing.T) {
	light, dark, _ := strings.Cut(chartStyle, "@media")
	for name, style := range map[string]string{"light": light, "dark": light + dark} { // later rules win
		colour := func(rule string) (c view.Colour) {
			all := regexp.MustCompile(rule+`: #(..)(..)(..)`).FindAllStringSubmatch(style, -1)
			for i, hex := range all[len(all)-1][1:] {
				v, _ := strconv.ParseUint(hex, 16, 8)
				c[i] = float64(v)
			}
			return c
		}
		ground := colour(`\.ground { fill`)
		if got := colour(`text { .*fill`).Contrast(ground); got < 4.5 {
			t.Errorf("%s: text has %.2f : 1", name, got)
		}
		for i := range chartColours {
			for _, rule := range []string{`\.s%d { stroke`, `\.m%d { fill`} {
				if got := colour(fmt.Sprintf(rule, i)).Contrast(ground); got < 3 {
					t.Errorf("%s: %s has %.2f : 1", name, fmt.Sprintf(rule, i), got)
				}
			}
		}
	}
}
