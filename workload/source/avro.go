package source

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	var root any
	named := map[string]any{}
	if err = json.Unmarshal(text, &root); err == nil {
		err = addAvro(named, root)
	}
	if err != nil {
		return errs.Inputf(name+":2", "schema: %s", errs.OfJSON(err))
	}
	for n := 1; ; n++ {
		at := fmt.Sprintf("%s: event %d", name, n)
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		// The bound on values is for one event, so each event has its own decoder.
		d := avroDecoder{in: r, named: named}
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

// addAvro puts the records and enums inside of a schema into named. Their keys are their names
// without namespaces: all types of Hadoop have the same one. A schema is a name, a list (a union) or
// an object, as encoding/json reads them into an any. A record may be the type of its own field, so
// avroDecoder.value looks names up.
func addAvro(named map[string]any, schema any) error {
	switch s := schema.(type) {
	case []any:
		for _, branch := range s {
			if err := addAvro(named, branch); err != nil {
				return err
			}
		}
	case map[string]any:
		if kind := s["type"]; kind == "record" || kind == "enum" {
			name := avroName(s["name"])
			if named[name] != nil {
				return fmt.Errorf("two types have the name %s", errs.Quote(name))
			}
			named[name] = s
		}
		for _, inner := range []any{s["fields"], s["type"], s["items"], s["values"]} {
			if err := addAvro(named, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// avroName returns the name of a type without its namespace. It is empty if name is not a text.
func avroName(name any) string {
	text, _ := name.(string)
	return text[strings.LastIndexByte(text, '.')+1:]
}

// These bounds stop hostile files. Avro libraries have no such bounds (docs/adr/0031).
const (
	mostAvroValues = 1 << 16 // values of an event; a real event has some hundred
	mostAvroDepth  = 64      // types around a value
)

// avroDecoder reads one event. It keeps its first error. After the error it reads nothing more and
// returns zero values. It knows the types that events of Hadoop have (Events.avpr): no bytes, fixed,
// float and double.
type avroDecoder struct {
	in    *bufio.Reader
	named map[string]any // of addAvro
	count int            // values so far, because a few bytes can stand for endless values of no size
	moved bool           // the event has at least one byte
	err   error
}

// value reads a value of a type. It returns the value as encoding/json would read it from Avro's
// JSON form. depth is the number of types around the value. A record that contains itself has no
// end. The bounds on depth and on the number of values end it.
func (d *avroDecoder) value(schema any, depth int) any {
	if d.count++; d.count > mostAvroValues || depth > mostAvroDepth {
		d.fail("has more than %d values, or is more than %d deep", mostAvroValues, mostAvroDepth)
	}
	if d.err != nil {
		return nil
	}
	switch s := schema.(type) {
	case []any:
		return d.branch(s, depth)
	case map[string]any:
		return d.object(s, depth)
	}
	switch schema {
	case "null":
		return nil
	case "boolean":
		return d.text(1) == "\x01"
	case "int", "long":
		return d.long()
	case "string":
		return d.text(d.long())
	}
	if of := d.named[avroName(schema)]; of != nil {
		return d.value(of, depth+1)
	}
	d.fail("has the type %s, which the schema lacks", errs.Quote(fmt.Sprint(schema)))
	return nil
}

// object reads a value of a type that is an object.
func (d *avroDecoder) object(s map[string]any, depth int) any {
	switch s["type"] {
	case "enum":
		symbols, _ := s["symbols"].([]any)
		return d.choice(symbols)
	case "record":
		all := map[string]any{}
		fields, _ := s["fields"].([]any)
		for _, f := range fields {
			field, _ := f.(map[string]any)
			name, _ := field["name"].(string)
			all[name] = d.value(field["type"], depth+1)
		}
		return all
	case "array":
		all := []any{}
		d.blocks(func() { all = append(all, d.value(s["items"], depth+1)) })
		return all
	case "map":
		all := map[string]any{}
		d.blocks(func() {
			key := d.text(d.long())
			all[key] = d.value(s["values"], depth+1)
		})
		return all
	}
	return d.value(s["type"], depth+1) // a type that is a schema itself, or {"type": "string"}
}

// branch reads a value of a union. In Avro's JSON form such a value is an object with the name of its
// type as the only key, or null.
func (d *avroDecoder) branch(union []any, depth int) any {
	schema := d.choice(union)
	value, name := d.value(schema, depth+1), schema
	if s, ok := schema.(map[string]any); ok {
		name = cmp.Or(s["name"], s["type"])
	}
	if value == nil {
		return nil
	}
	return map[string]any{fmt.Sprint(name): value}
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

// choice reads the index of a symbol or a branch, and returns this one. It returns nil after an error.
func (d *avroDecoder) choice(all []any) any {
	i := d.long()
	if d.err == nil && (i < 0 || i >= int64(len(all))) {
		d.fail("has an index out of range")
	}
	if d.err != nil {
		return nil
	}
	return all[i]
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

// text returns the next n bytes.
func (d *avroDecoder) text(n int64) string {
	if n < 0 || n > mostLineBytes {
		d.fail("has a text of %d bytes", n)
	}
	var b strings.Builder // grows with the bytes that come, because n may be a lie
	if d.err == nil {
		d.moved = d.moved || n > 0
		_, d.err = io.CopyN(&b, d.in, n)
	}
	return b.String()
}

// fail keeps an error, unless the decoder has one already.
func (d *avroDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}
