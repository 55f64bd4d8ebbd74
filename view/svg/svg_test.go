package svg_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/testkit"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/svg"
	"mrlocal/view/viewtest"
)

func draw(t *testing.T, m *view.Model, square bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := svg.Write(&b, []view.Named{{Name: m.Policy, Model: m}}, svg.Options{Square: square}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// counts has the numbers of bars in a picture.
func counts(t *testing.T, text string) (bars, lent int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return bars, lent
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "g" {
			continue
		}
		a := map[string]string{}
		for _, attr := range e.Attr {
			a[attr.Name.Local] = attr.Value
		}
		switch a["class"] {
		case "bar":
			bars++
		case "bar lent":
			bars++
			lent++
		case "many":
			n, _ := strconv.Atoi(a["data-bars"])
			k, _ := strconv.Atoi(a["data-lent"])
			bars, lent = bars+n, lent+k
		}
	}
}

// TestThePictureHasEachBarOnce draws at several widths, also with bars narrower than a pixel.
func TestThePictureHasEachBarOnce(t *testing.T) {
	for _, run := range viewtest.Runs() {
		t.Run(run.Name, func(t *testing.T) {
			m := run.Model(t)
			want := m.Totals()
			for _, square := range []bool{false, true} {
				if bars, lent := counts(t, draw(t, m, square)); bars != want.Bars || lent != want.Lent {
					t.Errorf("square %v: %d bars, %d lent, want %d and %d", square, bars, lent, want.Bars, want.Lent)
				}
			}
		})
	}
}

func TestThePictureIsTheSameEachTime(t *testing.T) {
	run := viewtest.Runs()[0]
	if a, b := draw(t, run.Model(t), false), draw(t, run.Model(t), false); a != b {
		t.Error("two drawings of one run differ")
	}
}

// TestAllSigns draws a model that has every sign once.
func TestAllSigns(t *testing.T) {
	got := draw(t, viewtest.AllSigns(), false)
	testkit.Golden(t, "testdata/signs.svg", []byte(got))
	for id := range view.SignCount {
		s := view.SignOf(id)
		if !viewtest.AllSigns().Occurs(id) {
			t.Errorf("the model needs no %s", s.Name)
		}
		class := string(s.Mark)
		if s.Height > 0 {
			class = "h0" + s.Name
		}
		if n := strings.Count(got, `"`+class); class != "" && n < 2 || strings.Count(got, ">"+s.Words+"<") != 1 { // one in the legend
			t.Errorf("%s is drawn %d times, want in the legend and in the picture", s.Name, n)
		}
	}
}

// TestManyRunsAreFolded draws seven runs with more slots than a picture has rows, in the other shape and theme.
func TestManyRunsAreFolded(t *testing.T) {
	var runs []view.Named
	for i := range 7 {
		runs = append(runs, view.Named{Name: strings.Repeat("run ", i*i) + strconv.Itoa(i), Model: viewtest.AllSigns()})
	}
	var b bytes.Buffer
	if err := svg.Write(&b, runs, svg.Options{Title: "Seven <runs>", Square: true, Dark: true, Link: "http://127.0.0.1:8080/#seq=3"}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/folded.svg", b.Bytes())
	text := b.String()
	for words, want := range map[string]int{`class="endtime"`: 7, `class="row"`: 21, "2 slots": 7, `class="network"`: 8, ">killed<": 0, ">spill<": 0, ">tracker lost<": 1, `<a href="http://127.0.0.1:8080/#seq=3">`: 1} {
		if got := strings.Count(text, words); got != want {
			t.Errorf("%s occurs %d times, want %d", words, got, want)
		}
	}
}

// TestRowsAreAtMostTwentyFour divides the slots of one to MostRuns runs into rows.
func TestRowsAreAtMostTwentyFour(t *testing.T) {
	m := viewtest.Runs()[0].Model(t)
	var runs []view.Named
	for range svg.MostRuns {
		runs = append(runs, view.Named{Name: "r", Model: m})
		var b bytes.Buffer
		if err := svg.Write(&b, runs, svg.Options{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), `class="row"`); n > 24 || n < len(runs) {
			t.Errorf("%d runs have %d rows", len(runs), n)
		}
	}
}

// TestManyJobsAreTwelveAndOthers draws 40 jobs in bands. The jobs differ in their slot time.
func TestManyJobsAreTwelveAndOthers(t *testing.T) {
	text := "cluster: {trackers: 2, map_slots: 20, reduce_slots: 5}\njobs:\n"
	for i := range 40 {
		text += fmt.Sprintf("  - {name: job%d, maps: %d, map_time: 5s}\n", i, 1+i)
	}
	m := viewtest.Run{Policy: "fifo", Cost: "l0", Workload: text}.Model(t)
	got := draw(t, m, false)
	for i := range 40 {
		if has := strings.Contains(got, fmt.Sprintf(">job%d<", i)); has != (i >= 28) {
			t.Errorf("job %d in the legend: %v", i, has)
		}
	}
	if grey := strings.Count(got, fmt.Sprintf(`class="layer h%dcompute"`, view.HueCount)); !strings.Contains(got, ">28 others<") || grey != 2 {
		t.Errorf("%d grey layers, want one for each tracker", grey)
	}
}

// TestTextAndMarksCanBeSeen computes contrasts of the colours that the style of a picture has: 4.5 : 1 for text, and
// 3 : 1 for lines and marks.
func TestTextAndMarksCanBeSeen(t *testing.T) {
	for _, dark := range []bool{false, true} {
		var b bytes.Buffer
		if err := svg.Write(&b, []view.Named{{Model: viewtest.AllSigns()}}, svg.Options{Dark: dark}); err != nil {
			t.Fatal(err)
		}
		// colour returns a colour of a class, or of the lines of a pattern.
		colour := func(format string, args ...any) (c view.Colour) {
			all := regexp.MustCompile(fmt.Sprintf(format, args...) + `#([0-9a-f]{6})`).FindStringSubmatch(b.String())
			if all == nil {
				t.Fatalf("no "+format, args...)
			}
			v, _ := strconv.ParseUint(all[1], 16, 32)
			return view.Colour{float64(v >> 16), float64(v >> 8 & 255), float64(v & 255)}
		}
		ground := colour(`\.ground { fill: `)
		for _, c := range []struct {
			what string
			a, b view.Colour
			want float64
		}{
			{"text", colour(`text {[^}]*fill: `), ground, 4.5},
			{"quiet text", colour(`\.quiet {[^}]*fill: `), ground, 4.5},
			{"the badge of maps", colour(`\.mapbadge-text { fill: `), colour(`\.mapbadge { fill: `), 4.5},
			{"the badge of reduces", colour(`text {[^}]*fill: `), colour(`\.reducebadge { fill: `), 4.5},
			{"letters against their edge", colour(`text {[^}]*fill: `), colour(`\.letter {[^}]*stroke: `), 4.5},
			{"the mark of an end", colour(`\.end { stroke: `), ground, 3},
			{"the first end", colour(`\.first { stroke: `), ground, 3},
			{"dashes", colour(`\.dashes {[^}]*stroke: `), colour(`\.dashesground {[^}]*stroke: `), 3},
			{"a cross", colour(`\.cross {[^}]*stroke: `), colour(`\.hollow { fill: `), 3},
			{"a corner", colour(`\.corner {[^}]*stroke: `), colour(`\.corner { fill: `), 3},
			{"a strip", colour(`\.strip { fill: `), colour(`\.strip {[^}]*stroke: `), 3},
			{"hatches", colour(`id="up".*?stroke="`), colour(`id="up".*stroke="`), 3},
			{"hatches", colour(`id="down".*?stroke="`), colour(`id="down".*stroke="`), 3},
			{"the network", colour(`id="network".*stroke="`), ground, 3},
			{"rows", colour(`\.row { stroke: `), ground, 3},
		} {
			if got := c.a.Contrast(c.b); got < c.want {
				t.Errorf("dark %v: %s has %.2f : 1, want %v", dark, c.what, got, c.want)
			}
		}
		for i := range view.HueCount {
			if got := colour(`\.h%drule { stroke: `, i).Contrast(colour(`\.h%dreduce { fill: `, i)); got < 3 {
				t.Errorf("dark %v: the rule of hue %d has %.2f : 1", dark, i, got)
			}
		}
	}
}

// TestReducesOfBandsHaveLines checks that reduces of bands differ from maps by more than a tone: by the hatch of a
// loan, or by lines with a contrast of 3 : 1 against reduces and maps of their hue.
func TestReducesOfBandsHaveLines(t *testing.T) {
	text := "cluster: {trackers: 2, map_slots: 20, reduce_slots: 5}\njobs:\n"
	for i := range 40 {
		text += fmt.Sprintf("  - {name: job%d, maps: %d, map_time: 5s, reduces: 1, reduce_time: 5s}\n", i, 1+i)
	}
	m := viewtest.Run{Policy: "pi-dhfs", Cost: "l0", Workload: text}.Model(t)
	for _, theme := range []*view.Theme{view.Light(), view.Dark()} {
		var b bytes.Buffer
		if err := svg.Write(&b, []view.Named{{Model: m}}, svg.Options{Dark: theme.Ground == view.Dark().Ground}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		ruled := map[string]bool{}
		for _, layer := range regexp.MustCompile(`<path class="layer h(\d)reduce" (d="[^"]+"/>)(?:<path class="([^"]*)" (d="[^"]+"/>))?`).FindAllStringSubmatch(got, -1) {
			hue, mark := layer[1], layer[3]
			if layer[2] != layer[4] || mark != "down" && mark != "h"+hue+"rules" {
				t.Fatalf("reduces of hue %s have the mark %q", hue, mark)
			}
			ruled[hue] = ruled[hue] || mark != "down"
		}
		for i, hue := range theme.Hues[:view.HueCount+1] {
			line := hue.Text["reduce"]
			pattern := fmt.Sprintf(`<pattern id="rules%d" width="8" height="8" patternUnits="userSpaceOnUse"><path class="h%drule" `, i, i)
			style := fmt.Sprintf(".h%drule { stroke: %s; } .h%drules { fill: url(#rules%d); }", i, line.Hex(), i, i)
			if !ruled[strconv.Itoa(i)] || !strings.Contains(got, pattern) || !strings.Contains(got, style) {
				t.Errorf("reduces of hue %d have no lines", i)
			}
			if a, b := line.Contrast(hue.Tones["reduce"]), line.Contrast(hue.Tones["compute"]); min(a, b) < 3 {
				t.Errorf("the lines of hue %d have %.2f : 1 against reduces and %.2f : 1 against maps", i, a, b)
			}
		}
	}
}

// TestTheLegendHasTheSignsThatOccur and no others.
func TestTheLegendHasTheSignsThatOccur(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Core: -1}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1}, []string{"a", "p", ""})
	m.Add(&trace.Event{Seq: 2, Op: trace.OpStart}, nil)
	m.Add(&trace.Event{Seq: 3, Op: trace.OpFinish, At: time.Second}, nil)
	text := draw(t, m, false)
	for id := range view.SignCount {
		want := id == view.SignCompute || id == view.SignFailed || id == view.SignIdle
		if got := strings.Contains(text, ">"+view.SignOf(id).Words+"<"); got != want {
			t.Errorf("%s in the legend: %v", view.SignOf(id).Name, got)
		}
	}
}

// TestTheSummaryCountsTheSlotsThatAreDrawn checks that unused extra slots do not count.
func TestTheSummaryCountsTheSlotsThatAreDrawn(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Core: -1}, {ID: 1, Core: -1, Extra: true}}})
	if got := svg.Summary(m); !strings.HasPrefix(got, "0 attempts on 1 slot ") {
		t.Error(got)
	}
}

// TestNamesAreText checks that a name cannot become markup, and that bytes that XML forbids are
// replaced.
func TestNamesAreText(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Core: -1}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1}, []string{"<script>&\"\x01\xff", "p", ""})
	m.Add(&trace.Event{Seq: 2, Op: trace.OpStart}, []string{"</title>"})
	m.Add(&trace.Event{Seq: 3, Op: trace.OpFinish, At: time.Second, Flags: trace.OK}, nil)
	text := draw(t, m, false)
	if bars, _ := counts(t, text); bars != 1 || strings.Contains(text, "<script") {
		t.Error(text)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriterThatFailsIsReported(t *testing.T) {
	if err := svg.Write(failing{}, []view.Named{{Model: view.New()}}, svg.Options{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}
