package runs

import (
	"bytes"
	"errors"
	"fmt"

	"mrlocal/jobs"
)

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
