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
// descending order. A time sorts and arrives in UTC. A float that is no number sorts before all others.
//
// A record of a Source becomes a value (Lines, CSV, JSON). Then runs a job on the results of another one. A
// result is a line of text: its values with TABs between. mrlocal.Results gives results as values.
//
// Memory: strings and []byte in the input of Map are borrowed until it returns; strings.Clone and bytes.Clone make
// copies that may be kept. In a Reduce, strings may be kept, and a []byte is borrowed until the next value. Several
// goroutines call the functions of a Job, so these share no variables without locks.
package typed

import (
	"errors"
	"iter"
	"reflect"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Job is a job that makes values of type Out of values of type In. K is the type of its keys, and V that of the values
// that Map emits. Map is required.
type Job[In, K, V, Out any] struct {
	Name string
	From Source[In] // of a first job; nil: Lines

	// Map gets a value of the input, and emits any number of keys and values.
	Map func(in In, emit func(K, V)) error

	// Fold combines two values of a key. It is associative and commutative. Maps combine early what they emit.
	Fold func(V, V) V
	// Sum adds the values of a key, which are integers. It is faster than a Fold that adds.
	Sum bool

	// Reduce gets a key and its values. They can be ranged over once. With Fold or Sum there is one value.
	// With GroupBy, it gets the first key of a group. nil: the results are the keys, once for each value, and Out is
	// K. With Fold or Sum they are the keys with their values, and Out is Pair[K, V].
	Reduce func(key K, values iter.Seq[V], emit func(Out)) error
	// Rows takes the place of Reduce. It gets the key of each value too.
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

// Keys is a Map that emits each value of the input as a key.
func Keys[In any](in In, emit func(In, struct{})) error {
	emit(in, struct{}{})
	return nil
}

// Stage is a Job, a Join or a Chain with results of type Out.
type Stage[Out any] interface{ stage() Chain[Out] }

// Chain is a sequence of jobs with results of type Out.
type Chain[Out any] struct {
	before jobs.Chain
	last   func(form) jobs.Job
	err    error
}

func (c Chain[Out]) stage() Chain[Out] { return c }

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
	lines, _ := any(Source[string](Lines)).(Source[In])
	err = errors.Join(err, err2, err3)
	switch {
	case err != nil:
	case j.Map == nil:
		err = errors.New("has no Map")
	case j.Sum && (j.Fold != nil || len(values.cells) != 1 || values.cells[0].kind != reflect.Int && values.cells[0].kind != reflect.Uint):
		err = errors.New("needs integers for Sum, which excludes Fold")
	case (j.Sum || j.Fold != nil) && j.GroupBy > 0:
		err = errors.New("GroupBy excludes Sum and Fold")
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
