package tune

import (
	"time"

	"mrlocal/trace"
)

// Period is what of a task is timed.
type Period uint8

const (
	Maps    Period = iota // a map from its start to its commit
	Reduces               // a reduce from its start to its commit
	Shuffle               // its part until it has copied everything
	Compute               // its part from there on: sort and reduce
	periods
)

// Times is a trace.Sink that adds up how long the tasks of a run took. Only
// attempts that committed count.
type Times struct {
	sum   [periods]time.Duration
	tasks [trace.Kinds]int
	open  map[int32]attempt // by slot
}

// attempt is what runs on a slot.
type attempt struct {
	kind            trace.Kind
	started, copied time.Duration
}

// Record implements trace.Sink.
func (t *Times) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpStart:
		if t.open == nil {
			t.open = map[int32]attempt{}
		}
		t.open[e.Slot] = attempt{kind: e.Kind, started: e.At, copied: e.At}
	case trace.OpPhase:
		if a := t.open[e.Slot]; e.Phase == trace.PhaseSort {
			a.copied = e.At
			t.open[e.Slot] = a
		}
	case trace.OpFinish:
		if e.Has(trace.OK) {
			t.add(t.open[e.Slot], e.At)
		}
	}
	return nil
}

func (t *Times) add(a attempt, end time.Duration) {
	t.tasks[a.kind]++
	if a.kind == trace.Map {
		t.sum[Maps] += end - a.started
		return
	}
	t.sum[Reduces] += end - a.started
	t.sum[Shuffle] += a.copied - a.started
	t.sum[Compute] += end - a.copied
}

// mean is the mean time in seconds, 0 of none.
func (t *Times) mean(p Period) float64 {
	kind := trace.Reduce
	if p == Maps {
		kind = trace.Map
	}
	if t.tasks[kind] == 0 {
		return 0
	}
	return t.sum[p].Seconds() / float64(t.tasks[kind])
}
