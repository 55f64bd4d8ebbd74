package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// chain is one job of a run as its user submits it. It becomes one or more jobs of the
// Ledger, one after the other. A chain belongs to the coordinator. The opener and the
// goroutine that settles it have it for as long as they run. Only mu may be used from any
// goroutine.
type chain struct {
	run        *run
	index      int // in the batch
	job        *BatchJob
	state      chainState
	current    *job        // the job that was submitted last; nil: none yet, or the chain has ended
	lastID     slots.JobID // of the job that was submitted last; -1: none
	plan       *input.Plan
	side       []byte // side data that the options name; nil: none
	noted      bool   // noteLeftOut was called
	err        error  // why it has failed; the first cause counts
	cancelled  bool   // err is not its own failure: the run was interrupted, or a chain that it waits for failed
	readerGone bool   // the reader of the result has closed its end of the pipe

	stdin feed.SharedStdin

	mu struct {
		sync.Mutex
		target *output.Target // nil: not opened yet, or the result goes nowhere
		output outputState
	}
}

// name returns the name of the chain in messages: that of its first job if it has none, or the
// index of an empty chain.
func (ch *chain) name() string {
	if ch.job.Name == "" && len(ch.job.Chain) > 0 {
		return ch.job.Chain[0].Name
	}
	return cmp.Or(ch.job.Name, fmt.Sprint(ch.index))
}

// spec returns the job at index step of the chain for the Ledger. before is the number of jobs of
// the chain that came before it: earlier steps, and earlier rounds. reduces is the number of its
// reduce tasks. In a single run the job keeps its name. In a batch its name is setup.StepName.
func (ch *chain) spec(step, before, reduces int) slots.JobSpec {
	b := ch.job
	s := b.Spec()
	s.Reduces, s.Unplaced = int32(reduces), before > 0
	if s.Name = setup.StepName(ch.name(), before); ch.run.single() {
		s.Name = b.Chain[step].Name
	}
	// In a batch the jobs of a chain share a pool, so that they get one fair share together.
	own := s.Name
	if !ch.run.single() {
		own = ch.name()
	}
	s.Pool = b.PoolOr(own)
	return s
}

// blockBytes returns the bytes of a split that the options ask for; 0: any.
func (ch *chain) blockBytes() int64 {
	if ch.job.BlockBytes > 0 {
		return ch.job.BlockBytes
	}
	return ch.run.o.BlockBytes
}

// mapOnlySplits is the least number of splits for each slot in a map-only job. Many splits cost
// little there, because no reduce has to merge their output. Short splits at the end leave slots
// idle for less time.
const mapOnlySplits = 16

// planOptions returns the options by which inputs are found and divided.
func (ch *chain) planOptions() input.Options {
	r, first := ch.run, &ch.job.Chain[0]
	mapSlots := r.o.MapSlots * r.o.Trackers
	var perSlot int
	mapOnly := first.NewReducer == nil
	if mapOnly { // a policy that lends slots gives its maps the reduce slots too
		mapSlots, perSlot = r.o.slotCount(), mapOnlySplits
	}
	o := ch.job.inputOptions(r.ctx, first)
	o.Prompt = ch.job.Found != nil
	o.Warn = r.o.Warn
	o.BlockBytes = ch.blockBytes()
	o.MapSlots = mapSlots
	o.SplitsPerSlot = perSlot
	o.Taper = mapOnly
	o.CreateTemp = r.createTemp("record")
	o.GatherBytes = min(8<<20, r.o.MemoryBytes/16)
	o.OnStdin = ch.stdin.Planned
	return o
}

// noteLeftOut notes for the user what the plan has left out. Only the first call has an effect,
// because an input may be planned several times.
func (ch *chain) noteLeftOut(notes []string) {
	for i := 0; i < len(notes) && !ch.noted; i++ {
		ch.note(notes[i])
	}
	ch.noted = true
}

// note passes a note about the chain to Options.Note. In a batch it puts the name in front.
func (ch *chain) note(text string) {
	if !ch.run.single() {
		text = ch.name() + ": " + text
	}
	ch.run.o.Note(text)
}

// discards reports whether the result is thrown away, as in measurements.
func (ch *chain) discards() bool {
	o := &ch.job.JobOptions
	last := &ch.job.Chain[len(ch.job.Chain)-1]
	return o.OutputDir == "" && o.OutputFile == "" && o.Stdout == nil && last.NewReleaser == nil
}

// inMemory reports whether the chain neither reads nor writes files. The coordinator itself opens
// such a chain, because that takes no time. User code in Begin could take long.
func (ch *chain) inMemory() bool {
	first := &ch.job.Chain[0]
	return first.NoInput && first.Begin == nil && ch.discards()
}

// open makes the first job of the chain ready to be submitted. It finds the input, begins the
// output, samples cut points and makes the map tasks. It may take long, so it mostly runs on the
// opener's goroutine, and must not touch the Ledger.
func (ch *chain) open() (*job, error) {
	first := &ch.job.Chain[0]
	if ch.plan == nil && !first.NoInput && ch.job.Found == nil {
		var err error
		if ch.plan, err = input.NewPlan(ch.job.Inputs, ch.planOptions()); err != nil {
			return nil, err
		}
	}
	var err error
	if ch.side, err = readSide(ch.job.Side); err != nil {
		return nil, err
	}
	j := ch.newJob(0)
	j.plan = ch.plan
	var inputBytes int64
	files := 0
	streams := ch.job.Found != nil // any of them may be a stream
	if j.plan != nil {
		inputBytes, streams = j.plan.Bytes, len(j.plan.Streams) > 0
		files = len(j.plan.Files)
		j.hosts = ch.run.trackers.Hosts(j.plan, hdfs.New(ch.run.ctx, ch.job.HDFS), ch.note)
		if err := mayReread(j.plan); err != nil && ch.job.Chain.Rereads() {
			return nil, err
		}
	}
	// The output is begun early, so that a job whose output cannot be made fails before it reads
	// a stream. In a very large batch the first part begins the output.
	if ch.run.keepsOutputs() || streams {
		if _, err := ch.begin(); err != nil {
			return nil, err
		}
	}
	// Job.Begin is user code. It gets the number of files before any mapper is made.
	if j.spec, err = guard.Begun(ch.job.Chain, files); err != nil {
		return nil, err
	}
	if !j.mapOnly() {
		j.Parts = ch.reduces(&j.spec, inputBytes, streams, !j.spec.NoInput)
	}
	if err := j.planMaps(streams); err != nil {
		j.feeder.ReleaseFirst()
		return nil, err
	}
	j.complete()
	if err := j.keepMaps(); err != nil {
		return nil, err
	}
	return j, nil
}

// openApart calls open on a goroutine of its own, because user code in open may end the goroutine.
func (ch *chain) openApart() (j *job, err error) {
	err = guard.Apart(func() (err error) { j, err = ch.open(); return err })
	return j, err
}

// next returns the job of the chain that follows before. There are three cases. It may be another
// round of before. It may read the parts of before. Or it reads the input of the chain again, and
// gets the parts as side data.
func (ch *chain) next(before *job) (*job, error) {
	step, side := before.step+1, ch.side
	var err error
	if again := before.spec.Rounds > 1; again || ch.job.Chain[step].Rereads {
		// The coordinator reads the side data itself: MaxSideBytes bounds how long that takes.
		if side, err = before.sink.(*output.Spools).Text(jobs.MaxSideBytes); err != nil {
			return nil, fmt.Errorf("%s: %w", before.spec.Name, err)
		}
		if again, err = before.repeats(side); err != nil {
			return nil, err
		} else if again {
			step--
		}
	}
	j := ch.newJob(step)
	if step == before.step {
		j.spec, j.round = before.spec, before.round+1 // the Spec that Begin returned in the first round
	}
	j.number = before.number + 1
	var inputBytes int64
	if j.spec.Rereads {
		j.side = side
		j.sidePath = ""
		inputBytes = ch.plan.Bytes
		j.plan = ch.plan
		j.readSplits()
		before.sink.(*output.Spools).Release()
	} else {
		inputBytes = j.readParts(before)
	}
	if !j.mapOnly() {
		j.Parts = ch.reduces(&j.spec, inputBytes, false, false)
	}
	j.complete()
	return j, nil
}

// repeats reports whether the job runs another round. text is the output of the round that has
// ended. It fails if Converged panics, or wants another round without input.
func (j *job) repeats(text []byte) (again bool, err error) {
	if j.spec.Rounds <= 1 {
		return false, nil
	}
	again = true
	if j.spec.Converged != nil {
		err = guard.Run("converged", func() error { again = !j.spec.Converged(j.side, text); return nil })
	}
	if again && err == nil && j.spec.Converged != nil && len(text) == 0 {
		return false, errs.Inputf("", "%s: a round has no result, because the input has no records", j.spec.Name)
	}
	if again && j.round+1 >= j.spec.Rounds {
		again = false
		if j.spec.Converged != nil {
			j.chain.note(fmt.Sprintf("%s: has not converged after %d rounds", j.spec.Name, j.spec.Rounds))
		}
	}
	return again, err
}

// begin begins the output with the first call, and returns it; nil: the result is thrown away. It
// fails with output.ErrAborted after abort. It may be called from any goroutine.
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
		// The target is set even if Start fails below, so that abort can remove what it has made.
		ch.mu.target = target
	}
	if err := ch.mu.target.Start(); err != nil {
		return nil, err
	}
	invariant.Move(&ch.mu.output, outputBegun)
	return ch.mu.target, nil
}

// target returns the output; nil: it was not begun, or is settled.
func (ch *chain) target() *output.Target {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.mu.output == outputPlanned {
		return nil
	}
	return ch.mu.target
}

// settle commits the result or, if cause is not nil, removes it. It may take long, because it syncs
// files. It returns the error of the chain: cause, or why the result cannot be committed. readerGone
// reports that the reader of the result has closed its end of the pipe, which is not a failure.
func (ch *chain) settle(cause error) (readerGone bool, err error) {
	target := ch.target()
	if target == nil && cause == nil {
		target, err = ch.current.sink.(*targetSink).begin() // no part was ever written
	}
	switch {
	case err != nil:
		return false, err
	case cause == nil:
		// Commit and Abort may sync files and remove directories. No lock is held here.
		// Commit calls the Releaser, which may end its goroutine.
		cause = guard.Apart(target.Commit)
	}
	switch {
	case cause == nil:
		return false, nil
	case errors.Is(cause, output.ErrClosedPipe):
		return true, target.Abort()
	}
	return false, errors.Join(cause, target.Abort())
}

// forget drops the output, which is settled or was never begun.
func (ch *chain) forget() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.mu.target = nil
	invariant.Move(&ch.mu.output, outputGone)
}

// abort removes the output of a chain that was not settled. Attempts that still write to it fail.
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

// readSide returns the bytes of a file of side data (jobs.OwnAttempt.Side); name "": nil. It fails
// if the file cannot be read, or has more than jobs.MaxSideBytes. Errors are of kind errs.BadInput.
func readSide(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, jobs.MaxSideBytes+1))
	switch {
	case err != nil:
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	case len(data) > jobs.MaxSideBytes:
		return nil, errs.Inputf(name, "side data of more than %dMiB", jobs.MaxSideBytes>>20)
	}
	return data, nil
}
