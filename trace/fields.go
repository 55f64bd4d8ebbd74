package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// fieldReader reads fields of a line and keeps the first error, so that event reads all fields and
// checks once.
type fieldReader struct {
	fields fields
	err    error
}

// field returns the value of a field as JSON. A missing field is an error.
func (f *fieldReader) field(name string) json.RawMessage {
	v, ok := f.fields.get(name)
	if !ok && f.err == nil {
		f.err = fmt.Errorf("%q is missing", name)
	}
	return v
}

// number returns the value of a field that is a whole number of at most the given number of bits.
func (f *fieldReader) number(name string, bits int) int64 {
	v := f.field(name)
	n, err := strconv.ParseInt(string(v), 10, bits)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%q: %.40s is not a number of %d bits", name, v, bits)
	}
	return n
}

// text returns the text of a field.
func (f *fieldReader) text(name string) string { return string(f.unquoted(name)) }

// unquoted returns the text of a field. It is a part of the line if the text has no escapes, so it
// is valid until the next line.
func (f *fieldReader) unquoted(name string) []byte {
	v := f.field(name)
	if plain, next := plainText(v, 0); next == len(v) {
		return plain
	}
	var t string
	if err := json.Unmarshal(v, &t); err != nil && f.err == nil {
		f.err = fmt.Errorf("%q: %.40s is not a text in quotes", name, v)
	}
	return []byte(t)
}

// word returns the index of a field's text in words. A text that is not there is an error.
func (f *fieldReader) word(name string, words []string) int {
	t := f.unquoted(name)
	i := slices.IndexFunc(words, func(w string) bool { return w == string(t) })
	if i < 0 && f.err == nil {
		f.err = fmt.Errorf("%q: %.40q is unknown", name, t)
	}
	return max(i, 0)
}

// field is a name and its value as JSON. Both may be parts of the line.
type field struct {
	name  []byte
	value json.RawMessage
}

// fields are the fields of a line. If a name occurs twice, the last value counts.
type fields []field

// get returns the value of a field as JSON, borrowed from the line, and false if there is none. An
// event has about ten fields, so the search is linear.
func (f fields) get(name string) (json.RawMessage, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if string(f[i].name) == name {
			return f[i].value, true
		}
	}
	return nil, false
}

// has reports whether there is a field with that name.
func (f fields) has(name string) bool {
	_, ok := f.get(name)
	return ok
}

// split appends the fields of a line to f. It first tries to read the form that AppendJSON
// writes, which is fast, and then any JSON object. It fails if the line is not a JSON object.
func (f fields) split(line []byte) (fields, error) {
	if plain, ok := f.splitPlain(line); ok {
		return plain, nil
	}
	// A line with escapes, or one that was edited by hand.
	var whole json.RawMessage
	if wrong := (*json.SyntaxError)(nil); errors.As(json.Unmarshal(line, &whole), &wrong) {
		return f, fmt.Errorf("not valid JSON at byte %d", wrong.Offset)
	}
	in := json.NewDecoder(bytes.NewReader(line))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return f, errors.New("not an object")
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return f, err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return f, err
		}
		if f = append(f, field{[]byte(name.(string)), value}); len(f) > maxFields {
			return f, fmt.Errorf("more than %d fields", maxFields)
		}
	}
	return f, nil
}

// splitPlain splits an object that has no spaces and whose values are whole numbers,
// true, false, and text without escapes. ok is false for a line of another form.
// hot: runs once per event that is read.
func (f fields) splitPlain(line []byte) (_ fields, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return f, false
	}
	for i := 1; ; i++ { // line[i] follows { or ,
		name, next := plainText(line, i)
		if next < 0 || next >= len(line) || line[next] != ':' {
			return f, false
		}
		from := next + 1
		if from < len(line) && line[from] == '"' {
			_, i = plainText(line, from)
		} else {
			i = plainLiteral(line, from)
		}
		if i < 0 || i >= len(line) {
			return f, false
		}
		f = append(f, field{name, line[from:i]})
		switch {
		case len(f) > maxFields:
			return f, false
		case line[i] == '}':
			return f, i == len(line)-1 // else something follows the object
		case line[i] != ',':
			return f, false
		}
	}
}

// plainText returns the text in the quotes at i and the index behind them. The index
// is negative if there is no text, or one with escapes or bytes outside of ASCII.
func plainText(line []byte, i int) (text []byte, next int) {
	if i >= len(line) || line[i] != '"' {
		return nil, -1
	}
	for k := i + 1; k < len(line); k++ {
		switch c := line[k]; {
		case c == '"':
			return line[i+1 : k], k + 1
		case c < ' ' || c == '\\' || c >= 0x80:
			return nil, -1
		}
	}
	return nil, -1
}

// plainLiteral returns the index behind a whole number, true or false at i, or a negative
// number if there is none.
func plainLiteral(line []byte, i int) (next int) {
	for _, word := range []string{"true", "false"} {
		if bytes.HasPrefix(line[min(i, len(line)):], []byte(word)) {
			return i + len(word)
		}
	}
	digits := i
	if digits < len(line) && line[digits] == '-' {
		digits++
	}
	next = digits
	for next < len(line) && '0' <= line[next] && line[next] <= '9' {
		next++
	}
	// JSON has no leading zeros.
	if next == digits || line[digits] == '0' && next > digits+1 {
		return -1
	}
	return next
}
