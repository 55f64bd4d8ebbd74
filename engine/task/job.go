package task

import (
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/spill/record"
	"mrlocal/spill/runs"
)

// SharedJob is what the attempts of a job share.
type SharedJob struct {
	Spec    jobs.Job
	Parts   int           // reduce tasks
	ranges  record.Ranges // by which maps divide the records of a job with one reduce
	Cuts    [][]byte      // the cut points between parts, where parts are ranges of keys
	Spread  int           // how many maps divide the records of a key that has several parts (source.CutsOf); 0: no key has
	Shuffle *Shuffle      // nil: map-only
	Sink    Sink
	Keeper  Keeper // nil: map outputs need not outlive the run
	Side    []byte // side data (jobs.OwnAttempt); nil: none

	Uncounted bool // nobody wants to know the number of input records

	sizesOnce sync.Once
	sizesErr  error
	makers    sync.Map // of *runs.MapOutput: the *SlotAttempt that made it; only where disks are slowed down
}

// Keeper keeps map outputs for a later run (journal.Journal).
type Keeper interface {
	Create() (*disk.TempFile, error)
	Commit(task int, out runs.Stored, c *report.Counters) error
}

// maker returns the attempt that made out; nil: not known.
func (j *SharedJob) maker(out *runs.MapOutput) *SlotAttempt {
	a, _ := j.makers.Load(out)
	maker, _ := a.(*SlotAttempt)
	return maker
}

// Drop releases a map output that is of no use.
func (j *SharedJob) Drop(out *runs.MapOutput) {
	j.makers.Delete(out)
	out.Release()
}

// MapOnly reports whether the job has no reduces: its maps write its output.
func (j *SharedJob) MapOnly() bool { return j.Spec.NewReducer == nil }

// PassesThrough reports whether reduces only write a column of every record,
// without looking at groups, and which column.
func (j *SharedJob) PassesThrough() (jobs.Column, bool) {
	id, ok := j.Spec.NewReducer().(jobs.Identity)
	return id.Out, ok && !id.Unique && id.Out != jobs.Both
}

// openPart opens the attempt's part of the job's output. Where the sizes of all
// parts are known by then, it passes them to the sink first. Parts are then
// written at their own offsets in parallel.
func (j *SharedJob) openPart(a *SlotAttempt) (Part, error) {
	if !j.MapOnly() {
		if column, ok := j.PassesThrough(); ok {
			// The first reduce comes here after its copy phase, so all map outputs are known.
			j.sizesOnce.Do(func() { j.sizesErr = j.Sink.Sizes(j.partSizes(column)) })
			if j.sizesErr != nil {
				return nil, j.sizesErr
			}
		}
	}
	return j.Sink.Part(int(a.ID.Task), int(a.ID.N))
}

// partSizes returns the bytes of every part of a job that passes records through.
func (j *SharedJob) partSizes(column jobs.Column) []int64 {
	sizes := make([]int64, j.Parts)
	for p := range sizes {
		records, keyBytes, valueBytes := j.Shuffle.PartBytes(p)
		// Each line ends with its delimiter, one byte a record. Binary records have none.
		if j.Spec.Bare {
			records = 0
		}
		sizes[p] = records + keyBytes
		if column == jobs.ValueColumn {
			sizes[p] = records + valueBytes
		}
	}
	return sizes
}
