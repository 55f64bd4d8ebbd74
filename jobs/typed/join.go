package typed

import (
	"errors"
	"iter"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Join joins values of two types by a key. The first input of the run has those of Left, and all other inputs have
// those of Right. All fields but Name and Ordered are required.
type Join[L, R, K, Out any] struct {
	Name     string
	Left     Source[L]
	Right    Source[R]
	LeftKey  func(L) K
	RightKey func(R) K

	// Reduce gets a key with all values of Left, which lie in memory, and those of Right, which can be ranged over
	// once. One of both may be empty. left is borrowed.
	Reduce func(key K, left []L, right iter.Seq[R], emit func(Out)) error

	Ordered bool // sort the result by key as a whole
}

// tagged is the key of a value: those of Left come first.
type tagged[K any] struct {
	Key   K
	Right bool
}

// row is an encoded value with its key.
type row[K any] struct {
	tagged[K]
	value []byte
}

func (j Join[L, R, K, Out]) stage() Chain[Out] {
	_, err := newCodec[L]()
	_, err2 := newCodec[R]()
	switch {
	case err != nil || err2 != nil:
		return Chain[Out]{err: errs.Optionf("job "+j.Name, "%w", errors.Join(err, err2))}
	case j.Left == nil || j.Right == nil || j.LeftKey == nil || j.RightKey == nil || j.Reduce == nil:
		return Chain[Out]{err: errs.Optionf("job "+j.Name, "a Join needs Left, Right, LeftKey, RightKey and Reduce")}
	}
	return Job[row[K], tagged[K], []byte, Out]{
		Name: j.Name, From: j.rows, Ordered: j.Ordered, GroupBy: 1, newRows: j.newReduce,
		Map: func(r row[K], emit func(tagged[K], []byte)) error { emit(r.tagged, r.value); return nil },
	}.stage()
}

// rows is a Source of both sides.
func (j Join[L, R, K, Out]) rows() func(b jobs.Block, each func(row[K]) error) error {
	left, right := encoded(j.Left, j.LeftKey, false), encoded(j.Right, j.RightKey, true)
	return func(b jobs.Block, each func(row[K]) error) error {
		if b.Input == 0 {
			return left(b, each)
		}
		return right(b, each)
	}
}

// encoded returns the function of a Source that encodes the values of from.
func encoded[In, K any](from Source[In], key func(In) K, right bool) func(b jobs.Block, each func(row[K]) error) error {
	ins, values, r := from(), must(newCodec[In]()), row[K]{}
	r.Right = right
	return func(b jobs.Block, each func(row[K]) error) error {
		return ins(b, func(in In) error {
			r.Key, r.value = key(in), values.append(r.value[:0], in)
			return each(r)
		})
	}
}

// newReduce makes the Rows of an attempt.
func (j Join[L, R, K, Out]) newReduce() func(rows iter.Seq2[tagged[K], []byte], emit func(Out)) error {
	lefts, rights := must(newCodec[L]()), must(newCodec[R]())
	var left []L
	var text []byte // of left, which may refer to it
	return func(rows iter.Seq2[tagged[K], []byte], emit func(Out)) error {
		var group K
		var first []byte // of Right
		left, text, lefts.kept = left[:0], text[:0], 0
		for key, value := range rows {
			if group = key.Key; key.Right {
				first = value
				break
			}
			from := len(text)
			text = append(text, value...)
			left = append(left, lefts.decodeFrom(0, text[from:]))
			lefts.kept = len(lefts.plain)
		}
		return j.Reduce(group, left, func(yield func(R) bool) {
			if first == nil || !yield(rights.decode(first)) {
				return
			}
			for _, value := range rows { // goes on behind first
				if !yield(rights.decode(value)) {
					return
				}
			}
		}, emit)
	}
}
