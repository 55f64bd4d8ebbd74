package study

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// TestMeasuredTasksAreTheSlowModel compares the attempts of profile and the times of tune with the slow model.
func TestMeasuredTasksAreTheSlowModel(t *testing.T) {
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		run, times := Run{}, taskTimes{}
		if err := run.Open(&r.Header); err != nil {
			t.Fatal(err)
		}
		if err := times.Open(&r.Header); err != nil {
			t.Fatal(err)
		}
		for i := range r.Events {
			_, _ = run.Record(nil, &r.Events[i]), times.Record(nil, &r.Events[i]) // they never fail
		}
		var want []trace.Span
		sum := [trace.Kinds]time.Duration{}
		for _, s := range r.Spans(len(r.Events)) {
			if s.Done {
				want = append(want, s)
				sum[s.Kind] += s.To - s.From
			}
		}
		got := 0
		for job := range run.stages {
			for _, a := range run.stages[job].attempts {
				if got++; !a.Done || a.Job != int32(job) || a.from < a.From || a.To < a.from {
					t.Fatalf("job %d has %+v", job, a)
				}
				found := false
				for _, s := range want {
					found = found || s.Seq == a.Seq && s.To == a.To
				}
				if !found {
					t.Fatalf("no attempt is %+v", a)
				}
			}
		}
		if got != len(want) || times.tasks[0]+times.tasks[1] != len(want) || times.sum[maps] != sum[trace.Map] || times.sum[reduces] != sum[trace.Reduce] {
			t.Fatalf("%d attempts, %+v; want %d, %v", got, times.sum, len(want), sum)
		}
	})
}
