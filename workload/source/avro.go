package source

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"mrlocal/internal/errs"
)

// avroBinary is the first line of a history in Avro's binary form.
const avroBinary = "Avro-Binary\n"

// binaryHistory calls take with each event of a history in Avro's binary form, as Hadoop 3 writes
// it by default. Such a file has a line Avro-Binary, a line with the schema, and then the events
// with nothing between them. binaryHistory translates each event into Avro's JSON form. It fails at
// the first error of r, of the format or of take. name stands in messages.
func binaryHistory(name string, r *bufio.Reader, take func(event string) error) error {
	// The caller has checked the first line.
	if _, err := r.ReadString('\n'); err != nil {
		return errs.Inputf(name, "%w", errs.Cause(err))
	}
	text, err := r.ReadBytes('\n')
	if err != nil {
		return errs.Inputf(name+":2", "the schema is cut short")
	}
	schemas := avroSchemas{}
	root, err := schemas.add(text, "")
	if err != nil {
		return errs.Inputf(name+":2", "schema: %s", errs.OfJSON(err))
	}
	for n := 1; ; n++ {
		at := fmt.Sprintf("%s: event %d", name, n)
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		// The bound on values is for one event, so each event has its own decoder.
		d := avroDecoder{in: r, named: schemas}
		value := d.value(root, 0)
		// An event of 0 bytes would come again without end and fill the memory.
		if !d.moved {
			d.fail("is empty")
		}
		switch {
		case errors.Is(d.err, io.EOF) || errors.Is(d.err, io.ErrUnexpectedEOF):
			return errs.Inputf(at, "is cut short")
		case d.err != nil:
			return errs.Inputf(at, "%w", d.err)
		}
		event, err := json.Marshal(value)
		if err == nil {
			err = take(string(event))
		}
		if err != nil {
			return errs.Inputf(at, "%s", errs.OfJSON(err))
		}
	}
}

// avroSchema is a type of Avro 1.x. Only the fields that belong to its kind are set.
type avroSchema struct {
	kind    string        // record, enum, array, map, fixed, union, a primitive type, or the full name of a type
	name    string        // the full name of a record, an enum or a fixed
	fields  []string      // the names of a record's fields
	of      []*avroSchema // the types of fields, of a union's branches, or the one type of items or values
	symbols []string      // the values of an enum
	size    int64         // the bytes of a fixed
}

// avroSchemas has the named types by their full name. A schema can refer to them by this name.
type avroSchemas map[string]*avroSchema

// add reads a schema: a word, a list (a union) or an object. It puts the named types inside of it
// into s. A name without a dot belongs to namespace. A record may be the type of its own field.
// So add leaves names as they are, and avroDecoder.value looks them up.
func (s avroSchemas) add(text json.RawMessage, namespace string) (*avroSchema, error) {
	var branches []json.RawMessage
	var t struct {
		Type      json.RawMessage
		Name      string
		Namespace *string
		Fields    []struct {
			Name string
			Type json.RawMessage
		}
		Items, Values json.RawMessage
		Symbols       []string
		Size          int64
	}
	var word string
	switch {
	case json.Unmarshal(text, &word) == nil:
		switch word {
		case "null", "boolean", "int", "long", "float", "double", "bytes", "string":
			return &avroSchema{kind: word}, nil
		}
		return &avroSchema{kind: avroName(word, namespace)}, nil
	case json.Unmarshal(text, &branches) == nil:
		union := &avroSchema{kind: "union"}
		return union, s.addAll(union, branches, namespace)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	if json.Unmarshal(t.Type, &word) != nil || t.Type == nil { // the type is a schema itself
		return s.add(t.Type, namespace)
	}
	one := &avroSchema{kind: word, symbols: t.Symbols, size: t.Size}
	switch word {
	case "record", "enum", "fixed":
		if t.Namespace != nil {
			namespace = *t.Namespace
		}
		one.name = avroName(t.Name, namespace)
		namespace = one.name[:max(0, strings.LastIndexByte(one.name, '.'))]
		s[one.name] = one
		var types []json.RawMessage
		for _, f := range t.Fields {
			one.fields, types = append(one.fields, f.Name), append(types, f.Type)
		}
		return one, s.addAll(one, types, namespace)
	case "array":
		return one, s.addAll(one, []json.RawMessage{t.Items}, namespace)
	case "map":
		return one, s.addAll(one, []json.RawMessage{t.Values}, namespace)
	}
	return s.add(t.Type, namespace)
}

// addAll reads schemas as add does and appends them to to.of in order.
func (s avroSchemas) addAll(to *avroSchema, texts []json.RawMessage, namespace string) error {
	for _, text := range texts {
		one, err := s.add(text, namespace)
		if err != nil {
			return err
		}
		to.of = append(to.of, one)
	}
	return nil
}

// avroName returns the full name of a type. A name without a dot belongs to namespace, unless that
// is empty.
func avroName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// These bounds stop hostile files. Avro libraries have no such bounds (docs/adr/0031).
const (
	mostAvroValues = 1 << 16 // values of an event; a real event has some hundred
	mostAvroDepth  = 64      // types around a value
)

// avroDecoder reads one event. It keeps its first error. After the error it reads nothing more and
// returns zero values.
type avroDecoder struct {
	in    *bufio.Reader
	named avroSchemas
	count int  // values so far, because a few bytes can stand for endless values of no size
	moved bool // the event has at least one byte
	err   error
}

// value reads a value of type s. It returns the value as encoding/json would read it from Avro's
// JSON form. depth is the number of types around the value. A record that contains itself has no
// end. The bounds on depth and on the number of values end it.
func (d *avroDecoder) value(s *avroSchema, depth int) any {
	if d.count++; d.count > mostAvroValues || depth > mostAvroDepth {
		d.fail("has more than %d values, or is more than %d deep", mostAvroValues, mostAvroDepth)
	}
	if d.err != nil {
		return nil
	}
	switch s.kind {
	case "null":
		return nil
	case "boolean":
		return d.bytes(1) == "\x01"
	case "int", "long":
		return d.long()
	case "float":
		return d.finite(float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(d.bytes(4))))))
	case "double":
		return d.finite(math.Float64frombits(binary.LittleEndian.Uint64([]byte(d.bytes(8)))))
	case "bytes", "string":
		return d.bytes(d.long())
	case "fixed":
		return d.bytes(s.size)
	case "enum":
		if i, ok := d.index(len(s.symbols)); ok {
			return s.symbols[i]
		}
		return nil
	case "union":
		if i, ok := d.index(len(s.of)); ok {
			return d.branch(s.of[i], depth)
		}
		return nil
	case "record":
		all := map[string]any{}
		for i, name := range s.fields {
			all[name] = d.value(s.of[i], depth+1)
		}
		return all
	case "array":
		all := []any{}
		d.blocks(func() { all = append(all, d.value(s.of[0], depth+1)) })
		return all
	case "map":
		all := map[string]any{}
		d.blocks(func() {
			key := d.bytes(d.long())
			all[key] = d.value(s.of[0], depth+1)
		})
		return all
	}
	if of := d.named[s.kind]; of != nil {
		return d.value(of, depth+1)
	}
	d.fail("has the type %q, which the schema lacks", short(s.kind))
	return nil
}

// branch reads a value of a union, whose branch of type s was chosen. In Avro's JSON form such a
// value is an object with the name of its type as the only key, or null.
func (d *avroDecoder) branch(s *avroSchema, depth int) any {
	value, name := d.value(s, depth+1), s.name
	if name == "" {
		name = s.kind
	}
	if s.kind == "null" {
		return nil
	}
	return map[string]any{name: value}
}

// blocks calls each for every item of an array or a map. Items come in blocks. A block begins with
// its number of items, and a block of 0 items is the end. If the number is negative, the length of
// the block in bytes follows.
func (d *avroDecoder) blocks(each func()) {
	for n := d.long(); n != 0 && d.err == nil; n = d.long() {
		// The length is for readers that skip a block, which this one never does.
		if n < 0 {
			n = -n
			d.long()
		}
		for ; n != 0 && d.err == nil; n-- {
			each()
		}
	}
}

// index reads the index of one of n symbols or branches. It returns false after any error.
func (d *avroDecoder) index(n int) (int64, bool) {
	i := d.long()
	if d.err == nil && (i < 0 || i >= int64(n)) {
		d.fail("has an index out of range")
	}
	return i, d.err == nil
}

// long reads an int or a long. Avro writes both in the same form.
func (d *avroDecoder) long() int64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadVarint(d.in) // the zigzag of Avro
	d.err, d.moved = err, true
	return n
}

// bytes returns the next n bytes. After an error it returns at least 8 zero bytes, so that callers
// that decode a number need no check.
func (d *avroDecoder) bytes(n int64) string {
	if d.err == nil && (n < 0 || n > mostLineBytes) {
		d.fail("has a text of %d bytes", n)
	}
	if d.err != nil {
		return string(make([]byte, 8))
	}
	d.moved = d.moved || n > 0
	var b strings.Builder // grows with the bytes that come, because n may be a lie
	if got, err := io.CopyN(&b, d.in, n); err != nil {
		d.err = err
		return string(make([]byte, max(8, got)))
	}
	return b.String()
}

// finite returns x, or 0 if x is infinite or not a number: JSON has no such numbers. No time or
// counter of a history is one.
func (d *avroDecoder) finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// fail keeps an error, unless the decoder has one already.
func (d *avroDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}
