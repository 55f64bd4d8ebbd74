package runs

import (
	"bytes"
	"encoding/binary"
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
		if c.entries = c.entries[n:]; len(c.entries) == 0 {
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
