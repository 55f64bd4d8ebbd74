package task

import (
	"bytes"
	"context"
	"errors"
	"time"

	"mrlocal/engine/source"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// third is a third of an attempt's progress, in parts per million. A reduce has one
// for the copy, one for the sort and one for the reduce (Hadoop 1.0.3, ReduceTask).
// A map has two for its input and one for its last sort and spill (Hadoop 2,
// MapTask). With the input alone a map would look done before most of its time has
// passed.
const third = 1_000_000 / 3

// Copying reports whether an attempt with that progress is a reduce in its copy
// phase.
func (a *SlotAttempt) Copying(done slots.PPM) bool { return a.ID.Kind == slots.Reduce && done < third }

// Reduce runs a reduce attempt on its slot's thread. It copies its partition of
// every map output, merges down to as many runs as one pass can take (the sort
// phase), and reduces.
func (a *SlotAttempt) Reduce() error {
	fetch := a.Job.Shuffle.Fetch(int(a.ID.Task))
	defer fetch.Close()
	if err := a.copyPhase(fetch); err != nil {
		return err
	}
	if err := a.pass(); err != nil {
		return err
	}
	records, bytes := a.input(fetch)
	// Memory is reserved after the copy: a reduce that waits for maps leaves the
	// memory to them.
	return a.withRoom(func() error {
		a.Counters.ReduceInputRecords, a.Counters.ReduceShuffleBytes = records, bytes
		a.phase(slots.PhaseSort)
		begun := time.Now()
		a.readSpills(fetch.Outputs())
		m, err := runs.NewMerge(a.ctx, a.mergeOptions(fetch.Outputs()))
		if err != nil {
			return err
		}
		defer m.Close()
		a.CopyTime += time.Since(begun)
		defer func() { a.CopyTime += m.ReadTime() }()
		a.phase(slots.PhaseReduce)
		a.PPM.Store(2 * third)
		return a.reduce(m)
	})
}

// copyPhase waits until fetch has handed over every map output of the job. Within
// one machine a copy moves references, not bytes.
func (a *SlotAttempt) copyPhase(fetch *Fetch) error {
	a.phase(slots.PhaseCopy)
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	task := int(a.ID.Task)
	events := fetched{every: 1 + (a.Job.Shuffle.Maps()-1)/mostFetchEvents}
	err := fetch.Copy(a.ctx, func(mapTask int, out *runs.MapOutput) error {
		begun := time.Now() // waiting for the next output does not count as copying
		defer func() {
			a.CopyTime += time.Since(begun)
			copied := fetch.Copied()
			a.PPM.Store(third * int64(copied) / int64(max(a.Job.Shuffle.Maps(), copied)))
		}()
		_, keyBytes, valueBytes := out.PartBytes(task)
		a.CopyBytes += keyBytes + valueBytes
		events.add(a, mapTask, keyBytes+valueBytes)
		return a.copied(keyBytes + valueBytes)
	})
	if begun := time.Now(); err == nil {
		err = a.lastCopiers()
		a.CopyTime += time.Since(begun)
	}
	events.post(a)
	a.PPM.Store(third)
	return err
}

// mostFetchEvents bounds the events of copies that a reduce makes, roughly.
const mostFetchEvents = 64

// input returns how many records and bytes the copied outputs have for the reduce. Outputs
// that were lost after their copy are not among them.
func (a *SlotAttempt) input(fetch *Fetch) (records, bytes int64) {
	for _, out := range fetch.Outputs() {
		n, keyBytes, valueBytes := out.PartBytes(int(a.ID.Task))
		records, bytes = records+n, bytes+keyBytes+valueBytes
	}
	return records, bytes
}

// fetched collects copies of map outputs for one event. every is how many make an event.
type fetched struct {
	every, first, maps int
	bytes              int64
}

// add counts the copy of one map output, and makes an event if there are enough.
func (f *fetched) add(a *SlotAttempt, mapTask int, bytes int64) {
	switch {
	case f.maps == 0:
		f.first = mapTask
	// Only maps that follow one another have a range.
	case mapTask != f.first+f.maps:
		f.first = -1
	}
	f.maps++
	f.bytes += bytes
	if f.maps >= f.every {
		f.post(a)
	}
}

func (f *fetched) post(a *SlotAttempt) {
	if f.maps > 0 {
		a.detail(trace.OpFetch, int64(f.first), int64(f.maps), f.bytes)
		f.maps, f.bytes = 0, 0
	}
}

// mergeOptions returns the options of the attempt's merge.
func (a *SlotAttempt) mergeOptions(outputs []*runs.MapOutput) runs.MergeOptions {
	e := a.Env
	o := runs.MergeOptions{
		Inputs: outputs, Part: int(a.ID.Task), Factor: e.MergeFactor, Lease: a.lease, CreateTemp: e.CreateTemp("merge"),
		Codec: e.Codec, FDs: max(2, e.FDsPerTask-3-len(a.Job.Spec.Outputs)), Killed: a.Killed, Notify: a.notifySpill,
	}
	if e.LendsCores && a.Stretch == 0 {
		o.Beside = a.beside
	}
	return o
}

// reduce runs the reducer over the merge and commits the part.
func (a *SlotAttempt) reduce(m *runs.Merge) error {
	reducer := a.Job.Spec.NewReducer() // first, because it may panic
	return a.writePart(func(text *textOut) error {
		err := a.begin(reducer)
		if err != nil {
			return err
		}
		if column, ok := a.Job.PassesThrough(); ok {
			err = a.passThrough(m, column, text)
		} else if each, ok := reducer.(jobs.RecordReducer); ok && a.Job.Spec.GroupBytes == nil {
			err = a.reduceRecords(m, each, text)
		} else {
			err = a.reduceGroups(m, reducer, text)
		}
		if err == nil {
			err = errors.Join(m.Err(), text.flush())
		}
		return err
	})
}

// recordsPerTick is after how many records a reduce notes progress and looks
// whether it is killed.
const recordsPerTick = 1 << 14

// passThrough writes a column of every record of the merge, without calling a
// reducer.
func (a *SlotAttempt) passThrough(m *runs.Merge, column jobs.Column, text *textOut) error {
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

// reduceGroups calls the reducer once for each group.
func (a *SlotAttempt) reduceGroups(m *runs.Merge, reducer jobs.Reducer, text *textOut) error {
	n, out := int64(0), a.emitter(text)
	groups := groups(m)
	if prefix := a.Job.Spec.GroupBytes; prefix != nil {
		groups = &prefixGroups{m: m, prefix: prefix}
	}
	err := source.Guard("reduce", func() error {
		for groups.NextGroup() {
			if err := reducer.Reduce(groups.Key(), groups.Values(), out); err != nil {
				return err
			}
			// Values.Next looks for a kill too, so a long group does not hide one.
			if n++; n%1024 == 0 && !a.alive(n, text) {
				break
			}
		}
		return a.flush(m, reducer, text)
	})
	a.Counters.ReduceInputGroups += n
	return a.ended(m, text, err)
}

// reduceRecords calls the reducer once for each record, and counts the groups.
func (a *SlotAttempt) reduceRecords(m *runs.Merge, reducer jobs.RecordReducer, text *textOut) error {
	n, number, out, last := int64(0), int64(0), a.emitter(text), []byte(nil)
	err := source.Guard("reduce", func() error {
		for m.Next() {
			if key := m.Key(); n == 0 || !bytes.Equal(key, last) {
				last = append(last[:0], key...)
				number++
			}
			if err := reducer.ReduceRecord(m.Key(), m.Value(), out); err != nil {
				return err
			}
			if n++; n%recordsPerTick == 0 && !a.alive(n, text) {
				break
			}
		}
		return a.flush(m, reducer, text)
	})
	a.Counters.ReduceInputGroups += number
	return a.ended(m, text, err)
}

// flush lets the reducer emit what it has collected, if it is a Flusher and all went well.
func (a *SlotAttempt) flush(m *runs.Merge, reducer any, text *textOut) error {
	if f, ok := reducer.(jobs.Flusher); ok && m.Err() == nil && !a.Killed() {
		return f.Flush(text)
	}
	return nil
}

// ended returns why a reducer has stopped; nil: at the end of the merge. err is its own error.
func (a *SlotAttempt) ended(m *runs.Merge, text *textOut, err error) error {
	if err != nil && m.Err() == nil && !a.Killed() {
		return err
	}
	return a.stopCause(m, text)
}

// alive notes progress and reports whether to go on.
func (a *SlotAttempt) alive(done int64, text *textOut) bool {
	a.Beat.Add(1)
	if total := a.Counters.ReduceInputRecords; total > 0 {
		a.PPM.Store(min(1_000_000, 2*third+done*third/total))
	}
	a.drag(leastPause)
	return text.err == nil && !a.Killed()
}

// stopCause returns why a loop over a merge has stopped; nil: at its end.
func (a *SlotAttempt) stopCause(m *runs.Merge, text *textOut) error {
	switch {
	case m.Err() != nil:
		return m.Err()
	case text.err != nil:
		return text.err
	case a.Killed():
		return ErrKilled
	}
	return nil
}

// Gate holds a reduce in its copy phase until it is opened (slots.PhaseGate).
type Gate chan struct{}

// Open lets the reduce go on. It may be called again, by the coordinator alone.
func (g Gate) Open() {
	select {
	case <-g:
	default:
		close(g)
	}
}

// pass waits until the gate is open. The reduce has been handed all map outputs,
// and leases nothing meanwhile.
func (a *SlotAttempt) pass() error {
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

// groups is what a reduce reads: a merge, or keys of a merge joined to groups.
type groups interface {
	NextGroup() bool
	Key() []byte
	Values() *jobs.Values
}

// prefixGroups makes one group of all keys of a merge that have the same prefix
// (jobs.Job.GroupBytes). It supplies the values of one key after the other.
//
// Other jobs read the merge itself, so they pay nothing for this.
type prefixGroups struct {
	m      *runs.Merge
	prefix func(key []byte) int
	first  []byte // the first key of the group, copied because m moves on
	length int    // of its prefix
	begun  bool
	within bool // m stands at a key of the group
	more   bool // m stands at a key
	values jobs.Values
}

// NextGroup moves to the next group, and passes over what is left of the last one.
func (g *prefixGroups) NextGroup() bool {
	if !g.begun {
		g.begun = true
		g.more = g.m.NextGroup()
	}
	for g.within {
		g.step()
	}
	if !g.more {
		return false
	}
	g.first = append(g.first[:0], g.m.Key()...)
	g.length, g.within = g.prefix(g.first), true
	g.values.Reset(g)
	return true
}

// Key returns the first key of the group, borrowed until the next group.
func (g *prefixGroups) Key() []byte { return g.first }

// Values returns the values of the group.
func (g *prefixGroups) Values() *jobs.Values { return &g.values }

// Refill implements jobs.Refiller. A window has values of one key.
func (g *prefixGroups) Refill(vs *jobs.Values) bool {
	for g.within {
		if g.m.Refill(vs) {
			vs.SetKey(g.m.Key())
			return true
		}
		g.step()
	}
	return false
}

// step moves to the next key, which may begin another group.
func (g *prefixGroups) step() {
	if g.more = g.m.NextGroup(); !g.more {
		g.within = false
		return
	}
	key := g.m.Key()
	g.within = bytes.Equal(key[:g.prefix(key)], g.first[:g.length])
}
