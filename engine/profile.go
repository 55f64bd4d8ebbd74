package engine

import (
	"context"
	"fmt"
	"runtime/pprof"
	"runtime/trace"

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

// Profiled runs work on the calling thread, which is that of the attempt's slot. If the run is
// profiled, it labels the thread meanwhile. It returns the error of work.
func (a *SlotAttempt) Profiled(work func() error) error {
	if !a.Env.Profile {
		return work()
	}
	kind := a.ID.Kind.String()
	ctx, task := trace.NewTask(a.ctx, kind+" "+a.Job.Spec.Name)
	defer task.End()
	slot := fmt.Sprintf("s%d", a.Slot)
	trace.Log(ctx, "attempt", a.Name()+" on "+slot)
	a.profile = &profiled{ctx: pprof.WithLabels(ctx, pprof.Labels("slot", slot, "job", a.Job.Spec.Name, "kind", kind))}
	defer func() {
		a.profile.region.End()
		// The thread goes on with attempts of other jobs.
		pprof.SetGoroutineLabels(context.Background())
	}()
	a.profile.enter(kind)
	return work()
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

// phase notifies the Listener that the attempt has entered a phase.
func (a *SlotAttempt) phase(phase slots.Phase) {
	a.measure(phase)
	a.profile.enter(phase.String())
	a.listener.Phase(a, phase)
}

// helper runs a closure on a helper thread of the slot (pool.Pool.Helper), so that spilling
// in the background does not use another core.
func (a *SlotAttempt) helper(f func()) { a.Env.Pool.Helper(a.Slot, a.labelled("spill", f)) }

// onIdleCore runs a closure on the core of an idle slot (pool.Pool.OnIdleCore). It returns false if no
// core is idle.
func (a *SlotAttempt) onIdleCore(f func(idle func() bool)) bool {
	return a.Env.Pool.OnIdleCore(a.Slot, func(idle func() bool) { a.labelled("sort", func() { f(idle) })() })
}

// labelled returns a closure that runs f, adds the processor time of f to the attempt and, if the
// run is profiled, labels the thread.
func (a *SlotAttempt) labelled(phase string, f func()) func() {
	f = a.withCPU(f)
	p := a.profile
	if p == nil {
		return f
	}
	return func() {
		pprof.Do(p.ctx, pprof.Labels("phase", phase), func(ctx context.Context) { trace.WithRegion(ctx, phase, f) })
	}
}
