package engine

import (
	"errors"
	"fmt"
	"sync"

	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/input"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
)

// chain is one job of a run as its user submits it: one or more jobs of the
// Ledger, one after the other. It belongs to the coordinator, but for mu, and
// for what open and settle do on goroutines of their own: meanwhile nobody else
// looks at it.
type chain struct {
	run        *run
	index      int // in the batch
	job        *BatchJob
	state      chainState
	current    *runningJob // that was submitted last; nil: none yet, or the chain has ended
	lastID     slots.JobID // of the job that was submitted last; -1: none
	plan       *input.Plan
	side       []byte // side data that the options name; nil: none
	noted      bool   // the user knows what the plan leaves out
	err        error
	cancelled  bool // err is not the chain's own failure
	readerGone bool // the reader of the result has closed its end

	mu struct {
		sync.Mutex
		target *output.Target // nil: not opened yet, or the result goes nowhere
		output outputState
	}
}

// name returns the name of the job in messages.
func (ch *chain) name() string {
	if ch.job.Name == "" {
		return ch.job.Chain[0].Name
	}
	return ch.job.Name
}

// spec returns the job of a step as the Ledger sees it. before jobs of the chain came before
// it: those of earlier steps, and its own earlier rounds.
// A single run names its jobs as they are. In a batch the jobs of a chain are J, J.2, J.3.
func (ch *chain) spec(step, before, reduces int) slots.JobSpec {
	b := ch.job
	s := b.Spec()
	s.Name, s.Reduces, s.Unplaced = ch.name(), int32(reduces), before > 0
	switch {
	case ch.run.single():
		s.Name = b.Chain[step].Name
	case before > 0:
		s.Name = fmt.Sprintf("%s.%d", s.Name, before+1)
	}
	// In a batch the jobs of a chain share a pool, so that they get one share together.
	if s.Pool == "" {
		s.Pool = s.Name
		if !ch.run.single() {
			s.Pool = ch.name()
		}
	}
	return s
}

// blockBytes returns the bytes of a split that the options ask for; 0: any.
func (ch *chain) blockBytes() int64 {
	if ch.job.BlockBytes > 0 {
		return ch.job.BlockBytes
	}
	return ch.run.o.BlockBytes
}

// mapOnlySplits is how many splits a slot a map-only job has at least. Many
// splits cost little there, because no reduce has to merge them. The shorter the
// last ones are, the less time slots are idle at the end.
const mapOnlySplits = 16

// newPlan finds and splits inputs.
func (ch *chain) newPlan(inputs []string) (*input.Plan, error) {
	return input.NewPlan(inputs, ch.planOptions())
}

// planOptions returns how inputs are found and divided.
func (ch *chain) planOptions() input.Options {
	r, first := ch.run, &ch.job.Chain[0]
	mapSlots, perSlot, mapOnly := r.o.MapSlots*r.o.Trackers, 0, first.NewReducer == nil
	if mapOnly { // a policy that lends slots gives its maps the reduce slots too
		mapSlots, perSlot = r.o.slotCount(), mapOnlySplits
	}
	o := ch.job.InputOptions(first)
	o.Prompt, o.Warn, o.BlockBytes, o.MapSlots, o.SplitsPerSlot, o.Taper = ch.job.Found != nil, r.o.Warn, ch.blockBytes(), mapSlots, perSlot, mapOnly
	o.CreateTemp, o.GatherBytes = r.createTemp("record"), min(8<<20, r.o.MemoryBytes/16)
	return o
}

// noteLeftOut tells the user, once, what the plan left out.
func (ch *chain) noteLeftOut(notes []string) {
	if ch.noted {
		return
	}
	ch.noted = true
	for _, n := range notes {
		ch.note(n)
	}
}

// note tells the user something about the job.
func (ch *chain) note(text string) {
	if !ch.run.single() {
		text = ch.name() + ": " + text
	}
	ch.run.o.Note(text)
}

// discards reports whether the result is thrown away: then no order matters.
func (ch *chain) discards() bool {
	o := &ch.job.JobOptions
	last := &ch.job.Chain[len(ch.job.Chain)-1]
	return o.OutputDir == "" && o.OutputFile == "" && o.Stdout == nil && last.NewReleaser == nil
}

// inMemory reports whether the job touches no file. The coordinator itself opens
// and settles such a job, because that takes no time.
func (ch *chain) inMemory() bool { return ch.job.Chain[0].NoInput && ch.discards() }

// open makes the first job of the chain ready to be submitted: it finds the
// input, begins the output and samples cut points. It may take long, and so runs
// on a goroutine of its own.
func (ch *chain) open() (*runningJob, error) {
	first := &ch.job.Chain[0]
	if ch.plan == nil && !first.NoInput && ch.job.Found == nil {
		var err error
		if ch.plan, err = ch.newPlan(ch.job.Inputs); err != nil {
			return nil, err
		}
	}
	// Nothing below may touch the Ledger: this may be the opener's goroutine.
	var err error
	if ch.side, err = source.ReadSide(ch.job.Side); err != nil {
		return nil, err
	}
	j := ch.newJob(0)
	j.plan, j.Side = ch.plan, ch.side
	var inputBytes int64
	streams := ch.job.Found != nil // any of them may be a stream
	if j.plan != nil {
		inputBytes, streams = j.plan.Bytes, len(j.plan.Streams) > 0
		j.hosts = ch.run.near.Hosts(j.plan, ch.job.HDFS, ch.note)
		if err := source.MayReread(j.plan); err != nil && ch.job.Chain.Rereads() {
			return nil, err
		}
	}
	// Begin the output early, so that an output that cannot be made fails the job
	// before it reads a stream. In a very large batch the first part begins it.
	if ch.run.keeps() || streams {
		if _, err := ch.begin(); err != nil {
			return nil, err
		}
	}
	// User code that sees the number of files once, before any mapper is made.
	if first.Begin != nil {
		files := 0
		if j.plan != nil {
			files = len(j.plan.Files)
		}
		if err := source.Guard("begin", func() error { j.Spec = source.GuardNew(first.Begin(files)); return nil }); err != nil {
			return nil, err
		}
	}
	if !j.MapOnly() {
		j.Parts = ch.reduces(first, inputBytes, streams)
	}
	if err := j.planMaps(streams); err != nil {
		j.forgetPrimed()
		return nil, err
	}
	j.complete()
	if err := j.keepMaps(); err != nil {
		return nil, err
	}
	if !ch.run.keeps() && !streams && !ch.job.Chain.Rereads() {
		j.plan, ch.plan = nil, nil // the first map that starts plans once more
	}
	return j, nil
}

// newJob returns the job of a step, without its input.
func (ch *chain) newJob(step int) *runningJob {
	return &runningJob{chain: ch, step: step, SharedJob: &task.SharedJob{Spec: source.GuardNew(ch.job.Chain[step]), Uncounted: ch.job.Uncounted}, binary: map[int32]struct{}{}}
}

// next returns the job of the chain that follows before: another round of it, or a job that
// reads its parts.
func (ch *chain) next(before *runningJob) (*runningJob, error) {
	step, side := before.step+1, ch.side
	var err error
	if again := before.Spec.Rounds > 1; again || ch.job.Chain[step].Rereads {
		// MaxSideBytes bounds how long the coordinator reads here.
		if side, err = before.Sink.(*task.Spools).Text(jobs.MaxSideBytes); err != nil {
			return nil, fmt.Errorf("%s: %w", before.Spec.Name, err)
		}
		if again, err = before.repeats(side); err != nil {
			return nil, err
		} else if again {
			step--
		}
	}
	j := ch.newJob(step)
	if step == before.step {
		j.Spec, j.round = before.Spec, before.round+1 // Begin was called
	}
	j.number, j.Side = before.number+1, ch.side
	var inputBytes int64
	if j.Spec.Rereads {
		j.Side, inputBytes = side, ch.plan.Bytes
		j.plan = ch.plan
		j.readSplits()
		before.Sink.(*task.Spools).Release()
	} else {
		inputBytes = j.readParts(before)
	}
	if !j.MapOnly() {
		j.Parts = ch.reduces(&j.Spec, inputBytes, false)
	}
	if j.Spec.Ordered && j.Spec.Partition == nil && !j.MapOnly() {
		// Only the first job of a chain has an input that can be sampled.
		j.Parts = 1
	}
	j.complete()
	return j, nil
}

// repeats reports whether the job runs another round, after one that has written text.
func (j *runningJob) repeats(text []byte) (again bool, err error) {
	if j.Spec.Rounds <= 1 {
		return false, nil
	}
	again = true
	if j.Spec.Converged != nil {
		err = source.Guard("converged", func() error { again = !j.Spec.Converged(j.Side, text); return nil })
	}
	if again && j.round+1 >= j.Spec.Rounds {
		again = false
		if j.Spec.Converged != nil {
			j.chain.note(fmt.Sprintf("%s: has not converged after %d rounds", j.Spec.Name, j.Spec.Rounds))
		}
	}
	return again, err
}

// begin starts the output, once, and returns it; nil where the result is thrown
// away. It fails with output.ErrAborted after abort.
func (ch *chain) begin() (*output.Target, error) {
	if ch.discards() {
		return nil, nil
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	switch {
	case ch.mu.output == outputGone:
		return nil, output.ErrAborted
	case ch.mu.output == outputBegun:
		return ch.mu.target, nil
	case ch.mu.target == nil:
		target, err := output.Open(ch.outputSpec(ch.plan, ch.job.Inputs))
		if err != nil {
			return nil, err
		}
		// The target stays even where Start fails, so that abort finds it.
		ch.mu.target = target
	}
	if err := ch.mu.target.Start(); err != nil {
		return nil, err
	}
	invariant.Move(&ch.mu.output, outputBegun)
	return ch.mu.target, nil
}

// target returns the output. It is nil if the output was not begun, or is settled.
func (ch *chain) target() *output.Target {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.mu.output == outputPlanned {
		return nil
	}
	return ch.mu.target
}

// settle commits the result or, if cause says why there is none, removes it. It
// may take long. It returns how the chain ended, and whether the reader of the
// result has closed its end, which is no failure.
func (ch *chain) settle(cause error) (err error, readerGone bool) {
	target := ch.target()
	if target == nil && cause == nil {
		target, err = ch.current.Sink.(*targetSink).begin() // no part was ever written
	}
	switch {
	case err != nil:
		return err, false
	case cause == nil:
		// Commit and Abort may sync files and remove directories. No lock is held here.
		cause = target.Commit()
	}
	switch {
	case cause == nil:
		return nil, false
	case errors.Is(cause, output.ErrClosedPipe):
		return errors.Join(target.Abort()), true
	}
	return errors.Join(cause, target.Abort()), false
}

// forget lets go of the output, which is settled.
func (ch *chain) forget() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.mu.target = nil
	invariant.Move(&ch.mu.output, outputGone)
}

// abort removes the output. Attempts that still write to it fail.
func (ch *chain) abort() error {
	ch.mu.Lock()
	target := ch.mu.target
	invariant.Move(&ch.mu.output, outputGone)
	ch.mu.Unlock()
	if target == nil {
		return nil
	}
	return target.Abort()
}
