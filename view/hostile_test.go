package view_test

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/svg"
	"mrlocal/view/viewtest"
)

// TestHostileEvents replaces a number in an event file by an extreme one. The file is refused or drawn,
// and takes neither much time nor much memory.
func TestHostileEvents(t *testing.T) {
	events := viewtest.Runs()[0].Simulate(t).Events
	numbers := regexp.MustCompile(`:-?\d+`).FindAllIndex(events, -1)
	seen := map[string]bool{} // the name of the field before the number, and the operation
	op := regexp.MustCompile(`"op":"([a-z-]+)"`)
	tried := 0
	for _, at := range numbers {
		line := events[bytes.LastIndexByte(events[:at[0]], '\n')+1 : at[0]]
		kind := string(line[bytes.LastIndexByte(line, ',')+1:])
		if m := op.FindSubmatch(line); m != nil {
			kind = string(m[1]) + kind
		}
		if seen[kind] {
			continue
		}
		seen[kind] = true
		for _, wild := range []int64{-1, 1<<31 - 1, 1<<63 - 1} {
			changed := append(append(bytes.Clone(events[:at[0]+1]), strconv.FormatInt(wild, 10)...), events[at[1]:]...)
			if bytes.Equal(changed, events) {
				continue
			}
			begun := time.Now()
			m, err := view.Load(bytes.NewReader(changed), nil)
			if err == nil {
				t.Errorf("%s = %d: no error", kind, wild)
			}
			tried++
			if m != nil { // draws the events before the error too, because a hash can be forged
				draw(t, m)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("%s = %d takes %v", kind, wild, took)
			}
		}
	}
	if tried < 60 {
		t.Errorf("%d files were tried", tried)
	}
}

// draw writes all pictures of a model.
func draw(t *testing.T, m *view.Model) {
	t.Helper()
	m.AppendJSON(nil, 0)
	m.Curves(0, max(1, m.Last), 100, slots.Together).AppendJSON(nil)
	for job := range min(2, len(m.Jobs)) {
		m.Shuffle(int32(job), m.Last, 40).AppendJSON(nil)
	}
	for _, err := range []error{svg.Write(io.Discard, []view.Named{{Model: m}}, svg.Options{}), export.Chrome(io.Discard, m), export.Metrics(io.Discard, m), export.TaskTable(io.Discard, m)} {
		if err != nil {
			t.Error(err)
		}
	}
}
