package html_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/html"
	"mrlocal/view/viewtest"
)

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAReportIsWhole checks that a report has the bars of the model, a reason for each loan in its
// table, and the events as recorded. It has no script and loads nothing.
func TestAReportIsWhole(t *testing.T) {
	for _, run := range viewtest.Runs() {
		t.Run(run.Name, func(t *testing.T) {
			s := run.Simulate(t)
			var reasons []*explain.Reason
			if err := explain.Reasons(bytes.NewReader(s.Events), explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
				reasons = append(reasons, x)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			d := html.New(&b, run.Name)
			d.Run(html.Run{Model: s.Model, Reasons: reasons, Events: packed(t, s.Events), EventFile: "run.jsonl.gz"})
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			checkReport(t, b.String(), s)
		})
	}
}

func checkReport(t *testing.T, text string, s viewtest.Result) {
	totals := s.Model.Totals()
	lent := strings.Count(text, `<g class="bar lent">`)
	if many := strings.Contains(text, "data-bars"); !many && (lent != totals.Lent || lent+strings.Count(text, `<g class="bar">`) != totals.Bars) {
		t.Errorf("the picture has %d lent bars, want %d", lent, totals.Lent)
	}
	for _, part := range []string{"<script", "http://", "https://", "onload", "src="} {
		if strings.Contains(strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, ""), part) {
			t.Errorf("the report contains %s", part)
		}
	}
	if totals.Lent > 0 && strings.Contains(text, "No slot was lent") || totals.Lent == 0 && !strings.Contains(text, "No slot was lent") {
		t.Errorf("%d lent bars, and the report says otherwise", totals.Lent)
	}
	if totals.Lent > 0 && !strings.Contains(text, "lent") {
		t.Error("no reason of a loan")
	}
	_, data, _ := strings.Cut(text, "base64,")
	data, _, _ = strings.Cut(data, `"`)
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if events, err := io.ReadAll(z); err != nil || !bytes.Equal(events, s.Events) {
		t.Errorf("the events inside are not those of the run: %v", err)
	}
}

func TestTablesSayWhatTheyLeaveOut(t *testing.T) {
	m := view.New()
	h := trace.Header{Policy: "fair"}
	for i := range 2003 {
		h.Slots = append(h.Slots, trace.Slot{ID: int32(i)})
	}
	if err := m.Open(&h); err != nil {
		t.Fatal(err)
	}
	for i := range 501 {
		m.Add(&trace.Event{Seq: uint64(i) + 1, Op: trace.OpSubmit, Job: int32(i), A: 1}, []string{"J", "", ""})
	}
	var b bytes.Buffer
	d := html.New(&b, "a large run")
	d.Run(html.Run{Model: m})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Rows left out: 1. The events of the run have all jobs.", "Rows left out: 3. The events of the run have all slots."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestTablesOfCSV(t *testing.T) {
	var b bytes.Buffer
	d := html.New(&b, "a <b> & c")
	d.CSV("figures", []byte("experiment,paper,ours,low,high,ci_low,ci_high\n<i>,10,9,8,12,8.5,9.5\nwords,,true,,,,\nrange,40..60 %,75,40,60,,\n"), true)
	d.Picture("chart", func(w io.Writer) error {
		_, err := io.WriteString(w, "<svg></svg>")
		return err
	})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;b&gt; &amp; c", `<td class="w">&lt;i&gt;</td>`, `<td class="n">10</td>`, `aria-label="ours is 0.90 times the paper&#39;s"`, `cx="72.0"`, "<figure><svg></svg></figure>", "</html>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
	if strings.Count(b.String(), "<circle") != 2 || !strings.Contains(b.String(), "1.50 times") {
		t.Error("a figure without numbers is drawn")
	}
}

func TestNamesAreText(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Policy: "<script>", Slots: []trace.Slot{{ID: 0, Core: -1}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1}, []string{"<script>x", "<script>y", ""})
	var b bytes.Buffer
	d := html.New(&b, "<script>")
	d.Run(html.Run{Model: m, EventFile: `"><script>`, Events: []byte{}})
	if err := d.Close(); err != nil || strings.Contains(b.String(), "<script") {
		t.Errorf("%v: %s", err, b.String())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriterThatFailsIsReported(t *testing.T) {
	d := html.New(failing{}, "x")
	d.Run(html.Run{Model: viewtest.AllSigns()})
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}

func TestNumbersOfTablesCanBeRead(t *testing.T) {
	for cell, want := range map[string]string{
		"0.5808080808080808": `"n">0.58081<`, "26569.912345": `"n">26570<`, "109478.5": `"n">109478<`, "740": `"n">740<`, "1910.26": `"n">1910.3<`,
		"0.333": `"n">0.333<`, "123456789": `"n">123456789<`, "0.00012345678": `"n">0.00012345678<`, "-12.3456789": `"n">-12.346<`, "0.0": `"n">0.0<`,
		"32..55 %": `"w">32..55 %<`, "a sentence that is longer than a line of a table": `"t">a sentence`,
	} {
		var b bytes.Buffer
		d := html.New(&b, "t")
		d.CSV("figures", []byte("of\n"+cell+"\n"), false)
		if err := d.Close(); err != nil || !strings.Contains(b.String(), "<td class="+want) {
			t.Errorf("%s: it is not written as %s (%v)", cell, want, err)
		}
	}
}
