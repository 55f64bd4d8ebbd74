package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/paths"
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
func (ch *chain) blockBytes() int64 { return cmp.Or(ch.job.BlockBytes, ch.run.o.BlockBytes) }

// mapOnlySplits is the least number of splits for each slot in a map-only job. Many splits cost
// little there, because no reduce has to merge their output. Short splits at the end leave slots
// idle for less time.
const mapOnlySplits = 16

// planOptions returns the options by which inputs are found and divided.
func (ch *chain) planOptions() input.Options {
	r, first := ch.run, &ch.job.Chain[0]
	o := ch.job.inputOptions(r.ctx, first)
	o.Prompt = ch.job.Found != nil
	o.Warn = r.o.Warn
	o.BlockBytes = ch.blockBytes()
	o.MapSlots = r.o.MapSlots * r.o.Trackers
	if o.Taper = first.NewReducer == nil; o.Taper { // a policy that lends slots gives its maps the reduce slots too
		o.MapSlots, o.SplitsPerSlot = r.o.slotCount(), mapOnlySplits
	}
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
func (ch *chain) open() (_ *job, err error) {
	first := &ch.job.Chain[0]
	if ch.plan == nil && !first.NoInput && ch.job.Found == nil {
		if ch.plan, err = input.NewPlan(ch.job.Inputs, ch.planOptions()); err != nil {
			return nil, err
		}
	}
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
func (ch *chain) next(before *job) (_ *job, err error) {
	step, side := before.step+1, ch.side
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
			j.chain.note(fmt.Sprintf("%s: has not converged after %s", j.spec.Name, errs.Counted(j.spec.Rounds, "round")))
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

// This file checks the jobs of a run before anything is started. It checks each
// by itself, and then the files that they read and write against each other
// (internal/paths).

// takeJobs makes the chain of each job of a batch, and checks the options of the job. Chains keep
// pointers to the elements of batch.
func (r *run) takeJobs(batch []BatchJob) error {
	if len(batch) == 0 {
		return errs.Optionf("", "no jobs")
	}
	for i := range batch {
		ch := &chain{run: r, index: i, job: &batch[i], lastID: -1}
		if err := ch.validate(len(batch)); err != nil {
			return ch.withJobName(err)
		}
		r.chains = append(r.chains, ch)
	}
	// Chains that wait for each other would never start, and the run would never end.
	if circle := setup.Cycle(len(batch), func(i int) *setup.Submission { return &batch[i].Submission }); circle != nil {
		return r.chains[circle[0]].withJobName(errs.Fieldf("Submission.After", "jobs wait for each other in a circle"))
	}
	return nil
}

// validate checks the chain and options of one of jobCount jobs.
func (ch *chain) validate(jobCount int) error {
	b := ch.job
	if err := b.Chain.Check(); err != nil {
		return err
	}
	if err := b.JobOptions.validate(&b.Chain[0]); err != nil {
		return err
	}
	// If the first job has no reduces, it is the only one (jobs.Chain).
	if b.Chain[0].NewReducer != nil && ch.run.o.NoReduces {
		return errs.Fieldf("Options.NoReduces", "job %s has reduces; they need a reduce slot", b.Chain[0].Name)
	}
	last := &b.Chain[len(b.Chain)-1]
	if len(last.Outputs) > 0 && !ch.discards() && (b.OutputDir == "" || hdfs.Is(b.OutputDir)) {
		return errs.Fieldf("Options.OutputDir", "job %s has named outputs (%s), so its result is a directory on this machine", last.Name, strings.Join(last.Outputs, ", "))
	}
	// Another job may make the file before this one starts.
	if len(b.After) == 0 && b.Side != "" {
		if _, err := os.Stat(b.Side); err != nil {
			return errs.Inputf(b.Side, "%w", errs.Cause(err))
		}
	}
	return b.Submission.Check(jobCount)
}

// withJobName adds the name of the job to an error of a batch. It keeps the kind of the error.
func (ch *chain) withJobName(err error) error {
	if err == nil || ch.run.single() {
		return err
	}
	return &errs.Error{Kind: errs.KindOf(err), Object: "job " + ch.name(), Cause: err}
}

// single reports whether RunChain runs one chain. Messages then need no name of the job.
func (r *run) single() bool { return r.kind == "run" }

// mostKept is the number of jobs up to which a batch keeps the outputs of its check, and begins an
// output when its job is opened. A larger batch may have thousands of jobs. There an output is begun
// with its first part, so that few files are open at a time.
const mostKept = 64

// keepsOutputs reports whether the run keeps outputs (mostKept).
func (r *run) keepsOutputs() bool { return len(r.chains) <= mostKept }

// checkPaths checks the files that jobs read and write. It returns the bytes of all inputs that
// exist, and how many jobs read streams or may read some. It also sets blockBytes, streamed and the
// plans of chains.
func (r *run) checkPaths() (totalBytes int64, streamJobs int, err error) {
	all := make([]paths.JobFiles, len(r.chains))
	for i, ch := range r.chains {
		// At most one of OutputDir and OutputFile is set.
		all[i] = paths.JobFiles{Name: ch.name(), Inputs: ch.job.Inputs, Output: ch.job.OutputDir + ch.job.OutputFile, After: ch.job.After}
	}
	batch, refused, err := paths.CheckBatch(all)
	if err != nil {
		return 0, 0, r.chains[refused].withJobName(err)
	}
	known := map[string]*input.Plan{} // jobs of a batch often read the same input
	stdin := -1                       // index of the job that reads standard input; -1: none does
	for i, ch := range r.chains {
		inputs := batch.Existing[i]
		for _, path := range inputs {
			if path == "-" && stdin >= 0 {
				return 0, 0, ch.withJobName(errs.Optionf("-", "job %s reads standard input too; only one can", r.chains[stdin].name()))
			}
			if path == "-" {
				stdin = i
			}
		}
		// Existing leaves out inputs that an earlier job makes. They cannot be planned yet.
		plan, err := ch.planOf(inputs, known)
		if err == nil {
			err = ch.checkOutput(plan, inputs)
		}
		if err != nil {
			return 0, 0, ch.withJobName(err)
		}
		if ch.job.Found != nil {
			streamJobs++ // any of the files may be a stream
		}
		if plan == nil {
			continue
		}
		totalBytes += plan.Bytes
		if len(plan.Streams) > 0 {
			streamJobs++
			r.streamed = plan
		}
		if r.blockBytes == 0 {
			r.blockBytes = plan.BlockBytes()
		}
		// A job that waits for others is planned again when it is opened, because the others may
		// add files.
		if len(ch.job.After) == 0 {
			ch.plan = plan
		}
		if r.single() {
			ch.noteLeftOut(plan.Notes)
		}
	}
	if batch.Later {
		streamJobs++ // an input that does not exist yet may be a stream
	}
	return totalBytes, streamJobs, nil
}

// planOf returns the plan of inputs; nil: there are none. known has the plans of other jobs.
// planOf returns one of them if it is the same, and else adds its own.
func (ch *chain) planOf(inputs []string, known map[string]*input.Plan) (*input.Plan, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	job := &ch.job.Chain[0]
	// The key has all options on which a plan depends. No path contains NUL.
	key := fmt.Sprint(strings.Join(inputs, "\x00"), ch.job.All, ch.job.NoDecode, ch.job.UTF16, ch.blockBytes(), job.Delim, job.RecordBytes, job.SkipBinary)
	if plan := known[key]; plan != nil {
		return plan, nil
	}
	plan, err := input.NewPlan(inputs, ch.planOptions())
	if err == nil {
		known[key] = plan
	}
	return plan, err
}

// checkOutput fails if the output cannot be made where the options say, as far as that can be
// known before it is begun. If the run keeps outputs, the chain gets it.
func (ch *chain) checkOutput(plan *input.Plan, inputs []string) error {
	if name := ch.job.OutputFile; disk.WritesTo(ch.run.o.Events, name) {
		return errs.Fieldf("Options.Events, Options.OutputFile", "are the same file %s; the result would replace the events", name)
	}
	target, err := output.Open(ch.outputSpec(plan, inputs))
	if err != nil {
		return err
	}
	if ch.run.keepsOutputs() {
		ch.mu.target = target
	}
	return nil
}

// outputSpec returns the description of the output: where it goes, and which inputs it must not
// replace. plan is nil if no input is known.
func (ch *chain) outputSpec(plan *input.Plan, inputs []string) output.Spec {
	o := &ch.job.JobOptions
	spec := output.Spec{Dir: o.OutputDir, File: o.OutputFile, Overwrite: o.Overwrite, Stdout: guard.Writer(o.Stdout), PipeMayClose: o.PipeMayClose, Compress: o.CompressOutput, DirStyle: o.DirStyle, HDFS: hdfs.New(ch.run.ctx, o.HDFS), Inputs: inputs, Stdin: o.Stdin, Kept: ch.run.o.ResumeDir}
	if plan != nil {
		spec.Found = plan
	}
	if plan != nil && o.Overwrite {
		for i := range plan.Files {
			spec.Files = append(spec.Files, plan.Files[i].Path)
		}
	}
	return spec
}
