package engine

import (
	"context"
	"fmt"
	"runtime/pprof"
	"runtime/trace"

	"mrlocal/internal/machine"
	"mrlocal/slots"
)

// profiled shows an attempt in a CPU profile and an execution trace. In the profile, slot, job,
// kind and phase are labels of the samples of its thread. In the trace the attempt is a task, and
// its phases are regions. A profiled belongs to the attempt's thread. It is nil if the run is not
// profiled.
type profiled struct {
	ctx    context.Context // with the labels of all phases, and the task of the trace
	region *trace.Region   // the current phase
}

// startProfile labels the calling thread, which is that of the attempt's slot, until end is called. It does
// nothing if the run is not profiled.
func (a *attempt) startProfile() (end func()) {
	if !a.run.o.Profile {
		return func() {}
	}
	kind := a.id.Kind.String()
	ctx, task := trace.NewTask(a.ctx, kind+" "+a.job.spec.Name)
	slot := fmt.Sprintf("s%d", a.slot)
	trace.Log(ctx, "attempt", a.name()+" on "+slot)
	a.profile = &profiled{ctx: pprof.WithLabels(ctx, pprof.Labels("slot", slot, "job", a.job.spec.Name, "kind", kind))}
	a.profile.enter(kind)
	return func() {
		a.profile.region.End()
		// The thread goes on with attempts of other jobs.
		pprof.SetGoroutineLabels(context.Background())
		task.End()
	}
}

// enter ends a phase and begins the next one.
func (p *profiled) enter(phase string) {
	if p == nil {
		return
	}
	if p.region != nil {
		p.region.End()
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(p.ctx, pprof.Labels("phase", phase)))
	p.region = trace.StartRegion(p.ctx, phase)
}

// phase tells the Ledger that the attempt has entered a phase.
func (a *attempt) phase(p slots.Phase) {
	a.measure(p)
	a.profile.enter(p.String())
	c := a.run.coordinator
	c.inbox.Post(func() {
		// The attempt may have ended, or been abandoned, meanwhile.
		if c.running[a.id] == a {
			c.ledger.Phase(c.run.now(), a.id, p)
		}
	})
}

// onIdleCore runs a closure on the core of an idle slot (pool.Pool.OnIdleCore). It returns false if no
// core is idle.
func (a *attempt) onIdleCore(f func(idle func() bool)) bool {
	return a.run.pool.OnIdleCore(a.slot, func(idle func() bool) { a.labelled("sort", func() { f(idle) })() })
}

// labelled returns a closure that runs f, adds the processor time of f to the attempt and, if the
// run is profiled, labels the thread.
func (a *attempt) labelled(phase string, f func()) func() {
	return func() {
		before := machine.ThreadCPU()
		defer func() { a.helperCPU.Add(int64(machine.ThreadCPU() - before)) }()
		if p := a.profile; p != nil {
			pprof.Do(p.ctx, pprof.Labels("phase", phase), func(ctx context.Context) { trace.WithRegion(ctx, phase, f) })
			return
		}
		f()
	}
}
