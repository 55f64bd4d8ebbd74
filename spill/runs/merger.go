package runs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
)

// Merger reads a loser tree record by record (Next) or group by group (NextGroup), not
// both. It is the common part of Merge, of intermediate passes and of the combiner. Key,
// Value and Values are borrowed: they are valid until the next step.
// One goroutine uses it. Only evicted is set by others.
type Merger struct {
	tree    loserTree
	started bool
	killed  func() bool // nil: never
	move    func()      // makes the tree read evicted runs from disk; nil: no run is evicted
	evicted atomic.Bool // a run that the tree reads was evicted (MapOutput.Evict sets it)

	Key, Value []byte

	// The next records, while all runs are in memory (Merger.ahead).
	batch     []aheadRecord // nil: a run is on disk
	batched   int           // records of batch that were returned
	touched   byte          // keeps the compiler from removing reads that only fill the cache
	aheadRoom [record.LookAhead]aheadRecord

	// Groups. A window is what refill gives to Values at once.
	prefix   uint64           // of the key of the group
	keyRoom  []byte           // a copy of a key that lies in a block
	keyBig   *membudget.Chunk // a key that is too long for keyRoom
	Values   jobs.Values
	gathered []byte      // the values of a window
	spans    []jobs.Span // where they lie in gathered
	windowed bool        // the current record is a window of its own, in its place
	ended    bool        // no value of the group is left
}

// Short values are copied, because a copy is cheaper than a window for each.
const (
	gatherValue = 64       // a value up to this long is copied to the window
	gatherSpans = 256      // values in a window at most
	keyRoomMax  = 64 << 10 // a key up to this long is copied to keyRoom
)

// Refill gives vs its next window. It is called by jobs.Values only.
func (m *Merger) Refill(vs *jobs.Values) bool { return m.refill(vs) }

// reset makes the Merger begin with the cursors that the tree has.
// Keys that were borrowed before are not valid any more.
func (m *Merger) reset() {
	m.started, m.ended, m.windowed = false, true, false
	m.Key, m.Value = nil, nil
	m.batch, m.batched = nil, 0
}

// Next moves to the next record. It reports false at the end and after an error.
//
// hot: once a record merged.
func (m *Merger) Next() bool {
	if m.batched < len(m.batch) {
		r := &m.batch[m.batched]
		m.batched++
		m.Key, m.Value = r.arena.Record(r.ref)
		return true
	}
	return m.nextSlow()
}

// nextSlow is Next without a record in batch.
// In memory the tree stands behind the batch; on disk it stands at the current record.
func (m *Merger) nextSlow() bool {
	t := &m.tree
	if !m.started {
		m.started = true
		t.start()
		m.batch, m.batched = nil, 0
		if t.inMemory() {
			m.batch = m.aheadRoom[:0]
		}
		if t.live == 0 || t.err != nil {
			return false
		}
	} else if t.live == 0 || m.batch == nil && !t.next() {
		return false
	}
	m.moveOut()
	if m.batch != nil {
		m.ahead()
		return m.Next()
	}
	m.Key, m.Value = t.record()
	return t.err == nil
}

// moveOut makes the tree read from disk what was evicted from memory. The current record of
// the tree must be one that was not returned yet.
// A record that was returned would come twice otherwise.
func (m *Merger) moveOut() {
	if m.move != nil && m.evicted.Load() {
		m.evicted.Store(false)
		m.move()
		if !m.tree.inMemory() {
			m.batch = nil
		}
	}
}

// aheadRecord is a record in memory that will be returned.
// It stays valid after an eviction, because the memory stays until the merge leaves it.
type aheadRecord struct {
	arena *record.Arena
	ref   uint64
}

// ahead finds the next records by their entries alone and then touches them all. Sorted
// records lie anywhere in memory, so each is a cache miss; touched together, their misses
// overlap.
//
// hot: once a record that is sorted and in memory.
func (m *Merger) ahead() {
	t := &m.tree
	batch := m.batch[:0]
	if len(t.cursors) == 1 {
		c := &t.cursors[0]
		n := min(record.LookAhead, len(c.entries))
		for _, e := range c.entries[:n] {
			batch = append(batch, aheadRecord{c.arena, e.Ref})
		}
		if c.entries = c.entries[n:]; len(c.entries) == 0 && !c.more() {
			c.done, t.live = true, 0
		}
		m.touch(batch)
		return
	}
	for more := true; more && len(batch) < record.LookAhead; more = t.next() {
		c := t.current()
		batch = append(batch, aheadRecord{c.arena, c.entries[0].Ref})
	}
	m.touch(batch)
}

// touch makes batch the records that are returned next.
//
// hot: a cache miss for each record.
func (m *Merger) touch(batch []aheadRecord) {
	sum := m.touched
	for i := range batch {
		sum += batch[i].arena.Touch(batch[i].ref)
	}
	m.batch, m.batched, m.touched = batch, 0, sum
}

// NextGroup moves to the next group and passes over the values of the last one that were not
// read. It reports false at the end, after an error and when the attempt is killed.
func (m *Merger) NextGroup() bool {
	t := &m.tree
	if !m.started {
		m.started, m.ended = true, true
		t.start()
	}
	for !m.ended {
		m.step()
	}
	m.dropKey()
	if t.live > 0 && t.err == nil {
		m.moveOut()
	}
	if t.live == 0 || t.err != nil || m.killed != nil && m.killed() {
		return false
	}
	m.takeKey()
	m.ended, m.windowed = false, false
	m.Values.Reset(m)
	return t.err == nil
}

// takeKey makes the current key that of the group: in its place if it lies in memory, where
// it stays, and else as a copy.
// A key in a block is copied, because the block is replaced while the group goes on.
func (m *Merger) takeKey() {
	c := m.tree.current()
	m.prefix = c.prefix
	if c.disk == nil {
		m.Key = c.arena.Key(c.entries[0].Ref)
		return
	}
	d := c.disk
	if d.keyBytes <= keyRoomMax && len(d.key) == d.keyBytes {
		m.keyRoom = append(m.keyRoom[:0], d.key...)
		m.Key = m.keyRoom
		return
	}
	if d.large {
		if err := d.load(true); err != nil {
			m.tree.err = err
			return
		}
		m.Key, m.keyBig, d.big = d.key, d.big, nil // the key outlives the record
		return
	}
	m.keyRoom = append(m.keyRoom[:0], d.key...)
	m.Key = m.keyRoom
}

// dropKey ends the use of the key of the group.
// It frees the memory of a large key.
func (m *Merger) dropKey() {
	if m.keyBig != nil {
		freeBig(m.tree.shared.lease, m.keyBig)
		m.keyBig = nil
	}
	m.Key = nil
}

// step moves to the next record and notes whether it belongs to the group. While the key of
// the current run stays the same, that run stays the first one.
//
// hot: once a value, where a group is longer than a window.
func (m *Merger) step() {
	c := m.tree.current()
	ok, err := c.advance()
	if err != nil || !ok || !(c.disk != nil && c.disk.same || m.tree.equalsKey(c, m.prefix, m.Key)) {
		m.leaveRun(ok, err)
	}
}

// leaveRun is called when the current run was moved to another key, or, if ok is false, to
// its end. It finds the run with which the group goes on, if there is one.
// After an error the tree has no live run, so all loops end.
func (m *Merger) leaveRun(ok bool, err error) {
	t := &m.tree
	if err != nil {
		t.err, t.live, m.ended = err, 0, true
		return
	}
	if !ok {
		t.live--
	}
	m.ended = t.live == 0 || !t.replay() || !t.equalsKey(t.current(), m.prefix, m.Key)
}

// refill gives vs the next values of the group: many short ones, copied side by side, or one
// long one in its place. It reports false at the end of the group.
//
// hot: once some hundred values.
func (m *Merger) refill(vs *jobs.Values) bool {
	if m.windowed {
		m.windowed = false
		m.step()
	}
	if !m.ended && m.evicted.Load() && len(m.Key) <= keyRoomMax {
		if m.keyBig == nil {
			m.keyRoom = append(m.keyRoom[:0], m.Key...)
			m.Key = m.keyRoom
		}
		m.moveOut()
	}
	m.gathered, m.spans = m.gathered[:0], m.spans[:0]
	for !m.ended && len(m.spans) < gatherSpans {
		value, ok := m.currentValue()
		if !ok {
			return false
		}
		if len(value) > gatherValue {
			if len(m.spans) > 0 {
				break
			}
			m.windowed = true
			m.spans = append(m.spans, jobs.Span{Len: uint32(len(value))})
			vs.Window(value, m.spans)
			return true
		}
		m.gather(value)
	}
	if len(m.spans) == 0 || m.killed != nil && m.killed() {
		return false
	}
	vs.Window(m.gathered, m.spans)
	return true
}

// gather copies the current value, and the values of the group that follow it in the same
// run, to the window. It moves the run behind them. It stops before a long or large value
// and when the window is full.
//
// hot: once a value of a group.
func (m *Merger) gather(value []byte) {
	c := m.tree.current()
	for {
		m.spans = append(m.spans, jobs.Span{Off: uint32(len(m.gathered)), Len: uint32(len(value))})
		if len(value) == 8 { // the values of Sum, and whatever else is one word: no call
			m.gathered = binary.LittleEndian.AppendUint64(m.gathered, binary.LittleEndian.Uint64(value))
		} else {
			m.gathered = append(m.gathered, value...)
		}
		if c.disk != nil {
			ok, err := c.advance()
			if err != nil || !ok || !c.disk.same && !m.tree.equalsKey(c, m.prefix, m.Key) {
				m.leaveRun(ok, err)
				return
			}
			value = c.disk.value
			if c.disk.large {
				return
			}
		} else {
			if len(c.entries) == 1 || c.entries[1].Prefix != m.prefix {
				m.leaveRun(c.advance())
				return
			}
			if c.entries = c.entries[1:]; len(m.spans)%record.LookAhead == 0 {
				c.look()
			}
			key, next := c.arena.Record(c.entries[0].Ref)
			if !bytes.Equal(key, m.Key) {
				m.leaveRun(true, nil)
				return
			}
			value = next
		}
		if len(value) > gatherValue || len(m.spans) == gatherSpans {
			return
		}
	}
}

// look touches the records that follow, so that their cache misses overlap.
// It changes nothing but the cache.
func (c *cursor) look() {
	sum := c.touched
	for _, e := range c.entries[:min(len(c.entries), record.LookAhead)] {
		sum += c.arena.Touch(e.Ref)
	}
	c.touched = sum
}

// currentValue returns the value of the current record, whole. It reports false after an
// error.
// The value is borrowed until the next step.
func (m *Merger) currentValue() (value []byte, ok bool) {
	c := m.tree.current()
	if c.disk == nil {
		_, value = c.arena.Record(c.entries[0].Ref)
		return value, true
	}
	if c.disk.large {
		if err := c.disk.load(false); err != nil {
			m.tree.err, m.tree.live, m.ended = err, 0, true
			return nil, false
		}
	}
	return c.disk.value, true
}

// Combine runs a combiner over the groups of m, which must be in memory, and
// calls add with each record that it emits. It returns how many records went in
// and came out. It fails where the combiner does, or emits a key other than the
// one it was given. A combiner that is a jobs.Flusher may emit any keys in
// ascending order, and is flushed at the end.
// Keys and values given to add are borrowed from the combiner and valid during the
// call.
func Combine(m *Merger, combiner jobs.Reducer, add func(key, value []byte)) (in, out int64, err error) {
	// The merger has not started, so every entry is still to come.
	for _, c := range m.tree.cursors {
		in += int64(len(c.entries))
	}
	e := combined{add: add}
	flusher, late := combiner.(jobs.Flusher)
	e.late = late
	for m.NextGroup() {
		if !late {
			e.key = m.Key
		}
		if err := combiner.Reduce(m.Key, &m.Values, &e); err != nil {
			return in, e.records, fmt.Errorf("combiner: %w", err)
		}
		if e.err != nil {
			return in, e.records, e.err
		}
	}
	if late && in > 0 && m.tree.err == nil {
		if err := flusher.Flush(&e); err != nil {
			return in, e.records, fmt.Errorf("combiner: %w", err)
		}
	}
	return in, e.records, errors.Join(m.tree.err, e.err)
}

// combined is the jobs.Emitter of a combiner: it checks keys and counts records.
// It keeps the first error, because Emit returns none.
type combined struct {
	add     func(key, value []byte)
	key     []byte // that was given or, of late ones, emitted last
	late    bool   // records come after their groups
	records int64
	err     error
}

// Emit passes a record on. Another key would break the order of the run that is being
// written.
func (c *combined) Emit(key, value []byte) {
	if c.late {
		c.emitLate(key, value)
		return
	}
	if string(key) != string(c.key) {
		if c.err == nil {
			c.err = errors.New("combiner: emitted a key other than the one it was given")
		}
		return
	}
	c.records++
	c.add(key, value)
}

// emitLate passes on a record of a combiner that emits when it can.
func (c *combined) emitLate(key, value []byte) {
	if c.records > 0 && bytes.Compare(key, c.key) < 0 {
		if c.err == nil {
			c.err = errors.New("combiner: its keys do not ascend; a combiner must emit the keys in their order")
		}
		return
	}
	c.key = append(c.key[:0], key...)
	c.records++
	c.add(key, value)
}

// WriteSorted writes partitions 0 to parts-1 of sorted slices to the segment
// that w has begun. combine, where it is not nil, reads each partition from the
// Merger and adds what it makes of it to w. It returns the first error of
// combine; w keeps its own.
func WriteSorted(w *Writer, a *record.Arena, slices []record.Slice, parts int, combine func(*Merger) error) error {
	var m Merger
	for p := range parts {
		m.OverSlices(a, slices, p)
		switch {
		case combine != nil:
			if err := combine(&m); err != nil {
				return err
			}
		// One slice needs no merge.
		case len(slices) == 1:
			record.Walk(a, slices[0].Part(p), func(key, value []byte) bool {
				w.Add(key, value)
				return true
			})
		default:
			for m.Next() {
				w.Add(m.Key, m.Value)
			}
		}
		w.EndPart()
	}
	return nil
}

// OverSlices makes m merge partition p of slices that lie in memory. Equal keys
// come in the order of the slices.
func (m *Merger) OverSlices(a *record.Arena, slices []record.Slice, p int) {
	m.tree.cursors = m.tree.cursors[:0]
	for _, s := range slices {
		if e := s.Part(p); len(e) > 0 {
			m.tree.cursors = append(m.tree.cursors, cursor{entries: e, arena: a})
		}
	}
	m.reset()
}
