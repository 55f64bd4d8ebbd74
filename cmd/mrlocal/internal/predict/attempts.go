// Package predict measures the jobs of a workload file on this machine. From this the simulator
// says how long other mixes of them take. The package compares that with real runs.
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

	"mrlocal/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// measuredAttempt is a map or reduce attempt that committed, with the times from its events. Those are
// durations since the start of the run; bytes and written are the bytes that it read and wrote.
type measuredAttempt struct {
	kind       trace.Kind
	from, to   time.Duration // of its work: a reduce's begins when it has copied all
	bytes      int64         // of its input
	written    int64
	cpu        time.Duration
	copying    time.Duration // of a reduce, without waiting for maps
	works      bool          // a reduce that has copied all
	first      bool          // on its slot, in the run
	core       int32         // -1: its slot is bound to none
	concurrent float64       // attempts at work while it ran, itself included, on average
	slower     float64       // times as long as at the middle speed of the machine; 0: as long

	phase  trace.Phase
	since  time.Duration                      // it is in that phase
	phases [trace.PhaseHeld + 1]time.Duration // spent in each; the first is from its start on

	read, sorted, spilled time.Duration // of a map
}

// part is a part of the time of a task.
type part struct {
	name string
	took time.Duration
}

// parts returns where the time of the task went. That of a reduce begins when it has copied
// all, because before it mostly waits for maps.
func (a *measuredAttempt) parts() []part {
	if a.kind == trace.Reduce {
		return []part{{"copy", a.copying}, {"merge", a.phases[trace.PhaseSort]}, {"reduce", a.phases[trace.PhaseReduce]}}
	}
	start := a.phases[trace.PhaseNone]
	if start == a.to-a.from { // a map without reduces reports no phase
		start = 0
	}
	return []part{
		{"start", start}, {"read", a.read}, {"compute", max(0, a.to-a.from-start-a.read-a.sorted-a.spilled)},
		{"sort", a.sorted}, {"spill", a.spilled},
	}
}

// Run is the record of a run of one job alone, as a trace.Sink. The zero value is empty.
type Run struct {
	stages []stageRun // by job of the chain
	open   map[int32]measuredAttempt
	used   map[int32]bool // slots
	slots  []trace.Slot
	probes [2]workload.Probe // before and after the run
	slower func(k float64) float64
}

// steady removes what the machine was slower than its probe in the middle of the profile.
func (r *Run) steady(cores int, middle workload.Probe) {
	var alone, all float64
	for _, p := range r.probes {
		a, b := p.Slower(middle)
		alone, all = alone+a/2, all+b/2
	}
	r.slower = func(k float64) float64 { return workload.SlowerBeside(k, cores, alone, all) }
}

// Open implements the optional method of a trace.Sink.
func (r *Run) Open(h *trace.Header) error {
	r.slots = h.Slots
	return nil
}

// stageRun is one job of a chain in a run, with the attempts that committed.
type stageRun struct {
	submitted time.Duration
	attempts  []measuredAttempt
	combined  float64 // records that combiners returned, by those that they got; 0: there was none
}

// Count takes what the report of the run counted of each job of the chain.
func (r *Run) Count(done *report.Report) {
	for i := range min(len(r.stages), len(done.Jobs)) {
		if c := &done.Jobs[i].Counters; c.CombineInputRecords > 0 {
			r.stages[i].combined = float64(c.CombineOutputRecords) / float64(c.CombineInputRecords)
		}
	}
}

// Record implements trace.Sink. It is called on the goroutine of the run, in the order of events.
// Attempts are known by their slot, which runs one at a time.
func (r *Run) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpSubmit:
		r.stages = append(r.stages, stageRun{submitted: e.At})
	case trace.OpStart:
		if r.open == nil {
			r.open, r.used = map[int32]measuredAttempt{}, map[int32]bool{}
		}
		r.open[e.Slot] = measuredAttempt{kind: e.Kind, from: e.At, since: e.At, first: !r.used[e.Slot], core: r.slots[e.Slot].Core}
		r.used[e.Slot] = true
	case trace.OpPhase:
		a := r.open[e.Slot]
		a.enter(e.At, e.Phase)
		// Until it sorts, a reduce only waits for maps and takes references to what they made.
		if !a.works && (e.Phase == trace.PhaseSort || e.Phase == trace.PhaseReduce) {
			a.from, a.works = e.At, true
		}
		r.open[e.Slot] = a
	case trace.OpTimes:
		a := r.open[e.Slot]
		a.read, a.sorted, a.spilled = time.Duration(e.A), time.Duration(e.B), time.Duration(e.C)
		r.open[e.Slot] = a
	case trace.OpFinish:
		a, ok := r.open[e.Slot]
		if !ok || !e.Has(trace.OK) || int(e.Job) >= len(r.stages) {
			return nil
		}
		delete(r.open, e.Slot)
		a.enter(e.At, trace.PhaseNone)
		// The fields are those of OpFinish: bytes read, written, CPU time, bytes copied, time of copying.
		a.to, a.bytes, a.written, a.cpu, a.copying = e.At, e.A, e.B, time.Duration(e.C), time.Duration(e.E)
		if a.kind == trace.Reduce {
			a.bytes = e.D
		}
		s := &r.stages[e.Job]
		s.attempts = append(s.attempts, a)
	}
	return nil
}

// enter books the end of a phase and the start of the next one.
func (a *measuredAttempt) enter(now time.Duration, p trace.Phase) {
	a.phases[a.phase] += now - a.since
	a.phase, a.since = p, now
}

// crowd sets how many attempts ran beside each one of a run, and how much slower the machine was
// for so many. It needs all attempts, so it is called after the run.
func (r *Run) crowd() {
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			a := &r.stages[i].attempts[n]
			a.concurrent = 1
			if took := (a.to - a.from).Seconds(); took > 0 {
				a.concurrent = r.integrate(a, func(_, all []*measuredAttempt) float64 { return float64(len(all)) }) / took
			}
			if r.slower != nil {
				a.slower = r.slower(a.concurrent)
			}
		}
	}
}

// integrate sums what value returns of each moment of an attempt's work, times its seconds. value
// gets the attempts at work then: those on the same core, and all. Both contain the attempt.
func (r *Run) integrate(a *measuredAttempt, value func(core, all []*measuredAttempt) float64) (sum float64) {
	var beside []*measuredAttempt
	edges := []time.Duration{a.from, a.to}
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			if b := &r.stages[i].attempts[n]; b.from < a.to && b.to > a.from {
				beside = append(beside, b)
				edges = append(edges, max(a.from, b.from), min(a.to, b.to))
			}
		}
	}
	slices.Sort(edges)
	var core, all []*measuredAttempt
	for i := 1; i < len(edges); i++ {
		if edges[i] == edges[i-1] {
			continue
		}
		core, all = core[:0], all[:0]
		for _, b := range beside {
			if b.from <= edges[i-1] && b.to >= edges[i] {
				all = append(all, b)
				if b.core == a.core {
					core = append(core, b)
				}
			}
		}
		sum += value(core, all) * (edges[i] - edges[i-1]).Seconds()
	}
	return sum / cmp.Or(a.slower, 1)
}
