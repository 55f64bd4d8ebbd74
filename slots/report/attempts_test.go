package report_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// TestAReportIsTheSlowModel compares the times of slots and the tasks of jobs with the slow model.
func TestAReportIsTheSlowModel(t *testing.T) {
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		got, all := report.FromLedger("sim", r.Ledger), r.Spans(len(r.Events))
		busy, lent := map[int32]time.Duration{}, map[int32]time.Duration{}
		failed, copies := map[int32]int64{}, map[int32]int64{}
		for i := range all {
			s := &all[i]
			busy[s.Slot] += s.To - s.From
			if s.Lent {
				lent[s.Slot] += s.To - s.From
			}
			if s.Kind == trace.Map && s.How == trace.EndFailed {
				failed[s.Job]++
			}
			if s.Kind == trace.Map && s.Speculative {
				copies[s.Job]++
			}
		}
		for _, s := range got.Slots {
			if id := int32(s.ID); s.BusyS != busy[id].Seconds() || s.LentS != lent[id].Seconds() {
				t.Fatalf("slot %d was busy for %v s and lent for %v s, want %v and %v", id, s.BusyS, s.LentS, busy[id], lent[id])
			}
		}
		for i := range got.Jobs {
			if c := &got.Jobs[i].Counters; c.FailedMaps != failed[int32(i)] || c.SpeculativeMaps != copies[int32(i)] {
				t.Fatalf("job %d: %d maps failed and %d are copies, want %d and %d", i, c.FailedMaps, c.SpeculativeMaps, failed[int32(i)], copies[int32(i)])
			}
		}
	})
}
