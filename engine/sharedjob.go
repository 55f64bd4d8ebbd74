package engine

import (
	"sync"
	"sync/atomic"

	"mrlocal/internal/disk"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/slots/report"
)

// SharedJob is what the attempts of a job share. The exported fields do not change once
// attempts run.
type SharedJob struct {
	Spec     jobs.Job
	Parts    int              // reduce tasks
	ranges   record.Ranges    // ranges of keys by which maps divide the records of a job with one reduce
	Cuts     [][]byte         // cut points between the parts of a total order; nil: parts are by hash
	Spread   int              // number of maps, if a frequent key may have several parts (CutsOf); 0: it has one
	Shuffle  *shuffle.Shuffle // nil: map-only
	Sink     output.Sink
	Keeper   Keeper // nil: map outputs need not outlive the run
	Side     []byte // side data (jobs.OwnAttempt); nil: none
	SidePath string // the file of Side; "": another job has made it

	Uncounted bool // input records are not counted (engine.JobOptions)

	sideOnce sync.Once
	sideSeal invariant.Seal // of Side, since the first attempt (sealSide)

	sizesOnce sync.Once
	sizesErr  error                        // of sizesOnce
	early     atomic.Pointer[jobs.Reducer] // of the first reduce attempt (PassesThrough); nil: not made, or taken
	late      atomic.Pointer[error]        // of user code that has emitted after its attempt; nil: none has
	makers    sync.Map                     // the *SlotAttempt that made each *shuffle.MapOutput; used only if disks are slowed down
}

// Keeper keeps map outputs for a later run. journal.Journal is one.
type Keeper interface {
	// Create makes the file of a map output.
	Create() (*disk.TempFile, error)
	// Commit records the output of a map task. After a kill that map does not run again.
	Commit(task int, out shuffle.Stored, c *report.Counters) error
}

// maker returns the attempt that made out; nil: it is not known.
func (j *SharedJob) maker(out *shuffle.MapOutput) *SlotAttempt {
	a, _ := j.makers.Load(out)
	maker, _ := a.(*SlotAttempt)
	return maker
}

// Drop releases a map output that is not used. The caller owns out, and no Shuffle has it.
func (j *SharedJob) Drop(out *shuffle.MapOutput) {
	j.makers.Delete(out)
	out.Release()
}

// MapOnly reports whether the job has no reduces: its maps write its output.
func (j *SharedJob) MapOnly() bool { return j.Spec.NewReducer == nil }

// Late returns an error if user code of a task that is done has emitted a record after its attempt:
// the result lacks the record. It is called when no attempt runs any more.
func (j *SharedJob) Late() error {
	if err := j.late.Load(); err != nil {
		return *err
	}
	return nil
}

// PassesThrough reports whether the reduces only write one column of every record, without
// looking at groups. It makes the reducer of the first reduce attempt to find out. So it must be
// called once at most, before attempts run.
func (j *SharedJob) PassesThrough() bool {
	reducer := j.Spec.NewReducer()
	j.early.Store(&reducer)
	_, ok := j.passedColumn(reducer)
	return ok
}

// newReducer makes the reducer of an attempt, or returns the one that PassesThrough has made.
func (j *SharedJob) newReducer() jobs.Reducer {
	if early := j.early.Swap(nil); early != nil {
		return *early
	}
	return j.Spec.NewReducer()
}

// passedColumn returns the column of every record that a reducer writes, if it does nothing else. With
// GroupBytes the key of a group is that of its first record, so keys do not pass through.
func (j *SharedJob) passedColumn(reducer jobs.Reducer) (jobs.Column, bool) {
	id, ok := reducer.(jobs.Identity)
	passes := id.Out == jobs.ValueColumn || id.Out == jobs.KeyColumn && j.Spec.GroupBytes == nil
	return id.Out, ok && !id.Unique && passes
}

// setSizes passes the sizes of all parts to the sink, if the reducer only passes records through.
// Parts are then written in parallel, each at its own offset. A reduce calls it after its copy
// phase, so all map outputs are known.
func (j *SharedJob) setSizes(reducer jobs.Reducer) error {
	if column, ok := j.passedColumn(reducer); ok {
		j.sizesOnce.Do(func() { j.sizesErr = j.Sink.Sizes(j.partSizes(column)) })
	}
	return j.sizesErr
}

// partSizes returns the bytes of every part of a job that passes a column of its records
// through.
func (j *SharedJob) partSizes(column jobs.Column) []int64 {
	sizes := make([]int64, j.Parts)
	for p := range sizes {
		part := j.Shuffle.Part(p)
		sizes[p] = part.KeyBytes
		if column == jobs.ValueColumn {
			sizes[p] = part.ValueBytes
		}
		// Each line ends with its delimiter, one byte a record. Binary records have none.
		if !j.Spec.Bare {
			sizes[p] += part.Records
		}
	}
	return sizes
}
