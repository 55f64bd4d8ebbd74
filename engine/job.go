package engine

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"mrlocal/engine/journal"
	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/input"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// runningJob is one job of a chain: its tasks, its shuffle, where its output
// goes. It belongs to the coordinator, but for the plan.
type runningJob struct {
	*task.SharedJob // what attempts see; nil when the job is over

	chain  *chain
	step   int // of the chain, from 0
	number int // of the jobs of the chain that came before it, rounds included
	round  int // of Spec.Rounds, from 0
	id     slots.JobID
	state  jobState
	maps   []mapTask          // those known so far, by TaskID
	feeder *source.Feeder     // nil: no input is a stream
	hosts  [][]string         // that have the input of each map; nil: no host is known
	before *task.Spools       // of the job before in the chain: its parts are the input
	binary map[int32]struct{} // files that were left out

	restored     map[int]*journal.Output // of a killed run, until the job is submitted
	releaser     jobs.Releaser           // nil: none
	counters     Counters
	usage        []report.Usage // by phase, of attempts that committed
	firstFailure error
	written      map[slots.TaskID]*runningAttempt // of a task: the attempt on a lost tracker that has committed its part
	stuck        map[slots.TaskID]struct{}        // maps with an abandoned attempt, which may still read its source

	planning sync.Mutex // guards plan where maps make it again
	plan     *input.Plan
}

// mapTask is a map task as the coordinator knows it.
type mapTask struct {
	source   source.Source
	output   *runs.MapOutput // committed; owned by the shuffle
	counters *Counters       // of the attempt that committed last
	ranOn    slots.TrackerID // the tracker of that attempt
}

// spec returns the job as the Ledger sees it.
func (j *runningJob) spec() slots.JobSpec {
	s := j.chain.spec(j.step, j.number, j.Parts)
	// A piece of a stream lies in memory, so no tracker is nearer to it.
	s.Unplaced = s.Unplaced || j.feeder != nil
	s.Single = j.feeder != nil // the blocks of a piece may move to the attempt that reads them
	return s
}

// readAheadPerSlot bounds how far maps of an ordered map-only job run ahead of
// the parts that are released: tasks a slot.
const readAheadPerSlot = 4

// announce adds a map task that the feeder has found; nil: there are no more.
// A job that wants no more of its input is sealed already.
func (j *runningJob) announce(s source.Source) {
	if j.state >= jobSealed {
		releaseSource(s)
		return
	}
	if s == nil {
		j.seal()
	} else {
		// The number of a map task is its place here.
		j.maps = append(j.maps, mapTask{source: s})
		if j.Shuffle != nil {
			j.Shuffle.Grow(len(j.maps))
		}
	}
	j.updateReady()
}

// seal notes that all map tasks are known.
func (j *runningJob) seal() {
	if j.state >= jobSealed {
		return
	}
	invariant.Move(&j.state, jobSealed)
	if j.Shuffle != nil {
		j.Shuffle.Grow(len(j.maps))
		j.Shuffle.Seal()
	}
	if target := j.chain.target(); target != nil && j.MapOnly() && j.writesTarget() {
		// Now the output knows which part is the last one of the result.
		target.Seal(len(j.maps))
	}
}

// writesTarget reports whether the job writes the result of its chain.
func (j *runningJob) writesTarget() bool {
	_, ok := j.Sink.(*targetSink)
	return ok
}

// stopFeeder ends the feeder, if there is one. cause is for the feeder's error.
func (j *runningJob) stopFeeder(cause error) {
	if j.feeder != nil {
		j.feeder.Stop(cause)
	}
}

// forgetPrimed gives back what a feeder that will not serve has decoded.
func (j *runningJob) forgetPrimed() {
	if j.feeder != nil {
		j.feeder.Forget()
	}
}

// updateReady tells the Ledger which map tasks may start.
func (j *runningJob) updateReady() {
	c := j.chain.run.coordinator
	total := int32(len(j.maps))
	ready := total
	// Parts in order wait in memory or on disk until it is their turn. So maps start
	// only a bounded number of tasks ahead of the parts that are released.
	if t, ok := j.Sink.(*targetSink); ok && j.MapOnly() && t.inOrder {
		// Parts that have been written, in the order of the input.
		released := 0
		if target := j.chain.target(); target != nil {
			released = target.Released()
		}
		ready = min(total, int32(released+readAheadPerSlot*c.run.o.slotCount()))
	}
	c.mayBeDone(j)
	c.ledger.Ready(c.run.now(), j.id, slots.Readiness{Maps: ready, Total: total, Sealed: j.state >= jobSealed})
}

// progressed is called when parts of a map-only job have been released: maps
// further ahead may start.
func (j *runningJob) progressed() {
	if j.state < jobEnded && j.MapOnly() {
		j.updateReady()
	}
}

// verdict carries out what a Releaser said after the split of map t: it drops
// later splits that are not needed.
func (j *runningJob) verdict(t int, v jobs.Verdict) {
	c := j.chain.run.coordinator
	if j.state >= jobEnded || v == jobs.Continue {
		return
	}
	if v == jobs.EndFile && j.feeder != nil {
		j.feeder.EndFile(j.maps[t].source)
	}
	// Earlier splits have been released, so only later ones can be left out.
	for i := t + 1; i < len(j.maps); i++ {
		if v == jobs.EndFile && !j.withinFile(t, i) {
			break
		}
		// An attempt that runs already is killed by this; its part is skipped all the same.
		c.ledger.Drop(c.run.now(), j.id, slots.Map, slots.TaskID(i))
		if err := j.chain.target().Skip(i); err != nil {
			c.fail(j.chain, err)
			return
		}
	}
	if v == jobs.EndJob {
		j.stopFeeder(nil)
		j.seal()
	}
	j.updateReady()
}

// withinFile reports whether split i holds nothing but more of the file that
// split t ends in.
func (j *runningJob) withinFile(t, i int) bool {
	plan, a := j.splitOf(t)
	of, b := j.splitOf(i)
	if a == nil || b == nil || plan != of || len(b.Pieces) != 1 {
		return false
	}
	return a.Pieces[len(a.Pieces)-1].File == b.Pieces[0].File
}

// splitOf returns the split of files that map t reads, and its plan; nil: it reads
// something else.
func (j *runningJob) splitOf(t int) (*input.Plan, *input.Split) {
	switch s := j.maps[t].source.(type) {
	case source.File:
		return s.Plan, s.Split
	case plannedAgain:
		// An error here comes up once more when the split is opened.
		if plan, err := j.planAgain(); err == nil {
			return plan, &plan.Splits[s.index]
		}
	}
	return nil, nil
}

// skippedBinary notes files that were left out as binary. An attempt that is
// tried again names them again. It may be called from any goroutine.
func (j *runningJob) skippedBinary(files []int32) {
	if len(files) == 0 {
		return
	}
	// The slice belongs to the caller, who goes on with it.
	files = slices.Clone(files)
	j.chain.run.coordinator.inbox.Post(func() {
		for _, f := range files {
			if j.binary != nil {
				j.binary[f] = struct{}{}
			}
		}
	})
}

// noteBinary tells the user which binary files were left out: how many, and the
// first in input order.
func (j *runningJob) noteBinary() {
	if len(j.binary) == 0 {
		return
	}
	// Files are numbered in the order of the input.
	first := slices.Min(slices.Collect(maps.Keys(j.binary)))
	path := j.plan.Files[first].Path
	if len(j.binary) == 1 {
		j.chain.note(fmt.Sprintf("%s: skipped: it is binary", path))
		return
	}
	j.chain.note(fmt.Sprintf("%d binary files skipped, the first is %s", len(j.binary), path))
}

// recordSample records as an event that cut points were sampled.
func (j *runningJob) recordSample() {
	r := j.chain.run
	if j.Cuts != nil {
		r.stream.Append(trace.Event{At: r.now(), Op: trace.OpSample, Job: int32(j.id), A: source.SamplePlaces, B: int64(len(j.Cuts))})
	}
}

// noteWritten notes that an attempt on a lost tracker has committed its part.
func (j *runningJob) noteWritten(a *runningAttempt) {
	if j.written == nil {
		j.written = map[slots.TaskID]*runningAttempt{}
	}
	j.written[a.ID.Task] = a
}

// noteStuck notes that an abandoned attempt may still read the source of a map.
func (j *runningJob) noteStuck(t slots.TaskID) {
	if j.stuck == nil {
		j.stuck = map[slots.TaskID]struct{}{}
	}
	j.stuck[t] = struct{}{}
}

// countLost adds the counters of maps whose outputs were lost, and not made
// again because all reduces had copied them.
func (j *runningJob) countLost() {
	for _, t := range j.maps {
		// loseMap has subtracted these counters, as if the map were to run again.
		if t.output == nil && t.counters != nil {
			j.counters.Add(t.counters)
		}
	}
}

// addUsage adds what an attempt has used, by phase.
func (j *runningJob) addUsage(usage []report.Usage) {
	if j.usage == nil {
		j.usage = make([]report.Usage, len(usage))
	}
	for phase := range usage {
		j.usage[phase].Add(&usage[phase])
	}
}

// release gives back what the job held, once none of its attempts runs. A
// thread that does not come back may still read its source: that stays.
func (j *runningJob) release() {
	if j.state >= jobReleased {
		return
	}
	invariant.Reach(&j.state, jobEnded)
	invariant.Move(&j.state, jobReleased)
	j.stopFeeder(nil)
	for i, t := range j.maps {
		if _, stuck := j.stuck[slots.TaskID(i)]; !stuck {
			releaseSource(t.source)
		}
	}
	if j.Shuffle != nil {
		j.Shuffle.Close()
	}
	if j.before != nil {
		j.before.Release()
		j.before = nil
	}
	// The slices of a job of many maps are large, and a batch may have thousands of jobs.
	j.Cuts = nil
	j.maps, j.plan, j.feeder, j.stuck, j.binary, j.written = nil, nil, nil, nil, nil, nil
}

// over lets go of everything that the report does not need: there may be very
// many jobs.
func (j *runningJob) over() {
	invariant.Move(&j.state, jobOver)
	j.countRecords()
	j.SharedJob, j.firstFailure = nil, nil
}

// countRecords adds what the Releaser has written to the counters, once.
func (j *runningJob) countRecords() {
	if counter, ok := j.releaser.(jobs.RecordCounter); ok {
		j.counters.ReduceOutputRecords = counter.Records()
	}
	j.releaser = nil
}

// releaseSource gives back the memory of a source that no attempt reads again.
func releaseSource(s source.Source) {
	if held, ok := s.(*source.Held); ok {
		held.Release()
	}
}

// readParts makes the parts that the job before has committed the map tasks of
// j, one a part. It returns their bytes.
func (j *runningJob) readParts(before *runningJob) int64 {
	var total int64
	j.before = before.Sink.(*task.Spools)
	for i, sp := range j.before.Parts() {
		if sp == nil {
			continue
		}
		total += sp.Bytes()
		j.maps = append(j.maps, mapTask{source: source.Part{
			Name: fmt.Sprintf("%s part %d", before.Spec.Name, i), File: int32(i), Spool: sp, Delim: before.Spec.Delim.Byte(), RecordBytes: j.Spec.RecordBytes,
		}})
	}
	return total
}
