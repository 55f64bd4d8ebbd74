package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"mrlocal/internal/errs"
)

// mostValueBytes bounds a single value of a trace in JSON: a field, or an item of a list of tasks.
const mostValueBytes = 8 << 20

// objects reads a file with JSON objects one after the other. It reads an object field by field, and
// a list item by item. So it holds one value at a time, however long the file is.
type objects struct {
	in *lineReader
	d  *json.Decoder
}

// newObjects returns objects that reads r. name is the file, for messages.
func newObjects(name string, r io.Reader) *objects {
	in := &lineReader{name: name, r: r}
	return &objects{in, json.NewDecoder(in)}
}

// next goes to the next object and returns its place. It returns io.EOF after the last one.
func (o *objects) next() (at string, err error) {
	o.in.forget(o.d.InputOffset())
	t, err := o.d.Token()
	at = o.in.place(max(o.d.InputOffset()-1, 0))
	switch {
	case err == io.EOF:
		return "", err
	case err != nil:
		return "", o.problem(err)
	case t != json.Delim('{'):
		return "", errs.Inputf(at, "is not a JSON object")
	}
	return at, nil
}

// each calls f with the place of each object, whose fields f reads. The first error ends it.
func (o *objects) each(f func(at string) error) error {
	for {
		at, err := o.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(at)
		}
		if err != nil {
			return err
		}
	}
}

// fields calls field with the name of each field of the object that was begun. field reads the
// value.
func (o *objects) fields(field func(key string) error) error {
	for o.d.More() {
		t, err := o.d.Token()
		if err != nil {
			return o.problem(err)
		}
		key, _ := t.(string)
		if err := field(key); err != nil {
			return err
		}
	}
	return o.end()
}

// object reads an object by fields.
func (o *objects) object(field func(key string) error) error {
	if null, err := o.begin('{'); null || err != nil {
		return err
	}
	return o.fields(field)
}

// list calls item for each item of a list, or never for null. item reads the value of the item.
func (o *objects) list(item func() error) error {
	if null, err := o.begin('['); null || err != nil {
		return err
	}
	for o.d.More() {
		o.in.forget(o.d.InputOffset())
		if err := item(); err != nil {
			return err
		}
	}
	return o.end()
}

// begin reads the opening bracket of an object or list, or null.
func (o *objects) begin(bracket json.Delim) (null bool, err error) {
	t, err := o.d.Token()
	if err == nil && t != nil && t != bracket {
		return false, errs.Inputf(o.in.place(o.d.InputOffset()), "%s is expected here", map[json.Delim]string{'{': "an object", '[': "a list"}[bracket])
	}
	return t == nil, o.problem(err)
}

// end reads a closing bracket.
func (o *objects) end() error {
	_, err := o.d.Token()
	return o.problem(err)
}

// value reads the next value into v.
func (o *objects) value(v any) error {
	o.in.forget(o.d.InputOffset())
	return o.problem(o.d.Decode(v))
}

// skip reads the next value and drops it.
func (o *objects) skip() error { return o.value(new(json.RawMessage)) }

// problem returns a decoder's error with its place, or nil for nil.
func (o *objects) problem(err error) error {
	if err == nil {
		return nil
	}
	// The decoder has read the wrong text, but counts only the text before it as used. An error of
	// syntax knows an offset that does not count tokens. So the rest is parsed again for it.
	rest, _ := io.ReadAll(o.d.Buffered())
	at := o.d.InputOffset() + int64(len(rest)-len(strings.TrimLeft(string(rest), " \t\r\n,:")))
	var syntax *json.SyntaxError
	switch {
	case o.in.err != nil:
		return errs.Inputf(o.in.place(o.in.read), "%w", errs.Cause(o.in.err))
	case errors.As(err, &syntax):
		first := rest[at-o.d.InputOffset():]
		if again := (*json.SyntaxError)(nil); errors.As(json.Unmarshal(first, new(json.RawMessage)), &again) && again.Offset > 0 {
			at += again.Offset - 1
		}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		at = o.in.read
	}
	return errs.Inputf(o.in.place(at), "%s", errs.OfJSON(err))
}

// lineReader counts the lines that it reads, so that an offset has a line.
type lineReader struct {
	name   string
	r      io.Reader
	read   int64   // bytes that were read
	begins int64   // offset of the value that is read now
	lines  int     // line ends before those in ends
	ends   []int64 // offsets of the other line ends
	err    error   // of r, or of a value that is too long
}

// Read reads from r. It fails if a value is longer than mostValueBytes.
func (l *lineReader) Read(p []byte) (int, error) {
	if l.read-l.begins > mostValueBytes {
		l.err = fmt.Errorf("a single value is longer than %d MiB", mostValueBytes>>20)
		return 0, l.err
	}
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.read+int64(i))
		}
	}
	l.read += int64(n)
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}

// forget says that the next value begins at offset or after it.
func (l *lineReader) forget(offset int64) {
	n := 0
	for n < len(l.ends) && l.ends[n] < offset {
		n++
	}
	l.begins = offset
	l.lines += n
	l.ends = l.ends[n:]
}

// place returns the place of an offset that was not forgotten: "NAME:LINE".
func (l *lineReader) place(offset int64) string {
	line := l.lines + 1
	for _, end := range l.ends {
		if end < offset {
			line++
		}
	}
	return fmt.Sprintf("%s:%d", l.name, line)
}
