// Package engine runs MapReduce jobs for real on the files and cores of one machine. RunChain
// runs one chain of jobs, and RunBatch many that share the slots in pools.
//
// One goroutine, the coordinator, owns the slots.Ledger. Other goroutines post
// facts to its inbox. What the Ledger decides goes to the threads of the slots
// (task.ThreadPool). A map attempt reads a source (engine/source) into a kvbuffer
// (spill). A reduce attempt takes map outputs (shuffle), merges them
// (spill/runs) and writes a part (output). Nothing that happens once a record
// takes a lock, uses a channel or makes an event.
//
// Memory: everything that grows with the data is leased from one
// membudget.Budget of Options.MemoryBytes. An attempt reserves its floor before
// it starts, and holds nothing else while it waits for that.
//
// The life of a chain: it is checked with all others before anything starts
// (check.go), and opened when its time has come. Its jobs are submitted one
// after the other, and its result is settled (chain.go, arrivals.go). A
// failure ends one chain; the others go on. The states of chains, jobs and
// attempts are in state.go.
//
// With Options.ResumeDir the first job keeps its map outputs for a later run
// (resume.go, package engine/journal).
//
// The engine knows no policy, no job and no flag by name. Package engine/task is
// what an attempt does, engine/source what a map reads.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/engine/journal"
	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/machine"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// run is one call of RunBatch or RunChain.
type run struct {
	o           Options
	kind        string // as the report has it
	ctx         context.Context
	started     time.Time
	used        report.Sampler // what process and machine have used
	cores       []int          // that the process may use
	slotCores   []int          // of the slots; -1 where threads are not bound
	chains      []*chain
	budget      *membudget.Budget
	pool        *task.ThreadPool
	temp        *disk.TempRoot
	journal     *journal.Journal // nil: the run cannot go on after a kill
	stream      *trace.Stream
	coordinator *coordinator
	env         task.Env // what attempts see
	near        source.Trackers
	speed       []slots.PPM // of each tracker

	runningMaps      atomic.Int64
	pieces           *source.Pieces // of streams; nil: there are none
	blockBytes       int64          // of the first job's splits
	streamed         *input.Plan    // with streams, of the last job that has some; nil: none has
	visitors         atomic.Int32   // goroutines that may use the budget's memory and that the run does not wait for; -1: there is none, and the run has ended
	abandonedThreads int
	notes            []string
	succeeded        bool // the result is complete and durable
}

// RunChain runs the jobs of a chain one after the other on the same slots. The
// output of the last job is the output of the run.
//
// Every error is an *errs.Error, and its kind says what went wrong. If work was
// started, RunChain returns a report, beside an error too. Options, and inputs as
// far as they can be read without waiting, are checked before. If ctx ends, RunChain
// removes all temporary and pending output, and returns an error of kind
// Interrupted that wraps the cause of ctx.
//
// RunChain changes nothing of the process; see Options.ProcessLimits. Several runs may take
// place at once. They share neither memory nor descriptors. Each uses up to its own
// MemoryBytes. Each divides all descriptors that the process may open among its slots.
func RunChain(ctx context.Context, chain jobs.Chain, o Options) (*Report, error) {
	work := []BatchJob{{Chain: chain, JobOptions: o.JobOptions}}
	return runWork(ctx, "run", work, o, func(r *run) error { return r.chains[0].err })
}

// RunBatch runs many jobs at once. They share slots, memory and temporary space
// as o says. A job is submitted at its time, after the jobs that it waits for
// have ended. If one of those has failed, it is not started. When a job fails,
// all others run to their end, and the error names the jobs that failed. A job
// whose result is empty has succeeded.
//
// RunBatch checks the inputs, outputs and options of all jobs before it starts
// anything. Only inputs below the output of a job that is waited for may appear
// later. What RunChain says of errors, reports and the process holds here too.
// RunBatch reads work until it returns.
func RunBatch(ctx context.Context, work []BatchJob, o Options) (*Report, error) {
	return runWork(ctx, "batch", work, o, (*run).failures)
}

// runWork runs and cleans up. outcome returns the error of a run that was not
// interrupted.
func runWork(ctx context.Context, kind string, work []BatchJob, o Options, outcome func(*run) error) (*Report, error) {
	// A policy with state would mix what two runs tell it. If o names none, the run
	// makes one of its own.
	release, err := setup.Claim(o.Policy)
	if err != nil {
		return nil, err
	}
	defer release()
	// All times of the run, those of events too, count from here.
	r := &run{kind: kind, started: time.Now(), used: report.NewSampler()}
	if o.Profile {
		defer pprof.SetGoroutineLabels(ctx)
		ctx = pprof.WithLabels(ctx, pprof.Labels("phase", "coordinate"))
		pprof.SetGoroutineLabels(ctx)
	}
	// Nothing has started, so there is no report.
	if err := r.prepare(work, o); err != nil {
		r.close()
		return nil, typed(ctx, err)
	}
	var cancel context.CancelCauseFunc
	r.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(nil)
	err = r.runAll()
	if err == nil {
		err = outcome(r)
	}
	// The events are complete before the report is made, and a write error of theirs
	// fails the run.
	if r.stream != nil {
		if serr := r.stream.Close(); serr != nil {
			err = errors.Join(err, fmt.Errorf("events: %w", serr))
		}
	}
	if r.journal != nil && err != nil {
		r.journal.NoteKept(r.o.Note)
	}
	// The report is made before close, which releases the jobs.
	report := r.report(err)
	r.succeeded = err == nil
	r.close()
	return report, typed(ctx, err)
}

// typed gives err a kind if it has none.
func typed(ctx context.Context, err error) error {
	switch {
	case err == nil || errs.IsUsage(err):
		return err
	// A job that fails for another reason while the context ends keeps that reason.
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return &errs.Error{Kind: errs.Interrupted, Cause: err}
	}
	return &errs.Error{Kind: errs.JobFailed, Cause: err}
}

// failures returns the error of a batch: which jobs have failed, and the first
// causes.
func (r *run) failures() error {
	const mostNamed = 3
	var named []string
	failed := 0
	for _, ch := range r.chains {
		if ch.err == nil {
			continue
		}
		// A batch may have thousands of jobs, and the error is one line.
		if failed++; failed <= mostNamed {
			named = append(named, fmt.Sprintf("%s: %v", ch.name(), errs.OneLine(ch.err.Error())))
		}
	}
	if failed == 0 {
		return nil
	}
	if failed > mostNamed {
		named = append(named, fmt.Sprintf("and %d more", failed-mostNamed))
	}
	return fmt.Errorf("%d of %d jobs failed: %s", failed, len(r.chains), strings.Join(named, "; "))
}

// prepare checks everything that can be checked before anything is started.
func (r *run) prepare(batch []BatchJob, o Options) error {
	r.cores = machine.Cores()
	r.o = o.withDefaults(len(r.cores))
	r.noteFunc()
	if err := r.takeJobs(batch); err != nil {
		return err
	}
	if err := r.o.validate(len(batch)); err != nil {
		return err
	}
	r.o.noteExtra()
	r.temp = disk.NewTempRoot(r.tempDirs(), r.o.MaxTempBytes)
	if !r.o.TempAtNeed {
		if err := r.temp.Check(); err != nil {
			return err
		}
	}
	// A wrong path must leave no journal behind.
	totalBytes, streams, err := r.checkPaths()
	if err != nil {
		return err
	}
	if err := r.openJournal(); err != nil {
		return err
	}
	if r.budget, err = membudget.New(r.o.MemoryBytes); err != nil {
		return err
	}
	r.divideMemory(totalBytes, streams)
	r.setPace()
	return nil
}

// noteFunc keeps every note for the report too.
func (r *run) noteFunc() {
	note := r.o.Note
	r.o.Note = func(s string) {
		r.notes = append(r.notes, s)
		note(s)
	}
}

// tempDirs returns the directories for temporary files.
func (r *run) tempDirs() []string {
	if len(r.o.TempDirs) == 0 {
		return []string{os.TempDir()}
	}
	return r.o.TempDirs
}

// divideMemory divides the bound among the uses of all jobs together. The floors
// of all slots and the pieces of streams fit into it at the same time, so no
// attempt waits for ever. All other uses are refused or evicted when memory is
// short: the growth of kvbuffers, map outputs, and parts between the jobs of a
// chain.
//
// inputBytes are those of all inputs. If they are not likely to fit in memory,
// most of it goes to kvbuffers, so that there are few runs to merge. If they
// are, room is left for map outputs.
func (r *run) divideMemory(inputBytes int64, streamJobs int) {
	env, pieces := r.divide(r.budget.Limit(), inputBytes, streamJobs)
	r.env.Fits, r.env.SortBufferBytes, r.env.FloorBytes = env.Fits, env.SortBufferBytes, env.FloorBytes
	if r.pieces = pieces; pieces != nil {
		r.env.HeldTotalBytes, r.env.DecoderBytes = pieces.TotalBytes(), pieces.DecoderBytes
		pieces.AllowWindows(func(limitBytes int64) int64 {
			env, pieces := r.divide(limitBytes, inputBytes, streamJobs)
			return limitBytes - pieces.TotalBytes() - env.FloorBytes // nothing is decoded ahead beside a window
		})
	}
	// Descriptors are divided as memory is, by slots.
	r.env.DivideFDs(r.o.allSlots())
	o := &r.o
	r.env.Budget, r.env.AfmBytes, r.env.CreateTemp, r.env.Stderr = r.budget, r.afmBytes, r.createTemp, o.Stderr
	r.env.HashSeed = rand.Uint64() | 1 // the result does not depend on it
	r.env.KVBuffer, r.env.MergeFactor, r.env.Profile = o.KVBuffer, o.MergeFactor, o.Profile
}

// divide divides a bound: env has what DivideMemory sets, and pieces is nil where no
// input is a stream.
func (r *run) divide(limitBytes, inputBytes int64, streamJobs int) (env task.Env, pieces *source.Pieces) {
	total, slotCount := limitBytes, r.o.allSlots()
	if streamJobs > 0 {
		pieces = source.NewPieces(limitBytes, cmp.Or(r.blockBytes, 1<<20), r.aheadBytes(limitBytes, streamJobs), slotCount, streamJobs)
		total -= pieces.TotalBytes() + pieces.DecoderBytes()
	}
	env.Fits = inputBytes+inputBytes/3 < total*3/5 && streamJobs == 0 && r.journal == nil
	env.DivideMemory(total, int64(slotCount), r.o.SortBufferBytes)
	return env, pieces
}

// aheadBytes returns what decoding ahead may take: enough for as many goroutines as
// there are slots and cores, but at most a quarter of the bound. Streams of several
// jobs keep the cores busy without it.
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

// setPace slows trackers, networks and disks down as the options say.
func (r *run) setPace() {
	o := &r.o
	r.env.Pace = task.NewPace(o.Trackers, o.ShuffleBytesPerSecond, o.DiskBytesPerSecond, o.Copiers)
	r.speed = slices.Repeat([]slots.PPM{slots.One}, o.Trackers)
	for _, s := range o.Slow {
		r.speed[s.Tracker] = s.Factor
	}
}

// stretch returns how many times as long an attempt is to take, because its tracker is slow or
// a map's input is remote. 0 means as long as it takes.
func (r *run) stretch(a *runningAttempt, level slots.Level) float64 {
	// Half the speed doubles the time.
	factor := float64(slots.One) / float64(r.speed[a.Tracker])
	if remote := a.ID.Kind == slots.Map && level < slots.LevelTracker; remote && r.coordinator.ledger.View().Placed(a.job.id) {
		factor *= float64(r.o.RemotePenalty) / float64(slots.One)
	}
	if factor == 1 {
		return 0
	}
	return factor
}

// now returns the time since the start of the run, as in the Ledger and in
// events.
func (r *run) now() time.Duration { return time.Since(r.started) }

// runAll starts the slots and serves until every job has ended.
func (r *run) runAll() error {
	if err := r.startSlots(); err != nil {
		return err
	}
	c := r.coordinator
	// Threads that are abandoned may still post. Their closures are dropped then.
	defer c.inbox.Close()
	if n := disk.SweepTemp(r.tempDirs()); n > 0 {
		r.o.Note(fmt.Sprintf("removed leftovers of killed runs in %s: %d", strings.Join(r.tempDirs(), ", "), n))
	}
	return c.serve(r.ctx)
}

// startSlots opens the pool and the Ledger over the same slots.
func (r *run) startSlots() error {
	// The Ledger counts the extra slots of a tracker in MaxSlots.
	c := r.o.Config
	c.MaxSlots = c.MapSlots + c.ReduceSlots + r.o.extraSlots
	group := setup.Cores(c.Trackers, len(r.cores))
	config := c.Ledger(r.o.Policy, func(tracker, i int) int32 { return int32(r.cores[group(tracker, i)]) })
	r.slotCores = make([]int, len(config.Slots))
	for i, s := range config.Slots {
		if r.slotCores[i] = int(s.Core); r.o.NoPin {
			r.slotCores[i] = -1
		}
	}
	ledger, err := slots.New(config, r.o.Policy)
	if err != nil {
		return err
	}
	r.stream = trace.NewStream()
	if r.o.Events != nil {
		r.stream.Attach(trace.NewJSONL(r.o.Events))
	}
	if r.o.Watch != nil {
		r.o.Watch(r.stream)
	}
	r.coordinator, r.near.Count = newCoordinator(r, ledger), r.o.Trackers
	ledger.SetStream(r.stream)
	var warnings []error
	r.pool, warnings = task.NewPool(r.slotCores)
	if len(warnings) > 0 {
		r.o.Note(fmt.Sprintf("slots run unbound: %v", warnings[0]))
	}
	r.env.Pool = r.pool
	// Slots of the other kind are idle where the policy lends none, and trackers keep to their own.
	r.env.LendsCores = ledger.Traits().Lends && r.o.Trackers == 1 && r.env.Pace == nil
	return nil
}

// afmBytes returns the free memory that a running map may count on: afm of the
// rule by which kvbuffers grow [Split11, "buffer terms"].
func (r *run) afmBytes() int64 {
	return (r.budget.Limit() - r.budget.Leased()) / max(1, r.runningMaps.Load())
}

// createTemp returns a function that makes temporary files of a kind.
func (r *run) createTemp(kind string) func() (*disk.TempFile, error) {
	return func() (*disk.TempFile, error) { return r.temp.Create(kind + "-*") }
}

// bindFeeder binds the calling thread to the cores of the slots. The decoder of a stream
// runs on one that is idle, so a large compressed file keeps more than one core busy.
func (r *run) bindFeeder() {
	if !r.o.NoPin {
		runtime.LockOSThread()
		_ = machine.BindThread(r.slotCores...)
	}
}

// close gives everything back.
func (r *run) close() {
	if r.pool != nil && (r.abandonedThreads == 0 || r.coordinator.state < runInterrupted) {
		r.pool.Close() // it does not wait for abandoned threads
	}
	for _, ch := range r.chains {
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

// leaveMemory unmaps the budget's memory when its last user leaves. Users are
// the run itself and the goroutines that it does not wait for, such as a feeder
// in the middle of a read.
func (r *run) leaveMemory() {
	if r.visitors.Add(-1) < 0 {
		r.budget.Close()
	}
}
