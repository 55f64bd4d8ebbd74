package count

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Op is what happens to the numbers of a column.
type Op string

// Sums, least and greatest numbers are exact. A mean is the nearest number of 64 bits.
const (
	Sum   Op = "sum"
	Mean  Op = "mean"
	MinOf Op = "min"
	MaxOf Op = "max"
)

// Value asks for a number of each key, computed of a column. Records without the column, or with nothing in it, do not
// count for it. If there are none, the result is empty, and null in JSON.
type Value struct {
	Op     Op
	Column string // a number from 1 or, for CSV with a header, a name
}

// values computes the numbers of keys. It is a jobs.Folder. An accumulator has the count of records, as that of
// jobs.Sum, and for each Value how many numbers it has, and their sum, least or greatest number.
type values struct {
	of    []Value
	names []string // as sum(price)
	cells []func(dst, record []byte) []byte
	fold  []byte // scratch
}

// newValues reads the columns of Options.Values.
func (o *Options) newValues() (*values, error) {
	v := &values{of: o.Values}
	for _, value := range o.Values {
		s, problem := o.parseRange(value.Column)
		if problem == "" && s.first != s.last {
			problem = "is several columns"
		}
		if problem != "" {
			return nil, errs.Fieldf("Options.Values", "%s of %q: %s", value.Op, value.Column, problem)
		}
		k := keys{list: []span{s}, separator: o.separator()}
		name := strconv.FormatUint(s.first, 10)
		if s.first <= uint64(len(o.Header)) {
			name = o.Header[s.first-1]
		}
		v.names = append(v.names, fmt.Sprintf("%s(%s)", value.Op, name))
		v.cells = append(v.cells, func(dst, record []byte) []byte {
			switch {
			case o.CSV:
				dst, _ = k.appendColumns(dst, record)
				return dst[:len(dst)-1] // without the NUL at its end
			case o.Words:
				dst, _ = k.appendWords(dst, record)
			case s.first == 1 || bytes.IndexByte(record, k.separator) >= 0:
				dst, _ = k.appendFields(dst, record)
			}
			return dst
		})
	}
	return v, nil
}

// append appends the accumulator of one record to dst. It fails if a value is not a number.
func (v *values) append(dst, record []byte) ([]byte, error) {
	dst = jobs.AppendUint64(dst, 1)
	last := 0 // where the number before begins
	for i, cell := range v.cells {
		if i > 0 && v.of[i].Column == v.of[i-1].Column {
			dst = append(dst, dst[last:]...)
			last += (len(dst) - last) / 2
			continue
		}
		v.fold = cell(v.fold[:0], record)
		d, n := decimal{}, uint64(0)
		if text := bytes.TrimSpace(v.fold); len(text) > 0 {
			var ok bool
			if d, ok = parseDecimal(text); !ok {
				return nil, errs.Inputf(v.names[i], "%s is not a number", errs.Quote(string(v.fold)))
			}
			n = 1
		}
		last = len(dst)
		dst = d.append(jobs.AppendUint64(dst, n))
	}
	return dst, nil
}

// Fold implements jobs.Folder.
func (v *values) Fold(acc, value []byte) []byte {
	if acc == nil {
		return append(acc, value...)
	}
	jobs.AppendUint64(acc[:0], jobs.Uint64(acc)+jobs.Uint64(value))
	at, b := 8, value[8:]
	for _, of := range v.of {
		n, m := jobs.Uint64(acc[at:]), jobs.Uint64(b)
		x, after := cutDecimal(acc[at+8:])
		var y decimal
		y, b = cutDecimal(b[8:])
		switch {
		case n == 0:
			x = y
		case m == 0:
		case of.Op == Sum || of.Op == Mean:
			x = x.plus(y)
		case y.less(x) == (of.Op == MinOf):
			x = y
		}
		v.fold = x.append(jobs.AppendUint64(v.fold[:0], n+m))
		acc = slices.Replace(acc, at, len(acc)-len(after), v.fold...)
		at += len(v.fold)
	}
	return acc
}

// appendTexts appends the text of each number of an accumulator to a key. NUL ends each. For lines, NUL ends the key.
func (v *values) appendTexts(key, acc []byte) []byte {
	acc = acc[8:]
	for _, of := range v.of {
		n := jobs.Uint64(acc)
		var d decimal
		d, acc = cutDecimal(acc[8:])
		switch {
		case n == 0:
		case of.Op == Mean:
			key = d.appendOver(key, n)
		default:
			key = d.appendText(key)
		}
		key = append(key, 0)
	}
	return key
}

// cut divides what appendTexts has returned into the key, with the NUL at its end, and the texts.
func (v *values) cut(key []byte) (rest []byte, texts [][]byte) {
	if len(v.of) == 0 {
		return key, nil
	}
	parts := bytes.Split(key, []byte{0})
	texts = parts[len(parts)-1-len(v.of) : len(parts)-1]
	n := len(key)
	for _, t := range texts {
		n -= len(t) + 1
	}
	return key[:n], texts
}

// valueMapper emits each record's key with the accumulator of the record.
type valueMapper struct {
	*keyMapper
	ends   jobs.Delim
	values *values
	acc    []byte
}

// Map implements jobs.Mapper.
func (m *valueMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for record := range b.Records(m.ends) {
		key, ok := m.appendKey(m.room[:0], record)
		m.room, m.keys = key, append(m.keys[:0], jobs.Span{Len: uint32(len(key))})
		if err := m.account(); err != nil {
			return err
		}
		if !ok {
			continue
		}
		if m.fold {
			lines.Lower(key)
		}
		var err error
		if m.acc, err = m.values.append(m.acc[:0], record); err != nil {
			return err
		}
		out.Emit(key, m.acc)
	}
	return nil
}

// valueReducer folds the accumulators of a key. It passes the key on with the texts of its numbers.
type valueReducer struct {
	values *values
	sum    *lines.Sum
	end    bool // the key is a line, and gets a NUL at its end
	key    []byte
	acc    []byte
}

// Reduce implements jobs.Reducer.
func (r *valueReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	acc := []byte(nil)
	for vs.Next() {
		if acc == nil {
			acc = append(r.acc[:0], vs.Value()...)
			continue
		}
		acc = r.values.Fold(acc, vs.Value())
	}
	r.acc = acc
	r.key = append(r.key[:0], key...)
	if r.end {
		r.key = append(r.key, 0)
	}
	r.key = r.values.appendTexts(r.key, acc)
	r.sum.Emit(r.key, jobs.Uint64(acc), out)
	return nil
}

// withValues is the format of lines with numbers: the count, the key, and the separator before each number.
type withValues struct {
	aligned
	values    *values
	separator byte
	total     bool // there is no key
}

// Append implements lines.CountFormat.
func (f *withValues) Append(dst, key []byte, count uint64) []byte {
	key, texts := f.values.cut(key)
	if dst = f.aligned.Append(dst, key[:len(key)-1], count); f.total {
		dst = dst[:len(dst)-1]
	}
	for _, text := range texts {
		dst = append(append(dst, f.separator), text...)
	}
	return dst
}

// different counts the keys that lines.Kept keeps, in place of printing them.
type different struct {
	keep lines.Kept
	keys uint64
}

// Reduce implements jobs.Reducer.
func (d *different) Reduce(_ []byte, vs *jobs.Values, _ jobs.Emitter) error {
	var n uint64
	for vs.Next() {
		n += jobs.Uint64(vs.Value())
	}
	if d.keep.Keeps(n) {
		d.keys++
	}
	return nil
}

// Flush implements jobs.Flusher.
func (d *different) Flush(out jobs.Emitter) error {
	out.Emit(strconv.AppendUint(nil, d.keys, 10), nil)
	return nil
}

// distinctJob makes the job that adds the numbers of all attempts of different.
func (o *Options) distinctJob(delim jobs.Delim) jobs.Job {
	add := func(b jobs.Block, out jobs.Emitter) error {
		for record := range b.Records(delim) {
			n, err := strconv.ParseUint(string(record), 10, 64)
			if err != nil {
				return err
			}
			out.Emit(nil, jobs.AppendUint64(nil, n))
		}
		return nil
	}
	print := func(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
		var n uint64
		for vs.Next() {
			n += jobs.Uint64(vs.Value())
		}
		text := strconv.AppendUint(nil, n, 10)
		if o.JSON {
			text = append(append([]byte(`{"distinct":`), text...), '}')
		}
		out.Emit(text, nil)
		return nil
	}
	return jobs.Job{
		Name: "count-distinct", Delim: delim, Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return jobs.MapperFunc(add) },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(print) },
	}
}
