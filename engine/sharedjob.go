package engine

import (
	"mrlocal/jobs"
)

// This file has what attempts ask of their job.

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
	return id.Out, ok && !id.Unique && passes
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
