package typed

import (
	"mrlocal/jobs"
)

// mapper is the jobs.Mapper of a Job. Its functions are made once for each attempt, so that no record needs memory. It
// gathers keys with the same value, as the 1 of a count, because jobs.EmitSpans is faster than one call for each.
type mapper[In any] struct {
	from   func(b jobs.Block, each func(In) error) error
	each   func(In) error
	out    jobs.Emitter
	keys   []byte // one after the other
	used   int    // bytes of keys
	spans  [mostKeys]jobs.Span
	waits  int    // spans that are used
	value  []byte // of all keys
	buffer []byte // for the next value
}

// mostKeys bounds the keys that wait.
const mostKeys = 256

// Map implements jobs.Mapper.
func (m *mapper[In]) Map(b jobs.Block, out jobs.Emitter) error {
	m.out = out
	err := m.from(b, m.each)
	m.flush()
	return err
}

// flush emits the keys that wait.
func (m *mapper[In]) flush() {
	if m.waits == 1 {
		m.out.Emit(m.keys[:m.used], m.value)
	} else if m.waits > 0 {
		jobs.EmitSpans(m.out, m.keys[:m.used], m.spans[:m.waits], m.value)
	}
	m.used, m.waits = 0, 0
}

func (j Job[In, K, V, Out]) newMapper() jobs.Mapper {
	m := &mapper[In]{from: j.From()}
	appendKey, appendValue := must(newCodec[K]()).append, j.newValues().append
	// It stores slices only when they have changed, because the collector makes a store of a pointer slow.
	emit := func(k K, v V) {
		if value := appendValue(m.buffer[:0], v); m.waits == mostKeys || string(value) != string(m.value) {
			m.flush()
			m.value, m.buffer = append(m.value[:0], value...), value
		}
		keys := appendKey(m.keys[:m.used], k)
		if cap(keys) != cap(m.keys) {
			m.keys = keys
		}
		m.spans[m.waits] = jobs.Span{Off: uint32(m.used), Len: uint32(len(keys) - m.used)}
		m.waits++
		m.used = len(keys)
	}
	do := j.Map
	m.each = func(in In) error { return do(in, emit) }
	return m
}

// newValues makes the codec of values.
func (j Job[In, K, V, Out]) newValues() *codec[V] {
	values := must(newCodec[V]())
	if values.sums = j.Sum; j.Sum {
		values.cells[0].flip = values.cells[0].number() // 0 becomes 0
		if quick, ok := any(func(dst []byte, v int) []byte { return jobs.AppendUint64(dst, uint64(v)) }).(func([]byte, V) []byte); ok {
			values.append = quick
		}
	}
	return values
}

// newFolder makes the jobs.Folder; nil: there is none.
func (j Job[In, K, V, Out]) newFolder() jobs.Folder {
	switch {
	case j.Sum:
		return jobs.Sum{}
	case j.Fold != nil:
		return &folder[V]{values: j.newValues(), other: j.newValues(), fold: j.Fold}
	}
	return nil
}

// folder is the jobs.Folder of a Job with Fold.
type folder[V any] struct {
	values, other *codec[V]
	fold          func(V, V) V
	folded        []byte // scratch: the result may refer to acc
}

// Fold implements jobs.Folder.
func (f *folder[V]) Fold(acc, value []byte) []byte {
	if acc == nil {
		return append(acc, value...)
	}
	f.folded = f.values.append(f.folded[:0], f.fold(f.other.decode(acc), f.values.decode(value)))
	return append(acc[:0], f.folded...)
}

// reducer is the jobs.Reducer of a Job.
type reducer struct {
	reduce func(key []byte) error // reduces the group of vs
	vs     *jobs.Values
	out    jobs.Emitter
}

// Reduce implements jobs.Reducer.
func (r *reducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	r.vs, r.out = vs, out
	return r.reduce(key)
}

// newReducer makes the reducer of an attempt, which writes its results in the given form.
func (j Job[In, K, V, Out]) newReducer(as form) jobs.Reducer {
	keys, values, r := must(newCodec[K]()), j.newValues(), &reducer{}
	emit := emitter(r, must(newCodec[Out]()), as)
	if rows := j.Rows; rows != nil || j.newRows != nil {
		if rows == nil {
			rows = j.newRows()
		}
		var group K
		prefix, first, from := keys.prefix(j.GroupBy), keys.cellsOf(j.GroupBy), 0
		all := func(yield func(K, V) bool) {
			for r.vs.Next() {
				if key := r.vs.Key(); key != nil { // its first fields are those of the group
					group = keys.decodeFrom(first, key[from:])
				}
				if !yield(group, values.decode(r.vs.Value())) {
					return
				}
			}
		}
		r.reduce = func(key []byte) error {
			group, from = keys.decode(key), prefix(key)
			keys.kept = len(keys.plain)
			return rows(all, emit)
		}
		return r
	}
	f := j.newFolder()
	if f == nil {
		all := func(yield func(V) bool) {
			for r.vs.Next() && yield(values.decode(r.vs.Value())) {
			}
		}
		r.reduce = func(key []byte) error { return j.Reduce(keys.decode(key), all, emit) }
		if result, ok := any(func(key K) K { return key }).(func(K) Out); ok && j.Reduce == nil {
			r.reduce = func(key []byte) error {
				for k := keys.decode(key); r.vs.Next(); {
					emit(result(k))
				}
				return nil
			}
		}
		return r
	}
	var acc []byte
	folded := func() V {
		for first := true; r.vs.Next(); first = false {
			if first {
				acc = append(acc[:0], r.vs.Value()...)
			} else {
				acc = f.Fold(acc, r.vs.Value())
			}
		}
		return values.decode(acc)
	}
	one := func(yield func(V) bool) { yield(folded()) }
	r.reduce = func(key []byte) error { return j.Reduce(keys.decode(key), one, emit) }
	if pair, ok := any(func(key K, v V) Pair[K, V] { return Pair[K, V]{key, v} }).(func(K, V) Out); ok && j.Reduce == nil {
		r.reduce = func(key []byte) error {
			emit(pair(keys.decode(key), folded()))
			return nil
		}
	}
	return r
}

// emitter returns a function that emits a result in the given form.
func emitter[Out any](r *reducer, outs *codec[Out], as form) func(Out) {
	encode := outs.append
	if as == asText {
		encode = outs.appendLine
	}
	var line, pair []byte
	return func(o Out) {
		if line = encode(line[:0], o); as == asBinary {
			pair = jobs.AppendPair(pair[:0], nil, line)
			r.out.Emit(nil, pair)
			return
		}
		r.out.Emit(nil, line)
	}
}
