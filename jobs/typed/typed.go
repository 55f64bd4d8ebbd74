// Package typed has jobs of Go values instead of bytes. It stands on package jobs, whose jobs.Job it makes:
//
//	words := typed.Job[string, string, int, typed.Pair[string, int]]{
//		Name: "words",
//		Map: func(line string, emit func(string, int)) error {
//			for w := range strings.FieldsSeq(line) {
//				emit(w, 1)
//			}
//			return nil
//		},
//		Sum: true,
//	}
//	report, err := mrlocal.RunTyped(ctx, words, options)
//
// Keys and values may be booleans, numbers, strings, []byte, time.Time, and structs of them with exported fields. Keys
// sort as their values do: a struct by its first field, then by the second one, and so on, and a Desc in
// descending order. A time sorts and arrives in UTC. A float that is no number sorts before all others. A float -0
// arrives as 0.
//
// A record of a Source becomes a value (Lines, CSV, JSON). Then runs a job on the results of another one. A
// result is a line of text: its values with TABs between. mrlocal.Results gives results as values.
//
// Memory: strings and []byte in the input of Map are borrowed until it returns; strings.Clone and bytes.Clone make
// copies that may be kept. In a Reduce, strings may be kept, and a []byte is borrowed until the next value. Several
// goroutines call the functions of a Job, so these share no variables without locks.
package typed

import (
	"cmp"
	"errors"
	"iter"
	"reflect"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Job is a job that makes values of type Out of values of type In. K is the type of its keys, and V that of the values
// that Map emits.
type Job[In, K, V, Out any] struct {
	Name string
	From Source[In] // of a first job; nil: Lines

	// Map gets a value of the input, and emits any number of keys and values. nil: each value of the input is a key
	// without a value, K is In, and V is struct{}.
	Map func(in In, emit func(K, V)) error

	// Fold combines two values of a key. It is associative and commutative. Maps combine early what they emit.
	Fold func(V, V) V
	// Sum adds the values of a key, which are integers. It is faster than a Fold that adds.
	Sum bool

	// Reduce gets a key and its values. They can be ranged over once. With Fold or Sum there is one value.
	// With GroupBy, it gets the first key of a group. nil: the results are the keys, once for each value, and Out is
	// K. With Fold or Sum they are the keys with their values, and Out is Pair[K, V].
	Reduce func(key K, values iter.Seq[V], emit func(Out)) error
	// Rows takes the place of Reduce. It gets the key of each value too. It excludes Fold and Sum.
	Rows func(rows iter.Seq2[K, V], emit func(Out)) error

	// GroupBy is the number of fields of K, from the first one on, that name a group. The values of a group come in the
	// order of the other fields (secondary sort). 0: all fields.
	GroupBy int

	Ordered bool // sort the result by key as a whole
	Reduces int  // number of reduce tasks; 0: chosen by the size of the input

	newRows func() func(rows iter.Seq2[K, V], emit func(Out)) error // makes Rows for each attempt
}

// KeyOf returns a Map that emits a key without a value for each value of the input.
func KeyOf[In, K any](key func(In) K) func(in In, emit func(K, struct{})) error {
	return func(in In, emit func(K, struct{})) error {
		emit(key(in), struct{}{})
		return nil
	}
}

// Stage is a Job, a Join or a Chain with results of type Out.
type Stage[Out any] interface{ stage() Chain[Out] }

// Chain is a sequence of jobs with results of type Out.
type Chain[Out any] struct {
	before jobs.Chain
	last   func(form) jobs.Job
	err    error
}

func (c Chain[Out]) stage() Chain[Out] {
	if c.last == nil && c.err == nil {
		c.err = errs.Optionf("job", "an empty chain")
	}
	return c
}

// form is how a job writes its results.
type form uint8

const (
	asText   form = iota
	asPairs       // values of pairs, for the next job
	asBinary      // values of pairs without an end, for Results
)

// Then returns a chain that runs next on the results of first. Values pass between jobs with their lengths, not as
// text.
func Then[In, K, V, Out any](first Stage[In], next Job[In, K, V, Out]) Chain[Out] {
	c := first.stage()
	if c.err != nil {
		return Chain[Out]{err: c.err}
	}
	if next.From != nil {
		return Chain[Out]{err: errs.Optionf("job "+next.Name, "From is for the first job of a chain")}
	}
	next.From = results[In]
	second := next.stage()
	second.before = append(append(jobs.Chain{}, c.before...), c.last(asPairs))
	return second
}

// Jobs returns the jobs of a stage, whose result is text. It fails with an options error if a type or a field
// cannot be used.
func Jobs[Out any](s Stage[Out]) (jobs.Chain, error) { return made(s, asText) }

func made[Out any](s Stage[Out], as form) (jobs.Chain, error) {
	c := s.stage()
	if c.err != nil {
		return nil, c.err
	}
	return append(append(jobs.Chain{}, c.before...), c.last(as)), nil
}

// Binary returns the jobs of a stage, and a function that yields the results that the last one has written.
func Binary[Out any](s Stage[Out]) (chain jobs.Chain, results func(written []byte) iter.Seq[Out], err error) {
	chain, err = made(s, asBinary)
	return chain, func(written []byte) iter.Seq[Out] {
		return func(yield func(Out) bool) {
			outs := must(newCodec[Out]())
			for _, value := range (jobs.Block{Data: written, Paired: true}).Pairs() {
				if !yield(outs.decode(value)) {
					return
				}
			}
		}
	}, err
}

// must returns c. The types of a job were tried out before it runs, so there is no error.
func must[T any](c *codec[T], err error) *codec[T] {
	if err != nil {
		panic(jobs.Mistakef("%v", err))
	}
	return c
}

func (j Job[In, K, V, Out]) stage() Chain[Out] {
	keys, err := newCodec[K]()
	values, err2 := newCodec[V]()
	_, err3 := newCodec[Out]()
	_, pairs := any(Pair[K, V]{}).(Out)
	_, alone := any(*new(K)).(Out)
	_, bare := any(Pair[In, struct{}]{}).(Pair[K, V])
	lines, _ := any(Source[string](Lines)).(Source[In])
	err = cmp.Or(err, err2, err3)
	switch {
	case err != nil:
	case j.Map == nil && !bare:
		err = errors.New("has no Map; K is then In, and V is struct{}")
	case j.Sum && (j.Fold != nil || len(values.cells) != 1 || values.cells[0].kind != reflect.Int && values.cells[0].kind != reflect.Uint):
		err = errors.New("needs integers for Sum, which excludes Fold")
	case (j.Sum || j.Fold != nil) && (j.GroupBy > 0 || j.Rows != nil):
		err = errors.New("GroupBy and Rows exclude Sum and Fold")
	case j.GroupBy < 0 || j.GroupBy > keys.fields:
		err = errors.New("GroupBy is greater than the number of fields of a key")
	case j.Reduce == nil && j.Rows == nil && j.newRows == nil && ((j.Sum || j.Fold != nil) && !pairs || !j.Sum && j.Fold == nil && !alone):
		err = errors.New("has no Reduce; the results are then K, or Pair[K, V] with Sum or Fold")
	case j.From == nil && lines == nil:
		err = errors.New("needs From, because its input values are no strings")
	}
	if err != nil {
		return Chain[Out]{err: errs.Optionf("job "+j.Name, "%w", err)}
	}
	if j.From == nil {
		j.From = lines
	}
	return Chain[Out]{last: func(as form) jobs.Job {
		job := jobs.Job{
			Name: j.Name, Ordered: j.Ordered, Reduces: j.Reduces, Bare: as == asBinary,
			NewMapper:  j.newMapper,
			NewReducer: func() jobs.Reducer { return j.newReducer(as) },
		}
		if j.newFolder() != nil {
			job.NewFolder = j.newFolder
		}
		if j.GroupBy > 0 && j.GroupBy < keys.fields {
			job.GroupBytes = keys.prefix(j.GroupBy)
		}
		return job
	}}
}

// mapper is the jobs.Mapper of a Job. Its functions are made once for each attempt, so that no record needs memory. It
// gathers keys with the same value, as the 1 of a count, because jobs.EmitSpans is faster than one call for each.
type mapper[In any] struct {
	from   func(b jobs.Block, each func(*In) error) error
	each   func(*In) error
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
	keys, values := must(newCodec[K]()), j.newValues()
	// A slice is stored only when it has another array, because the collector makes a store of a pointer slow.
	emit := func(k K, v V) {
		*keys.v, *values.v = k, v
		key, value := keys.encode(m.keys[:0]), values.encode(m.value[:0])
		if cap(key) != cap(m.keys) {
			m.keys = key
		}
		if cap(value) != cap(m.value) {
			m.value = value
		}
		m.out.Emit(key, value)
	}
	if j.Sum || j.Fold != nil {
		emit = func(k K, v V) {
			*keys.v, *values.v = k, v
			if value := values.encode(m.buffer[:0]); m.waits == mostKeys || string(value) != string(m.value) {
				m.flush()
				m.value, m.buffer = append(m.value[:0], value...), value
			}
			key := keys.encode(m.keys[:m.used])
			if cap(key) != cap(m.keys) {
				m.keys = key
			}
			m.gather(len(key))
		}
		if counts, is := any(values).(*codec[int]); is {
			if quick, ok := any(m.counter(counts)).(func(K, V)); ok {
				emit = quick
			}
		}
	}
	if m.each = func(in *In) error { return j.Map(*in, emit) }; j.Map == nil {
		none, own := []byte{}, (*In)(nil)
		m.each = func(in *In) error {
			if in != own { // at the first record: its cells are encoded where the Source sets them
				own, keys = in, must(newCodecOf(any(in).(*K)))
			}
			key := keys.encode(m.keys[:0])
			if cap(key) != cap(m.keys) {
				m.keys = key
			}
			m.out.Emit(key, none)
			return nil
		}
	}
	return m
}

// counter returns a function that gathers strings with an integer, without calls for each.
func (m *mapper[In]) counter(values *codec[int]) func(string, int) {
	last := 0
	m.keys, m.value = make([]byte, 16*mostKeys), values.append(nil, last)
	return func(k string, v int) {
		if m.waits == mostKeys || v != last || len(m.keys)-m.used < len(k) {
			m.flush()
			if v != last {
				m.value, last = values.append(m.value[:0], v), v
			}
			if len(m.keys) < len(k) {
				m.keys = make([]byte, 2*len(k))
			}
		}
		m.gather(m.used + copy(m.keys[m.used:], k))
	}
}

// gather notes that a key ends at the given place of m.keys.
func (m *mapper[In]) gather(end int) {
	m.spans[m.waits] = jobs.Span{Off: uint32(m.used), Len: uint32(end - m.used)}
	m.waits++
	m.used = end
}

// newValues makes the codec of values.
func (j Job[In, K, V, Out]) newValues() *codec[V] {
	values := must(newCodec[V]())
	if values.sums = j.Sum; j.Sum {
		values.cells[0].flip = values.cells[0].number() // 0 becomes 0
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
	w := &writer[Out]{codec: must(newCodec[Out]()), reducer: r, as: as}
	emit := w.emit
	if rows := j.Rows; rows != nil || j.newRows != nil {
		if rows == nil {
			rows = j.newRows()
		}
		prefix, first, from, none := keys.prefix(j.GroupBy), keys.cellsOf(j.GroupBy), 0, len(values.cells) == 0
		all := func(yield func(K, V) bool) {
			for r.vs.Next() {
				if key := r.vs.Key(); key != nil { // its first fields are those of the group
					keys.decodeFrom(first, key[from:])
				}
				if !none {
					values.decode(r.vs.Value())
				}
				if !yield(*keys.v, *values.v) {
					return
				}
			}
		}
		r.reduce = func(key []byte) error {
			keys.decode(key)
			from, keys.kept = prefix(key), len(keys.plain)
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
		if result, ok := any(w.v).(*K); ok && j.Reduce == nil {
			keys.lends = true
			r.reduce = func(key []byte) error {
				for *result = keys.decode(key); r.vs.Next(); w.write() {
					if own := r.vs.Key(); own != nil { // with GroupBy
						*result = keys.decode(own)
					}
				}
				return nil
			}
		}
		return r
	}
	folded := j.newFolded(r, values, f)
	one := func(yield func(V) bool) { yield(folded()) }
	r.reduce = func(key []byte) error { return j.Reduce(keys.decode(key), one, emit) }
	if result, ok := any(w.v).(*Pair[K, V]); ok && j.Reduce == nil {
		keys.lends = true
		r.reduce = func(key []byte) error {
			result.Key, result.Value = keys.decode(key), folded()
			w.write()
			return nil
		}
	}
	return r
}

// newFolded makes a function that folds the values of the group of r.
func (j Job[In, K, V, Out]) newFolded(r *reducer, values *codec[V], f jobs.Folder) func() V {
	var acc []byte
	return func() V {
		if j.Sum {
			sum := uint64(0)
			for r.vs.Next() {
				sum += jobs.Uint64(r.vs.Value())
			}
			values.cells[0].setNumber(sum ^ values.cells[0].flip)
			return *values.v
		}
		for first := true; r.vs.Next(); first = false {
			if first {
				acc = append(acc[:0], r.vs.Value()...)
			} else {
				acc = f.Fold(acc, r.vs.Value())
			}
		}
		return values.decode(acc)
	}
}

// writer writes the results of a Job in a form. It has the codec of a result.
type writer[Out any] struct {
	*codec[Out]
	*reducer
	as         form
	text, pair []byte // reused
}

// emit writes a result.
func (w *writer[Out]) emit(o Out) {
	*w.v = o
	w.write()
}

// write writes *w.v.
func (w *writer[Out]) write() {
	text := w.text[:0]
	if w.as == asText {
		text = w.line(text)
	} else {
		text = w.encode(text)
	}
	if cap(text) != cap(w.text) {
		w.text = text
	}
	if w.as == asBinary {
		w.pair = jobs.AppendPair(w.pair[:0], nil, text)
		text = w.pair
	}
	w.out.Emit(nil, text)
}
