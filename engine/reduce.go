package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/shuffle/rule"
	"mrlocal/slots"
	"mrlocal/trace"
)

// third is a third of the slots.Progress of an attempt. A reduce has one third
// for the copy, one for the sort and one for the reduce (Hadoop 1.0.3, ReduceTask). A map
// has two thirds for its input and one for its last sort and spill (Hadoop 2, MapTask). A
// map that has read its input may still have most of its time ahead.
const third = int64(slots.AllDone) / 3

// copying reports whether the attempt is a reduce, and in its copy phase at that progress.
func (a *attempt) copying(done slots.Progress) bool {
	return a.id.Kind == slots.Reduce && int64(done) < third
}

// reduceAttempt is an attempt of a reduce task.
type reduceAttempt struct {
	attempt
	gate   chan struct{} // the coordinator closes it to end the copy phase (slots.PhaseGate); nil: there is no gate
	fetch  *shuffle.Fetch
	copies *shuffle.Copies // nil: fetch copies references only
	copied bool            // fetch has the outputs of all maps
}

// runReduce is the life of a reduce attempt. If the error is that a record did not fit, the slot's thread
// calls runReduce again, with a larger floor (needsMore). The second try uses the copies of the first.
func (a *reduceAttempt) runReduce() error {
	// Copy. A reduce that waits for maps has no room yet, so that it leaves the memory to them.
	if !a.copied {
		if err := a.copyPhase(); err != nil {
			return err
		}
	}
	// Get room. What is not committed in the end is dropped.
	if err := a.getRoom(); err != nil {
		return err
	}
	defer a.leaveRoom()

	// Sort: merge down to as many runs as one pass can take.
	a.phase(slots.PhaseSort)
	begun := time.Now()
	outputs := a.fetch.Outputs()
	input := a.fetch.Input()
	a.counters.ReduceInputRecords, a.counters.ReduceShuffleBytes = input.Records, input.Bytes()
	o := a.mergeOptions(outputs)
	if a.copies == nil {
		a.readSpills(outputs)
	} else {
		o.Inputs, o.Part = a.copies.Outputs(), 0
		a.readFromDisk(input.Bytes())
	}
	m, err := shuffle.NewMerge(a.ctx, o)
	if err != nil {
		return err
	}
	defer m.Close()
	a.outcome.CopyTime = a.fetch.Took + time.Since(begun)

	// Reduce. There are three loops: the attempt takes the cheapest one that the job allows.
	a.phase(slots.PhaseReduce)
	a.progress.Store(2 * third)
	reducer := a.job.newReducer() // before the part is opened, because it may panic
	column, passes := a.job.passedColumn(reducer)
	if passes {
		// Parts of a known size are written in parallel, each at its own offset.
		if err := a.job.setSizes[column](); err != nil {
			return err
		}
	}
	if err := a.openPart(); err != nil {
		return err
	}
	if err := a.begin(reducer); err != nil {
		return err
	}
	each, byRecord := reducer.(jobs.RecordReducer)
	switch {
	case passes:
		err = a.passThrough(m, column)
	case byRecord && a.job.spec.GroupBytes == nil:
		err = a.reduceRecords(m, each)
	default:
		err = a.reduceGroups(m, reducer)
	}
	a.outcome.CopyTime += m.ReadTime()

	// Finish, and commit.
	if err == nil {
		err = errors.Join(m.Err(), a.closePart())
	}
	if err != nil {
		return err
	}
	return a.finish(a.part.Commit)
}

// copyPhase waits until the attempt has the output of every map of the job, and until its gate is open. It
// leases no memory but for copies of bytes. It fails when the attempt is killed or the job is over.
func (a *reduceAttempt) copyPhase() error {
	a.phase(slots.PhaseCopy)
	a.waiting.Store(true)
	defer a.waiting.Store(false)
	copiers := a.run.o.Copiers
	copiers.Parallel = cmp.Or(copiers.Parallel, slots.DefaultParallelCopies)
	o := shuffle.CopyOptions{
		Copiers:    copiers,
		Network:    a.lineOf(a.run.networks),
		SleepUntil: a.sleepUntil,
		Take:       a.takeCopy,
		Copied:     func(copied, maps int) { a.progress.Store(scaled(third, int64(copied), int64(maps))) },
		Fetched:    func(first, copies int, bytes int64) { a.detail(trace.OpFetch, int64(first), int64(copies), bytes) },
	}
	err := a.fetch.Copy(a.ctx, o)
	if a.outcome.CopyBytes = a.fetch.Bytes; a.copies == nil {
		a.copyRead = a.fetch.Bytes
	} else if err == nil {
		err = a.endCopies()
	}
	a.copied = err == nil
	a.progress.Store(third)
	if err != nil || a.gate == nil {
		return err
	}
	select {
	case <-a.gate:
		return nil
	default:
	}
	a.phase(slots.PhaseHeld)
	select {
	case <-a.gate:
		return nil
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	}
}

// mergeOptions returns the options of the attempt's merge.
func (a *reduceAttempt) mergeOptions(outputs []*shuffle.MapOutput) shuffle.MergeOptions {
	r := a.run
	// The attempt keeps three file descriptors: for the file of a pass, for its part, and a
	// spare one. It keeps one more for each named output. A merge needs two.
	o := shuffle.MergeOptions{
		Inputs: outputs, Part: int(a.id.Task), GroupBytes: a.job.spec.GroupBytes, Factor: r.o.MergeFactor, Lease: a.lease, CreateTemp: r.createTemp("merge"),
		Codec: r.o.Codec, FDs: max(2, r.fdsPerTask-3-len(a.job.spec.Outputs)), Killed: a.killed, Notify: a.notifySpill,
	}
	// A slow attempt must not get the help of another core: it would be less slow.
	if r.lendsCores && a.slowdown == 1 {
		o.OnIdleCore = a.onIdleCore
	}
	return o
}

// recordsPerTick is the number of records after which a reduce notes progress and checks
// whether it is killed.
const recordsPerTick = 1 << 14

// passThrough writes a column of every record of the merge, without calling a reducer.
func (a *reduceAttempt) passThrough(m *shuffle.Merge, column jobs.Column) error {
	n, text, bare := int64(0), a.text, a.job.spec.Bare
	for m.Next() {
		record := m.Key()
		if column == jobs.ValueColumn {
			record = m.Value()
		}
		if !bare {
			text.line(record)
		} else {
			text.records++
			text.put(record)
		}
		if n++; n%recordsPerTick == 0 && !a.alive(n) {
			break
		}
	}
	a.counters.ReduceInputGroups += n
	return a.stopCause(m)
}

// reduceGroups calls the reducer once for each group of records.
func (a *reduceAttempt) reduceGroups(m *shuffle.Merge, reducer jobs.Reducer) error {
	n, out := int64(0), a.emitter(a.text)
	groups := m.Groups()
	err := guard.Run("reduce", func() error {
		for groups.NextGroup() {
			if err := reducer.Reduce(groups.Key(), groups.Values(), out); err != nil {
				return err
			}
			// Values.Next checks for a kill too, so a kill within a long group is noticed.
			if n++; n%1024 == 0 && !a.alive(n) {
				break
			}
		}
		return a.flush(m, reducer, out)
	})
	a.counters.ReduceInputGroups += n
	return a.ended(m, err)
}

// reduceRecords calls the reducer once for each record, and counts the groups: runs of equal
// keys.
func (a *reduceAttempt) reduceRecords(m *shuffle.Merge, reducer jobs.RecordReducer) error {
	n := int64(0)
	number := int64(0)
	out := a.emitter(a.text)
	last := []byte{}
	err := guard.Run("reduce", func() error {
		for m.Next() {
			key := m.Key()
			if n == 0 || !bytes.Equal(key, last) {
				last = append(last[:0], key...)
				number++
			}
			if key == nil {
				key = last // empty, but not nil
			}
			value := m.Value()
			keySeal, valueSeal := invariant.NewSeal(key), invariant.NewSeal(value)
			if err := reducer.ReduceRecord(key, value, out); err != nil {
				return err
			}
			if keySeal.Broken() || valueSeal.Broken() {
				return shuffle.ErrChanged
			}
			if n++; n%recordsPerTick == 0 && !a.alive(n) {
				break
			}
		}
		return a.flush(m, reducer, out)
	})
	a.counters.ReduceInputGroups += number
	return a.ended(m, err)
}

// flush calls Flush of a reducer that is a jobs.Flusher, unless the merge failed or the attempt
// is killed.
func (a *reduceAttempt) flush(m *shuffle.Merge, reducer any, out jobs.Emitter) error {
	if f, ok := reducer.(jobs.Flusher); ok && m.Err() == nil && !a.killed() {
		return f.Flush(out)
	}
	return nil
}

// ended returns the error with which a loop over a merge has stopped; nil: at the end of the
// merge. err is the error of the reducer. A failed merge or a kill counts first, because it
// makes reducers fail too.
func (a *reduceAttempt) ended(m *shuffle.Merge, err error) error {
	if err != nil && m.Err() == nil && !a.killed() {
		return err
	}
	return a.stopCause(m)
}

// alive notes a sign of life and the progress: done of the reduce's input records, or groups. It
// reports whether the loop goes on: the output has no error, and the attempt is not killed.
func (a *reduceAttempt) alive(done int64) bool {
	a.beat.Add(1)
	if total := a.counters.ReduceInputRecords; total > 0 {
		a.progress.Store(2*third + scaled(third, done, total))
	}
	a.stretch(leastPause)
	return a.text.err == nil && !a.killed()
}

// stopCause returns the error that has stopped a loop over a merge; nil: the loop has reached
// the end of the merge.
func (a *reduceAttempt) stopCause(m *shuffle.Merge) error {
	switch {
	case m.Err() != nil:
		return m.Err()
	case a.text.err != nil:
		return a.text.err
	case a.killed():
		return jobs.ErrKilled
	}
	return nil
}

// The rest is what a reduce attempt does if it copies bytes (Options.CopyOutputs). Without the
// option a copy moves a reference, and all reading belongs to the sort and the reduce.

// inputPercent is the share of a slot's memory that copies may take in percent (Hadoop 1.0.3,
// mapred.job.shuffle.input.buffer.percent).
const inputPercent = 70

// newCopies returns what holds the copies of the attempt; nil: it copies references.
func (a *reduceAttempt) newCopies() *shuffle.Copies {
	if !a.run.o.CopyOutputs {
		return nil
	}
	return shuffle.NewCopies(int(a.id.Task), rule.ReduceMerges{
		MemoryBytes: a.run.budget.Limit() / int64(a.run.o.allSlots()) * inputPercent / 100, Factor: a.run.o.MergeFactor,
	})
}

// takeCopy copies the bytes of a map output, once. If the output lies on the tracker's disk, it waits as
// long as the disk needs.
func (a *reduceAttempt) takeCopy(mapTask int, out *shuffle.MapOutput) error {
	if a.copies == nil || a.copies.Has(mapTask) { // the map has run again, or the attempt has asked for more memory
		return nil
	}
	if out.OnDisk() {
		a.copyRead += out.Part(int(a.id.Task)).Bytes()
	}
	a.readSpills([]*shuffle.MapOutput{out})
	return a.forCopies(func(o shuffle.MergeOptions) error { return a.copies.Add(a.ctx, mapTask, out, o) })
}

// endCopies writes the copies that are still in memory to files, and waits until the disk has them
// (Hadoop 1.0.3, mapred.job.reduce.input.buffer.percent 0).
func (a *reduceAttempt) endCopies() error {
	err := a.forCopies(func(o shuffle.MergeOptions) error { return a.copies.Flush(a.ctx, o) })
	a.awaitDisk()
	return cmp.Or(err, context.Cause(a.ctx))
}

// forCopies calls work under a lease of its own, because a reduce that waits for maps holds none.
// Meanwhile the budget may evict what the attempt has copied.
func (a *reduceAttempt) forCopies(work func(o shuffle.MergeOptions) error) error {
	if err := a.reserve(); err != nil {
		return err
	}
	defer func() {
		peak := &a.measured.phases[slots.PhaseCopy].PeakBytes
		*peak = max(*peak, a.lease.Peak()+a.copies.MemoryBytes())
		a.lease.Close()
		a.lease = nil
		a.leaveFDs()
	}()
	return work(a.mergeOptions(nil))
}
