package sort

import (
	"bytes"
	"slices"

	"mrlocal/jobs"
)

// top knows which lines of a split cannot be among its first n. It belongs to one attempt. With unique, n different
// keys count.
type top struct {
	n      int64 // 0: every line may be
	unique bool
	keys   [][]byte // the least n keys, and some that were added since
	bytes  int      // of keys
	bound  []byte   // the n-th least key of those before; nil: not known
	key    []byte   // scratch
}

const (
	topBatch     = 1024    // number of keys that are added before all are sorted
	mostTopBytes = 1 << 20 // of keys
)

// beats reports whether n lines come before line, which is the next one of the split. If the keys need too much memory,
// no further line is beaten.
func (t *top) beats(order *Order, line []byte) bool {
	if t.n == 0 {
		return false
	}
	key := line
	if order.needsKey() {
		t.key = order.AppendKey(t.key[:0], line)
		key = t.key
	}
	if t.bound != nil && bytes.Compare(key, t.bound) >= 0 {
		return true
	}
	t.keys = append(t.keys, bytes.Clone(key))
	t.bytes += len(key)
	if t.bytes <= mostTopBytes && int64(len(t.keys)) < t.n+topBatch {
		return false
	}
	slices.SortFunc(t.keys, bytes.Compare)
	if t.unique {
		t.keys = slices.CompactFunc(t.keys, bytes.Equal)
	}
	if int64(len(t.keys)) >= t.n {
		t.keys = slices.Delete(t.keys, int(t.n), len(t.keys))
		t.bound = t.keys[t.n-1]
	}
	t.bytes = 0
	for _, key := range t.keys {
		t.bytes += len(key)
	}
	if t.bytes > mostTopBytes/2 { // so that sorting them is rare
		*t = top{}
	}
	return false
}

// head writes the first lines of what Identity writes.
type head struct {
	jobs.Identity
	left int64
}

// Reduce implements jobs.Reducer.
func (h *head) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for h.left > 0 && vs.Next() {
		h.left--
		if h.Out == jobs.KeyColumn {
			out.Emit(key, nil)
		} else {
			out.Emit(nil, vs.Value())
		}
		if h.Unique {
			break
		}
	}
	return nil
}
