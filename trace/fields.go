package trace

import (
	"bytes"
	"encoding/json"
)

// field is a name and its value as JSON. Both are parts of the line.
type field struct {
	name  []byte
	value json.RawMessage
}

// fields are the fields of a line. If a name occurs twice, the last value counts.
type fields []field

func (f fields) get(name string) (json.RawMessage, bool) {
	// An event has about ten fields, so a plain search is enough.
	for i := len(f) - 1; i >= 0; i-- {
		if string(f[i].name) == name {
			return f[i].value, true
		}
	}
	return nil, false
}

// split appends the fields of a line to f. It tries the form that AppendJSON writes,
// which is fast to read, and then any JSON object. It fails if the line is not one.
func (f fields) split(line []byte) (fields, error) {
	if plain, ok := f.splitPlain(line); ok {
		return plain, nil
	}
	// A line that was edited by hand may have blanks or escapes.
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return f, err
	}
	for name, value := range all {
		f = append(f, field{[]byte(name), value})
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
	for i := 1; ; i++ { // i is behind { or ,
		// A negative index says that the line needs the general reader.
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
		case line[i] == '}':
			// Anything behind the object makes the line invalid.
			return f, i == len(line)-1
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

// plainLiteral returns the index behind a whole number, true or false at i, and a
// negative number if there is none.
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
