package sort

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mrlocal/errs"
	"mrlocal/jobs/internal/lines"
)

// parseColumn reads a key of CSV: NAME, NAME:OPTS, or F[OPTS] with a number from 1.
// A name may contain a colon, so the whole text is tried as a name before its letters
// are cut off.
func (o *Options) parseColumn(text string) (field, error) {
	name, letters := cutLetters(text)
	f := field{column: slices.Index(o.Header, text)}
	if f.column < 0 {
		f.column = slices.Index(o.Header, name)
		p := &keyParser{text: letters}
		p.options(&f.rules, &f.skipStart)
	}
	if f.column >= 0 {
		f.skipEnd = f.skipStart
		return f, nil
	}
	// A number is parsed as -k of GNU sort. It must stand for one whole column.
	f, err := parseField(text)
	single := f.toLineEnd || f.endField == f.startField+1 && f.endByte == 0
	if err != nil || !single || f.startByte != 0 {
		return f, errs.Optionf(fmt.Sprintf("Options.Keys %q", text), "no such column; a key of CSV is NAME, NAME:OPTS or F[OPTS], and the names are %s", strings.Join(o.Header, ", "))
	}
	// A column beyond every record is empty. The bound keeps the number in 32 bits.
	f.column = int(min(f.startField, 1<<31))
	return f, nil
}

// parsePath reads a key of JSON: names separated by dots, and OPTS behind a colon.
func parsePath(text string) (field, error) {
	name, letters := cutLetters(text)
	f := field{path: strings.Split(name, ".")}
	p := &keyParser{text: letters}
	p.options(&f.rules, &f.skipStart)
	f.skipEnd = f.skipStart
	if slices.Contains(f.path, "") {
		return f, errs.Optionf(fmt.Sprintf("Options.JSON %q", text), "a name is empty; a key is as user.name or user.age:nr")
	}
	return f, nil
}

// cutLetters cuts :OPTS off a key. Where the letters are no OPTS, all is the name.
func cutLetters(text string) (name, letters string) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 || strings.Trim(text[at+1:], "bdfghiMnRrV") != "" {
		return text, ""
	}
	return text[:at], text[at+1:]
}

// csvColumn returns the value of a column, from 0, without its quotes. It is empty if the
// record has fewer columns.
// The result points into record, unless the value contains doubled quotes.
func csvColumn(record []byte, column int, separator byte) []byte {
	record = bytes.TrimSuffix(record, []byte("\r"))
	for more := true; more; column-- {
		var value []byte
		if value, record, more = lines.CutCSV(record, separator); column == 0 {
			return lines.CSVText(value)
		}
	}
	return nil
}

// CSVHeader returns the values of a record, as the names of columns.
func CSVHeader(record []byte, separator byte) []string { return lines.CSVTexts(record, separator) }

// Check refuses a line that is no JSON value, if the order is one of JSON lines. A line
// of white space is fine: it has no value.
// The mapper calls it first, so that AppendKey may rely on valid JSON.
func (o *Order) Check(line []byte) error {
	if !o.json || json.Valid(unmarked(line)) || len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	return fmt.Errorf("%q is not JSON", line[:min(len(line), 60)])
}

// appendJSON appends a key for a value of JSON by its type. The order is nothing, null,
// false, true, numbers by value, strings by their bytes, and the rest as it is written.
// The first byte is the rank of the type, 0 to 6. null, false and true have one value
// each and need no more bytes.
func appendJSON(dst, value []byte, open bool) []byte {
	if len(value) == 0 {
		return append(dst, 0)
	}
	switch value[0] {
	case 'n':
		return append(dst, 1)
	case 'f':
		return append(dst, 2)
	case 't':
		return append(dst, 3)
	case '"':
		return appendText(append(dst, 5), jsonText(value), false, open)
	case '[', '{':
		return appendText(append(dst, 6), value, false, open)
	}
	return appendGeneral(append(dst, 4), value)
}

// jsonText returns the text of a string, and other values as they are.
// The result points into value if the string has no escapes.
func jsonText(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	var text string
	_ = json.Unmarshal(value, &text) // Check has seen that it is valid
	return []byte(text)
}

// jsonValue returns the value at path in a valid JSON text, or nil.
// The result points into data. The functions below do not check the syntax, because
// Check has.
func jsonValue(data []byte, path []string) []byte {
	data = bytes.TrimSpace(unmarked(data))
	for _, name := range path {
		data = jsonMember(data, name)
	}
	return data
}

// unmarked returns a line without the byte order mark with which some programs begin a
// file. The line itself keeps it, wherever it is sorted to.
func unmarked(line []byte) []byte { return bytes.TrimPrefix(line, []byte("\ufeff")) }

// jsonMember returns the last member of that name of an object, or nil.
// The last one wins where a name is repeated, as in most readers of JSON.
func jsonMember(data []byte, name string) (found []byte) {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	for at := 1; ; at++ { // behind { or a comma
		at = jsonSpace(data, at)
		if data[at] == '}' {
			return found
		}
		end := jsonEnd(data, at)
		key := jsonText(data[at:end])
		at = jsonSpace(data, jsonSpace(data, end)+1) // behind the colon
		end = jsonEnd(data, at)
		if string(key) == name {
			found = data[at:end]
		}
		if at = jsonSpace(data, end); data[at] == '}' {
			return found
		}
	}
}

// jsonSpace returns the first place from at on that is no white space of JSON.
func jsonSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r') {
		at++
	}
	return at
}

// jsonEnd returns the end of the value that begins at at.
// depth counts open brackets. Brackets inside of strings do not count.
func jsonEnd(data []byte, at int) int {
	depth := 0
	for ; at < len(data); at++ {
		switch data[at] {
		case '"':
			for at++; data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return at
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}
