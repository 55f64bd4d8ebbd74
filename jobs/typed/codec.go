package typed

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"mrlocal/jobs"
)

// Desc is a value that sorts in descending order, in a key.
type Desc[T any] struct{ V T }

// UnmarshalJSON reads V.
func (d *Desc[T]) UnmarshalJSON(p []byte) error { return json.Unmarshal(p, &d.V) }

// Pair is a tuple of two values.
type Pair[A, B any] struct {
	Key   A
	Value B
}

// codec encodes values of type T, so that bytes.Compare of the results has the order of the values: a struct sorts by
// its fields, one after the other. It belongs to one goroutine. T is taken apart once, by reflection. The cells lie
// in v, so a value is copied to v, and then encoded without an allocation.
type codec[T any] struct {
	v      *T
	cells  []cell
	fields int // of the struct; 1 for other types

	sums  bool            // the value is an integer, and its encoding that of jobs.Sum
	arena strings.Builder // has decoded strings, which users may keep
	plain []byte          // has decoded []byte with escapes, until the next value
	kept  int             // bytes of plain that decodeFrom leaves
	lends bool            // decoded strings lie in src, or in plain: no user code gets them
	clock clock
}

// cell is a simple value within a value.
type cell struct {
	reflect.Value
	kind  reflect.Kind // Bool, Int, Uint, Float64, String, Slice for []byte, or Struct for time.Time
	text  *string      // of a String
	time  *time.Time   // of a Struct
	whole *int         // of an int; nil: of another type
	field int          // of the struct, from 0
	flip  uint64       // of the bits of number; all ones in descending order
	open  bool         // a text that ends with the encoding has no mark of its end
}

// newCodec makes a codec. It fails if T has a part other than booleans, numbers, strings, []byte, time.Time and
// structs of them with exported fields.
func newCodec[T any]() (*codec[T], error) { return newCodecOf(new(T)) }

// newCodecOf is newCodec with v as the codec's value.
func newCodecOf[T any](v *T) (*codec[T], error) {
	c := &codec[T]{v: v, fields: 1}
	whole := reflect.ValueOf(v).Elem()
	err := c.add(whole, 0, 0)
	if _, moment := any(v).(*time.Time); err == nil && whole.Kind() == reflect.Struct && !moment && !descends(whole) {
		c.cells, c.fields = nil, whole.NumField()
		for i := range c.fields {
			err = errors.Join(err, c.add(whole.Field(i), i, 0))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("typed: %v: %w", whole.Type(), err)
	}
	if n := len(c.cells); n > 0 {
		last := &c.cells[n-1]
		last.open = last.flip == 0 && (last.kind == reflect.String || last.kind == reflect.Slice)
	}
	return c, nil
}

// descends reports whether v is a Desc.
func descends(v reflect.Value) bool {
	t := v.Type()
	return strings.HasPrefix(t.Name(), "Desc[") && t.PkgPath() == reflect.TypeFor[Desc[int]]().PkgPath()
}

// add adds the cells of v, which is or belongs to the given field.
func (c *codec[T]) add(v reflect.Value, field int, flip uint64) error {
	if !v.CanSet() {
		return errors.New("has a field that is not exported")
	}
	one := cell{Value: v, field: field, flip: flip, kind: v.Kind()}
	switch one.kind {
	case reflect.Int:
		one.whole = v.Addr().Convert(reflect.TypeFor[*int]()).Interface().(*int)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		one.kind = reflect.Int
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		one.kind = reflect.Uint
	case reflect.Float32:
		one.kind = reflect.Float64
	case reflect.String:
		one.text = v.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string)
	case reflect.Bool, reflect.Uint, reflect.Float64:
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return fmt.Errorf("has a %v", v.Type())
		}
	case reflect.Struct:
		if moment, is := v.Addr().Interface().(*time.Time); is {
			one.time = moment
			break
		}
		if descends(v) {
			return c.add(v.Field(0), field, ^flip)
		}
		for i := range v.NumField() {
			if err := c.add(v.Field(i), field, flip); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("has a %v", v.Type())
	}
	c.cells = append(c.cells, one)
	return nil
}

// append appends the encoding of v to dst.
func (c *codec[T]) append(dst []byte, v T) []byte {
	*c.v = v
	return c.encode(dst)
}

// encode appends the encoding of *c.v to dst.
func (c *codec[T]) encode(dst []byte) []byte {
	if c.sums {
		return jobs.AppendUint64(dst, c.cells[0].number()^c.cells[0].flip)
	}
	for i := range c.cells {
		one, from := &c.cells[i], len(dst)
		switch one.kind {
		case reflect.String:
			dst = one.endText(append(dst, *one.text...), from)
		case reflect.Slice:
			dst = one.endText(append(dst, one.Bytes()...), from)
		case reflect.Struct:
			dst = binary.BigEndian.AppendUint64(dst, uint64(one.time.Unix())^1<<63^one.flip)
			if nano := uint32(one.time.Nanosecond()); nano == 0 {
				dst = append(dst, byte(one.flip))
			} else {
				dst = binary.BigEndian.AppendUint32(append(dst, 1^byte(one.flip)), nano^uint32(one.flip))
			}
		default:
			dst = binary.BigEndian.AppendUint64(dst, one.number()^one.flip)
		}
	}
	return dst
}

// number returns the value of a cell as a number of the same order. The cell is no text and no time. -0 is 0, and all
// values that are no number are one, before all others.
func (one *cell) number() uint64 {
	switch one.kind {
	case reflect.Int:
		return uint64(one.int()) ^ 1<<63
	case reflect.Uint:
		return one.Uint()
	case reflect.Bool:
		if one.Bool() {
			return 1
		}
		return 0
	}
	f := one.Float()
	switch bits := math.Float64bits(f); {
	case f != f:
		return 0
	case f == 0:
		return 1 << 63
	case f < 0:
		return ^bits
	default:
		return bits | 1<<63
	}
}

// int returns the value of a cell that is an Int.
func (one *cell) int() int64 {
	if one.whole != nil {
		return int64(*one.whole)
	}
	return one.Int()
}

// setNumber sets the value that number has returned.
func (one *cell) setNumber(n uint64) {
	switch one.kind {
	case reflect.Int:
		if one.whole != nil {
			*one.whole = int(n ^ 1<<63)
			return
		}
		one.SetInt(int64(n ^ 1<<63))
	case reflect.Uint:
		one.SetUint(n)
	case reflect.Bool:
		one.SetBool(n > 0)
	default:
		switch {
		case n == 0:
			one.SetFloat(math.NaN())
		case n>>63 == 0:
			one.SetFloat(math.Float64frombits(^n))
		default:
			one.SetFloat(math.Float64frombits(n &^ (1 << 63)))
		}
	}
}

// A text ends with a byte 0, unless it is open. In it, escape and 1 stand for a byte 0, and escape and 2 for a byte 1.
// In descending order all of these bytes are inverted.
const escape = 1

// endText ends the encoding of a text, which stands in dst from the given place on.
func (one *cell) endText(dst []byte, from int) []byte {
	if one.open {
		return dst
	}
	if needsEscape(dst[from:]) {
		text := bytes.ReplaceAll(dst[from:], []byte{1}, []byte{escape, 2})
		dst = append(dst[:from], bytes.ReplaceAll(text, []byte{0}, []byte{escape, 1})...)
	}
	dst = append(dst, 0)
	for i := from; i < len(dst) && one.flip != 0; i++ {
		dst[i] = ^dst[i]
	}
	return dst
}

// needsEscape reports whether text has a byte 0 or 1. It looks at eight bytes at a time.
func needsEscape(text []byte) bool {
	const each = 0x0101010101010101
	for ; len(text) >= 8; text = text[8:] {
		if w := binary.LittleEndian.Uint64(text); (w-2*each)&^w&(0x80*each) != 0 {
			return true
		}
	}
	for _, b := range text {
		if b <= 1 {
			return true
		}
	}
	return false
}

// decode returns the value whose encoding is src. A []byte in it is borrowed until the next call, as src is.
func (c *codec[T]) decode(src []byte) T {
	c.kept = 0
	if c.sums {
		c.cells[0].setNumber(jobs.Uint64(src) ^ c.cells[0].flip)
		return *c.v
	}
	c.decodeFrom(0, src)
	return *c.v
}

// decodeFrom sets *c.v: its cells from the given one on, whose encoding is src. The others keep their values.
func (c *codec[T]) decodeFrom(first int, src []byte) {
	c.plain = c.plain[:c.kept]
	for i := first; i < len(c.cells); i++ {
		one, n := &c.cells[i], 8
		switch one.kind {
		case reflect.String:
			var text []byte
			if text, n = c.cut(one, src); c.lends {
				*one.text = textOf(text)
			} else if string(text) != *one.text {
				*one.text = c.keep(text)
			}
		case reflect.Slice:
			var text []byte
			text, n = c.cut(one, src)
			one.SetBytes(text)
		case reflect.Struct:
			nano := uint32(0)
			if n = 9; src[8] != byte(one.flip) {
				n, nano = 13, binary.BigEndian.Uint32(src[9:])^uint32(one.flip)
			}
			*one.time = time.Unix(int64(binary.BigEndian.Uint64(src)^one.flip^1<<63), int64(nano)).UTC()
		default:
			one.setNumber(binary.BigEndian.Uint64(src) ^ one.flip)
		}
		src = src[n:]
	}
}

// length returns the length of the encoding of a cell, with which src begins.
func (one *cell) length(src []byte) int {
	flip := byte(one.flip)
	switch {
	case one.open:
		return len(src)
	case one.kind == reflect.Struct:
		return 9 + 4*int(src[8]^flip)
	case one.kind != reflect.String && one.kind != reflect.Slice:
		return 8
	}
	return bytes.IndexByte(src, flip) + 1
}

// cut returns the text with whose encoding src begins, a part of src or of c.plain, and the length of the encoding.
func (c *codec[T]) cut(one *cell, src []byte) (text []byte, n int) {
	if one.open {
		return src, len(src)
	}
	flip := byte(one.flip)
	n = bytes.IndexByte(src, flip) + 1
	src = src[:n-1]
	if flip == 0 && bytes.IndexByte(src, escape) < 0 {
		return src, n
	}
	from := len(c.plain)
	for i := 0; i < len(src); i++ {
		b := src[i] ^ flip
		if b == escape {
			i++
			b = (src[i] ^ flip) - 1
		}
		c.plain = append(c.plain, b)
	}
	return c.plain[from:], n
}

// keep returns p as a string. Short strings share their memory, which saves an allocation for each of them.
func (c *codec[T]) keep(p []byte) string {
	const chunk = 4 << 10
	if len(p) > chunk/8 {
		return string(p)
	}
	if c.arena.Cap()-c.arena.Len() < len(p) {
		c.arena.Reset()
		c.arena.Grow(chunk)
	}
	from := c.arena.Len()
	c.arena.Write(p)
	return c.arena.String()[from:]
}

// cellsOf returns the number of cells of the first fields.
func (c *codec[T]) cellsOf(fields int) (n int) {
	for n < len(c.cells) && c.cells[n].field < fields {
		n++
	}
	return n
}

// prefix returns a function for jobs.Job.GroupBytes: the length of the encoding of the first fields. Any number of
// goroutines may call it.
func (c *codec[T]) prefix(fields int) func(key []byte) int {
	cells := c.cells[:c.cellsOf(fields)]
	if len(cells) == 1 && cells[0].text != nil && !cells[0].open {
		end := byte(cells[0].flip)
		return func(key []byte) int { return bytes.IndexByte(key, end) + 1 }
	}
	return func(key []byte) (n int) {
		for i := range cells {
			n += cells[i].length(key[n:])
		}
		return n
	}
}

// line appends *c.v to dst as text: its cells with TABs between.
func (c *codec[T]) line(dst []byte) []byte {
	for i := range c.cells {
		if i > 0 {
			dst = append(dst, '\t')
		}
		switch one := &c.cells[i]; one.kind {
		case reflect.String:
			dst = append(dst, *one.text...)
		case reflect.Slice:
			dst = append(dst, one.Bytes()...)
		case reflect.Int:
			dst = strconv.AppendInt(dst, one.int(), 10)
		case reflect.Uint:
			dst = strconv.AppendUint(dst, one.Uint(), 10)
		case reflect.Bool:
			dst = strconv.AppendBool(dst, one.Bool())
		case reflect.Float64:
			dst = strconv.AppendFloat(dst, one.Float(), 'g', -1, one.Type().Bits())
		default:
			dst = c.clock.append(dst, *one.time)
		}
	}
	return dst
}

// parse sets a cell to the value that text shows.
func (one *cell) parse(text string) (err error) {
	switch one.kind {
	case reflect.String:
		*one.text = text
	case reflect.Slice:
		one.SetBytes([]byte(text))
	case reflect.Int:
		var n int64
		n, err = strconv.ParseInt(text, 10, one.Type().Bits())
		one.SetInt(n)
	case reflect.Uint:
		var n uint64
		n, err = strconv.ParseUint(text, 10, one.Type().Bits())
		one.SetUint(n)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		one.SetBool(b)
	case reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(text, one.Type().Bits())
		one.SetFloat(f)
	default:
		*one.time, err = parseTime(text)
	}
	return err
}
