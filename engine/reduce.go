package engine

import (
	"bytes"
	"context"
	"errors"
	"time"

	"mrlocal/internal/guard"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/trace"
)

// third is a third of the slots.Progress of an attempt. A reduce has one third
// for the copy, one for the sort and one for the reduce (Hadoop 1.0.3, ReduceTask). A map
// has two thirds for its input and one for its last sort and spill (Hadoop 2, MapTask). A
// map that has read its input may still have most of its time ahead.
const third = int64(slots.AllDone) / 3

// Copying reports whether the attempt is a reduce, and in its copy phase at that progress.
func (a *SlotAttempt) Copying(done slots.Progress) bool {
	return a.ID.Kind == slots.Reduce && int64(done) < third
}

// Reduce runs a reduce attempt on its slot's thread. It copies its partition of
// every map output, merges down to as many runs as one pass can take (the sort
// phase), and reduces.
func (a *SlotAttempt) Reduce() error {
	fetch := a.Job.Shuffle.Fetch(int(a.ID.Task))
	defer fetch.Close()
	if err := a.copyPhase(fetch); err != nil {
		return err
	}
	if err := a.awaitGate(); err != nil {
		return err
	}
	input := fetch.Input()
	// Memory is reserved after the copy phase, so that a reduce that waits for maps leaves the
	// memory to them.
	return a.withRoom(func() error {
		a.Counters.ReduceInputRecords, a.Counters.ReduceShuffleBytes = input.Records, input.Bytes()
		a.phase(slots.PhaseSort)
		begun := time.Now()
		a.readSpills(fetch.Outputs())
		m, err := shuffle.NewMerge(a.ctx, a.mergeOptions(fetch.Outputs()))
		if err != nil {
			return err
		}
		defer m.Close()
		a.CopyTime += time.Since(begun)
		defer func() { a.CopyTime += m.ReadTime() }()
		a.phase(slots.PhaseReduce)
		a.progress.Store(2 * third)
		return a.reduce(m)
	})
}

// copyPhase waits until fetch has the output of every map of the job. It fails when the attempt
// is killed or the job is over.
func (a *SlotAttempt) copyPhase(fetch *shuffle.Fetch) error {
	a.phase(slots.PhaseCopy)
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	o := shuffle.CopyOptions{
		SleepUntil: a.sleepUntil,
		Copied:     func(copied, maps int) { a.progress.Store(scaled(third, int64(copied), int64(maps))) },
		Fetched:    func(first, copies int, bytes int64) { a.detail(trace.OpFetch, int64(first), int64(copies), bytes) },
	}
	if p := a.Env.Pace; p != nil {
		o.Copiers = p.copiers
		if p.network != nil {
			o.Network = p.network[a.Tracker]
		}
	}
	err := fetch.Copy(a.ctx, o)
	a.CopyBytes, a.CopyTime = fetch.Bytes, fetch.Took
	a.progress.Store(third)
	return err
}

// mergeOptions returns the options of the attempt's merge.
func (a *SlotAttempt) mergeOptions(outputs []*shuffle.MapOutput) shuffle.MergeOptions {
	e := a.Env
	// The attempt keeps three file descriptors: for the file of a pass, for its part, and a
	// spare one. It keeps one more for each named output. A merge needs two.
	o := shuffle.MergeOptions{
		Inputs: outputs, Part: int(a.ID.Task), GroupBytes: a.Job.Spec.GroupBytes, Factor: e.MergeFactor, Lease: a.lease, CreateTemp: e.CreateTemp("merge"),
		Codec: e.Codec, FDs: max(2, e.FDsPerTask-3-len(a.Job.Spec.Outputs)), Killed: a.Killed, Notify: a.notifySpill,
	}
	// A slow attempt must not get the help of another core: it would be less slow.
	if e.LendsCores && a.Stretch == 0 {
		o.OnIdleCore = a.onIdleCore
	}
	return o
}

// reduce runs the reducer over the merge, and writes and commits the part. There are three loops:
// without a reducer, by records, and by groups. It takes the cheapest one that the job allows.
func (a *SlotAttempt) reduce(m *shuffle.Merge) error {
	reducer := a.Job.newReducer() // first, because it may panic
	if err := a.Job.setSizes(reducer); err != nil {
		return err
	}
	return a.writePart(func(text *textOut) error {
		err := a.begin(reducer)
		if err != nil {
			return err
		}
		if column, ok := a.Job.passedColumn(reducer); ok {
			err = a.passThrough(m, column, text)
		} else if each, ok := reducer.(jobs.RecordReducer); ok && a.Job.Spec.GroupBytes == nil {
			err = a.reduceRecords(m, each, text)
		} else {
			err = a.reduceGroups(m, reducer, text)
		}
		if err == nil {
			err = errors.Join(m.Err(), text.end())
		}
		return err
	})
}

// recordsPerTick is the number of records after which a reduce notes progress and checks
// whether it is killed.
const recordsPerTick = 1 << 14

// passThrough writes a column of every record of the merge, without calling a reducer. It has
// one loop for each case, so that no loop branches for each record.
func (a *SlotAttempt) passThrough(m *shuffle.Merge, column jobs.Column, text *textOut) error {
	n := int64(0)
	if a.Job.Spec.Bare {
		for m.Next() {
			if text.records++; column == jobs.ValueColumn {
				text.put(m.Value())
			} else {
				text.put(m.Key())
			}
			if n++; n%recordsPerTick == 0 && !a.alive(n, text) {
				break
			}
		}
	} else if column == jobs.ValueColumn {
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
	a.Counters.ReduceInputGroups += n
	return a.stopCause(m, text)
}

// reduceGroups calls the reducer once for each group of records.
func (a *SlotAttempt) reduceGroups(m *shuffle.Merge, reducer jobs.Reducer, text *textOut) error {
	n, out := int64(0), a.emitter(text)
	groups := m.Groups()
	err := guard.Run("reduce", func() error {
		for groups.NextGroup() {
			if err := reducer.Reduce(groups.Key(), groups.Values(), out); err != nil {
				return err
			}
			// Values.Next checks for a kill too, so a kill within a long group is noticed.
			if n++; n%1024 == 0 && !a.alive(n, text) {
				break
			}
		}
		return a.flush(m, reducer, out)
	})
	a.Counters.ReduceInputGroups += n
	return a.ended(m, text, err)
}

// reduceRecords calls the reducer once for each record, and counts the groups: runs of equal
// keys.
func (a *SlotAttempt) reduceRecords(m *shuffle.Merge, reducer jobs.RecordReducer, text *textOut) error {
	n, number, out, last := int64(0), int64(0), a.emitter(text), []byte{}
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
			if n++; n%recordsPerTick == 0 && !a.alive(n, text) {
				break
			}
		}
		return a.flush(m, reducer, out)
	})
	a.Counters.ReduceInputGroups += number
	return a.ended(m, text, err)
}

// flush calls Flush of a reducer that is a jobs.Flusher, unless the merge failed or the attempt
// is killed.
func (a *SlotAttempt) flush(m *shuffle.Merge, reducer any, out jobs.Emitter) error {
	if f, ok := reducer.(jobs.Flusher); ok && m.Err() == nil && !a.Killed() {
		return f.Flush(out)
	}
	return nil
}

// ended returns the error with which a loop over a merge has stopped; nil: at the end of the
// merge. err is the error of the reducer. A failed merge or a kill counts first, because it
// makes reducers fail too.
func (a *SlotAttempt) ended(m *shuffle.Merge, text *textOut, err error) error {
	if err != nil && m.Err() == nil && !a.Killed() {
		return err
	}
	return a.stopCause(m, text)
}

// alive notes a sign of life and the progress: done of the reduce's input records, or groups. It
// reports whether the loop goes on: the output has no error, and the attempt is not killed.
func (a *SlotAttempt) alive(done int64, text *textOut) bool {
	a.Beat.Add(1)
	if total := a.Counters.ReduceInputRecords; total > 0 {
		a.progress.Store(2*third + scaled(third, done, total))
	}
	a.stretch(leastPause)
	return text.err == nil && !a.Killed()
}

// stopCause returns the error that has stopped a loop over a merge; nil: the loop has reached
// the end of the merge.
func (a *SlotAttempt) stopCause(m *shuffle.Merge, text *textOut) error {
	switch {
	case m.Err() != nil:
		return m.Err()
	case text.err != nil:
		return text.err
	case a.Killed():
		return jobs.ErrKilled
	}
	return nil
}

// Gate holds a reduce in its copy phase until the coordinator opens it (slots.PhaseGate).
type Gate chan struct{}

// Open lets the reduce go on: it closes the channel. Only the coordinator calls it. It may be
// called again.
func (g Gate) Open() {
	select {
	case <-g:
	default:
		close(g)
	}
}

// awaitGate waits until the gate is open. The reduce has copied all map outputs by then, and
// leases no memory while it waits. awaitGate fails when the attempt is killed.
func (a *SlotAttempt) awaitGate() error {
	if a.Gate == nil {
		return nil
	}
	select {
	case <-a.Gate:
		return nil
	default:
	}
	a.phase(slots.PhaseHeld)
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	select {
	case <-a.Gate:
		return nil
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	}
}
