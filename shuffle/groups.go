package shuffle

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

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
	flusher  jobs.Flusher            // nil: the combiner is none
	late     func()                  // called for a record that is emitted outside of partitions
	add      func(key, value []byte) // nil: there is no partition
	key      []byte                  // of the group; for a flusher, the key that was emitted last
	groups   int64                   // of the partition
	records  int64                   // emitted in the partition
	err      error                   // the first one, because Emit returns none
}

// NewCombining makes a Combining without a partition. It calls late for a record that the combiner emits
// outside of partitions. Such a record is lost.
func NewCombining(combiner jobs.Reducer, late func()) *Combining {
	flusher, _ := combiner.(jobs.Flusher)
	return &Combining{combiner: combiner, flusher: flusher, late: late}
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
		return fmt.Errorf("combiner: %w", err)
	}
	return c.err
}

// End ends the partition. It flushes the combiner if there was a group.
func (c *Combining) End() error {
	defer c.leave()
	if c.flusher != nil && c.groups > 0 {
		if err := c.flusher.Flush(c); err != nil {
			return fmt.Errorf("combiner: %w", err)
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
