package engine

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/spill"
)

// jobRun is one job of a run: its tasks, its shuffle, where its output goes.
// Owned by the coordinator, but for what is said to be shared.
type jobRun struct {
	run       *run
	job       jobs.Job
	id        slots.JobID
	submitted bool
	parts     int // reduce tasks
	cuts      [][]byte
	sources   []source // of the map tasks known so far, by TaskID
	sealed    bool     // no more will come
	ready     int32    // map tasks the Ledger may start
	feeder    *feeder
	before    *jobRun            // of the chain: its parts are the input
	binary    map[int32]struct{} // files that were left out

	shuffle *shuffle.Shuffle[*spill.MapOutput] // nil: map-only
	outputs []*spill.MapOutput                 // committed, by map task; owned by shuffle
	sink    sink

	releaser     jobs.Releaser // nil: none
	counters     Counters
	firstFailure error
	ended        bool
	sizesOnce    sync.Once // shared by reduce attempts
	sizesErr     error
}

// sink is where a job's parts go: the run's output, or the spools that the
// next job of a chain reads.
type sink interface {
	part(task, attempt int) (part, error)
	sizes(bytes []int64) error // of every part, when they are known before the first is written
}

// part is one attempt's share of the output.
type part interface {
	io.Writer
	Commit() error
	Abort()
}

func (j *jobRun) mapOnly() bool { return j.job.NewReducer == nil }

// spec is the job as the Ledger sees it.
func (j *jobRun) spec() slots.JobSpec {
	return slots.JobSpec{Name: j.job.Name, Pool: j.job.Name, Reduces: int32(j.parts)}
}

// readAheadPerSlot bounds how far maps of an ordered map-only job run ahead of
// the release point.
const readAheadPerSlot = 4

// start makes the first tasks ready.
func (j *jobRun) start(c *coordinator) error {
	if j.feeder != nil {
		j.run.feeding.Add(1)
		go j.feeder.serve(c.inbox.post)
		return nil
	}
	j.sealed = true
	if j.shuffle != nil {
		j.shuffle.Grow(len(j.sources))
		j.shuffle.Seal()
	}
	j.sealTarget()
	j.updateReady(c)
	return nil
}

// announce adds a map task that the feeder has found; last says that there
// are no more.
func (j *jobRun) announce(s source, last bool) {
	c := j.run.coordinator
	if j.ended {
		if held, ok := s.(*heldSource); ok {
			held.release()
		}
		return
	}
	if s != nil {
		j.sources = append(j.sources, s)
	}
	if j.shuffle != nil {
		j.shuffle.Grow(len(j.sources))
	}
	if last {
		j.sealed = true
		if j.shuffle != nil {
			j.shuffle.Seal()
		}
		j.sealTarget()
	}
	j.updateReady(c)
}

func (j *jobRun) feederFailed(err error) {
	if !j.ended {
		j.run.coordinator.fail(j, err)
	}
}

func (j *jobRun) stopFeeder(cause error) {
	if j.feeder != nil {
		j.feeder.stop(cause)
	}
}

// updateReady tells the Ledger which map tasks may start.
func (j *jobRun) updateReady(c *coordinator) {
	total := int32(len(j.sources))
	j.ready = total
	if t, ok := j.sink.(*targetSink); ok && j.mapOnly() && t.inOrder {
		j.ready = min(total, int32(t.target.Released()+readAheadPerSlot*c.run.o.slotCount()))
	}
	c.ledger.Ready(c.run.now(), j.id, slots.Readiness{Maps: j.ready, Total: total, Sealed: j.sealed})
}

// sealTarget tells an ordered output how many parts there will be.
func (j *jobRun) sealTarget() {
	t, ok := j.sink.(*targetSink)
	if !ok || !j.mapOnly() {
		return
	}
	t.target.Seal(len(j.sources))
}

// progressed is called when a map-only job's output has been passed on: maps
// further ahead may start.
func (j *jobRun) progressed() {
	if j.mapOnly() && !j.ended {
		j.updateReady(j.run.coordinator)
	}
}

// verdict handles what a Releaser said after the split of map task t: later
// splits that are no longer needed are dropped.
func (j *jobRun) verdict(t int, v jobs.Verdict) {
	c := j.run.coordinator
	if j.ended || v == jobs.Continue {
		return
	}
	for i := t + 1; i < len(j.sources); i++ {
		if v == jobs.EndFile && !j.withinFile(t, i) {
			break
		}
		c.ledger.Drop(c.run.now(), j.id, slots.Map, slots.TaskID(i))
		if err := j.run.target.Skip(i); err != nil {
			c.fail(j, err)
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
func (j *jobRun) withinFile(t, i int) bool {
	a, ok1 := j.sources[t].(fileSource)
	b, ok2 := j.sources[i].(fileSource)
	if !ok1 || !ok2 || len(b.split.Pieces) != 1 {
		return false
	}
	return a.split.Pieces[len(a.split.Pieces)-1].File == b.split.Pieces[0].File
}

// openPart opens the attempt's part of the job's output. Where all part sizes
// are known by then, they are told first, so that parts go to their own
// offsets in parallel.
func (j *jobRun) openPart(a *attempt) (part, error) {
	if !j.mapOnly() {
		if id, ok := j.job.NewReducer().(jobs.Identity); ok && !id.Unique && id.Out != jobs.Both {
			j.sizesOnce.Do(func() { j.sizesErr = j.sink.sizes(j.partSizes(id.Out)) })
			if j.sizesErr != nil {
				return nil, j.sizesErr
			}
		}
	}
	return j.sink.part(int(a.id.Task), int(a.id.N))
}

// partSizes are the bytes of every part of a job that passes records through.
func (j *jobRun) partSizes(column jobs.Column) []int64 {
	sizes := make([]int64, j.parts)
	for p := range sizes {
		records, keyBytes, valueBytes := j.shuffle.PartBytes(p)
		sizes[p] = records + keyBytes
		if column == jobs.ValueColumn {
			sizes[p] = records + valueBytes
		}
	}
	return sizes
}

// skippedBinary notes files that were left out as binary; a task that is tried
// again names them again. Called from any goroutine.
func (j *jobRun) skippedBinary(files []int32) {
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
func (j *jobRun) noteBinary() {
	if len(j.binary) == 0 {
		return
	}
	first := slices.Min(slices.Collect(maps.Keys(j.binary)))
	path := j.run.plan.Files[first].Path
	if len(j.binary) == 1 {
		j.run.o.Note(fmt.Sprintf("%s: skipped: it is binary", path))
		return
	}
	j.run.o.Note(fmt.Sprintf("%d binary files skipped, the first is %s", len(j.binary), path))
}

// finish releases what the job held, once its output is complete.
func (j *jobRun) finish() {
	j.ended = true
	j.stopFeeder(nil)
	for _, s := range j.sources {
		releaseSource(s)
	}
	if j.shuffle != nil {
		j.shuffle.Close()
	}
	if j.before != nil {
		j.before.releaseParts()
	}
}

// releaseParts frees the parts that the next job of the chain has read.
func (j *jobRun) releaseParts() {
	s := j.sink.(*spoolSink)
	for i, sp := range s.spools {
		if sp != nil {
			sp.Release()
			s.spools[i] = nil
		}
	}
}

func releaseSource(s source) {
	if held, ok := s.(*heldSource); ok {
		held.release()
	}
}

// targetSink writes to the run's output: each task a part file of its own, or
// all parts in order in one file or stream.
type targetSink struct {
	target  *output.Target
	inOrder bool
}

func (s *targetSink) part(task, attempt int) (part, error) {
	if s.inOrder {
		return s.target.Part(task, attempt)
	}
	return s.target.Attempt(task, attempt)
}

func (s *targetSink) sizes(bytes []int64) error {
	if !s.inOrder {
		return nil
	}
	_, err := s.target.SetSizes(bytes)
	return err
}

// spoolSink keeps each part for the next job of a chain, in memory where the
// budget allows.
type spoolSink struct {
	run    *run
	spools []*output.Spool // by task; set once, by the attempt that commits
}

func (s *spoolSink) part(task, _ int) (part, error) {
	return &spoolPart{Spool: output.NewSpool(s.run.budget, s.run.createTemp("part")), sink: s, task: task}, nil
}

func (s *spoolSink) sizes([]int64) error { return nil }

type spoolPart struct {
	*output.Spool
	sink *spoolSink
	task int
}

func (p *spoolPart) Commit() error {
	if p.sink.spools[p.task] != nil {
		return fmt.Errorf("part %d is committed already", p.task)
	}
	if err := p.Seal(); err != nil {
		return err
	}
	p.sink.spools[p.task] = p.Spool
	return nil
}

func (p *spoolPart) Abort() { p.Release() }
