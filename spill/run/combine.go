package run

import (
	"errors"
	"fmt"

	"mrlocal/jobs"
)

// Combine runs a combiner over the groups of m and returns how many records it
// emitted, each of which add is called with. It may emit only the key it was
// given.
func Combine(m *Merger, combiner jobs.Reducer, add func(key, value []byte)) (records int64, err error) {
	out := combined{add: add}
	for m.NextGroup() {
		out.key = m.Key
		if err := combiner.Reduce(m.Key, &m.Values, &out); err != nil {
			return out.records, fmt.Errorf("combiner: %w", err)
		}
		if out.err != nil {
			return out.records, out.err
		}
	}
	return out.records, m.Tree.Err
}

// combined is the Emitter of a combiner.
type combined struct {
	add     func(key, value []byte)
	key     []byte
	records int64
	err     error
}

func (c *combined) Emit(key, value []byte) {
	if string(key) != string(c.key) {
		if c.err == nil {
			c.err = errors.New("combiner: emitted a key other than the one it was given")
		}
		return
	}
	c.records++
	c.add(key, value)
}
