package runs

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
)

// Merger reads a tree record by record or group by group. It is the common
// part of Merge, of intermediate passes and of the combiner at spills.
type Merger struct {
	tree    loserTree
	started bool
	killed  func() bool
	move    func()      // goes over from evicted memory to the disk; nil: never
	evicted atomic.Bool // there is some

	Key, Value []byte

	// Records ahead, where all is in memory: (Merger.ahead)
	batch     []aheadRecord
	batched   int // of them given out
	touched   byte
	aheadRoom [record.LookAhead]aheadRecord

	// Groups.
	prefix   uint64
	keyRoom  []byte           // copy of a key that lies in a block
	keyBig   *membudget.Chunk // of a key too large for that
	Values   jobs.Values
	gathered []byte // small values of a window
	spans    []jobs.Span
	windowed bool // the current record was given out as a window of its own
	ended    bool // the group's last value was given out
}

const (
	gatherValue = 64 // a value up to this long is copied into the window
	gatherSpans = 256
	keyRoomMax  = 64 << 10
)

// Refill is for jobs.Values.
func (m *Merger) Refill(vs *jobs.Values) bool { return m.refill(vs) }

func (m *Merger) reset() {
	m.started, m.ended, m.windowed = false, true, false
	m.Key, m.Value = nil, nil
	m.batch, m.batched = nil, 0
}

// Next moves to the next record.
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

// moveOut goes over to the disk where a run in memory was evicted. The tree's
// current record must be one that was not given out.
func (m *Merger) moveOut() {
	if m.move != nil && m.evicted.Load() {
		m.evicted.Store(false)
		m.move()
		if !m.tree.inMemory() {
			m.batch = nil
		}
	}
}

// aheadRecord is a record in memory.
type aheadRecord struct {
	arena *record.Arena
	ref   uint64
}

// ahead finds the next records by their entries alone and then touches them
// all. Sorted records lie anywhere: so their cache misses overlap, where one
// record after the other would wait for each.
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

// touch makes batch the records to give out next.
//
// hot: a cache miss for each record.
func (m *Merger) touch(batch []aheadRecord) {
	sum := m.touched
	for i := range batch {
		sum += batch[i].arena.Touch(batch[i].ref)
	}
	m.batch, m.batched, m.touched = batch, 0, sum
}

// NextGroup moves to the next group, passing over values of the one before
// that nobody read.
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

// takeKey makes the current key the group's: in place where it lies in memory
// that stays, else as a copy.
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

func (m *Merger) dropKey() {
	if m.keyBig != nil {
		freeBig(m.tree.shared.lease, m.keyBig)
		m.keyBig = nil
	}
	m.Key = nil
}

// step moves to the next record and notes whether it is still of the group.
// The run that is at hand goes on being the first as long as its key stays.
//
// hot: once a value, where a group is longer than a window.
func (m *Merger) step() {
	c := m.tree.current()
	ok, err := c.advance()
	if err != nil || !ok || !(c.disk != nil && c.disk.same || m.tree.equalsKey(c, m.prefix, m.Key)) {
		m.leaveRun(ok, err)
	}
}

// leaveRun finds the run that goes on with the group after the one at hand was
// moved on, to another key or, unless ok, to its end.
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

// refill gives vs the next values of the group: many small ones, copied side
// by side, or one where it lies.
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

// gather copies the current value, and those that follow it in the same run,
// to the window, and moves on behind them.
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

// look looks at the records that follow, so that their cache misses overlap.
func (c *cursor) look() {
	sum := c.touched
	for _, e := range c.entries[:min(len(c.entries), record.LookAhead)] {
		sum += c.arena.Touch(e.Ref)
	}
	c.touched = sum
}

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
