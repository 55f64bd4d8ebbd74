package study

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/trace"
	"mrlocal/workload"
)

// measuredAttempt is an attempt that has committed its task. from is since the start of the run.
type measuredAttempt struct {
	trace.Attempt
	from       time.Duration // the start of its work; that of a reduce starts when it has copied all map outputs
	bytes      int64         // that it read: input of a map, copied map outputs of a reduce
	core       int32         // -1: the slot is not bound to a core
	concurrent float64       // the mean number of attempts at work while it worked, itself included
	// slower is the time of its work divided by the time at the middle speed of the machine. 0 stands
	// for 1.
	slower float64
}

// Run is a trace.Sink that records a run of one job alone. The zero value is an empty record. Record
// fills it during the run. After the run, setSpeed and Fit use it.
type Run struct {
	stages   []stageRun // by job of the chain
	slots    []trace.Slot
	attempts trace.Attempts
	probes   [2]workload.Probe // before and after the run

	// slower returns how much longer tasks take in this run than at the middle speed of the
	// machine, as a factor. k attempts are at work. nil: the speed is unknown.
	slower func(k float64) float64
}

// setSpeed sets how much slower or faster the machine was in this run than in the middle of the
// profile. middle is the median probe of the profile. cores is the number of cores.
func (r *Run) setSpeed(cores int, middle workload.Probe) {
	var alone, all float64
	for _, p := range r.probes {
		a, b := p.Slower(middle)
		alone, all = alone+a/2, all+b/2
	}
	r.slower = func(k float64) float64 { return workload.SlowerBeside(k, cores, alone, all) }
}

// Open keeps the slots of the run, whose cores Record needs. trace.Stream calls it before the first
// event.
func (r *Run) Open(h *trace.Header) error {
	r.slots = h.Slots
	return r.attempts.Open(h)
}

// stageRun is one job of a chain in a run. A stage is a job of a chain here, as in a workload file.
type stageRun struct {
	submitted time.Duration // since the start of the run
	attempts  []measuredAttempt
}

// Record takes an event of the run. It keeps only attempts that commit.
func (r *Run) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op == trace.OpSubmit {
		r.stages = append(r.stages, stageRun{submitted: e.At})
	}
	for _, a := range r.attempts.Apply(e) {
		if !a.Done || int(a.Job) >= len(r.stages) {
			continue
		}
		m := measuredAttempt{Attempt: *a, from: a.From, bytes: a.InBytes, core: r.slots[a.Slot].Core}
		if a.Kind == trace.Reduce {
			m.from, m.bytes = max(a.From, a.Copied), a.CopyBytes
		}
		s := &r.stages[a.Job]
		s.attempts = append(s.attempts, m)
	}
	return nil
}

// setConcurrency sets the fields concurrent and slower of each attempt. It needs all attempts, so it
// comes after the run, and after setSpeed.
func (r *Run) setConcurrency() {
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			a := &r.stages[i].attempts[n]
			a.concurrent = 1
			if took := (a.To - a.from).Seconds(); took > 0 {
				a.concurrent = r.integrate(a, func(_, all []*measuredAttempt) float64 { return float64(len(all)) }) / took
			}
			if r.slower != nil {
				a.slower = r.slower(a.concurrent)
			}
		}
	}
}

// integrate returns the integral of value over the work of attempt a, in seconds, scaled to the middle
// speed of the machine. value gets the attempts that are at work at a moment. core has those on the
// core of a, and all has all of them. Both contain a, and are valid only during the call.
func (r *Run) integrate(a *measuredAttempt, value func(core, all []*measuredAttempt) float64) (sum float64) {
	// value changes only where an attempt starts or ends. edges has these moments within the work of a.
	var beside []*measuredAttempt
	edges := []time.Duration{a.from, a.To}
	for i := range r.stages {
		for n := range r.stages[i].attempts {
			if b := &r.stages[i].attempts[n]; b.from < a.To && b.To > a.from {
				beside = append(beside, b)
				edges = append(edges, max(a.from, b.from), min(a.To, b.To))
			}
		}
	}
	slices.Sort(edges)
	// Between two edges the same attempts are at work, so value is called once for each such period.
	var core, all []*measuredAttempt
	for i := 1; i < len(edges); i++ {
		if edges[i] == edges[i-1] {
			continue
		}
		core, all = core[:0], all[:0]
		for _, b := range beside {
			if b.from <= edges[i-1] && b.To >= edges[i] {
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
