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
		run := Run{}
		if err := run.Open(&r.Header); err != nil {
			t.Fatal(err)
		}
		for i := range r.Events {
			_ = run.Record(nil, &r.Events[i]) // never fails
		}
		var want []trace.Span
		sum, tasks := [trace.Kinds]time.Duration{}, [trace.Kinds]int{}
		for _, s := range r.Spans(len(r.Events)) {
			if s.Done {
				want = append(want, s)
				sum[s.Kind] += s.To - s.From
				tasks[s.Kind]++
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
		if got != len(want) {
			t.Fatalf("%d attempts, want %d", got, len(want))
		}
		for p, kind := range map[period]trace.Kind{maps: trace.Map, reduces: trace.Reduce} {
			if mean := sum[kind].Seconds() / float64(max(1, tasks[kind])); run.mean(p) != mean {
				t.Fatalf("the mean of period %d is %v, want %v", p, run.mean(p), mean)
			}
		}
	})
}
