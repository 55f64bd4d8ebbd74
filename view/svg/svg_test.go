package svg_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
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

func draw(t *testing.T, m *view.Model, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := svg.Write(&b, m, width); err != nil {
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
			for _, width := range []int{400, 1200, 20_000} {
				if bars, lent := counts(t, draw(t, m, width)); bars != want.Bars || lent != want.Lent {
					t.Errorf("width %d: %d bars, %d lent, want %d and %d", width, bars, lent, want.Bars, want.Lent)
				}
			}
		})
	}
}

func TestThePictureIsTheSameEachTime(t *testing.T) {
	run := viewtest.Runs()[0]
	if a, b := draw(t, run.Model(t), svg.Width), draw(t, run.Model(t), svg.Width); a != b {
		t.Error("two drawings of one run differ")
	}
}

// TestAllSigns draws a model that has every sign once.
func TestAllSigns(t *testing.T) {
	got := draw(t, viewtest.AllSigns(), svg.Width)
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

// TestTheLegendHasTheSignsThatOccur and no others.
func TestTheLegendHasTheSignsThatOccur(t *testing.T) {
	m := view.New(view.Options{})
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Core: -1}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1}, []string{"a", "p", ""})
	m.Add(&trace.Event{Seq: 2, Op: trace.OpStart}, nil)
	m.Add(&trace.Event{Seq: 3, Op: trace.OpFinish, At: time.Second}, nil)
	text := draw(t, m, svg.Width)
	for id := range view.SignCount {
		want := id == view.SignCompute || id == view.SignFailed || id == view.SignIdle
		if got := strings.Contains(text, ">"+view.SignOf(id).Words+"<"); got != want {
			t.Errorf("%s in the legend: %v", view.SignOf(id).Name, got)
		}
	}
}

// TestTheSummaryCountsTheSlotsThatAreDrawn checks that unused extra slots do not count.
func TestTheSummaryCountsTheSlotsThatAreDrawn(t *testing.T) {
	m := view.New(view.Options{})
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Core: -1}, {ID: 1, Core: -1, Extra: true}}})
	if got := svg.Summary(m); !strings.HasPrefix(got, "0 attempts on 1 slots ") {
		t.Error(got)
	}
}

// TestNamesAreText checks that a name cannot become markup, and that bytes that XML forbids are
// replaced.
func TestNamesAreText(t *testing.T) {
	m := view.New(view.Options{})
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0, Core: -1}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1}, []string{"<script>&\"\x01\xff", "p", ""})
	m.Add(&trace.Event{Seq: 2, Op: trace.OpStart}, []string{"</title>"})
	m.Add(&trace.Event{Seq: 3, Op: trace.OpFinish, At: time.Second, Flags: trace.OK}, nil)
	text := draw(t, m, svg.Width)
	if bars, _ := counts(t, text); bars != 1 || strings.Contains(text, "<script") {
		t.Error(text)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriterThatFailsIsReported(t *testing.T) {
	if err := svg.Write(failing{}, view.New(view.Options{}), svg.Width); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}
