package policytest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Recording is a random run under a policy, with lost trackers and outputs, dropped, restored, failed, copied
// and killed tasks. Its methods are a slow model of the run: each reads all events up to one of them again.
type Recording struct {
	Log
	trace.Header
	Ledger *slots.Ledger // at the end of the run
	File   bytes.Buffer  // the event file
}

// Open keeps the header of the run.
func (r *Recording) Open(h *trace.Header) error { r.Header = *h; return nil }

// Recordings draws runs. Together their policies lend slots, start copies, kill attempts, drain slots and change
// the home kinds of slots. newPolicy is registry.New. Recordings compares the attempts of package trace with the
// Ledger at each instant. check then compares a reader with the slow model.
func Recordings(t *testing.T, newPolicy func(name string, o policy.Options) (slots.Policy, error), check func(t *rapid.T, r *Recording)) {
	testkit.Check(t, func(rt *rapid.T) {
		o, name := policy.DefaultOptions(), rapid.SampledFrom([]string{"late", "pi-dhfs", "dynamicmr", "dynsplit"}).Draw(rt, "policy")
		o.SEPB, o.CopyAfter = rapid.Bool().Draw(rt, "SEPB"), rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "copy after")
		o.CopyRule = rapid.SampledFrom([]string{"late", "hadoop"}).Draw(rt, "copy rule")
		p, err := newPolicy(name, o)
		if err != nil {
			rt.Fatal(err)
		}
		w := drawWorkload(rt, Claims{Periods: rapid.Bool().Draw(rt, "periods")})
		r, live := &Recording{}, &liveAttempts{}
		w.options.Sinks = []trace.Sink{r, live, trace.NewJSONL(&r.File)}
		w.options.Each = func(_ time.Duration, l *slots.Ledger) error { return live.compare(l) }
		if r.Ledger, err = Drive(w.config, p, w.jobs, w.options); err != nil {
			rt.Fatal(err)
		}
		// The slow model reads the events many times.
		r.Events = slices.DeleteFunc(r.Events, func(e trace.Event) bool { return e.Op.Class() == trace.Ask || e.Op == trace.OpPlace })
		check(rt, r)
	})
}

// liveAttempts is a trace.Sink with the attempts of a run.
type liveAttempts struct{ trace.Attempts }

// Record adds an event.
func (a *liveAttempts) Record(_ *trace.Stream, e *trace.Event) error { a.Apply(e); return nil }

// compare fails if the Ledger has other counts of tasks, or another attempt on a slot.
func (a *liveAttempts) compare(l *slots.Ledger) error {
	for id := range slots.JobID(l.Jobs()) {
		got, j := a.Job(int32(id)), l.View().Job(id)
		for k := range slots.Kind(trace.Kinds) {
			if got.Total[k] != j.Total(k) || got.Done[k] != j.Done(k) || got.Running[k] != j.Running(k) {
				return fmt.Errorf("job %d has %+v, the Ledger %d %ss, %d done, %d running", id, got, j.Total(k), k, j.Done(k), j.Running(k))
			}
		}
	}
	for i := range l.Config().Slots {
		got, s := a.Latest(int32(i)), l.View().Slot(slots.SlotID(i))
		if busy := got != nil && got.How == trace.EndNone; busy != s.Busy || busy && (got.From != s.Started || got.N != s.Attempt.N || got.Lent != s.Lent || got.Phase != s.Phase) {
			return fmt.Errorf("slot %d has %+v, the Ledger %+v", i, got, s)
		}
	}
	return nil
}

// Spans returns the attempts as they are after the first n events, in the order of their starts. It leaves out
// the field Last.
func (r *Recording) Spans(n int) (all []trace.Span) {
	for i := range r.Events[:n] {
		if r.Events[i].Op == trace.OpStart {
			all = append(all, r.span(i, n))
		}
	}
	return all
}

// span returns the attempt that event number start starts, as it is after the first n events.
func (r *Recording) span(start, n int) trace.Span {
	e := &r.Events[start]
	s := trace.Span{Seq: e.Seq, From: e.At, To: trace.Never, Slot: e.Slot, Job: e.Job, Task: e.Task, N: e.N, Kind: e.Kind,
		Lent: e.Has(trace.Lent), Speculative: e.Has(trace.Speculative), Only: !r.runs(e, start)}
	for i := range r.Events[:start] {
		if home := &r.Events[i]; home.Op == trace.OpHome && home.Slot == e.Slot {
			s.Moved = home.Kind != r.Slots[e.Slot].Home
		}
	}
	end := r.end(start)
	if end >= n {
		return s
	}
	last := &r.Events[end]
	s.To = last.At
	switch {
	case last.Op == trace.OpLostTracker:
		s.How = trace.EndLost
	case last.Has(trace.OK):
		s.How, s.Done = trace.EndOK, !r.Done(e, end) && r.Done(e, end+1)
	case last.Has(trace.Killed) || r.ordered(start, end):
		s.How = trace.EndKilled
	default:
		s.How = trace.EndFailed
	}
	return s
}

// sameTask reports whether two events are about one task.
func sameTask(a, b *trace.Event) bool { return a.Job == b.Job && a.Kind == b.Kind && a.Task == b.Task }

// end returns the number of the event that ends the attempt of a start; that of the last event plus 1: it runs.
func (r *Recording) end(start int) int {
	s := &r.Events[start]
	for i := start + 1; i < len(r.Events); i++ {
		e := &r.Events[i]
		if e.Op == trace.OpLostTracker && e.A == int64(r.Slots[s.Slot].Tracker) || e.Op == trace.OpFinish && e.Slot == s.Slot && sameTask(e, s) && e.N == s.N {
			return i
		}
	}
	return len(r.Events)
}

// runs reports whether an attempt of the task of e runs after the first n events.
func (r *Recording) runs(e *trace.Event, n int) bool {
	for i := range r.Events[:n] {
		if r.Events[i].Op == trace.OpStart && sameTask(&r.Events[i], e) && r.end(i) >= n {
			return true
		}
	}
	return false
}

// ordered reports whether an event between the start and the end of an attempt orders its end. A kill orders it, and
// so does the end of its job. So does the end of another attempt that commits its task.
func (r *Recording) ordered(start, end int) bool {
	s := &r.Events[start]
	for i := start + 1; i < end; i++ {
		e := &r.Events[i]
		if e.Op == trace.OpKill && e.Slot == s.Slot && sameTask(e, s) && e.N == s.N || e.Op == trace.OpJobEnd && e.Job == s.Job || !r.Done(s, i) && r.Done(s, i+1) {
			return true
		}
	}
	return false
}

// Done reports whether the task of of is done after the first n events: committed, dropped or restored.
func (r *Recording) Done(of *trace.Event, n int) bool {
	const no, dropped, somewhere = -3, -2, -1 // or the tracker of the output
	at, reduces := int32(no), int64(0)
	for i := range r.Events[:n] {
		e := &r.Events[i]
		switch {
		case e.Op == trace.OpSubmit && e.Job == of.Job:
			reduces = e.B
		case e.Op == trace.OpJobEnd && e.Job == of.Job:
			return at != no
		case e.Op == trace.OpLostTracker && of.Kind == trace.Map && reduces > 0 && int64(at) == e.A:
			at = no
		case !sameTask(e, of):
		case e.Op == trace.OpFinish && e.Has(trace.OK) && e.Slot >= 0 && at == no:
			at = r.Slots[e.Slot].Tracker
		case e.Op == trace.OpDrop && at == no:
			at = dropped
		case e.Op == trace.OpRestore && at == no && !r.runs(of, i):
			at = somewhere
		case e.Op == trace.OpLostOutput && at != dropped:
			at = no
		}
	}
	return at != no
}
