package spill

import (
	"sync/atomic"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// merger reads a tree record by record or group by group. It is the common
// part of Merge, of intermediate passes and of the combiner at spills.
type merger struct {
	tree    tree
	started bool
	killed  func() bool
	move    func()      // goes over from evicted memory to the disk; nil: never
	evicted atomic.Bool // there is some

	key, value []byte

	// Records ahead, where all is in memory: (merger.ahead)
	batch     []aheadRecord
	batched   int // of them given out
	touched   byte
	aheadRoom [aheadRecords]aheadRecord

	// Groups.
	prefix   uint64
	keyRoom  []byte           // copy of a key that lies in a block
	keyBig   *membudget.Chunk // of a key too large for that
	values   jobs.Values
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
func (m *merger) Refill(vs *jobs.Values) bool { return m.refill(vs) }

func (m *merger) reset() {
	m.started, m.ended, m.windowed = false, true, false
	m.key, m.value = nil, nil
	m.batch, m.batched = nil, 0
}

// next moves to the next record.
//
// hot:
func (m *merger) next() bool {
	if m.batched < len(m.batch) {
		r := &m.batch[m.batched]
		m.batched++
		m.key, m.value = r.arena.record(r.ref)
		return true
	}
	return m.nextSlow()
}

func (m *merger) nextSlow() bool {
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
		return m.next()
	}
	m.key, m.value = t.record()
	return t.err == nil
}

// moveOut goes over to the disk where a run in memory was evicted. The tree's
// current record must be one that was not given out.
func (m *merger) moveOut() {
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
	arena *arena
	ref   uint64
}

const aheadRecords = 32

// ahead finds the next records by their entries alone and then touches them
// all. Sorted records lie anywhere: so their cache misses overlap, where one
// record after the other would wait for each.
//
// hot:
func (m *merger) ahead() {
	t := &m.tree
	batch := m.batch[:0]
	for more := true; more && len(batch) < aheadRecords; more = t.next() {
		c := t.current()
		batch = append(batch, aheadRecord{c.arena, c.entries[0].ref})
	}
	sum := m.touched
	for i := range batch {
		p := batch[i].arena.at(batch[i].ref >> codeBits)
		if len(p) > 0 {
			sum += p[0]
		}
		if len(p) > 64 {
			sum += p[64]
		}
	}
	m.batch, m.batched, m.touched = batch, 0, sum
}

// nextGroup moves to the next group, passing over values of the one before
// that nobody read.
func (m *merger) nextGroup() bool {
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
	m.values.Reset(m)
	return t.err == nil
}

// takeKey makes the current key the group's: in place where it lies in memory
// that stays, else as a copy.
func (m *merger) takeKey() {
	c := m.tree.current()
	m.prefix = c.prefix
	if c.disk == nil {
		m.key = c.arena.key(c.entries[0].ref)
		return
	}
	d := c.disk
	if d.keyBytes <= keyRoomMax && len(d.key) == d.keyBytes {
		m.keyRoom = append(m.keyRoom[:0], d.key...)
		m.key = m.keyRoom
		return
	}
	if d.large {
		if err := d.load(true); err != nil {
			m.tree.err = err
			return
		}
		m.key, m.keyBig, d.big = d.key, d.big, nil // the key outlives the record
		return
	}
	m.keyRoom = append(m.keyRoom[:0], d.key...)
	m.key = m.keyRoom
}

func (m *merger) dropKey() {
	if m.keyBig != nil {
		freeBig(m.tree.shared.lease, m.keyBig)
		m.keyBig = nil
	}
	m.key = nil
}

// step moves to the next record and notes whether it is still of the group.
// The run that is at hand goes on being the first as long as its key stays.
//
// hot:
func (m *merger) step() {
	t := &m.tree
	c := t.current()
	ok, err := c.advance()
	switch {
	case err != nil:
		t.err, t.live, m.ended = err, 0, true
	case ok && (c.disk != nil && c.disk.same || t.equalsKey(c, m.prefix, m.key)):
	default:
		if !ok {
			t.live--
		}
		if t.live == 0 {
			m.ended = true
			return
		}
		if !t.replay() {
			m.ended = true
			return
		}
		m.ended = !t.equalsKey(t.current(), m.prefix, m.key)
	}
}

// refill gives vs the next values of the group: many small ones, copied side
// by side, or one where it lies.
//
// hot:
func (m *merger) refill(vs *jobs.Values) bool {
	if m.windowed {
		m.windowed = false
		m.step()
	}
	if !m.ended && m.evicted.Load() && len(m.key) <= keyRoomMax {
		if m.keyBig == nil {
			m.keyRoom = append(m.keyRoom[:0], m.key...)
			m.key = m.keyRoom
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
		m.spans = append(m.spans, jobs.Span{Off: uint32(len(m.gathered)), Len: uint32(len(value))})
		m.gathered = append(m.gathered, value...)
		m.step()
	}
	if len(m.spans) == 0 || m.killed != nil && m.killed() {
		return false
	}
	vs.Window(m.gathered, m.spans)
	return true
}

func (m *merger) currentValue() (value []byte, ok bool) {
	c := m.tree.current()
	if c.disk == nil {
		_, value = c.arena.record(c.entries[0].ref)
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
