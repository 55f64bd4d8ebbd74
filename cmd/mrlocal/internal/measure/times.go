package measure

import (
	"time"

	"mrlocal/trace"
)

// period is the part of a task that is timed.
type period uint8

const (
	maps    period = iota // a map from its start to its commit
	reduces               // a reduce from its start to its commit
	shuffle               // the part of a reduce until it has copied everything
	compute               // the rest of a reduce: sort and reduce
	periods
)

// taskTimes is a trace.Sink that adds up how long the tasks of one run took.
// Only attempts that committed count.
type taskTimes struct {
	sum   [periods]time.Duration
	tasks [trace.Kinds]int
	open  map[int32]attemptTime // by slot
}

// attemptTime is when the attempt on a slot started, and when it had copied all
// map outputs, since the start of the run.
type attemptTime struct {
	kind            trace.Kind
	started, copied time.Duration
}

// Record implements trace.Sink.
func (t *taskTimes) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	// A reduce that copies nothing has no phase of copying, so copied begins as the start.
	case trace.OpStart:
		if t.open == nil {
			t.open = map[int32]attemptTime{}
		}
		t.open[e.Slot] = attemptTime{kind: e.Kind, started: e.At, copied: e.At}
	case trace.OpPhase:
		if a := t.open[e.Slot]; e.Phase == trace.PhaseSort {
			a.copied = e.At
			t.open[e.Slot] = a
		}
	case trace.OpFinish:
		// A failed attempt stays in open until the next one starts on its slot.
		if e.Has(trace.OK) {
			t.add(t.open[e.Slot], e.At)
		}
	}
	return nil
}

// add adds the times of an attempt that committed at end.
func (t *taskTimes) add(a attemptTime, end time.Duration) {
	t.tasks[a.kind]++
	if a.kind == trace.Map {
		t.sum[maps] += end - a.started
		return
	}
	t.sum[reduces] += end - a.started
	t.sum[shuffle] += a.copied - a.started
	t.sum[compute] += end - a.copied
}

// mean returns the mean time in seconds, or 0 if no task ended.
func (t *taskTimes) mean(p period) float64 {
	kind := trace.Reduce
	if p == maps {
		kind = trace.Map
	}
	if t.tasks[kind] == 0 {
		return 0
	}
	return t.sum[p].Seconds() / float64(t.tasks[kind])
}
