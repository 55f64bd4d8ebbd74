package engine

import (
	"errors"
	"time"

	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/spill"
)

// runReduce is the whole of a reduce attempt, on its slot's thread: copy
// (take every map's partition), sort (merge down to one pass), reduce.
func (a *attempt) runReduce() error {
	fetch := a.job.shuffle.Fetch(int(a.id.Task))
	defer fetch.Close()
	if err := a.copyPhase(fetch); err != nil {
		return err
	}
	records := a.counters.ReduceInputRecords
	// Memory is reserved after the copy, so that a reduce that waits for maps
	// keeps none from them.
	return a.withRoom(func() error {
		a.counters.ReduceInputRecords, a.counters.ReduceShuffleBytes = records, a.copyBytes
		a.phase(slots.PhaseSort)
		m, err := spill.NewMerge(a.ctx, a.mergeOptions(fetch.Outputs()))
		if err != nil {
			return err
		}
		defer m.Close()
		a.phase(slots.PhaseReduce)
		a.ppm.Store(666_667)
		return a.reduce(m)
	})
}

// copyPhase waits until it has been handed every map output of the job.
// Within one machine a copy moves references, not bytes.
func (a *attempt) copyPhase(fetch *shuffle.Fetch[*spill.MapOutput]) error {
	a.phase(slots.PhaseCopy)
	a.waiting.Store(true)
	defer a.waiting.Store(false)
	begun := time.Now()
	task := int(a.id.Task)
	err := fetch.Copy(a.ctx, func(_ int, out *spill.MapOutput) error {
		records, keyBytes, valueBytes := out.PartBytes(task)
		a.copyBytes += keyBytes + valueBytes
		a.counters.ReduceInputRecords += records
		return nil
	})
	a.copyTime = time.Since(begun)
	a.ppm.Store(333_333)
	return err
}

func (a *attempt) mergeOptions(outputs []*spill.MapOutput) spill.MergeOptions {
	r := a.run
	return spill.MergeOptions{
		Inputs: outputs, Part: int(a.id.Task), Factor: r.o.MergeFactor, Lease: a.lease, CreateTemp: r.createTemp("merge"),
		Codec: r.o.Codec, FDs: r.fdsPerTask - 3, Killed: a.killed, Notify: a.notifySpill,
	}
}

// reduce runs the reducer over the merge and commits the part.
func (a *attempt) reduce(m *spill.Merge) error {
	part, err := a.job.openPart(a)
	if err != nil {
		return err
	}
	text, err := newTextOut(a, part)
	if err == nil {
		reducer := a.job.job.NewReducer()
		if id, ok := reducer.(jobs.Identity); ok && !id.Unique && id.Out != jobs.Both {
			err = a.passThrough(m, id.Out, text)
		} else {
			err = a.reduceGroups(m, reducer, text)
		}
	}
	if err == nil {
		err = errors.Join(m.Err(), text.flush())
	}
	return a.finishPart(part, text, err)
}

// recordsPerTick is how often the reduce loops look up from their work.
const recordsPerTick = 1 << 14

// passThrough writes every record of the merge: no reducer call a record.
func (a *attempt) passThrough(m *spill.Merge, column jobs.Column, text *textOut) error {
	n := int64(0)
	if column == jobs.ValueColumn {
		for m.Next() {
			text.line(m.Value())
			if n++; n%recordsPerTick == 0 && !a.alive(n, text) {
				break
			}
		}
	} else {
		for m.Next() {
			text.line(m.Key())
			if n++; n%recordsPerTick == 0 && !a.alive(n, text) {
				break
			}
		}
	}
	a.counters.ReduceInputGroups += n
	return a.stopCause(m, text)
}

// reduceGroups calls the reducer once a group.
func (a *attempt) reduceGroups(m *spill.Merge, reducer jobs.Reducer, text *textOut) error {
	n := int64(0)
	err := guard("reduce", func() error {
		for m.NextGroup() {
			if err := reducer.Reduce(m.Key(), m.Values(), text); err != nil {
				return err
			}
			if n++; n%1024 == 0 && !a.alive(n, text) {
				break
			}
		}
		return nil
	})
	a.counters.ReduceInputGroups += n
	if err != nil && m.Err() == nil && !a.killed() {
		return err
	}
	return a.stopCause(m, text)
}

// alive notes progress and says whether to go on.
func (a *attempt) alive(done int64, text *textOut) bool {
	a.beat.Add(1)
	if total := a.counters.ReduceInputRecords; total > 0 {
		a.ppm.Store(min(1_000_000, 666_667+done*333_333/total))
	}
	return text.err == nil && !a.killed()
}

func (a *attempt) stopCause(m *spill.Merge, text *textOut) error {
	switch {
	case m.Err() != nil:
		return m.Err()
	case text.err != nil:
		return text.err
	case a.killed():
		return errKilled
	}
	return nil
}
