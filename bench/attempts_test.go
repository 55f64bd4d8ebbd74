package bench

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// TestMeasuresAreTheSlowModel compares the measures of an experiment with the slow model.
func TestMeasuresAreTheSlowModel(t *testing.T) {
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		m := measures{trace.Timeline{KeepPhases: true}}
		if err := m.line.Open(&r.Header); err != nil {
			t.Fatal(err)
		}
		for i := range r.Events {
			m.line.Add(&r.Events[i], r.Texts(&r.Events[i]))
		}
		const step = 2500 * time.Millisecond
		all := r.Spans(len(r.Events))
		running := map[[3]int]int{} // by step, pool and kind
		first, mapsEnd, mapTime := trace.Never, time.Duration(0), time.Duration(0)
		for i := range all {
			s := &all[i]
			switch {
			case s.Kind == trace.Map:
				mapTime += s.To - s.From
			case first < 0:
				first = s.From
			}
			if s.Kind == trace.Map && s.Done {
				mapsEnd = max(mapsEnd, s.To)
			}
			for at := time.Duration(0); at < m.line.End; at += step {
				if s.From <= at && at < s.To {
					running[[3]int{int(at / step), pool(r, &m, s.Job), int(s.Kind)}]++
				}
			}
		}
		if m.firstReduce() != first || m.mapsEnd() != mapsEnd || m.slotTime(trace.Map) != mapTime.Seconds() {
			t.Fatalf("the first reduce is at %v, the last map at %v, maps take %v s; want %v, %v, %v", m.firstReduce(), m.mapsEnd(), m.slotTime(trace.Map), first, mapsEnd, mapTime)
		}
		for i, pools := range m.line.Counts(step) {
			for p, kinds := range pools {
				for k, n := range kinds {
					if want := running[[3]int{i, p, k}]; n != want {
						t.Fatalf("step %d: %d %vs of pool %d run, want %d", i, n, trace.Kind(k), p, want)
					}
				}
			}
		}
	})
}

// pool returns the number of the pool of a job.
func pool(r *policytest.Recording, m *measures, job int32) int {
	for i := range r.Events {
		if e := &r.Events[i]; e.Op == trace.OpSubmit && e.Job == job {
			for p, name := range m.line.Pools {
				if name == r.Texts(e)[1] {
					return p
				}
			}
		}
	}
	return -1
}
