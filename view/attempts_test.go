package view_test

import (
	"testing"

	"pgregory.net/rapid"

	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
)

// TestAModelIsTheSlowModel compares the bars and the counts of a model with the slow model after any number of
// events.
func TestAModelIsTheSlowModel(t *testing.T) {
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		n, m := rapid.IntRange(1, len(r.Events)).Draw(t, "events"), view.New()
		if err := m.Open(&r.Header); err != nil {
			t.Fatal(err)
		}
		for i := range r.Events[:n] {
			m.Add(&r.Events[i], r.Texts(&r.Events[i]))
		}
		want, ended := r.Spans(n), 0
		if len(m.Bars) != len(want) {
			t.Fatalf("%d bars, want %d", len(m.Bars), len(want))
		}
		running := make([][trace.Kinds]int32, len(m.Jobs))
		for i := range m.Bars {
			got := m.Bars[i].Span
			if got.Last = false; got != want[i] {
				t.Fatalf("bar %d is\n%+v, want\n%+v", i, got, want[i])
			}
			if got.How == trace.EndNone {
				running[got.Job][got.Kind]++
			} else {
				ended++
			}
		}
		if len(m.Ends) != ended {
			t.Fatalf("%d ends, want %d", len(m.Ends), ended)
		}
		for job := range m.Jobs {
			j, done := &m.Jobs[job], [trace.Kinds]int32{}
			for k, total := range [trace.Kinds]int32{j.Maps, j.Reduces} {
				for task := range total {
					if r.Done(&trace.Event{Job: int32(job), Kind: trace.Kind(k), Task: task}, n) {
						done[k]++
					}
				}
			}
			if j.Running != running[job] || j.Finished != done {
				t.Fatalf("job %d has %v running and %v finished, want %v and %v", job, j.Running, j.Finished, running[job], done)
			}
		}
	})
}
