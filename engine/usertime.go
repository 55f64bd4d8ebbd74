package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
)

// userTime is the time in which user code may use what an attempt has given to it. It begins anew if
// the attempt starts again with more memory. User code may break the rule, on any goroutine. So what
// it still calls after that time must do no harm.
type userTime struct {
	attempt   *attempt
	emitted   atomic.Bool // the last call that may emit has returned
	late      atomic.Bool // user code has emitted after its last call
	committed atomic.Bool // the task is done by this attempt

	mu struct {
		sync.Mutex
		over bool // all user code is closed
	}
}

// during calls f, unless all user code is closed. The attempt gives nothing back until f returns.
func (u *userTime) during(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.mu.over {
		f()
	}
}

// errLate is the error of user code that emits after its last call.
var errLate = errors.New("user code has emitted a record after Map, Reduce and Flush, as in Close or on a goroutine of its own")

// emittedLate notes that a record was emitted too late, and is lost. It fails the attempt, or the job if
// the task is done. A record of a failed attempt does no harm.
func (u *userTime) emittedLate() {
	u.late.Store(true)
	if u.committed.Load() {
		u.failJob()
	}
}

// commit notes that the task is done by this attempt. A record may have been emitted while it became so.
func (u *userTime) commit() {
	u.committed.Store(true)
	if u.late.Load() {
		u.failJob()
	}
}

// failJob makes errLate the error of the job.
func (u *userTime) failJob() {
	err := fmt.Errorf("%s: %w", u.attempt.name(), errLate)
	u.attempt.job.late.CompareAndSwap(nil, &err)
}

// own returns what the attempt offers to user code. After the time of user code, its functions do
// nothing.
func (u *userTime) own() jobs.OwnAttempt {
	a := u.attempt
	a.job.sideSeal()
	own := jobs.OwnAttempt{
		Context: a.ctx, Task: int(a.id.Task), Number: int(a.id.N), Side: a.job.side,
		Progress: func(done, total int64) { u.during(func() { a.tick(done, total) }) },
		Lasts: func(total time.Duration) {
			if a.slowdown > 1 {
				total += time.Duration(float64(total) * (a.slowdown - 1))
			}
			u.during(func() { a.timed.Store(&timedWork{time.Now(), total}) })
		},
		Read: func(records, bytes int64) {
			u.during(func() { a.counters.MapInputRecords += records; a.counters.MapInputBytes += bytes })
		},
		Status: func(text string) { u.during(func() { a.status(text) }) },
		Charge: func(bytes int64) (charged bool) {
			u.during(func() { charged = a.charge(bytes) })
			return charged
		},
		Dir: func() (dir string, err error) {
			u.during(func() { dir, err = a.dir() })
			return dir, err
		},
	}
	if len(a.job.spec.Outputs) > 0 {
		own.Output = func(name string) jobs.Emitter {
			var out jobs.Emitter = &textOut{of: u}
			if !u.emitted.Load() {
				u.during(func() { out = a.output(name) })
			}
			return out
		}
	}
	return own
}

// check returns errLate if user code has emitted too late, and in a checked build an error if it has changed
// the side data. An attempt calls it before the commit.
func (u *userTime) check() error {
	switch {
	case u.late.Load():
		return errLate
	case u.attempt.job.sideSeal().Broken():
		return errors.New("user code has changed the side data, which all attempts share")
	}
	return nil
}

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

// The types of the report, under the names that users of the engine know.
type (
	Report    = report.Report
	JobReport = report.JobReport
	Counters  = report.Counters
)

// report returns the report of the run; nil: nothing was started. err is the error with which
// the run ended. It is called before close, which releases the jobs.
func (r *run) report(err error) *Report {
	if r.coordinator == nil {
		return nil
	}
	ledger := r.coordinator.ledger
	for _, text := range []string{ledger.Refused(), setup.LateFaults(r.now(), len(r.coordinator.faults))} {
		if text != "" {
			r.o.Note(text)
		}
	}
	// A simulation reports the same facts of its Ledger. The rest of this function adds what
	// only the engine knows.
	rep := report.FromLedger(r.kind, ledger)
	rep.MakespanSeconds = r.now().Seconds()
	rep.PeakRSSBytes = machine.PeakRSSBytes()
	rep.AbandonedThreads = r.abandonedThreads
	r.used.Report(rep)
	r.settings(&rep.Config)
	// The Ledger numbers slots as the pool does.
	for i := range rep.Slots {
		// An extra slot that was never opened has no thread.
		if i < r.o.slotCount() || ledger.SlotTimes(slots.SlotID(i)).Starts > 0 {
			rep.Slots[i].Core = r.pool.Core(i)
		}
	}
	for _, j := range r.coordinator.jobs {
		j.report(rep)
	}
	// A chain that was never submitted has no job in the Ledger, and a report of its own.
	for _, ch := range r.chains {
		rep.ReaderGone = rep.ReaderGone || ch.readerGone
		if ch.lastID < 0 && !r.single() {
			rep.Jobs = append(rep.Jobs, ch.report())
		}
	}
	if rep.Notes = r.notes.All(); err != nil {
		rep.Error = err.Error()
	}
	return rep
}

// report adds to the job's entry in the report: its description, counters and phases, and the
// error of its chain.
func (j *job) report(r *Report) {
	j.countRecords()
	ch, rep := j.chain, &r.Jobs[j.id]
	r.Describe(j.id, new(ch.spec(j.step, j.number, rep.Reduces)))
	rep.Counters.Add(&j.counters)
	for phase, u := range j.usage {
		if u.Attempts > 0 {
			u.Phase = slots.Phase(phase).String()
			rep.Phases = append(rep.Phases, u)
		}
	}
	// Not all maps may be known of a job that failed, or of one that reads a stream and stopped early.
	if j.number == 0 && ch.err == nil && j.feeder == nil {
		for _, text := range setup.UnknownTasks(ch.run.o.Faults, ch.index, rep.Maps, rep.Reduces) {
			ch.note(text)
		}
	}
	if j.number > 0 && !ch.run.single() {
		rep.StepOf = ch.name()
	}
	// If a chain fails, its last job that was submitted has failed. The jobs before it succeeded.
	if ch.err == nil || ch.lastID != j.id {
		return
	}
	if !ch.cancelled {
		// The Ledger may have another state: succeeded if only the result could not be written.
		rep.State = slots.Failed.String()
	}
	if !ch.run.single() {
		rep.Error = errs.OneLine(ch.err.Error())
	}
}

// report returns the report of a chain of which no job was ever submitted.
func (ch *chain) report() JobReport {
	spec := ch.spec(0, 0, 0)
	rep := JobReport{Name: spec.Name, Pool: spec.Pool, User: spec.User, State: slots.Killed.String(), SubmitS: -1, StartS: -1, MapsDoneS: -1, FinishS: -1}
	if ch.err != nil {
		rep.Error = errs.OneLine(ch.err.Error())
		if !ch.cancelled {
			rep.State = slots.Failed.String()
		}
	}
	return rep
}

// settings adds the options of the engine to the configuration that the report shows.
func (r *run) settings(c *report.Config) {
	o := &r.o
	c.Set(&o.Config)
	c.TaskTimeoutS = o.TaskTimeout.Seconds()
	c.ShuffleBytesPerSecond = o.ShuffleBytesPerSecond
	c.DiskBytesPerSecond = o.DiskBytesPerSecond
	c.ParallelCopies = o.Copiers.Parallel
	c.CopyBytesPerSecond = o.Copiers.BytesPerSecond
	c.DataPlane = &report.DataPlane{
		Pin: !o.NoPin, BlockBytes: r.blockBytes, MemoryBytes: o.MemoryBytes, SortBufferBytes: r.sortBufferBytes, SpillPercent: o.SpillPercent,
		BufferGrowth: !o.NoGrowth, GrowthThreshold: o.GrowthThreshold, MergeFactor: o.MergeFactor, Compress: o.Codec.String(),
	}
}
