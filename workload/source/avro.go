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

	"mrlocal/errs"
)

// avroBinary is the first line of such a history.
const avroBinary = "Avro-Binary\n"

// binaryHistory gives take each event of a history in Avro's binary form, as Hadoop 3 writes it by
// default: the word Avro-Binary, the schema, and then one event after the other without anything
// between them. take gets an event as it stands in Avro's JSON form.
func binaryHistory(name string, r *bufio.Reader, take func(event string) error) error {
	// The first line is known.
	if _, err := r.ReadString('\n'); err != nil {
		return errs.Inputf(name, "%w", err)
	}
	text, err := r.ReadBytes('\n')
	if err != nil {
		return errs.Inputf(name+":2", "the schema is cut short")
	}
	schemas := avroSchemas{}
	root, err := schemas.add(text, "")
	if err != nil {
		return errs.Inputf(name+":2", "schema: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	for n := 1; ; n++ {
		at := fmt.Sprintf("%s: event %d", name, n)
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		// A new decoder for each event: the bound on values is one for each event.
		d := avroDecoder{in: r, named: schemas}
		value := d.value(root, 0)
		// An event without a byte would come again and again until memory is full.
		if !d.moved {
			d.fail("has nothing in it")
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
			return errs.Inputf(at, "%s", strings.TrimPrefix(err.Error(), "json: "))
		}
	}
}

// avroSchema is a type of Avro 1.x. Only the fields that its kind has are set.
type avroSchema struct {
	kind    string        // record, enum, array, map, fixed, union, a primitive type, or the full name of a type
	name    string        // full, of a record, an enum or a fixed
	fields  []string      // of a record: names
	of      []*avroSchema // of fields, of branches of a union, or one of items and values
	symbols []string      // of an enum
	size    int64         // of a fixed
}

// avroSchemas are the types that have a name, by their full name. A schema uses such a type again
// by its name.
type avroSchemas map[string]*avroSchema

// add reads a schema and keeps the types in it that have names. Names without a dot are those of the
// namespace around them. A schema is a word, a list (a union) or an object. A record may
// have itself as a field, so names are looked up only when a value is read.
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
	if json.Unmarshal(t.Type, &word) != nil || t.Type == nil { // a type within a type
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

// addAll reads schemas into to.of, in order.
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

// avroName returns the full name of a type: a name without a dot belongs to the namespace around
// it.
func avroName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// Bounds on hostile files, which libraries do not have (docs/adr/0031).
const (
	mostAvroValues = 1 << 16 // of an event, which has some hundred
	mostAvroDepth  = 64
)

// avroDecoder reads one event. It keeps the first error, and then reads nothing more and returns
// zero values.
type avroDecoder struct {
	in    *bufio.Reader
	named avroSchemas
	count int  // values so far: those of no size could be endless in few bytes
	moved bool // something was read
	err   error
}

// value returns a value of a type as encoding/json would, in Avro's JSON form. depth counts the types
// around it. A schema may be endless, as a record within itself, and the two bounds end it.
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

// branch returns a value of a union, which names its type unless it is null.
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

// blocks calls each once for every item of an array or a map. Items come in blocks: a count, which
// is negative where the length of the block in bytes follows, and a count of 0 at the end.
func (d *avroDecoder) blocks(each func()) {
	for n := d.long(); n != 0 && d.err == nil; n = d.long() {
		// The length in bytes would allow to skip the block; every item is read here.
		if n < 0 {
			n = -n
			d.long()
		}
		for ; n != 0 && d.err == nil; n-- {
			each()
		}
	}
}

// index reads which of n symbols or branches comes, from 0. It returns false after any error.
func (d *avroDecoder) index(n int) (int64, bool) {
	i := d.long()
	if d.err == nil && (i < 0 || i >= int64(n)) {
		d.fail("has a value that is none of its type")
	}
	return i, d.err == nil
}

// long reads an int or a long, which Avro writes alike.
func (d *avroDecoder) long() int64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadVarint(d.in) // the zigzag of Avro
	d.err, d.moved = err, true
	return n
}

// bytes returns the next n bytes; if there are not as many, zeros, so that callers need no check.
func (d *avroDecoder) bytes(n int64) string {
	if d.err == nil && (n < 0 || n > mostLineBytes) {
		d.fail("has a text of %d bytes", n)
	}
	if d.err != nil {
		return string(make([]byte, 8))
	}
	d.moved = d.moved || n > 0
	var b strings.Builder // it grows with what is there, not with what the length promises
	if got, err := io.CopyN(&b, d.in, n); err != nil {
		d.err = err
		return string(make([]byte, max(8, got)))
	}
	return b.String()
}

// finite returns 0 for what JSON has no number for. No time or counter is such a value.
func (d *avroDecoder) finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// fail keeps an error if it is the first.
func (d *avroDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}
