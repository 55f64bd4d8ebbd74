// Package engine runs MapReduce jobs for real on the files and cores of one machine. RunChain
// runs one chain of jobs, and RunBatch many that share the slots in pools.
//
// One goroutine, the coordinator, owns the slots.Ledger. Other goroutines post
// facts to its inbox. The coordinator gives the attempts that the Ledger starts to
// the threads of their slots (pool.Pool). A map attempt reads a source
// (input/feed) into a kvbuffer (spill). A reduce attempt takes map outputs
// and merges them (shuffle), and writes a part (output). No code that runs once
// a record takes a lock, uses a channel or makes an event.
//
// Memory: everything that grows with the data is leased from one
// membudget.Budget of Options.MemoryBytes. An attempt reserves its floor before
// it starts, and holds no other lease while it waits for the floor.
//
// The life of a chain has four steps. It is checked with all others before anything
// starts. It is opened when its time has come. Its jobs are submitted one
// after the other. In the end its result is settled (chain.go, jobs.go). A
// failure ends one chain; the others go on. The states of chains, jobs and
// attempts are in state.go.
//
// With Options.ResumeDir the first job keeps its map outputs for a later run
// (job.go, package engine/journal).
//
// The engine knows no policy, no job and no flag by name. Package engine runs
// attempts. Package input/feed has what maps read.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/engine/journal"
	"mrlocal/engine/pool"
	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/machine"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// run is one call of RunBatch or RunChain.
type run struct {
	o           Options
	claimed     *setup.Claim
	kind        string // "run" or "batch", as the report shows it
	ctx         context.Context
	started     time.Time
	ended       time.Duration  // when the last chain ended; 0: one is left
	used        report.Sampler // readings of what the process and the machine have used
	cores       []int          // cores that the process may use
	slotCores   []int          // core of each slot; -1: its threads are not bound
	chains      []*chain
	budget      *membudget.Budget
	pool        *pool.Pool
	temp        *disk.TempRoot
	journal     *journal.Journal // nil: the run cannot go on after a kill
	stream      *trace.Stream
	coordinator *coordinator
	shares                           // of each slot
	hashSeed    uint64               // of the tables of kvbuffers
	networks    []*shuffle.Bandwidth // of each tracker; nil: unbounded
	disks       []*shuffle.Bandwidth // of each tracker, for inputs and spills; nil: unbounded
	lendsCores  bool                 // a merge may sort on the cores of slots that are idle
	trackers    Trackers
	speed       []slots.PPM // of each tracker; slots.One: full speed

	runningMaps      atomic.Int64
	pieces           *feed.Pieces // of streams; nil: no input is a stream
	blockBytes       int64        // of the splits of the first job that reads files
	streamed         *input.Plan  // plan of the last job that reads streams; nil: none does
	memoryUsers      atomic.Int32 // goroutines that use the budget's memory and that close does not wait for; see leaveMemory
	abandonedThreads int
	notes            report.Notes
	calls            *guard.Calls // of the user's functions
	succeeded        bool         // the result is complete and durable
}

// RunChain runs the jobs of a chain one after the other on the same slots. The
// output of the last job is the output of the run.
//
// RunChain first checks the options, and the inputs as far as it can read them without
// waiting. If they are good, it starts work, and returns a report even with an error. Every
// error is an *errs.Error, and its kind says what went wrong. If ctx ends, RunChain removes all
// temporary and pending output. It then returns an error of kind Interrupted that wraps the
// cause of ctx.
//
// RunChain returns within two seconds after the end of ctx, also if user code hangs. Attempts, and
// calls of Options.Stdin, Stdout, Stderr, Events, Note, Warn and Watch that hang are left behind. A
// policy must return, and so must the system's calls for files.
//
// RunChain changes no setting of the process (see Options.ProcessLimits). Several runs may take
// place at once. They share neither memory nor file descriptors. Each uses up to its own
// MemoryBytes, and divides all descriptors that the process may open among its slots.
func RunChain(ctx context.Context, chain jobs.Chain, o Options) (*Report, error) {
	work := []BatchJob{{Chain: chain, JobOptions: o.JobOptions}}
	return runWork(ctx, "run", work, o, func(r *run) error { return r.chains[0].err })
}

// RunBatch runs many jobs at once. They share the slots, memory and temporary space of o. A job
// is submitted at its time, after the jobs that it waits for have ended. It is not started if one
// of these has failed. When a job fails, all others run to their end, and the error names the jobs
// that failed. A job whose result is empty has succeeded.
//
// RunBatch checks the inputs, outputs and options of all jobs before it starts anything. All
// inputs must exist by then, except those below the output of a job that the job waits for.
// Errors, reports and the process are as for RunChain. RunBatch reads work until it returns, so
// the caller must not change it.
func RunBatch(ctx context.Context, work []BatchJob, o Options) (*Report, error) {
	return runWork(ctx, "batch", work, o, (*run).failures)
}

// runWork runs the jobs of work and cleans up. outcome returns the error of a run that was
// not interrupted.
func runWork(ctx context.Context, kind string, work []BatchJob, o Options, outcome func(*run) error) (*Report, error) {
	claimed, err := setup.ClaimOf(o.Policy)
	if err != nil {
		return nil, err
	}
	defer claimed.Release()
	o.Policy = claimed.Policy
	// All times of the run, those of events too, count from here.
	r := &run{kind: kind, started: time.Now(), used: report.NewSampler(), claimed: claimed}
	defer r.close()
	if o.Profile {
		defer pprof.SetGoroutineLabels(ctx)
		ctx = pprof.WithLabels(ctx, pprof.Labels("phase", "coordinate"))
		pprof.SetGoroutineLabels(ctx)
	}
	var cancel context.CancelCauseFunc
	r.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(nil)
	// Nothing has started, so there is no report.
	if err := r.prepare(ctx, work, o); err != nil {
		return nil, errs.Typed(ctx, err)
	}
	err = r.runAll()
	if err == nil {
		err = outcome(r)
	}
	// Events may still wait to be written. If they cannot be written, the run has failed, and
	// the report shows that. The results of jobs stay.
	if r.stream != nil {
		if serr := r.stream.Close(); serr != nil && err == nil {
			err = fmt.Errorf("events: %w; the result is complete", serr)
		} else if serr != nil {
			err = errors.Join(err, fmt.Errorf("events: %w", serr))
		}
	}
	if r.journal != nil && err != nil {
		r.journal.NoteKept(r.o.Note)
	}
	// The report is made before close, which releases the jobs.
	report := r.report(err)
	r.succeeded = err == nil
	return report, errs.Typed(ctx, err)
}

// failures returns the error of a batch; nil: all jobs have succeeded.
func (r *run) failures() error {
	var failed []error
	for _, ch := range r.chains {
		if ch.err != nil {
			failed = append(failed, ch.withJobName(ch.err))
		}
	}
	return errs.Several(len(r.chains), failed)
}

// prepare checks all that can be checked before work is started, and divides memory. When it
// fails, the caller still has to call close.
func (r *run) prepare(ctx context.Context, batch []BatchJob, o Options) error {
	r.cores = machine.Cores()
	r.o = o.withDefaults(machine.ReadLimits())
	// Note, Warn and Stderr take turns, because they mostly go to one terminal.
	messages := guard.NewCalls(ctx)
	r.calls = messages
	r.o.logToo()
	r.o.Note, r.o.Warn = messages.Text("Options.Note", r.notes.Keep(r.o.Note)), messages.Text("Options.Warn", r.o.Warn)
	r.o.Stderr = messages.Writer("Options.Stderr", r.o.Stderr)
	if err := r.takeJobs(batch); err != nil {
		return err
	}
	if err := r.o.validate(len(batch)); err != nil {
		return err
	}
	r.temp = disk.NewTempRoot(r.o.TempDirs, r.o.MaxTempBytes)
	if !r.o.TempAtNeed {
		if err := r.temp.Check(); err != nil {
			return err
		}
	}
	// Paths are checked before the journal is opened, so that a wrong path leaves no journal.
	totalBytes, streams, err := r.checkPaths()
	if err != nil {
		return err
	}
	if err := r.openJournal(); err != nil {
		return err
	}
	if r.budget, err = membudget.New(r.o.MemoryBytes); err != nil {
		return errs.Fieldf("Options.MemoryBytes", "%w", err)
	}
	r.divideMemory(totalBytes, streams)
	r.hashSeed = rand.Uint64() | 1 // the result does not depend on it
	r.setPace()
	return nil
}

// divideMemory divides the bound of memory among its uses, and sets r.shares and r.pieces. The floors of
// all slots and the pieces of streams fit into the bound at the same time, so no attempt waits for
// ever. When memory is short, the budget refuses or evicts all other uses. These are the growth of
// kvbuffers, map outputs, and parts between the jobs of a chain.
//
// inputBytes is the size of all inputs, and streamJobs the number of jobs that read streams. If map
// outputs are likely to fit in memory, room is left for them. Otherwise most of the memory goes to
// kvbuffers, so that there are few sorted runs to merge.
func (r *run) divideMemory(inputBytes int64, streamJobs int) {
	r.shares, r.pieces = r.divide(r.budget.Limit(), inputBytes, streamJobs)
	if r.pieces != nil {
		r.pieces.AllowWindows(func(limitBytes int64) int64 {
			shares, pieces := r.divide(limitBytes, inputBytes, streamJobs)
			return limitBytes - pieces.TotalBytes() - shares.floorBytes // nothing is decoded ahead during a window
		})
	}
	// Descriptors are divided as memory is, by slots.
	r.divideFDs(r.o.allSlots())
}

// divide computes how a bound of limitBytes is divided. It changes nothing, so that larger bounds
// can be tried. Descriptors are not divided. pieces is nil if no input is a stream.
func (r *run) divide(limitBytes, inputBytes int64, streamJobs int) (s shares, pieces *feed.Pieces) {
	total, slotCount := limitBytes, r.o.allSlots()
	if streamJobs > 0 {
		pieces = feed.NewPieces(limitBytes, cmp.Or(r.blockBytes, 1<<20), r.aheadBytes(limitBytes, streamJobs), slotCount, streamJobs)
		total -= pieces.TotalBytes() + pieces.DecoderBytes()
	}
	// The estimate is that map outputs take four thirds of the bytes of the input. They may take
	// three fifths of the memory. The size of a stream is not known, and a journal keeps all map
	// outputs on disk.
	s.fits = inputBytes+inputBytes/3 < total*3/5 && streamJobs == 0 && r.journal == nil
	s.setFloors(total, int64(slotCount), r.o.SortBufferBytes)
	return s, pieces
}

// mostFloorBytes returns the largest floor that an attempt may wait for. It is the bound minus the
// memory that the streams of the run may hold until they end.
func (r *run) mostFloorBytes() int64 {
	return r.budget.Limit() - r.pieces.TotalBytes() - r.pieces.DecoderBytes()
}

// aheadBytes returns how many bytes decoding ahead may take. They are enough for a helper on each
// core that has a slot, but at most a quarter of the bound. It returns 0 if a quarter is too little
// for two helpers. It also returns 0 if several jobs read streams: those keep the cores busy by
// themselves.
func (r *run) aheadBytes(limitBytes int64, streamJobs int) int64 {
	cores := min(len(r.cores), r.o.allSlots())
	if streamJobs > 1 || cores < 2 || r.streamed == nil {
		return 0
	}
	least, bytes := r.streamed.AheadBytes(2), r.streamed.AheadBytes(cores)
	if bytes = min(bytes, limitBytes/4); bytes < least {
		return 0
	}
	return bytes
}

// setPace notes how the options slow down trackers, networks and disks.
func (r *run) setPace() {
	o := &r.o
	r.networks, r.disks = bandwidths(o.Trackers, o.ShuffleBytesPerSecond), bandwidths(o.Trackers, o.DiskBytesPerSecond)
	r.speed = slices.Repeat([]slots.PPM{slots.One}, o.Trackers)
	for _, s := range o.Slow {
		r.speed[s.Tracker] = s.Factor
	}
}

// slowdown returns the factor on the time of an attempt (attempt.slowdown): its tracker may
// be slow, or the input of a map remote. level is the locality of a map. slowdown returns 1 for an
// attempt that is not slowed down.
func (r *run) slowdown(a *attempt, level slots.Level) float64 {
	// Half the speed doubles the time.
	factor := float64(slots.One) / float64(r.speed[a.tracker])
	if remote := a.id.Kind == slots.Map && level < slots.LevelTracker; remote && r.coordinator.ledger.View().Placed(a.job.id) {
		factor *= float64(r.o.RemotePenalty) / float64(slots.One)
	}
	return factor
}

// now returns the time since the start of the run, up to the end of its last chain. The Ledger and
// events count time from there.
func (r *run) now() time.Duration { return cmp.Or(r.ended, time.Since(r.started)) }

// runAll starts the slots and serves until every job has ended.
func (r *run) runAll() error {
	if err := r.startSlots(); err != nil {
		return err
	}
	c := r.coordinator
	// Abandoned threads may still post. A closed inbox drops their closures.
	defer c.inbox.Close()
	r.o.warn()
	r.o.Ignored(r.o.Policy, len(r.chains), func(i int) *setup.Submission { return &r.chains[i].job.Submission }, r.o.Note)
	if n := disk.SweepTemp(r.o.TempDirs); n > 0 {
		r.o.Note(fmt.Sprintf("removed leftovers of killed runs in %s: %d", strings.Join(r.o.TempDirs, ", "), n))
	}
	return c.serve(r.ctx)
}

// startSlots makes the Ledger, the coordinator and the thread pool. All three number the slots in
// the same way.
func (r *run) startSlots() error {
	// The Ledger counts the extra slots of a tracker in MaxSlots.
	c := r.o.Config
	c.MaxSlots = c.MapSlots + c.ReduceSlots + r.o.extraSlots
	group := setup.Cores(c.Trackers, len(r.cores))
	config := c.Ledger(r.o.Policy, func(tracker, i int) int32 { return int32(r.cores[group(tracker, i)]) })
	config.ParallelCopies = int32(r.o.Copiers.Parallel)
	r.slotCores = make([]int, len(config.Slots))
	for i, s := range config.Slots {
		if r.slotCores[i] = int(s.Core); r.o.NoPin {
			r.slotCores[i] = -1
		}
	}
	ledger, err := slots.New(config, r.o.Policy)
	if panicked := r.claimed.Err(); panicked != nil {
		return panicked
	}
	if err != nil {
		return err
	}
	r.stream = trace.NewStream()
	if r.o.Events != nil {
		r.stream.Attach(trace.NewJSONL(guard.NewCalls(r.ctx).Writer("write", r.o.Events)))
	}
	if r.o.Watch != nil {
		if err := guard.NewCalls(r.ctx).Call("Options.Watch", func() error { r.o.Watch(r.stream); return nil }); err != nil {
			return err
		}
	}
	r.coordinator, r.trackers.Count = newCoordinator(r, ledger), r.o.Trackers
	ledger.SetStream(r.stream)
	var warnings []error
	r.pool, warnings = pool.New(r.slotCores)
	if len(warnings) > 0 {
		r.o.Note(fmt.Sprintf("slots run unbound: %v", warnings[0]))
	}
	// A policy that lends no slots lends no cores to merges either, so that policies with and
	// without lending stay comparable (docs/adr/0032). With several trackers a merge could use
	// the core of another tracker.
	r.lendsCores = ledger.Traits().Lends && r.o.Trackers == 1 && !r.slowsData()
	return nil
}

// afmBytes returns the free memory that a running map may count on: the term afm of the rule
// by which kvbuffers grow [Split11, "buffer terms"].
func (r *run) afmBytes() int64 {
	return (r.budget.Limit() - r.budget.Leased()) / max(1, r.runningMaps.Load())
}

// createTemp returns a function that makes temporary files of a kind.
func (r *run) createTemp(kind string) func() (*disk.TempFile, error) {
	return func() (*disk.TempFile, error) { return r.temp.Create(kind + "-*") }
}

// bindFeeder binds the calling thread to all cores of the slots together. The decoder of a stream
// then runs on whichever is idle, so that a large compressed file keeps more than one core busy.
func (r *run) bindFeeder() {
	if !r.o.NoPin {
		runtime.LockOSThread()
		_ = machine.BindThread(r.slotCores...)
	}
}

// close gives everything back. It may be called on a run that prepare refused.
func (r *run) close() {
	// Close waits for all threads but abandoned ones. An interrupted run that has abandoned
	// threads does not call it, because their helpers may hang too.
	if r.pool != nil && (r.abandonedThreads == 0 || r.coordinator.state < runInterrupted) {
		r.pool.Close()
	}
	for _, ch := range r.chains {
		ch.stdin.Leave(ch.job.NoDecode, ch.job.UTF16)
		if ch.current != nil {
			ch.current.release()
		}
	}
	if r.temp != nil {
		r.temp.Close()
	}
	if r.journal != nil {
		if err := r.journal.Close(r.succeeded); err != nil {
			r.o.Note(err.Error())
		}
	}
	// An abandoned thread may still use its memory.
	if r.budget != nil && r.abandonedThreads == 0 {
		r.leaveMemory()
	}
}

// leaveMemory counts one user of the budget's memory off, and unmaps the memory with the last
// user. Users are the run itself and the goroutines that it does not wait for, such as a feeder
// in the middle of a read.
func (r *run) leaveMemory() {
	if r.memoryUsers.Add(-1) < 0 {
		r.budget.Close()
	}
}
