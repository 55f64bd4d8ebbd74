package engine

import (
	"errors"
	"fmt"
	"sync"

	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/input"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/trace"
)

// work is one job of a run as its user sees it: a chain of jobs of the Ledger,
// one after the other. Owned by the coordinator, but for mu and for what open
// and settle do, on goroutines of their own, while nobody else looks.
type chain struct {
	run        *run
	index      int
	job        *BatchJob
	dependents []int32 // who waits for it
	waits      int     // jobs that it still waits for
	stage      stage
	current    *runningJob // nil: none yet, or no more
	lastID     slots.JobID // of the last job of the chain that was submitted; -1: none
	plan       *input.Plan
	noted      bool // the plan's notes are told
	err        error
	killed     bool // err is not its own failure
	readerGone bool // whoever read the result has seen enough

	mu struct {
		sync.Mutex
		target *output.Target // nil: not opened yet, or the result goes nowhere
		begun  bool
		over   bool // nobody may begin it any more
	}
}

type stage uint8

const (
	waiting stage = iota // for its time, or for other jobs
	opening
	running
	closing // its result is made durable, or removed
	ended
)

// name is the job in messages.
func (ch *chain) name() string {
	if ch.job.Name == "" {
		return ch.job.Chain[0].Name
	}
	return ch.job.Name
}

// spec is step of the chain as the Ledger sees it.
func (ch *chain) spec(step, reduces int) slots.JobSpec {
	b := ch.job
	s := b.Spec()
	s.Name, s.Reduces, s.Unplaced = ch.name(), int32(reduces), step > 0
	switch {
	case ch.run.single():
		s.Name = b.Chain[step].Name
	case step > 0:
		s.Name = fmt.Sprintf("%s.%d", s.Name, step+1)
	}
	if s.Pool == "" {
		s.Pool = s.Name
		if !ch.run.single() {
			s.Pool = ch.name()
		}
	}
	return s
}

func (ch *chain) blockBytes() int64 {
	if ch.job.BlockBytes > 0 {
		return ch.job.BlockBytes
	}
	return ch.run.o.BlockBytes
}

// mapOnlySplits for each map slot: nothing of a split has to be merged with
// others, and the last ones leave slots idle the shorter they are the less.
const mapOnlySplits = 16

// newPlan finds and splits inputs.
func (ch *chain) newPlan(inputs []string) (*input.Plan, error) {
	r, first := ch.run, &ch.job.Chain[0]
	mapSlots, perSlot, mapOnly := r.o.MapSlots*r.o.Trackers, 0, first.NewReducer == nil
	if mapOnly { // its maps get the reduces' slots too, where the policy lends them
		mapSlots, perSlot = r.o.slotCount(), mapOnlySplits
	}
	return input.NewPlan(inputs, input.Options{
		BlockBytes: ch.blockBytes(), MapSlots: mapSlots, SplitsPerSlot: perSlot, Taper: mapOnly, All: ch.job.All, Delim: first.Delim.Byte(), NUL: first.Delim == jobs.NUL,
		SkipBinary: first.SkipBinary, Stdin: ch.job.Stdin, CreateTemp: r.createTemp("record"), GatherBytes: min(8<<20, r.o.MemoryBytes/16),
	})
}

// tellNotes tells what the plan left out, once.
func (ch *chain) tellNotes(notes []string) {
	if ch.noted {
		return
	}
	ch.noted = true
	for _, n := range notes {
		ch.note(n)
	}
}

func (ch *chain) note(text string) {
	if !ch.run.single() {
		text = ch.name() + ": " + text
	}
	ch.run.o.Note(text)
}

// discards: the result goes nowhere, so that nothing need be in order.
func (ch *chain) discards() bool {
	o := &ch.job.JobOptions
	last := &ch.job.Chain[len(ch.job.Chain)-1]
	return o.OutputDir == "" && o.OutputFile == "" && o.Stdout == nil && last.NewReleaser == nil
}

// inMemory: nothing of the job touches a file, so that it is opened and closed
// on the spot.
func (ch *chain) inMemory() bool { return ch.job.Chain[0].NoInput && ch.discards() }

// open makes the first job of the chain ready to be submitted: its input is
// found, its output begun, its cut points are sampled. It may take long, and
// runs where nobody waits for it.
func (ch *chain) open() (*runningJob, error) {
	first := &ch.job.Chain[0]
	if ch.plan == nil && !first.NoInput {
		var err error
		if ch.plan, err = ch.newPlan(ch.job.Inputs); err != nil {
			return nil, err
		}
	}
	j := ch.newJob(0)
	j.plan = ch.plan
	var inputBytes int64
	streams := false
	if j.plan != nil {
		inputBytes, streams = j.plan.Bytes, len(j.plan.Streams) > 0
	}
	if ch.run.keeps() || streams {
		if _, err := ch.begin(); err != nil {
			return nil, err
		}
	}
	if first.Begin != nil {
		files := 0
		if j.plan != nil {
			files = len(j.plan.Files)
		}
		if err := source.Guard("begin", func() error { first.Begin(files); return nil }); err != nil {
			return nil, err
		}
	}
	if !j.MapOnly() {
		j.Parts = ch.reduces(first, inputBytes, streams)
	}
	if err := j.planMaps(streams); err != nil {
		return nil, err
	}
	j.complete()
	if !ch.run.keeps() && !streams {
		j.plan, ch.plan = nil, nil // planned once more when its first map starts
	}
	return j, nil
}

// newJob is a step of the chain, without its input.
func (ch *chain) newJob(step int) *runningJob {
	return &runningJob{chain: ch, run: ch.run, step: step, Job: task.Job{Spec: ch.job.Chain[step]}, binary: map[int32]struct{}{}}
}

// next is the job of the chain that follows before, whose parts it reads.
func (ch *chain) next(before *runningJob) *runningJob {
	j := ch.newJob(before.step + 1)
	inputBytes := j.readParts(before)
	if !j.MapOnly() {
		j.Parts = ch.reduces(&j.Spec, inputBytes, false)
	}
	if j.Spec.Ordered && j.Spec.Partition == nil && !j.MapOnly() {
		// Only the first job of a chain has an input that can be sampled.
		j.Parts = 1
	}
	j.complete()
	return j
}

// complete adds what depends on the number of tasks.
func (j *runningJob) complete() {
	if !j.MapOnly() {
		j.Shuffle = shuffle.New(len(j.sources), j.Parts)
	}
	switch ch := j.chain; {
	case j.step < len(ch.job.Chain)-1:
		j.Sink = &spoolSink{run: j.run, spools: make([]*output.Spool, j.Parts)}
	case ch.discards():
		j.Sink = &discard{}
	default:
		j.Sink = j.newTargetSink()
	}
}

// reduces is the number of reduce tasks: as the job says, as asked for, or by
// the size of its input: enough for balance, few enough for large parts.
func (ch *chain) reduces(job *jobs.Job, inputBytes int64, streams bool) int {
	switch {
	case job.Reduces > 0:
		return job.Reduces
	case ch.reducers() > 0:
		return ch.reducers()
	}
	most := int64(4 * ch.run.o.slotCount())
	if job.Ordered && ch.run.env.Fits {
		most *= 2 // no run is read from disk in pieces, and the last parts end together
	}
	if streams {
		return int(most)
	}
	const bytesPerReduce = 8 << 20
	return int(min(max(1, inputBytes/bytesPerReduce), most))
}

// reducers is how many reduce tasks were asked for.
func (ch *chain) reducers() int {
	if ch.job.Reducers > 0 {
		return ch.job.Reducers
	}
	return ch.run.o.Reducers
}

// planMaps makes the map tasks of the first job, and samples its cut points
// where it is ordered.
func (j *runningJob) planMaps(streams bool) error {
	r := j.run
	sampled := !j.MapOnly() && j.Spec.Ordered && j.Spec.Partition == nil && j.Parts > 1
	var first *source.Held
	switch {
	case j.Spec.NoInput:
		for range j.Spec.Maps {
			j.sources = append(j.sources, source.Empty{})
		}
		return nil
	case streams:
		j.feeder = source.NewFeeder(r.ctx, j.plan, r.budget, r.pieces, j.skippedBinary)
		if sampled && !r.single() && !j.plan.Files[j.plan.Streams[0]].Rereadable {
			// To wait for the first piece could keep memory from jobs that are
			// ahead of this one.
			j.Parts, sampled = 1, false
		}
		if sampled {
			var err error
			if first, err = j.feeder.Prime(); err != nil {
				return err
			}
		}
	case r.keeps():
		for i := range j.plan.Splits {
			j.sources = append(j.sources, source.File{Plan: j.plan, Split: &j.plan.Splits[i], Skipped: j.skippedBinary})
		}
	default:
		for i := range j.plan.Splits {
			j.sources = append(j.sources, plannedAgain{job: j, index: i, bytes: j.plan.Splits[i].Bytes})
		}
	}
	if !sampled {
		return nil
	}
	return j.sample(first)
}

// sample finds cut points; first is what could be had of a stream, or nil.
func (j *runningJob) sample(first *source.Held) error {
	r := j.run
	lease, err := r.budget.Reserve(r.ctx, source.SampleLeaseBytes)
	if err != nil {
		return err
	}
	defer lease.Close()
	asked := j.Spec.Reduces > 0 || j.chain.reducers() > 0
	if !asked && j.chain.job.OutputDir == "" { // nobody sees where a part ends
		if _, ok := j.PassesThrough(); ok {
			j.Spread = len(j.sources)
		}
	}
	j.Cuts, err = source.Sample(&j.Spec, j.plan, first, j.Parts, j.Spread > 0, lease)
	if first != nil && !r.single() {
		j.feeder.Forget()
	}
	if asked {
		j.Cuts = source.PadCuts(j.Cuts, j.Parts)
	}
	j.Parts = len(j.Cuts) + 1
	return err
}

// tellSample puts the sampling on the timeline.
func (j *runningJob) tellSample() {
	if j.Cuts != nil {
		j.run.stream.Append(trace.Event{At: j.run.now(), Op: trace.OpSample, Job: int32(j.id), A: source.SamplePlaces, B: int64(len(j.Cuts))})
	}
}

// begin starts the output, once, and returns it; nil where the result goes
// nowhere. After abort it refuses.
func (ch *chain) begin() (*output.Target, error) {
	if ch.discards() {
		return nil, nil
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	switch {
	case ch.mu.over:
		return nil, output.ErrAborted
	case ch.mu.begun:
		return ch.mu.target, nil
	case ch.mu.target == nil:
		target, err := output.Open(ch.outputSpec(ch.plan, ch.job.Inputs))
		if err != nil {
			return nil, err
		}
		ch.mu.target = target
	}
	if err := ch.mu.target.Start(); err != nil {
		return nil, err
	}
	ch.mu.begun = true
	return ch.mu.target, nil
}

// target is the output that was begun, or nil.
func (ch *chain) target() *output.Target {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if !ch.mu.begun {
		return nil
	}
	return ch.mu.target
}

// settle commits the result, or removes it where cause says why there is none.
// It may take long. It returns how the work ended, and whether whoever read the
// result has seen enough.
func (ch *chain) settle(cause error) (err error, readerGone bool) {
	target := ch.target()
	if target == nil && cause == nil {
		target, err = ch.current.Sink.(*targetSink).begin() // no part was ever written
	}
	switch {
	case err != nil:
		return err, false
	case cause == nil:
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
	ch.mu.target, ch.mu.over = nil, true
}

// abort removes the output, whoever is working at it.
func (ch *chain) abort() error {
	ch.mu.Lock()
	target := ch.mu.target
	ch.mu.over = true
	ch.mu.Unlock()
	if target == nil {
		return nil
	}
	return target.Abort()
}

// plannedAgain is a split of a plan that was dropped after the job had been
// submitted; the first that is read plans the input once more.
type plannedAgain struct {
	job   *runningJob
	index int
	bytes int64
	again bool // it has been read before
}

// StoredBytes is the length of the split.
func (s plannedAgain) StoredBytes() int64 { return s.bytes }

// Again is the same split.
func (s plannedAgain) Again() (source.Source, error) { s.again = true; return s, nil }

// Open plans and reads.
func (s plannedAgain) Open(mem source.Memory) (source.Blocks, error) {
	plan, err := s.job.planAgain()
	if err != nil {
		return nil, err
	}
	return source.File{Plan: plan, Split: &plan.Splits[s.index], Skipped: s.job.skippedBinary, Reread: s.again}.Open(mem)
}

// planAgain is the job's plan; it is made anew where it was dropped.
func (j *runningJob) planAgain() (*input.Plan, error) {
	j.planning.Lock()
	defer j.planning.Unlock()
	if j.plan != nil {
		return j.plan, nil
	}
	plan, err := j.chain.newPlan(j.chain.job.Inputs)
	if err == nil && (len(plan.Splits) != len(j.sources) || len(plan.Streams) > 0) {
		err = errors.New("the input has changed since the job was submitted")
	}
	if err != nil {
		return nil, source.Input(err)
	}
	j.plan = plan
	return plan, nil
}
