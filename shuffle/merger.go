package shuffle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"

	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

// Merger reads the runs of a loser tree in order: record by record (Next) or group by group
// (NextGroup), not both. Merge, intermediate passes and the combiner use it. Key, Value and
// Values are borrowed: they are valid until the next step. Only one goroutine may use a Merger;
// other goroutines only set evicted.
type Merger struct {
	tree    loserTree
	started bool
	killed  func() bool // nil: never
	move    func()      // makes the tree read evicted runs from disk; nil: no run can be evicted
	evicted atomic.Bool // a run that the tree reads was evicted (MapOutput.Evict sets it)

	Key, Value []byte

	// The next records, if all runs are in memory (Merger.ahead).
	batch     []aheadRecord // nil: a run is on disk, so there are no batches
	batched   int           // number of records of batch that Next has returned
	touched   byte          // keeps the compiler from removing the reads that warm the cache
	aheadRoom [record.LookAhead]aheadRecord

	// Groups. A window is the values that Refill passes to Values at once.
	prefix   uint64           // of Key
	keyRoom  []byte           // memory for the copy of a key that lies in a block
	keyBig   *membudget.Chunk // memory of a key that is too long for keyRoom; nil: there is none
	Values   jobs.Values
	gathered []byte      // copies of the values of a window
	spans    []jobs.Span // where each value lies in the window
	windowed bool        // the current record is a window of its own, which is not copied
	ended    bool        // the group has no more values

	keySeal, valueSeal invariant.Seal // of what user code borrows: Key, and the memory of the window
}

// Copying a short value costs less than a window of its own.
const (
	gatherValue = 64       // bytes; a value of at most this length is copied to the window
	gatherSpans = 256      // most values in a window
	keyRoomMax  = 64 << 10 // bytes; a key of at most this length is copied to keyRoom
)

// reset makes the Merger begin with the current cursors of the tree. Keys and values that it
// returned before are invalid afterwards.
func (m *Merger) reset() {
	m.started = false
	m.ended = true
	m.windowed = false
	m.Key, m.Value = nil, nil
	m.batch, m.batched = nil, 0
}

// Next moves to the next record. It returns false at the end and after an error.
//
// hot: runs once for each record that is merged.
func (m *Merger) Next() bool {
	if m.batched < len(m.batch) {
		r := &m.batch[m.batched]
		m.batched++
		m.Key, m.Value = r.arena.Record(r.ref)
		return true
	}
	return m.nextSlow()
}

// nextSlow is Next if batch has no record left. If all runs are in memory, the tree stands
// behind the batch. Otherwise it stands at the current record.
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
		m.fillBatch()
		return m.Next()
	}
	m.Key, m.Value = t.record()
	return t.err == nil
}

// moveOut makes the tree read evicted runs from disk. The tree must stand at a record that was
// not returned yet. Otherwise that record would be returned twice.
func (m *Merger) moveOut() {
	if m.move != nil && m.evicted.Load() {
		m.evicted.Store(false)
		m.move()
		if !m.tree.inMemory() {
			m.batch = nil
		}
	}
}

// aheadRecord is a record in memory that Next will return. It stays valid after an eviction,
// because the merge keeps the memory until it leaves it.
type aheadRecord struct {
	arena *record.Arena
	ref   uint64
}

// fillBatch finds the next records by their entries alone, and then reads a byte of each. Sorted
// records lie anywhere in memory, so each one is a cache miss. Reading them in a row lets the
// misses overlap.
//
// hot: one iteration for each sorted record in memory.
func (m *Merger) fillBatch() {
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

// touch reads a byte of each record of batch, and makes batch the records that Next returns.
//
// hot: one cache miss for each record.
func (m *Merger) touch(batch []aheadRecord) {
	sum := m.touched
	for i := range batch {
		sum += batch[i].arena.Touch(batch[i].ref)
	}
	m.batch, m.batched, m.touched = batch, 0, sum
}

// NextGroup moves to the next group. It passes over values of the last group that were not
// read. It returns false at the end, after an error, and if the attempt is killed.
func (m *Merger) NextGroup() bool {
	t := &m.tree
	if !m.started {
		m.started, m.ended = true, true
		t.start()
	}
	m.checkSeals()
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
	if m.takeKey(); m.Key == nil {
		m.Key = []byte{} // user code gets it
	}
	m.keySeal = invariant.NewSeal(m.Key)
	m.ended, m.windowed = false, false
	m.Values.Reset(m)
	return t.err == nil
}

// takeKey sets Key to the current key. A key in memory stays where it is. A key in a block is
// copied, because later blocks overwrite it while the group lasts.
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
		m.Key = d.key
		m.keyBig, d.big = d.big, nil // the key is needed after the record, so the Merger owns its memory now
		return
	}
	m.keyRoom = append(m.keyRoom[:0], d.key...)
	m.Key = m.keyRoom
}

// dropKey ends the use of Key and frees the memory of a large key.
func (m *Merger) dropKey() {
	if m.keyBig != nil {
		freeBig(m.tree.shared.lease, m.keyBig)
		m.keyBig = nil
	}
	m.Key, m.keySeal = nil, invariant.Seal{}
}

// step moves to the next record and sets ended if it does not belong to the group. As long as
// the key of the current run stays the same, that run stays the first one.
//
// hot: runs once for each value of a group that is longer than a window.
func (m *Merger) step() {
	c := m.tree.current()
	ok, err := c.advance()
	if err != nil || !ok || !(c.disk != nil && c.disk.same || m.tree.equalsKey(c, m.prefix, m.Key)) {
		m.leaveRun(ok, err)
	}
}

// fail keeps err. After it no run is live, so all loops end.
func (m *Merger) fail(err error) {
	m.tree.err, m.tree.live = err, 0
	m.ended = true
}

// leaveRun is called when the current run has moved to another key, or, if ok is false, to its
// end. It finds the run in which the group continues, or sets ended.
func (m *Merger) leaveRun(ok bool, err error) {
	t := &m.tree
	if err != nil {
		m.fail(err)
		return
	}
	if !ok {
		t.live--
	}
	m.ended = t.live == 0 || !t.replay() || !t.equalsKey(t.current(), m.prefix, m.Key)
}

// Refill sets vs to the next values of the group: many short ones, which it copies, or one long
// one where it lies. It returns false at the end of the group, after an error, and if the
// attempt is killed.
//
// hot: runs once for several hundred values.
func (m *Merger) Refill(vs *jobs.Values) bool {
	m.checkSeals()
	if m.windowed {
		m.windowed = false
		m.step()
	}
	// Leaving the memory of an evicted run invalidates a key in it, so the key is copied first.
	if !m.ended && m.evicted.Load() && len(m.Key) <= keyRoomMax {
		if m.keyBig == nil {
			m.keyRoom = append(m.keyRoom[:0], m.Key...)
			m.Key = m.keyRoom
			m.keySeal = invariant.NewSeal(m.Key)
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
			m.valueSeal = invariant.NewSeal(value)
			return true
		}
		m.gather(value)
	}
	if len(m.spans) == 0 || m.killed != nil && m.killed() {
		return false
	}
	vs.Window(m.gathered, m.spans)
	m.valueSeal = invariant.NewSeal(m.gathered)
	return true
}

// checkSeals fails in a checked build if user code has changed the key of the group, or a value of the
// window: the groups that follow, or those of another attempt, would differ.
func (m *Merger) checkSeals() {
	if invariant.Enabled && m.tree.err == nil && (m.keySeal.Broken() || m.valueSeal.Broken()) {
		m.tree.err = ErrChanged
		m.tree.live = 0
		m.ended = true
	}
	m.valueSeal = invariant.Seal{}
}

// ErrChanged is the error of a checked build for user code that changes what it borrows.
var ErrChanged = errors.New("user code has changed a key or a value, which it borrows")

// gather copies the current value to the window, and then the values of the group that follow
// in the same run. It moves the run behind them. It stops before a long or large value, and if
// the window is full.
//
// hot: one iteration for each value of a group.
func (m *Merger) gather(value []byte) {
	c := m.tree.current()
	for {
		m.spans = append(m.spans, jobs.Span{Off: uint32(len(m.gathered)), Len: uint32(len(value))})
		if len(value) == 8 { // a value of jobs.Sum, for example; avoids a call of memmove
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

// look reads a byte of each of the next records, so that their cache misses overlap.
func (c *cursor) look() {
	sum := c.touched
	for _, e := range c.entries[:min(len(c.entries), record.LookAhead)] {
		sum += c.arena.Touch(e.Ref)
	}
	c.touched = sum
}

// currentValue returns the whole value of the current record, borrowed until the next step. It
// returns false after an error.
func (m *Merger) currentValue() (value []byte, ok bool) {
	c := m.tree.current()
	if c.disk == nil {
		_, value = c.arena.Record(c.entries[0].Ref)
		return value, true
	}
	if c.disk.large {
		if err := c.disk.load(false); err != nil {
			m.fail(err)
			return nil, false
		}
	}
	return c.disk.value, true
}

// WriteSorted writes partitions 0 to parts-1 of sorted slices to the segment that w has begun.
// If combine is not nil, it reads each partition from the Merger and adds its results to w.
// WriteSorted returns the first error of combine. Errors of w are sticky in w.
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

// OverSlices makes m merge partition p of slices whose records lie in a. Equal keys come in the
// order of the slices.
func (m *Merger) OverSlices(a *record.Arena, slices []record.Slice, p int) {
	m.tree.cursors = m.tree.cursors[:0]
	for _, s := range slices {
		if e := s.Part(p); len(e) > 0 {
			m.tree.cursors = append(m.tree.cursors, cursor{entries: e, arena: a})
		}
	}
	m.reset()
}

// Groups are the groups of records that a reducer reads, in the order of their keys. Key and Values
// are borrowed until the next call of NextGroup.
type Groups interface {
	NextGroup() bool
	Key() []byte
	Values() *jobs.Values
}

// KeyGroups are Groups of one key each. Refill supplies the values of the current group. A Merge is
// one.
type KeyGroups interface {
	Groups
	jobs.Refiller
}

// ByPrefix makes one group of all keys of g that have the same prefix (jobs.Job.GroupBytes). It
// supplies the values of one key after the other. prefix returns the length of a key's prefix; nil:
// the groups are those of g.
func ByPrefix(g KeyGroups, prefix func(key []byte) int) Groups {
	if prefix == nil {
		return g
	}
	return &prefixGroups{keys: g, prefix: prefix, lent: []byte{}} // an empty key is not nil
}

// prefixGroups are the groups of ByPrefix.
type prefixGroups struct {
	keys   KeyGroups
	prefix func(key []byte) int // bytes of a key's prefix
	first  []byte               // first key of the group, copied because keys overwrites its key
	lent   []byte               // a copy of first, which user code may change by mistake
	name   []byte               // of the group, in first
	names  []int                // lengths of the names of groups so far that are prefixes of first
	begun  bool                 // NextGroup was called
	within bool                 // keys stands at a key of the group
	more   bool                 // keys stands at a key
	values jobs.Values
}

// NextGroup moves to the next group, and skips the rest of the current one. It returns false at
// the end of the keys. It panics with a jobs.Mistake if the group has been there before.
func (g *prefixGroups) NextGroup() bool {
	if !g.begun {
		g.begun = true
		g.more = g.keys.NextGroup()
	}
	for g.within {
		g.step()
	}
	if !g.more {
		return false
	}
	same := record.CommonBytes(g.first, g.keys.Key())
	g.first = append(g.first[:0], g.keys.Key()...)
	g.lent = append(g.lent[:0], g.first...)
	g.name, g.within = jobs.GroupOf(g.first, g.prefix), true
	// In sorted keys a group can come back only if all keys between begin with its name. So other names are dropped.
	g.names = slices.DeleteFunc(g.names, func(n int) bool { return n > same })
	if slices.Contains(g.names, len(g.name)) {
		panic(jobs.Mistakef("GroupBytes: the group %s comes back at the key %s; its name must not be a prefix of another one", errs.Quote(string(g.name)), errs.Quote(string(g.first))))
	}
	g.names = append(g.names, len(g.name))
	g.values.Reset(g)
	return true
}

// Key returns the first key of the group. It is borrowed until the next call of NextGroup.
func (g *prefixGroups) Key() []byte { return g.lent }

// Values returns the values of the group.
func (g *prefixGroups) Values() *jobs.Values { return &g.values }

// Refill implements jobs.Refiller. It fills vs with values of one key, and sets that key.
func (g *prefixGroups) Refill(vs *jobs.Values) bool {
	for g.within {
		if g.keys.Refill(vs) {
			vs.SetKey(g.keys.Key())
			return true
		}
		g.step()
	}
	return false
}

// step moves to the next key. within is false after it if that key begins another group.
func (g *prefixGroups) step() {
	if g.more = g.keys.NextGroup(); !g.more {
		g.within = false
		return
	}
	g.within = bytes.Equal(jobs.GroupOf(g.keys.Key(), g.prefix), g.name)
}

// Combining runs a combiner over the groups of partitions, in the order of their keys. It is the
// jobs.Emitter of the combiner, the same one for all partitions, because a combiner may keep it. It
// checks the keys that the combiner emits, and counts its records.
//
// A combiner must emit only the key of its group. A combiner that is a jobs.Flusher may emit any
// keys in ascending order.
type Combining struct {
	combiner jobs.Reducer
	flusher  jobs.Flusher // nil: the combiner is none
	late     func()       // called for a record that is emitted outside of partitions
	failed   func(error) error
	add      func(key, value []byte) // nil: there is no partition
	key      []byte                  // of the group; for a flusher, the key that was emitted last
	groups   int64                   // of the partition
	records  int64                   // emitted in the partition
	err      error                   // the first one, because Emit returns none
}

// NewCombining makes a Combining without a partition. It calls late for a record that the combiner emits
// outside of partitions. Such a record is lost. failed makes the error of user code of one that the combiner returns.
func NewCombining(combiner jobs.Reducer, late func(), failed func(error) error) *Combining {
	flusher, _ := combiner.(jobs.Flusher)
	return &Combining{combiner: combiner, flusher: flusher, late: late, failed: failed}
}

// Begin begins a partition. It calls add with each record that the combiner emits; key and value are
// borrowed and valid during the call.
func (c *Combining) Begin(add func(key, value []byte)) {
	c.add = add
	c.key = c.key[:0]
	c.groups, c.records = 0, 0
}

// Group combines the values of a key, which it borrows. It returns the first error.
func (c *Combining) Group(key []byte, vs *jobs.Values) error {
	c.groups++
	if c.flusher == nil {
		c.key = key
	}
	if err := c.combiner.Reduce(key, vs, c); err != nil {
		return c.failed(err)
	}
	return c.err
}

// End ends the partition. It flushes the combiner if there was a group.
func (c *Combining) End() error {
	defer c.leave()
	if c.flusher != nil && c.groups > 0 {
		if err := c.flusher.Flush(c); err != nil {
			return c.failed(err)
		}
	}
	return c.err
}

// leave leaves the partition, also after an error: its run must not be written any more.
func (c *Combining) leave() { c.add, c.key = nil, nil }

// Records returns the number of records that the combiner has emitted.
func (c *Combining) Records() int64 { return c.records }

// Emit passes the record to add. A key other than that of the group would break the order of
// the run that is being written. The keys of a jobs.Flusher only have to ascend.
func (c *Combining) Emit(key, value []byte) {
	switch {
	case c.add == nil:
		c.late()
		return
	case c.flusher == nil && string(key) != string(c.key):
		c.err = cmp.Or(c.err, jobs.Mistakef("combiner: emitted a key other than the one it was given"))
		return
	case c.flusher != nil && c.records > 0 && bytes.Compare(key, c.key) < 0:
		c.err = cmp.Or(c.err, jobs.Mistakef("combiner: its keys do not ascend; a combiner must emit the keys in their order"))
		return
	}
	if c.flusher != nil {
		c.key = append(c.key[:0], key...)
	}
	c.records++
	c.add(key, value)
}

// Partition combines all groups of m, whose runs must be in memory, as one partition. It calls add as
// Begin says, and returns the numbers of records before and after the combiner.
func (c *Combining) Partition(m *Merger, add func(key, value []byte)) (in, out int64, err error) {
	// m has not started, so its cursors still have all entries.
	for _, cur := range m.tree.cursors {
		in += int64(len(cur.entries))
	}
	c.Begin(add)
	defer c.leave()
	defer m.Values.Reset(nil) // the combiner may have kept it
	for m.NextGroup() {
		if err := c.Group(m.Key, &m.Values); err != nil {
			return in, c.records, err
		}
	}
	if m.tree.err != nil {
		return in, c.records, m.tree.err
	}
	err = c.End()
	return in, c.records, err
}
