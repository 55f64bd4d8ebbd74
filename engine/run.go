package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/input"
	"mrlocal/internal/affinity"
	"mrlocal/internal/membudget"
	"mrlocal/internal/tempdir"
	"mrlocal/internal/usage"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/pool"
	"mrlocal/spill"
	"mrlocal/trace"
)

// run is one call of RunChain.
type run struct {
	o           Options
	ctx         context.Context
	started     time.Time
	cores       []int
	plan        *input.Plan
	target      *output.Target
	budget      *membudget.Budget
	pool        *pool.Pool
	temp        *tempdir.Root
	stream      *trace.Stream
	coordinator *coordinator

	floorBytes      int64 // every attempt's lease before it starts
	sortBufferBytes int64 // of that, where a kvbuffer starts
	heldPieces      int   // pieces of streams that may wait in memory
	heldBytes       int64 // of one piece
	fdsPerTask      int
	fdTurns         chan struct{} // attempts that may have files open; nil: all
	runningMaps     atomic.Int64
	feeding         atomic.Int32 // feeders that may touch the budget's memory; -1: and the run has ended
	closed          bool
	abandoned       int
	jobs            []*jobRun
	notes           []string
}

// Run runs one job. See RunChain.
func Run(ctx context.Context, job jobs.Job, o Options) (*Report, error) {
	return RunChain(ctx, jobs.Chain{job}, o)
}

// RunChain runs the jobs of a chain one after the other on the same slots;
// the output of the last is the run's. An error for which usage.Is holds
// means that nothing was started. The report is there whenever work was
// started, also beside an error. When ctx ends, its cause is returned; all
// temporary and pending output is gone by then.
//
// For the duration of a run GOMAXPROCS is raised to one more than the slots
// (or cores, if there are more) and the collector gets a soft memory limit;
// both are put back. At most one run a process at a time.
func RunChain(ctx context.Context, chain jobs.Chain, o Options) (*Report, error) {
	r := &run{started: time.Now()}
	if err := r.prepare(chain, o); err != nil {
		r.close()
		return nil, err
	}
	restore := r.tuneProcess()
	defer restore()
	var cancel context.CancelCauseFunc
	r.ctx, cancel = context.WithCancelCause(ctx)
	defer cancel(nil)
	err := r.runAll(chain)
	readerGone := errors.Is(err, output.ErrClosedPipe)
	if readerGone {
		// Whoever read the result has seen enough.
		err = errors.Join(r.target.Abort())
	} else if err != nil {
		err = errors.Join(err, r.target.Abort())
	}
	if r.stream != nil {
		if serr := r.stream.Close(); serr != nil {
			err = errors.Join(err, fmt.Errorf("events: %w", serr))
		}
	}
	report := r.report(err)
	if report != nil {
		report.ReaderGone = readerGone
	}
	r.close()
	return report, err
}

// prepare checks everything that can be checked before anything is started.
func (r *run) prepare(chain jobs.Chain, o Options) error {
	cores, err := affinity.Allowed()
	if err != nil || len(cores) == 0 {
		cores = make([]int, runtime.NumCPU())
		for i := range cores {
			cores[i] = i
		}
	}
	r.cores = cores
	r.o = o.withDefaults(len(cores))
	r.noteFunc()
	if err := errors.Join(checkChain(chain), r.o.validate()); err != nil {
		return err
	}
	first := chain[0]
	r.temp = tempdir.New(r.tempDirs())
	if err := r.temp.Check(); err != nil {
		return err
	}
	r.plan, err = input.NewPlan(r.o.Inputs, input.Options{
		BlockBytes: r.o.BlockBytes, MapSlots: r.o.MapSlots * r.o.Trackers, All: r.o.All, Delim: first.Delim.Byte(), NUL: first.Delim == jobs.NUL,
		SkipBinary: first.SkipBinary, Stdin: r.o.Stdin, CreateTemp: r.createTemp("record"), GatherBytes: min(8<<20, r.o.MemoryBytes/16),
	})
	if err != nil {
		return err
	}
	for _, n := range r.plan.Notes {
		r.o.Note(n)
	}
	if r.budget, err = membudget.New(r.o.MemoryBytes); err != nil {
		return err
	}
	r.divideMemory()
	spec := output.Spec{
		Dir: r.o.OutputDir, File: r.o.OutputFile, Overwrite: r.o.Overwrite, Stdout: r.o.Stdout, Inputs: r.o.Inputs, Stdin: r.o.Stdin,
	}
	for i := range r.plan.Files {
		spec.Files = append(spec.Files, r.plan.Files[i].Path)
	}
	r.target, err = output.Open(spec)
	return err
}

func (r *run) noteFunc() {
	note := r.o.Note
	r.o.Note = func(s string) {
		r.notes = append(r.notes, s)
		note(s)
	}
}

func (r *run) tempDirs() []string {
	if len(r.o.TempDirs) == 0 {
		return []string{os.TempDir()}
	}
	return r.o.TempDirs
}

// checkChain refuses chains that cannot run.
func checkChain(chain jobs.Chain) error {
	if len(chain) == 0 {
		return usage.Errorf("job", "an empty chain")
	}
	for i, j := range chain {
		switch {
		case j.NewMapper == nil:
			return usage.Errorf("job "+j.Name, "has no mapper")
		case j.NewReducer == nil && i < len(chain)-1:
			return usage.Errorf("job "+j.Name, "only the last job of a chain may be map-only")
		case j.NewFolder != nil && j.NewCombiner != nil:
			return usage.Errorf("job "+j.Name, "a folder and a combiner exclude each other")
		case j.NewReducer == nil && (j.NewFolder != nil || j.NewCombiner != nil):
			return usage.Errorf("job "+j.Name, "a map-only job combines nothing")
		case j.Reduces < 0:
			return usage.Errorf("job "+j.Name, "a negative number of reduces")
		}
	}
	return nil
}

// divideMemory shares the bound out. The floors of all slots and the pieces
// of streams that may wait fit into it together, so nobody can wait for good.
// An input that will not fit anyway gets most of it for kvbuffers, so that
// there are few runs to merge; one that fits leaves room for finished map
// outputs.
func (r *run) divideMemory() {
	total, slotCount := r.budget.Limit(), int64(r.o.slotCount())
	if len(r.plan.Streams) > 0 {
		r.heldPieces = int(slotCount) + 1
		r.heldBytes = max(membudget.ChunkBytes, min(r.plan.BlockBytes(), total/8/int64(r.heldPieces)-2*membudget.ChunkBytes))
		total -= r.heldTotalBytes()
	}
	perSlot := total / slotCount
	share := perSlot / 4
	if fits := r.plan.Bytes+r.plan.Bytes/3 < total*3/5; !fits || len(r.plan.Streams) > 0 {
		share = perSlot * 3 / 4
	}
	r.sortBufferBytes = min(max(share, 4<<20), 256<<20)
	r.sortBufferBytes = min(r.sortBufferBytes, perSlot-taskOverheadBytes)
	if r.o.SortBufferBytes > 0 {
		r.sortBufferBytes = min(r.o.SortBufferBytes, perSlot-taskOverheadBytes)
	}
	r.floorBytes = min(perSlot, max(r.sortBufferBytes+taskOverheadBytes, 6<<20))
	r.divideFDs(int(slotCount))
}

// heldTotalBytes is what the pieces of streams may take together.
func (r *run) heldTotalBytes() int64 {
	if r.heldPieces == 0 {
		return 0
	}
	return int64(r.heldPieces) * (r.heldBytes + 2*membudget.ChunkBytes)
}

const (
	// taskOverheadBytes of an attempt's floor are input and output blocks and
	// the writing of spills.
	taskOverheadBytes = 2 << 20
	// sampleLeaseBytes hold the piece of input that is sampled at a time.
	sampleLeaseBytes = 4 * membudget.ChunkBytes
)

// tuneProcess sets what is process-wide for the run; the result puts it back.
func (r *run) tuneProcess() func() {
	procs := runtime.GOMAXPROCS(max(len(r.cores), r.o.slotCount()) + 1)
	limit := debug.SetMemoryLimit(r.budget.Limit() + 64<<20)
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetMemoryLimit(limit)
	}
}

// now is the time of the run, as the Ledger and the events have it.
func (r *run) now() time.Duration { return time.Since(r.started) }

// runAll starts the slots and runs the chain.
func (r *run) runAll(chain jobs.Chain) error {
	if err := r.startSlots(); err != nil {
		return err
	}
	if err := r.target.Start(); err != nil {
		return err
	}
	if n := tempdir.Sweep(r.tempDirs()); n > 0 {
		r.o.Note(fmt.Sprintf("removed leftovers of killed runs in %s: %d", strings.Join(r.tempDirs(), ", "), n))
	}
	c := r.coordinator
	defer c.inbox.close()
	var before *jobRun
	for i := range chain {
		j, err := r.newJob(chain[i], before, i == len(chain)-1)
		if err == nil {
			err = c.runJob(r.ctx, j)
		}
		if err != nil {
			return err
		}
		before = j
	}
	return r.target.Commit()
}

// startSlots opens the pool and the Ledger over the same slots.
func (r *run) startSlots() error {
	config := slots.Config{Slowstart: *r.o.Slowstart, MaxAttempts: r.o.Attempts}
	var cores []int
	for t := range r.o.Trackers {
		group := r.cores[t*len(r.cores)/r.o.Trackers : (t+1)*len(r.cores)/r.o.Trackers]
		if len(group) == 0 {
			group = r.cores[t%len(r.cores) : t%len(r.cores)+1]
		}
		for i := range r.o.MapSlots + r.o.ReduceSlots {
			home := slots.Map
			if i >= r.o.MapSlots {
				home = slots.Reduce
			}
			core := group[i%len(group)]
			config.Slots = append(config.Slots, slots.Slot{ID: slots.SlotID(len(cores)), Tracker: slots.TrackerID(t), Core: int32(core), Home: home})
			if r.o.NoPin {
				core = -1
			}
			cores = append(cores, core)
		}
	}
	ledger, err := slots.New(config, r.o.Policy)
	if err != nil {
		return err
	}
	r.stream = trace.NewStream()
	if r.o.Events != nil {
		r.stream.AddWriter(r.o.Events)
	}
	if r.o.Watch != nil {
		r.o.Watch(r.stream)
	}
	ledger.SetStream(r.stream)
	var warnings []error
	r.pool, warnings = pool.New(pool.Options{Cores: cores})
	if len(warnings) > 0 {
		r.o.Note(fmt.Sprintf("slots run unbound: %v", warnings[0]))
	}
	r.coordinator = newCoordinator(r, ledger)
	return nil
}

// newJob prepares a job: its input (the plan, or the parts of the job before),
// its reduce tasks and cut points, its output.
func (r *run) newJob(job jobs.Job, before *jobRun, last bool) (*jobRun, error) {
	j := &jobRun{run: r, job: job, binary: map[int32]struct{}{}}
	r.jobs = append(r.jobs, j)
	inputBytes := r.plan.Bytes
	if before == nil {
		if job.Begin != nil {
			job.Begin(len(r.plan.Files))
		}
	} else {
		inputBytes = j.readParts(before)
	}
	if !j.mapOnly() {
		j.parts = r.reduces(job, inputBytes, before == nil && len(r.plan.Streams) > 0)
	}
	if before == nil {
		if err := r.planMaps(j); err != nil {
			return nil, err
		}
	} else if job.Ordered && job.Partition == nil {
		// Only the first job of a chain has an input that can be sampled.
		j.parts = 1
	}
	if !j.mapOnly() {
		j.shuffle = shuffle.New[*spill.MapOutput](len(j.sources), j.parts, shuffle.Options{})
	}
	if last {
		j.sink = r.expect(j)
	} else {
		j.sink = &spoolSink{run: r, spools: make([]*output.Spool, j.parts)}
	}
	return j, nil
}

// expect tells the output what j will write, and how it is heard.
func (r *run) expect(j *jobRun) *targetSink {
	p := output.Parts{Count: j.parts, MapOnly: j.mapOnly(), Memory: r.budget, CreateTemp: r.createTemp("part")}
	s := &targetSink{target: r.target, inOrder: !r.target.ByTask()}
	if j.mapOnly() {
		p.OnRelease = func(int) { r.coordinator.inbox.post(func() { j.progressed() }) }
		if j.job.NewReleaser != nil {
			j.releaser = j.job.NewReleaser()
			p.Releaser, s.inOrder = j.releaser, true
			p.OnVerdict = func(task int, v jobs.Verdict) { r.coordinator.inbox.post(func() { j.verdict(task, v) }) }
		}
	}
	r.target.Expect(p)
	return s
}

// reduces is the number of reduce tasks: as asked for, as the job says, or by
// the size of its input: enough for balance, few enough for large parts.
func (r *run) reduces(job jobs.Job, inputBytes int64, streams bool) int {
	switch {
	case job.Reduces > 0:
		return job.Reduces
	case r.o.Reducers > 0:
		return r.o.Reducers
	}
	most := int64(4 * r.o.slotCount())
	if streams {
		return int(most)
	}
	const bytesPerReduce = 8 << 20
	return int(min(max(1, inputBytes/bytesPerReduce), most))
}

// planMaps makes the map tasks of the first job, and samples its cut points
// where it is ordered.
func (r *run) planMaps(j *jobRun) error {
	var first []heldBlock
	if len(r.plan.Streams) > 0 {
		j.feeder = newFeeder(r, j, r.plan)
		if j.job.Ordered && j.job.Partition == nil && j.parts > 1 {
			held, err := j.feeder.prime()
			if err != nil {
				return err
			}
			if held != nil {
				first = held.blocks
			}
		}
	} else {
		for i := range r.plan.Splits {
			j.sources = append(j.sources, fileSource{r.plan, &r.plan.Splits[i], j.skippedBinary})
		}
	}
	if !j.job.Ordered || j.job.Partition != nil || j.parts <= 1 {
		return nil
	}
	lease, err := r.budget.Reserve(r.ctx, sampleLeaseBytes)
	if err != nil {
		return err
	}
	defer lease.Close()
	j.cuts, err = sampleJob(&j.job, r.plan, first, j.parts, lease)
	if j.job.Reduces > 0 || r.o.Reducers > 0 {
		j.cuts = padCuts(j.cuts, j.parts)
	}
	j.parts = len(j.cuts) + 1
	r.stream.Append(trace.Event{At: r.now(), Op: trace.OpSample, Job: int32(len(r.jobs) - 1), A: samplePlaces, B: int64(len(j.cuts))})
	return err
}

// afmBytes is the free memory a running map may count on: the afm of the
// Dynamic Split rule (SPEC 5.3 A29).
func (r *run) afmBytes() int64 {
	return (r.budget.Limit() - r.budget.Leased()) / max(1, r.runningMaps.Load())
}

func (r *run) createTemp(kind string) func() (*os.File, error) {
	return func() (*os.File, error) { return r.temp.Create(kind + "-*") }
}

// helper runs a closure on a thread that is bound to the slot's core, so that
// a task's spill sorts never quietly use another core.
func (r *run) helper(slot int) func(func()) {
	return func(f func()) { r.pool.Helper(slot, f) }
}

// close gives everything back; idempotent.
func (r *run) close() {
	if r.pool != nil && r.abandoned == 0 {
		r.pool.Close()
	}
	for _, j := range r.jobs {
		j.stopFeeder(nil)
		if r.abandoned == 0 {
			j.finish()
		}
	}
	if r.temp != nil {
		r.temp.Close()
	}
	// A thread that hangs in user code may still touch its memory.
	if r.budget != nil && r.abandoned == 0 && !r.closed {
		r.closed = true
		r.leaveMemory()
	}
}

// leaveMemory unmaps the budget's memory when the last of its users has left:
// the run itself, and feeders, which are not waited for and may be in the
// middle of a read.
func (r *run) leaveMemory() {
	if r.feeding.Add(-1) < 0 {
		r.budget.Close()
	}
}
