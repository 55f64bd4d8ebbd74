package typed

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Source makes, for each attempt, a function that calls each with the values of a block, until each fails. It returns
// the error of each, or of a record that is no value. All values of an attempt lie in one variable, one after the
// other.
type Source[In any] func() func(b jobs.Block, each func(*In) error) error

// Lines is a Source of lines, without their newlines.
func Lines() func(b jobs.Block, each func(*string) error) error {
	line := new(string)
	return func(b jobs.Block, each func(*string) error) error {
		text, at := textOf(b.Data), 0
		for record := range b.Lines() { // which tells the place of a line in errors
			*line = text[at : at+len(record)]
			if err := each(line); err != nil {
				return err
			}
			at += len(record) + 1
		}
		return nil
	}
}

// JSON is a Source of values that stand as JSON on a line each. Empty lines are left out. Package encoding/json
// says what a tag of a field means.
func JSON[In any]() func(b jobs.Block, each func(*In) error) error {
	lines, in := Lines(), new(In)
	return func(b jobs.Block, each func(*In) error) error {
		return lines(b, func(line *string) error {
			if strings.TrimSpace(*line) == "" {
				return nil
			}
			*in = *new(In)
			if err := json.Unmarshal([]byte(*line), in); err != nil {
				return err
			}
			return each(in)
		})
	}
}

// CSV returns a Source of structs, whose fields are columns of comma-separated values (RFC 4180), in their order. A
// tag such as `csv:"3"` names another column, from 1 on. Fields of a struct inside are columns of their own, and no two
// fields are the same one. header leaves out the first line of each file. Records are lines: a value has no newline.
func CSV[In any](comma byte, header bool) Source[In] {
	return func() func(b jobs.Block, each func(*In) error) error {
		values, c := must(newCodec[In]()), columns{comma: comma}
		for i, n := range columnsOf(reflect.TypeFor[In]()) {
			c.cells = append(c.cells, make([]*cell, max(0, n-len(c.cells)))...)
			c.cells[n-1] = &values.cells[i]
		}
		return func(b jobs.Block, each func(*In) error) error {
			skip, text, at := header && b.Offset == 0, textOf(b.Data), 0
			for record := range b.Lines() {
				line := strings.TrimSuffix(text[at:at+len(record)], "\r")
				at += len(record) + 1
				if skip || line == "" {
					skip = false
					continue
				}
				if err := c.parse(line); err != nil {
					return fmt.Errorf("the line %s: %w", errs.Quote(line), err)
				}
				if err := each(values.v); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// columns sets cells to the columns of a line.
type columns struct {
	comma byte
	cells []*cell // by number; nil: not used
}

// parse sets the cells to the columns of line.
func (c *columns) parse(line string) error {
	rest, more, quoted := line, true, []string(nil) // quoted has all columns of a line with quotes
	for i, one := range c.cells {
		if rest != "" && rest[0] == '"' && quoted == nil {
			r := csv.NewReader(strings.NewReader(line))
			r.Comma = rune(c.comma)
			var err error
			if quoted, err = r.Read(); err != nil {
				return err
			}
		}
		text, n := rest, strings.IndexByte(rest, c.comma)
		switch {
		case i < len(quoted):
			text = quoted[i]
		case quoted != nil || !more:
			return fmt.Errorf("has no column %d", i+1)
		case n >= 0:
			text, rest = rest[:n], rest[n+1:]
		default:
			more = false
		}
		if one != nil {
			if err := one.parse(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// columnsOf returns the number of the column of each cell of a struct, or of another type, from 1 on.
func columnsOf(t reflect.Type) (columns []int) {
	for i, tag := range tagsOf(t, "") {
		n, err := i+1, error(nil)
		if tag != "" {
			n, err = strconv.Atoi(tag)
		}
		switch {
		case err != nil || n < 1:
			panic(jobs.Mistakef("typed.CSV: %v: the tag csv:%q: must be the number of a column, from 1 on", t, tag))
		case slices.Contains(columns, n):
			panic(jobs.Mistakef("typed.CSV: %v: two fields are column %d", t, n))
		}
		columns = append(columns, n)
	}
	return columns
}

// tagsOf returns the tag of each cell of a type. Cells without one have that of the struct around them.
func tagsOf(t reflect.Type, tag string) (tags []string) {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return []string{tag}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tags = append(tags, tagsOf(f.Type, cmp.Or(f.Tag.Get("csv"), tag))...)
	}
	return tags
}

// results is a Source of the results of the job before.
func results[In any]() func(b jobs.Block, each func(*In) error) error {
	ins := must(newCodec[In]())
	return func(b jobs.Block, each func(*In) error) error {
		for _, value := range b.Pairs() {
			ins.decode(value)
			if err := each(ins.v); err != nil {
				return err
			}
		}
		return nil
	}
}

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
		return Chain[Out]{err: errs.Optionf("job "+j.Name, "%w", cmp.Or(err, err2))}
	case j.Left == nil || j.Right == nil || j.LeftKey == nil || j.RightKey == nil || j.Reduce == nil:
		return Chain[Out]{err: errs.Optionf("job "+j.Name, "a Join needs Left, Right, LeftKey, RightKey and Reduce")}
	}
	return Job[row[K], tagged[K], []byte, Out]{
		Name: j.Name, From: j.rows, Ordered: j.Ordered, GroupBy: 1, newRows: j.newReduce,
		Map: func(r row[K], emit func(tagged[K], []byte)) error { emit(r.tagged, r.value); return nil },
	}.stage()
}

// rows is a Source of both sides.
func (j Join[L, R, K, Out]) rows() func(b jobs.Block, each func(*row[K]) error) error {
	left, right := encoded(j.Left, j.LeftKey, false), encoded(j.Right, j.RightKey, true)
	return func(b jobs.Block, each func(*row[K]) error) error {
		if b.Input == 0 {
			return left(b, each)
		}
		return right(b, each)
	}
}

// encoded returns the function of a Source that encodes the values of from.
func encoded[In, K any](from Source[In], key func(In) K, right bool) func(b jobs.Block, each func(*row[K]) error) error {
	ins, values, r := from(), must(newCodec[In]()), new(row[K])
	r.Right = right
	return func(b jobs.Block, each func(*row[K]) error) error {
		return ins(b, func(in *In) error {
			r.Key, r.value = key(*in), values.append(r.value[:0], *in)
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
			lefts.decodeFrom(0, text[from:])
			left = append(left, *lefts.v)
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
