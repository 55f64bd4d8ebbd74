package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"mrlocal/engine/journal"
	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/slots"
)

// job is one job of a chain, with its tasks, shuffle and sink. The coordinator owns it. Its attempts
// share the fields below the line, which do not change while attempts run.
type job struct {
	step   int // index in the chain
	number int // how many jobs of the chain came before it, rounds included
	round  int // of Spec.Rounds, from 0
	id     slots.JobID
	state  jobState
	maps   []mapTask          // those known so far, by TaskID
	feeder *feed.Feeder       // nil: no input is a stream
	hosts  [][]string         // hosts that have the input of each map; nil: no host is known
	plan   *input.Plan        // nil: it reads no file, or Found finds them
	before *output.Spools     // sink of the job before in the chain, whose parts are the input
	binary map[int32]struct{} // files of the plan that were left out as binary

	restored map[int]*journal.Output // map outputs of a killed run, until the job is submitted
	releaser jobs.Releaser           // nil: none
	counters Counters
	usage    usage                        // of attempts that committed
	written  map[slots.TaskID]*attempt    // attempts without a book entry that have committed the part of the task (attemptFailed)
	failures failures                     // unless the user gives the number of attempts
	stuck    map[slots.AttemptID]struct{} // attempt 0 of tasks with an abandoned attempt, which may still read its source, and commit

	// ---- shared with attempts
	chain *chain
	spec  jobs.Job
	journal.Division
	ranges   record.Ranges    // ranges of keys by which maps divide the records of a job with one reduce
	shuffle  *shuffle.Shuffle // nil: map-only
	sink     output.Sink
	keeper   *journal.Journal // nil: map outputs need not outlive the run
	side     []byte           // side data (jobs.OwnAttempt); nil: none
	sidePath string           // the file of side; "": another job has made it

	sideSeal func() *invariant.Seal             // of side, since the first attempt
	setSizes [jobs.ValueColumn + 1]func() error // passes the sizes of all parts to the sink, if reducers write that column
	early    atomic.Pointer[jobs.Reducer]       // of the first reduce attempt (passesThrough); nil: not made, or taken
	late     atomic.Pointer[error]              // of user code that has emitted after its attempt; nil: none has
	makers   sync.Map                           // the *attempt that made each *shuffle.MapOutput; used only if disks are slowed down
}

// newJob returns the job at index step of the chain, without input and tasks.
func (ch *chain) newJob(step int) *job {
	j := &job{
		chain: ch, step: step, spec: guard.Job(ch.job.Chain[step]), side: ch.side, sidePath: ch.job.Side,
		binary: map[int32]struct{}{}, written: map[slots.TaskID]*attempt{}, failures: failures{}, stuck: map[slots.AttemptID]struct{}{},
	}
	j.sideSeal = sync.OnceValue(func() *invariant.Seal { return new(invariant.NewSeal(j.side)) })
	for column := range jobs.Column(len(j.setSizes)) {
		j.setSizes[column] = sync.OnceValue(func() error { return j.sink.Sizes(j.partSizes(column)) })
	}
	return j
}

// mapTask is a map task as the coordinator knows it.
type mapTask struct {
	source   feed.Source
	output   *shuffle.MapOutput // committed; owned by the shuffle
	counters *Counters          // of the attempt that committed last
	ranOn    slots.TrackerID    // tracker of that attempt; -1: a killed run has made the output
	waiting  *mapAttempt        // the last attempt that waits, or has waited, for source (sourceInUse); nil: none
}

// ledgerSpec returns the job as the Ledger sees it.
func (j *job) ledgerSpec() slots.JobSpec {
	s := j.chain.spec(j.step, j.number, j.Parts)
	// A piece of a stream lies in memory, so no tracker is nearer to it.
	s.Unplaced = s.Unplaced || j.feeder != nil
	// Only one attempt at a time may read a piece: its kvbuffer may take the blocks over.
	s.Single = j.feeder != nil
	return s
}

// readAheadPerSlot bounds how many maps of an ordered map-only job run ahead of the parts that
// are released, for each slot. Parts that wait for their release take memory or disk.
const readAheadPerSlot = 4

// announce adds a map task with source s, which the feeder has found. nil says that there are no
// more. If the job is sealed already, because it needs no more of its input, announce releases s.
func (j *job) announce(s feed.Source) {
	if j.state >= jobSealed {
		releaseSource(s)
		return
	}
	if s == nil {
		j.seal()
	} else {
		// Its index is the TaskID of the map.
		j.maps = append(j.maps, mapTask{source: s})
		if j.shuffle != nil {
			j.shuffle.Grow(len(j.maps))
		}
	}
	j.updateReady()
}

// seal notes that all map tasks are known, and passes that on to the shuffle and the output.
func (j *job) seal() {
	if j.state >= jobSealed {
		return
	}
	invariant.Move(&j.state, jobSealed)
	if j.shuffle != nil {
		j.shuffle.Grow(len(j.maps))
		j.shuffle.Seal()
	}
	_, last := j.sink.(*targetSink)
	if target := j.chain.target(); target != nil && j.mapOnly() && last {
		target.Seal(len(j.maps))
	}
}

// updateReady reports to the Ledger how many map tasks there are, and how many of them may start.
// In a map-only job with output in order, maps start at most readAheadPerSlot a slot ahead of the
// parts that are released.
func (j *job) updateReady() {
	c := j.chain.run.coordinator
	total := int32(len(j.maps))
	ready := total
	if t, ok := j.sink.(*targetSink); ok && j.mapOnly() && t.inOrder {
		released := 0
		if target := j.chain.target(); target != nil {
			released = target.Released()
		}
		ready = min(total, int32(released+readAheadPerSlot*c.run.o.slotCount()))
	}
	c.mayBeDone(j)
	c.ledger.Ready(c.run.now(), j.id, slots.Readiness{Maps: ready, Total: total, Sealed: j.state >= jobSealed})
}

// verdict carries out the verdict v of a Releaser on the part of map t. EndFile drops the later
// splits of the same file. EndJob drops all later splits.
func (j *job) verdict(t int, v jobs.Verdict) {
	c := j.chain.run.coordinator
	if j.state >= jobEnded || v == jobs.Continue {
		return
	}
	if v == jobs.EndFile && j.feeder != nil {
		j.feeder.EndFile(j.maps[t].source)
	}
	// Parts are released in order, so the splits before t have been released.
	for i := t + 1; i < len(j.maps); i++ {
		if v == jobs.EndFile && !j.withinFile(t, i) {
			break
		}
		// Drop also orders the kill of an attempt that runs. Its part is skipped all the same.
		c.ledger.Drop(c.run.now(), j.id, slots.Map, slots.TaskID(i))
		if err := j.chain.target().Skip(i); err != nil {
			c.fail(j.chain, err)
			return
		}
	}
	if v == jobs.EndJob {
		j.feeder.Stop(nil)
		j.seal()
	}
	j.updateReady()
}

// withinFile reports whether split i has only a piece of one file, and split t ends with a piece
// of that file. It reports false for pieces of streams and for parts.
func (j *job) withinFile(t, i int) bool {
	a, ok := j.maps[t].source.(feed.File)
	b, is := j.maps[i].source.(feed.File)
	return ok && is && a.Plan == b.Plan && len(b.Split.Pieces) == 1 &&
		a.Split.Pieces[len(a.Split.Pieces)-1].File == b.Split.Pieces[0].File
}

// skippedBinary notes files that were left out as binary. Several attempts of a task may name the
// same file. files is borrowed. skippedBinary may be called from any goroutine.
func (j *job) skippedBinary(files []int32) {
	if len(files) == 0 {
		return
	}
	files = slices.Clone(files)
	j.chain.run.coordinator.inbox.Post(func() {
		for _, f := range files {
			j.binary[f] = struct{}{}
		}
	})
}

// noteBinary notes for the user how many files were left out as binary, and the first of them in
// input order.
func (j *job) noteBinary() {
	if len(j.binary) == 0 {
		return
	}
	first := slices.Min(slices.Collect(maps.Keys(j.binary))) // files are numbered in input order
	path := j.plan.Files[first].Path
	if len(j.binary) == 1 {
		j.chain.note(fmt.Sprintf("%s: skipped: it is binary", path))
		return
	}
	j.chain.note(fmt.Sprintf("%d binary files skipped, the first is %s", len(j.binary), path))
}

// release gives back inputs, map outputs and the plan of the job. None of its attempts runs any
// more. It keeps the sources that abandoned threads may still read. It may be called again.
func (j *job) release() {
	if j.state >= jobReleased {
		return
	}
	invariant.Reach(&j.state, jobEnded)
	invariant.Move(&j.state, jobReleased)
	j.feeder.Stop(nil)
	for i, t := range j.maps {
		if _, stuck := j.stuck[slots.AttemptID{Job: j.id, Kind: slots.Map, Task: slots.TaskID(i)}]; !stuck {
			releaseSource(t.source)
		}
	}
	if j.shuffle != nil {
		j.shuffle.Close()
	}
	if j.before != nil {
		j.before.Release()
	}
}

// over leaves only what the report needs of the job, because a batch may have thousands of jobs. It
// leaves j as it is, because abandoned attempts may still read it.
func (j *job) over() {
	invariant.Move(&j.state, jobOver)
	j.countRecords()
	c := j.chain.run.coordinator
	c.jobs[j.id] = &job{chain: j.chain, step: j.step, number: j.number, id: j.id, state: j.state, counters: j.counters, usage: j.usage}
}

// countRecords sets the counter of output records to the number that the Releaser has written,
// if it counts them. A second call does nothing.
func (j *job) countRecords() {
	if _, ok := j.releaser.(jobs.RecordCounter); ok {
		// A job whose Releaser cannot count has failed at Finish, or before.
		j.counters.ReduceOutputRecords, _ = guard.Records(j.releaser)
	}
	j.chain.stdin.Keep(j.releaser)
	j.releaser = nil
}

// releaseSource gives back the memory of a source that no attempt will read again.
func releaseSource(s feed.Source) {
	if held, ok := s.(*feed.Held); ok {
		held.Release()
	}
}

// readParts makes a map task of each part that the job before has committed. It returns the bytes
// of all parts. j owns the parts from then on, and releases them.
func (j *job) readParts(before *job) (total int64) {
	j.before = before.sink.(*output.Spools)
	for i, sp := range j.before.Parts() {
		if sp == nil {
			continue
		}
		total += sp.Bytes()
		j.maps = append(j.maps, mapTask{source: feed.Part{
			Name: before.spec.Name, File: int32(i), Spool: sp, Delim: j.spec.Delim.Byte(), RecordBytes: j.spec.RecordBytes, Paired: j.chain.job.Chain.Paired(j.step),
		}})
	}
	return total
}

// ---- What attempts ask of their job.

// mapOnly reports whether the job has no reduces: its maps write its output.
func (j *job) mapOnly() bool { return j.spec.NewReducer == nil }

// lateError returns an error if user code of a task that is done has emitted a record after its attempt:
// the result lacks the record. It is called when no attempt runs any more.
func (j *job) lateError() error {
	if err := j.late.Load(); err != nil {
		return *err
	}
	return nil
}

// passesThrough reports whether the reduces only write one column of every record, without
// looking at groups. It makes the reducer of the first reduce attempt to find out. So it must be
// called once at most, before attempts run.
func (j *job) passesThrough() bool {
	reducer := j.spec.NewReducer()
	j.early.Store(&reducer)
	_, ok := j.passedColumn(reducer)
	return ok
}

// newReducer makes the reducer of an attempt, or returns the one that passesThrough has made.
func (j *job) newReducer() jobs.Reducer {
	if early := j.early.Swap(nil); early != nil {
		return *early
	}
	return j.spec.NewReducer()
}

// passedColumn returns the column of every record that a reducer writes, if it does nothing else. With
// GroupBytes the key of a group is that of its first record, so keys do not pass through.
func (j *job) passedColumn(reducer jobs.Reducer) (jobs.Column, bool) {
	id, ok := reducer.(jobs.Identity)
	passes := id.Out == jobs.ValueColumn || id.Out == jobs.KeyColumn && j.spec.GroupBytes == nil
	return id.Out, ok && !id.Unique && passes && !j.readAsRecords() // wholeOut looks at each record
}

// readAsRecords reports whether the next job of the chain reads the records of this one, as pairs or divided at
// delimiters.
func (j *job) readAsRecords() bool {
	chain := j.chain.job.Chain
	return j.step+1 < len(chain) && !j.spec.Bare && !chain[j.step+1].Rereads
}

// partSizes returns the bytes of every part of a job that passes a column of its records
// through. All map outputs must be known.
func (j *job) partSizes(column jobs.Column) []int64 {
	sizes := make([]int64, j.Parts)
	for p := range sizes {
		part := j.shuffle.Part(p)
		sizes[p] = part.KeyBytes
		if column == jobs.ValueColumn {
			sizes[p] = part.ValueBytes
		}
		// Each line ends with its delimiter, one byte a record. Binary records have none.
		if !j.spec.Bare {
			sizes[p] += part.Records
		}
	}
	return sizes
}

// complete adds the shuffle and the sink, which depend on the numbers of tasks.
func (j *job) complete() {
	if !j.mapOnly() {
		j.shuffle = shuffle.NewShuffle(len(j.maps), j.Parts)
	}
	switch ch := j.chain; {
	// The output of an inner job stays in memory and temporary files until the next job has read
	// it. A job of several rounds is never the last one of its chain.
	case j.step < len(ch.job.Chain)-1:
		j.sink = output.NewSpools(j.Parts, ch.run.budget, ch.run.createTemp("part"))
	case ch.discards():
		j.sink = &output.Discard{}
	default:
		j.sink = j.newTargetSink()
	}
}

// reduces returns the number of reduce tasks: that of the job, or else that of the options. If both
// leave it open, there is one for each 8 MiB of input, up to four for each slot. streams reports
// whether the job reads streams, whose size is not known. sampled reports whether the ranges of a
// total order can be sampled: the input of the chain can, and no other.
func (ch *chain) reduces(job *jobs.Job, inputBytes int64, streams, sampled bool) int {
	switch {
	case job.Ordered && job.Partition == nil && !sampled:
		return 1
	case job.Reduces > 0:
		return job.Reduces
	case ch.reducers() > 0:
		return ch.reducers()
	}
	// With four reduces for each slot, the slots end at about the same time.
	most := int64(4 * ch.run.o.slotCount())
	if job.Ordered && ch.run.fits {
		most *= 2 // no part is read from disk, so small ones cost little and balance better
	}
	if streams {
		return int(most)
	}
	const bytesPerReduce = 8 << 20 // a part of fewer bytes is not worth a task
	return int(min(max(1, inputBytes/bytesPerReduce), most))
}

// reducers returns the number of reduce tasks that the options ask for; 0: any number. Options of
// the job come before those of the run.
func (ch *chain) reducers() int {
	o, j := &ch.run.o, &ch.job.JobOptions
	// A share of the reduce slots that is not 0 makes one reduce at least.
	of := func(p slots.PPM) int { return int(max(p.Of(int32(o.Trackers*o.ReduceSlots)), min(1, int32(p)))) }
	return cmp.Or(j.Reducers, of(j.ReducersPerSlot), o.Reducers, of(o.ReducersPerSlot))
}

// planMaps makes the map tasks of the first job of a chain, or the feeder that finds them. For
// an ordered job it samples the cut points. It fails if the input cannot be sampled, or if the map
// outputs cannot fit in memory and on disk.
func (j *job) planMaps(streams bool) (err error) {
	r := j.chain.run
	before := r.journal.Division()
	if before != nil { // the map outputs of the killed run are divided so
		j.Division = *before
	}
	if j.spec.NoInput {
		j.maps = slices.Repeat([]mapTask{{source: feed.Empty{}}}, j.spec.Maps)
		return nil
	}
	j.readSplits()
	cuts := before == nil && !j.mapOnly() && j.spec.Ordered && j.spec.Partition == nil && j.Parts > 1
	of := sampled{job: j, retry: retry(r.ctx, &r.o, j.chain.note)}
	if streams {
		if b := j.chain.job; b.Found != nil {
			j.feeder.Found = input.Found(guardSearch(b.Found), j.chain.planOptions())
		}
		if cuts && !r.single() && !j.plan.Files[j.plan.Streams[0]].Rereadable {
			// A sample would have to keep the first piece in memory until the job runs. That
			// could take memory from jobs that run before. So the job gets one part.
			j.Parts, cuts = 1, false
		}
		if cuts {
			if of.first, err = j.feeder.DecodeFirst(); err != nil {
				return err
			}
		}
	}
	ratio := -1.0 // bytes of map output for each byte of input; negative: not known, and checkRoom samples by itself
	if cuts {
		if ratio, err = j.sample(of); err != nil {
			return err
		}
	}
	return j.checkRoom(of, ratio)
}

// readSplits makes a map task of each split of the plan. If the input has streams, or is still to
// be found, it makes a feeder instead.
func (j *job) readSplits() {
	r := j.chain.run
	if j.plan == nil || len(j.plan.Streams) > 0 {
		j.feeder = feed.NewFeeder(r.ctx, &j.spec, j.plan, r.budget, r.pieces, j.skippedBinary)
		return
	}
	for i := range j.plan.Splits {
		j.maps = append(j.maps, mapTask{source: feed.File{Plan: j.plan, Split: &j.plan.Splits[i], Skipped: j.skippedBinary}})
	}
}

// sample sets the cut points of the job, and the number of its parts. It returns how many bytes
// maps emit for each byte of input.
func (j *job) sample(of sampled) (ratio float64, _ error) {
	r := j.chain.run
	asked := j.spec.Reduces > 0 || j.chain.reducers() > 0
	// A frequent key may have several parts if the result does not show where a part ends. Then
	// the result is one file or stream, and reduces do not read groups.
	if !asked && j.chain.job.OutputDir == "" && j.passesThrough() {
		j.Spread = len(j.maps)
	}
	// This may wait until attempts of other jobs give memory back.
	s, err := of.sample(r.ctx, r.budget)
	if err != nil {
		return 0, err
	}
	j.Cuts = record.CutPoints(s.keys, j.Parts, j.Spread > 0)
	if of.first != nil && !r.single() {
		j.feeder.ReleaseFirst()
	}
	if asked {
		j.Cuts = record.PadCuts(j.Cuts, j.Parts)
	}
	// Few distinct keys make few cut points, and so fewer parts than were planned.
	j.Parts = len(j.Cuts) + 1
	return s.ratio(), nil
}

// mayReread returns an error of kind errs.BadInput if the plan has an input that can be read
// only once.
func mayReread(plan *input.Plan) error {
	for _, i := range plan.Streams {
		if f := &plan.Files[i]; !f.Rereadable {
			return errs.Inputf(f.Path, "the job reads its input several times; name a file")
		}
	}
	return nil
}

// guardSearch returns the search with guarded functions. If one of them panics, it panics with a
// *guard.Error.
func guardSearch(s *input.Search) *input.Search {
	guard := func(what string, f func()) {
		if err := guard.Run(what, func() error { f(); return nil }); err != nil {
			panic(err)
		}
	}
	g := *s
	g.Paths = func(yield func(string) bool) { guard("paths of a search", func() { s.Paths(yield) }) }
	g.Missing = func(path string, cause error) { guard("missing file of a search", func() { s.Missing(path, cause) }) }
	return &g
}

// This file is about runs that go on after a kill (package engine/journal). The first job of a
// chain keeps its map outputs. A later run that finds map outputs restores their maps in the
// Ledger, and commits the outputs to the shuffle. Reduces and later jobs run again.

// openJournal finds or makes the journal of the run, if the options ask for one. It fails if the
// journal is that of another run.
func (r *run) openJournal() (err error) {
	o, ch := &r.o, r.chains[0]
	switch {
	case o.ResumeDir == "":
		return nil
	case !r.single():
		return errs.Fieldf("Options.ResumeDir", "a batch cannot go on after a kill")
	}
	settings := []string{fmt.Sprintf("Options.Reducers=%d", ch.reducers()), fmt.Sprintf("Options.Codec=%v", o.Codec)}
	if o.NoDecode {
		settings = append(settings, "Options.NoDecode=")
	}
	if o.UTF16 {
		settings = append(settings, "Options.UTF16=")
	}
	if o.OutputDir != "" { // a run without it may divide a key among several reduces
		settings = append(settings, "Options.OutputDir=")
	}
	r.journal, err = journal.Open(o.ResumeDir, ch.plan, journal.Run{
		Job: &ch.job.Chain[0], Settings: append(settings, o.ResumeSettings...), Side: ch.job.Side, Temp: r.temp, Output: o.OutputDir + o.OutputFile,
	})
	return err
}

// keepMaps makes the attempts of the job commit their outputs to the journal, if the run has
// one. It also finds the outputs that a killed run has kept.
func (j *job) keepMaps() error {
	keeper := j.chain.run.journal
	if keeper == nil {
		return nil
	}
	j.keeper = keeper
	if keeper.Division() == nil {
		return keeper.Begin(j.Division)
	}
	j.restored = keeper.Outputs(j.Parts, j.chain.note)
	return nil
}

// restoreMaps commits the map outputs of a killed run. Their maps run again only if
// an output is lost.
func (j *job) restoreMaps() {
	c := j.chain.run.coordinator
	for i := range j.maps {
		kept := j.restored[i]
		if kept == nil {
			continue
		}
		t := &j.maps[i]
		// The map ran on no tracker of this run, so no lost tracker takes its output away.
		t.output = kept.Output
		t.ranOn = -1
		t.counters = &kept.Counters
		j.counters.Add(t.counters)
		j.shuffle.Commit(i, t.output)
		c.ledger.Restore(c.run.now(), j.id, slots.TaskID(i))
		if j.failing(slots.Map, slots.TaskID(i)) > 0 {
			j.chain.note(fmt.Sprintf("faults: map task %d is restored, so it fails only if it has to run again", i))
		}
	}
	j.restored = nil
}
