package view_test

import (
	"strings"
	"testing"
	"time"

	"mrlocal/trace"
	"mrlocal/view"
)

// A status belongs to the attempt that runs on the slot. After the end of the attempt it is dropped.
func TestStatusesBelongToAttempts(t *testing.T) {
	s := trace.NewStream()
	m := view.New()
	s.Attach(m)
	s.Open(trace.Header{Slots: []trace.Slot{{}}})
	add := func(e trace.Event, texts ...string) {
		e.Ref = s.Refer(texts...)
		s.Append(e)
	}
	add(trace.Event{Op: trace.OpSubmit, A: 1}, "job", "pool", "")
	add(trace.Event{Op: trace.OpStart}, "rule")
	add(trace.Event{Op: trace.OpStatus, At: time.Second}, `half of "it"`)
	add(trace.Event{Op: trace.OpFinish, At: 2 * time.Second, Flags: trace.OK})
	add(trace.Event{Op: trace.OpStatus, At: 3 * time.Second}, "too late")
	want := `"statuses":{"seq":[3],"bar":[0],"at":[1000000000],"text":["half of \"it\""]}`
	if got := string(m.AppendJSON(nil, 0)); !strings.Contains(got, want) {
		t.Errorf("no %s in %s", want, got)
	}
	if got := string(m.AppendJSON(nil, 3)); strings.Contains(got, "statuses") {
		t.Errorf("a status again, after its number: %s", got)
	}
}
