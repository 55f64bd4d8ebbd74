// Package predict measures the jobs of a workload file on this machine, so that the simulator
// can say how long other mixes of them take, and compares what it says with real runs.
//
// A job is profiled alone, with 1, 2, ... slots (mrlocal profile WORKLOAD). Fit makes a
// workload.Stage of the attempts: their time alone as a function of bytes, its spread, and how
// much slower they are while others run. Validation (mrlocal validate) sets real and simulated
// runs of the same file beside each other.
//
// Neighbours: cmd/mrlocal makes the runs; workload writes and reads what was measured; sim
// simulates it under the cost measured.
package predict

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/trace"
)

// attempt is one that committed.
type attempt struct {
	kind       trace.Kind
	from, to   time.Duration // of its work: a reduce's begins when it has copied all
	bytes      int64         // of its input
	cpu        time.Duration
	works      bool    // a reduce that has copied all
	first      bool    // on its slot, in the run
	concurrent float64 // attempts at work while it ran, itself included, on average
}

// Run is the record of a run of one job alone, as a trace.Sink. The zero value is empty.
type Run struct {
	stages []stageRun // by job of the chain
	open   map[int32]attempt
	used   map[int32]bool // slots
}

// stageRun is one job of a chain.
type stageRun struct {
	submitted time.Duration
	attempts  []attempt
}

// Record implements trace.Sink.
func (r *Run) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpSubmit:
		r.stages = append(r.stages, stageRun{submitted: e.At})
	case trace.OpStart:
		if r.open == nil {
			r.open, r.used = map[int32]attempt{}, map[int32]bool{}
		}
		r.open[e.Slot] = attempt{kind: e.Kind, from: e.At, first: !r.used[e.Slot]}
		r.used[e.Slot] = true
	case trace.OpPhase:
		// Until it sorts, a reduce only waits for maps and takes references to what they made.
		if a := r.open[e.Slot]; !a.works && (e.Phase == trace.PhaseSort || e.Phase == trace.PhaseReduce) {
			a.from, a.works = e.At, true
			r.open[e.Slot] = a
		}
	case trace.OpFinish:
		a, ok := r.open[e.Slot]
		if !ok || !e.Has(trace.OK) || int(e.Job) >= len(r.stages) {
			return nil
		}
		delete(r.open, e.Slot)
		// The fields are those of OpFinish: bytes read, written, CPU time, bytes copied.
		a.to, a.bytes, a.cpu = e.At, e.A, time.Duration(e.C)
		if a.kind == trace.Reduce {
			a.bytes = e.D
		}
		s := &r.stages[e.Job]
		s.attempts = append(s.attempts, a)
	}
	return nil
}

// crowd sets how many attempts ran beside each one of a run.
func (r *Run) crowd() {
	type edge struct {
		at time.Duration
		by float64
	}
	var edges []edge
	for i := range r.stages {
		for _, a := range r.stages[i].attempts {
			edges = append(edges, edge{a.from, 1}, edge{a.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	// sums has, at each edge, the integral of the number of attempts at work until then.
	sums := make([]float64, len(edges))
	running, sum := 0.0, 0.0
	for i, e := range edges {
		if i > 0 {
			sum += running * (e.at - edges[i-1].at).Seconds()
		}
		sums[i] = sum
		running += e.by
	}
	at := func(t time.Duration) float64 {
		i, _ := slices.BinarySearchFunc(edges, t, func(e edge, t time.Duration) int { return cmp.Compare(e.at, t) })
		return sums[i]
	}
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			a := &r.stages[i].attempts[n]
			a.concurrent = 1
			if a.to > a.from {
				a.concurrent = (at(a.to) - at(a.from)) / (a.to - a.from).Seconds()
			}
		}
	}
}
