package engine

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"mrlocal/engine/source"
	"mrlocal/engine/task"
	"mrlocal/input"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill/runs"
)

// runningJob is one job of a chain: its tasks, its shuffle, where its output goes.
// Owned by the coordinator, but for what is said to be shared.
type runningJob struct {
	task.Job // what attempts see

	chain   *chain
	run     *run
	step    int // of the chain
	id      slots.JobID
	sources []source.Source    // of the map tasks known so far, by TaskID
	ranOn   []slots.TrackerID  // where maps were committed, by TaskID
	counted []*Counters        // what the committed maps counted, by TaskID
	sealed  bool               // no more will come
	ready   int32              // map tasks the Ledger may start
	feeder  *source.Feeder     // nil: none
	before  *runningJob        // of the chain: its parts are the input
	binary  map[int32]struct{} // files that were left out
	touched bool               // in coordinator.touched

	outputs []*runs.MapOutput // committed, by map task; owned by the shuffle

	releaser     jobs.Releaser // nil: none
	counters     Counters
	usage        []report.Usage // by phase, of attempts that committed
	firstFailure error
	written      map[slots.TaskID]*runningAttempt // those whose part is committed though their tracker is lost
	ended        bool
	freed        bool
	stuck        map[slots.TaskID]bool // maps with an abandoned attempt, which may still read its source

	planning sync.Mutex // shared by map attempts: of plan, where that is made again
	plan     *input.Plan
}

// spec is the job as the Ledger sees it.
func (j *runningJob) spec() slots.JobSpec {
	s := j.chain.spec(j.step, j.Parts)
	s.Unplaced = s.Unplaced || j.feeder != nil
	s.Single = j.feeder != nil // its blocks move to whoever reads them
	return s
}

// readAheadPerSlot bounds how far maps of an ordered map-only job run ahead of
// the release point.
const readAheadPerSlot = 4

// start makes the first tasks ready, where they are known: those of streams
// come from the feeder.
func (j *runningJob) start(c *coordinator) {
	if j.feeder != nil {
		return
	}
	j.sealed = true
	if j.Shuffle != nil {
		j.Shuffle.Grow(len(j.sources))
		j.Shuffle.Seal()
	}
	j.sealTarget()
	j.updateReady(c)
}

// announce adds a map task that the feeder has found; nil says that there are
// no more.
func (j *runningJob) announce(s source.Source) {
	c := j.run.coordinator
	if j.ended {
		releaseSource(s)
		return
	}
	if s != nil {
		j.sources = append(j.sources, s)
	}
	if j.Shuffle != nil {
		j.Shuffle.Grow(len(j.sources))
	}
	if s == nil {
		j.sealed = true
		if j.Shuffle != nil {
			j.Shuffle.Seal()
		}
		j.sealTarget()
	}
	j.updateReady(c)
}

func (j *runningJob) stopFeeder(cause error) {
	if j.feeder != nil {
		j.feeder.Stop(cause)
	}
}

// updateReady tells the Ledger which map tasks may start.
func (j *runningJob) updateReady(c *coordinator) {
	total := int32(len(j.sources))
	j.ready = total
	if t, ok := j.Sink.(*targetSink); ok && j.MapOnly() && t.inOrder {
		released := 0
		if target := j.chain.target(); target != nil {
			released = target.Released()
		}
		j.ready = min(total, int32(released+readAheadPerSlot*c.run.o.slotCount()))
	}
	c.touch(j)
	c.ledger.Ready(c.run.now(), j.id, slots.Readiness{Maps: j.ready, Total: total, Sealed: j.sealed})
}

// sealTarget tells an ordered output how many parts there will be.
func (j *runningJob) sealTarget() {
	if _, ok := j.Sink.(*targetSink); !ok || !j.MapOnly() {
		return
	}
	if target := j.chain.target(); target != nil {
		target.Seal(len(j.sources))
	}
}

// progressed is called when a map-only job's output has been passed on: maps
// further ahead may start.
func (j *runningJob) progressed() {
	if j.MapOnly() && !j.ended {
		j.updateReady(j.run.coordinator)
	}
}

// verdict handles what a Releaser said after the split of map task t: later
// splits that are no longer needed are dropped.
func (j *runningJob) verdict(t int, v jobs.Verdict) {
	c := j.run.coordinator
	if j.ended || v == jobs.Continue {
		return
	}
	for i := t + 1; i < len(j.sources); i++ {
		if v == jobs.EndFile && !j.withinFile(t, i) {
			break
		}
		c.ledger.Drop(c.run.now(), j.id, slots.Map, slots.TaskID(i))
		if err := j.chain.target().Skip(i); err != nil {
			c.fail(j.chain, err)
			return
		}
	}
	if v == jobs.EndJob {
		j.stopFeeder(nil)
		if !j.sealed {
			j.sealed = true
			j.sealTarget()
		}
	}
	j.updateReady(c)
}

// withinFile reports whether split i holds nothing but more of the file that
// split t ends in.
func (j *runningJob) withinFile(t, i int) bool {
	a, b := j.splitOf(t), j.splitOf(i)
	if a == nil || b == nil || len(b.Pieces) != 1 {
		return false
	}
	return a.Pieces[len(a.Pieces)-1].File == b.Pieces[0].File
}

// splitOf is what map task t reads of files; nil where it reads something else.
func (j *runningJob) splitOf(t int) *input.Split {
	switch s := j.sources[t].(type) {
	case source.File:
		return s.Split
	case plannedAgain:
		if plan, err := j.planAgain(); err == nil {
			return &plan.Splits[s.index]
		}
	}
	return nil
}

// skippedBinary notes files that were left out as binary; a task that is tried
// again names them again. Called from any goroutine.
func (j *runningJob) skippedBinary(files []int32) {
	if len(files) == 0 {
		return
	}
	files = slices.Clone(files)
	j.run.coordinator.inbox.post(func() {
		for _, f := range files {
			j.binary[f] = struct{}{}
		}
	})
}

// noteBinary tells of the binary files that were left out, once, by number
// and by the first in input order.
func (j *runningJob) noteBinary() {
	if len(j.binary) == 0 {
		return
	}
	first := slices.Min(slices.Collect(maps.Keys(j.binary)))
	path := j.plan.Files[first].Path
	if len(j.binary) == 1 {
		j.chain.note(fmt.Sprintf("%s: skipped: it is binary", path))
		return
	}
	j.chain.note(fmt.Sprintf("%d binary files skipped, the first is %s", len(j.binary), path))
}

// finish releases what the job held, once none of its attempts runs. A thread
// that hangs in one may still read what it was given: that stays.
func (j *runningJob) finish() {
	j.ended = true
	j.stopFeeder(nil)
	if j.freed {
		return
	}
	j.freed = true
	for t, s := range j.sources {
		if !j.stuck[slots.TaskID(t)] {
			releaseSource(s)
		}
	}
	if j.Shuffle != nil {
		j.Shuffle.Close()
	}
	if j.before != nil {
		j.before.releaseParts()
		j.before = nil
	}
	j.counted = nil
	j.sources, j.outputs, j.Cuts, j.plan, j.feeder, j.stuck = nil, nil, nil, nil, nil, nil
}

// releaseParts frees the parts that the next job of the chain has read.
func (j *runningJob) releaseParts() {
	s := j.Sink.(*spoolSink)
	for i, sp := range s.spools {
		if sp != nil {
			sp.Release()
			s.spools[i] = nil
		}
	}
}

func releaseSource(s source.Source) {
	if held, ok := s.(*source.Held); ok {
		held.Release()
	}
}

// readParts makes the parts that the job before has committed the sources of
// j, one map a part, and returns their bytes.
func (j *runningJob) readParts(before *runningJob) int64 {
	var total int64
	j.before = before
	for i, sp := range before.Sink.(*spoolSink).spools {
		if sp == nil {
			continue
		}
		total += sp.Bytes()
		j.sources = append(j.sources, source.Part{
			Name: fmt.Sprintf("%s part %d", before.Spec.Name, i), File: int32(i), Spool: sp, Delim: before.Spec.Delim.Byte(),
		})
	}
	return total
}
