package term

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// TestProgressIsTheSlowModel compares the cells of slots and the counts of jobs with the slow model after any
// number of events.
func TestProgressIsTheSlowModel(t *testing.T) {
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		n, m := rapid.IntRange(1, len(r.Events)).Draw(t, "events"), newModel(r.Slots)
		for i := range r.Events[:n] {
			e := &r.Events[i]
			m.apply(e, func(int32) []string { return r.Texts(e) })
		}
		busy, running := map[int]bool{}, make([][trace.Kinds]int32, len(m.jobs))
		for _, s := range r.Spans(n) {
			if s.How == trace.EndNone {
				busy[int(s.Slot)] = true
				running[s.Job][s.Kind]++
			}
		}
		for i := range r.Slots {
			c, _, shown := m.cell(i, time.Hour)
			if busy[i] != (c != idleCell) || busy[i] && !shown {
				t.Fatalf("slot %d has %c, busy: %v", i, c, busy[i])
			}
		}
		for id, j := range m.jobs {
			for k := range trace.Kinds {
				got, done := j.of(trace.Kind(k)), int32(0)
				for task := range int32(40) {
					if r.Done(&trace.Event{Job: int32(id), Kind: trace.Kind(k), Task: task}, n) {
						done++
					}
				}
				// A task that is not needed counts in neither number.
				if dropped := j.counts.Dropped[k]; got.running != running[id][k] || got.done+dropped != done || got.total+dropped != j.counts.Total[k] {
					t.Fatalf("job %d has %+v, want %d running and %d done, %d of them dropped", id, got, running[id][k], done, dropped)
				}
			}
		}
	})
}
