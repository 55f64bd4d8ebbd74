package trace_test

import (
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// TestTheFoldIsTheSlowModel compares attempts and timelines with the slow model after any number of events.
func TestTheFoldIsTheSlowModel(t *testing.T) {
	seen := map[string]int{}
	policytest.Recordings(t, registry.New, func(t *rapid.T, r *policytest.Recording) {
		line, upTo := trace.Timeline{}, rapid.IntRange(0, len(r.Events)).Draw(t, "events")
		if err := line.Open(&r.Header); err != nil {
			t.Fatal(err)
		}
		for i := range r.Events {
			line.Add(&r.Events[i], r.Texts(&r.Events[i]))
			if i+1 == upTo || i+1 == len(r.Events) {
				compareSpans(t, line.Spans, r.Spans(i+1))
			}
		}
		compareEnds(t, line.Spans, r.Ledger)
		for i := range line.Spans {
			s := &line.Spans[i]
			for name, on := range map[string]bool{s.How.String(): true, "lent": s.Lent, "copies": s.Speculative, "moved": s.Moved, "late": s.How == trace.EndOK && !s.Done} {
				if on {
					seen[name]++
				}
			}
		}
	})
	t.Logf("attempts: %v", seen)
	for _, name := range []string{"ok", "failed", "killed", "lost", "lent", "copies", "moved"} {
		if seen[name] == 0 && testkit.Long() { // else few runs are drawn
			t.Errorf("no run had an attempt that is %s", name)
		}
	}
}

func compareSpans(t *rapid.T, got, want []trace.Span) {
	if len(got) != len(want) {
		t.Fatalf("%d attempts, want %d", len(got), len(want))
	}
	for i, g := range got {
		if g.Last = false; g != want[i] {
			t.Fatalf("attempt %d is\n%+v, want\n%+v", i, g, want[i])
		}
	}
}

// compareEnds compares how the attempts of each job ended with the counts of the Ledger.
func compareEnds(t *rapid.T, all []trace.Span, l *slots.Ledger) {
	for id := range slots.JobID(l.Jobs()) {
		for k := range slots.Kind(trace.Kinds) {
			failed, killed := int64(0), int64(0)
			for i := range all {
				switch s := &all[i]; {
				case s.Job != int32(id) || s.Kind != k:
				case s.How == trace.EndFailed:
					failed++
				case !s.Done:
					killed++
				}
			}
			if c := l.JobCounts(id, k); int64(c.Failed) != failed || int64(c.Killed) != killed {
				t.Fatalf("%d %vs of job %d failed and %d were killed, the Ledger counts %d and %d", failed, k, id, killed, c.Failed, c.Killed)
			}
		}
	}
}

// TestAnAttemptThatFailsAfterItsKillIsKilled, as the Ledger counts it. A kill of an earlier attempt on the slot is
// not its own.
func TestAnAttemptThatFailsAfterItsKillIsKilled(t *testing.T) {
	for _, c := range []struct {
		n    int32 // of the attempt that is killed
		want trace.How
	}{{0, trace.EndKilled}, {1, trace.EndFailed}} {
		var f trace.Attempts
		if err := f.Open(&trace.Header{Slots: []trace.Slot{{}}}); err != nil {
			t.Fatal(err)
		}
		for _, e := range []trace.Event{{Op: trace.OpSubmit, A: 1}, {Op: trace.OpStart}, {Op: trace.OpKill, N: c.n}, {Op: trace.OpFinish}} {
			f.Apply(&e)
		}
		if got := f.Latest(0).How; got != c.want {
			t.Errorf("a kill of attempt %d: %v, want %v", c.n, got, c.want)
		}
	}
}

// TestTasksThatNobodyAnnouncedTakeBoundedMemory: each job of a hostile file names one task with a large number.
func TestTasksThatNobodyAnnouncedTakeBoundedMemory(t *testing.T) {
	var f trace.Attempts
	if err := f.Open(&trace.Header{Slots: []trace.Slot{{}}}); err != nil {
		t.Fatal(err)
	}
	for job := range int32(100) {
		for _, e := range []trace.Event{{Op: trace.OpSubmit, Job: job, A: 1}, {Op: trace.OpDrop, Job: job, Task: trace.MaxTasks/2 - 1}} {
			f.Apply(&e)
		}
		if got, want := f.Job(job).Done[trace.Map], int32(min(1, max(0, 2-job))); got != want {
			t.Errorf("job %d: %d tasks are done, want %d", job, got, want)
		}
	}
}
