package export_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"mrlocal/internal/testkit"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/viewtest"
)

func text(t *testing.T, m *view.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := export.Metrics(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPromtoolHasNothingToSay checks the text with promlint, which has the rules of promtool check
// metrics.
func TestPromtoolHasNothingToSay(t *testing.T) {
	models := []*view.Model{viewtest.AllSigns(), view.New()}
	for _, run := range viewtest.Runs() {
		models = append(models, run.Model(t))
	}
	for i, m := range models {
		problems, err := promlint.New(bytes.NewReader(text(t, m))).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("model %d: %v, %v", i, problems, err)
		}
	}
	testkit.Golden(t, "testdata/signs.prom", text(t, models[0]))
}

// TestNamesAreEscaped uses a pool whose name has special characters.
func TestNamesAreEscaped(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1}, []string{"a\"b\\c\n# TYPE x counter\xff", "", ""})
	got := text(t, m)
	if problems, err := promlint.New(bytes.NewReader(got)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v: %s", problems, err, got)
	}
	if !strings.Contains(string(got), `name="a\"b\\c\n# TYPE x counter`+"\uFFFD\"") {
		t.Errorf("%s", got)
	}
}

// TestOnlyTheAttemptThatFinishedATaskCounts has a second attempt that ends well after the task was done.
func TestOnlyTheAttemptThatFinishedATaskCounts(t *testing.T) {
	m := view.New()
	_ = m.Open(&trace.Header{Slots: []trace.Slot{{ID: 0}, {ID: 1}}})
	m.Add(&trace.Event{Seq: 1, Op: trace.OpSubmit, A: 1, C: 1, Flags: trace.Sealed}, []string{"a", "", ""})
	m.Add(&trace.Event{Seq: 2, Op: trace.OpStart}, nil)
	m.Add(&trace.Event{Seq: 3, Op: trace.OpStart, Slot: 1, N: 1, Flags: trace.Speculative}, nil)
	m.Add(&trace.Event{Seq: 4, Op: trace.OpFinish, A: 100, Flags: trace.OK}, nil)
	m.Add(&trace.Event{Seq: 5, Op: trace.OpFinish, Slot: 1, N: 1, A: 100, Flags: trace.OK}, nil)
	if got := string(text(t, m)); !strings.Contains(got, "attempt_input_bytes_total 100\n") {
		t.Error(got)
	}
}
