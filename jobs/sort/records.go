package sort

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
	"mrlocal/jobs/internal/lines"
)

// parseColumn parses a key of CSV. F[OPTS] is the number of a column, from 1. Any other text is
// NAME[:OPTS]. A name in quotes is never a number.
func (o *Options) parseColumn(text string) (field, error) {
	// The number is parsed like -k of GNU sort. It must name one whole column.
	f, err := parseField(text)
	if err == nil {
		single := f.toLineEnd || f.endField == f.startField+1 && f.endByte == 0
		switch {
		case !single || f.startByte != 0:
			return f, errs.Fieldf("Options.Keys", "%q: a key of CSV is one whole column: F[OPTS] or NAME[:OPTS]", text)
		case o.Header != nil && !o.Lenient && f.startField >= uint64(len(o.Header)):
			return f, errs.Fieldf("Options.Keys", "%q: no such column; the header has %d", text, len(o.Header))
		}
		// A column beyond every record is empty. The bound keeps the number small.
		f.column = int(min(f.startField, 1<<31))
		return f, nil
	}
	name, letters := cutLetters(text)
	f = field{column: slices.Index(o.Header, text)}
	if f.column < 0 {
		f.column = slices.Index(o.Header, lines.Unquote(name))
		f.rules = (&keyParser{text: letters}).options()
	}
	switch f.skipEnd = f.has(blanks); {
	case o.Header == nil:
		return f, errs.Fieldf("Options.Keys", "%q: without a header, a key of CSV is the number of a column: F[OPTS]", text)
	case f.column < 0:
		return f, errs.Fieldf("Options.Keys", "%q: no such column; a key of CSV is F[OPTS] or NAME[:OPTS], and the names are %s", text, strings.Join(o.Header, ", "))
	}
	return f, nil
}

// parsePath parses a key of JSON: names separated by dots, and OPTS behind a colon. A name in quotes may
// have dots and colons.
func parsePath(text string) (f field, err error) {
	rest, letters := cutLetters(text)
	f.rules = (&keyParser{text: letters}).options()
	f.skipEnd = f.has(blanks)
	for more := true; more; {
		var name []byte
		name, tail, dots := lines.CutCSV([]byte(rest), '.')
		if rest, more = string(tail), dots; len(name) == 0 {
			return f, errs.Fieldf("Options.JSON", `%q: a name is empty; write a key such as user.name, age:nr or "first.name"`, text)
		}
		if name[0] == '"' && bytes.Count(name, []byte{'"'})%2 == 1 {
			return f, errs.Fieldf("Options.JSON", "%q: a quote has no end", text)
		}
		f.path = append(f.path, lines.Unquote(string(name)))
	}
	return f, nil
}

// cutLetters divides a key into name and OPTS, which follow a colon. If the text behind the
// last colon has other letters, the whole text is the name.
func cutLetters(text string) (name, letters string) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 || strings.Trim(text[at+1:], keyLetters) != "" {
		return text, ""
	}
	return text[:at], text[at+1:]
}

// csvColumn returns the value of a column, counted from 0, without its quotes. It is empty if
// the record has fewer columns. It lies in record, unless the value contains doubled quotes.
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

// CSVHeader returns the values of a record, which are the names of the columns.
func CSVHeader(record []byte, separator byte) []string { return lines.CSVTexts(record, separator) }

// Check returns an error if the order needs JSON lines and line is not a JSON value. An empty
// line passes: it has no key. The mapper calls Check before AppendKey, which relies on valid
// JSON.
func (o *Order) Check(line []byte) error {
	switch {
	case !o.json:
		return nil
	case len(bytes.TrimSpace(line)) == 0 || json.Valid(unmarked(line)):
		o.seen.look(o, line)
		return nil
	}
	return fmt.Errorf("%q is not JSON", line[:min(len(line), 60)])
}

// appendJSON appends a key for a JSON value. Values are ordered by type: no value, null, false,
// true, numbers by value, strings by their bytes, and then arrays and objects by their text.
// The first byte is the rank of the type, 0 to 6. null, false and true have one value each and
// need no more bytes. open is as for appendText.
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
	return appendExact(append(dst, 4), value)
}

// jsonText returns the text of a string, and other values as they are. The result lies in value
// if the string has no escapes.
func jsonText(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	var text string
	if json.Unmarshal(value, &text) != nil { // impossible, because Check has found the line to be JSON
		return value
	}
	return []byte(text)
}

// jsonValue returns the value at path in a JSON text, or nil. It lies in data. jsonValue and
// the functions below need valid JSON (Check).
func jsonValue(data []byte, path []string) []byte {
	data = bytes.TrimSpace(unmarked(data))
	for _, name := range path {
		data = jsonMember(data, name)
	}
	return data
}

// unmarked returns line without the byte order mark, with which some programs begin a file. The
// output keeps the mark at its line.
func unmarked(line []byte) []byte { return bytes.TrimPrefix(line, []byte(scan.ByteOrderMark)) }

// jsonMember returns the value of the last member of an object with the given name, or nil. If
// a name is repeated, most readers of JSON use the last one.
func jsonMember(data []byte, name string) (found []byte) {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	for at := 1; ; at++ { // at is behind { or a comma
		at = jsonSpace(data, at)
		if data[at] == '}' {
			return found
		}
		end := jsonEnd(data, at)
		key := jsonText(data[at:end])
		at = jsonSpace(data, jsonSpace(data, end)+1) // now behind the colon
		end = jsonEnd(data, at)
		if string(key) == name {
			found = data[at:end]
		}
		if at = jsonSpace(data, end); data[at] == '}' {
			return found
		}
	}
}

// jsonSpace returns the offset of the first byte from at on that is not white space of JSON.
func jsonSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r') {
		at++
	}
	return at
}

// jsonEnd returns the end of the value that begins at at. depth counts open brackets; brackets
// in strings do not count.
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

// Source is a file of lines, for Merge and FirstDisorder.
type Source struct {
	// Next returns the next lines. It reuses buf if buf is large enough. It returns the last lines together
	// with io.EOF; only the last one may lack its end.
	Next  func(buf []byte) ([]byte, error)
	Close func() // called once no read follows, on any goroutine
	Name  string // for errors about lines
	Few   bool   // a read needs a thread, so only a few such sources are read at the same moment
}

// block is a block of lines of a Source, with their keys.
type block struct {
	data    []byte // whole lines, each with its delimiter
	keys    []byte // the memory of the keys
	lines   []Line // point into data and keys
	err     error  // why no block follows; io.EOF: the source has ended; nil: one follows
	read    int    // the number of lines that index has found, which is more than len(lines) if some were dropped
	refused error  // why the order refuses the line after these; nil: it refuses none
	out     int    // of FirstDisorder: the first line that is out of order within the block; -1: none
}

// fill reads the next lines of s. It adds the delimiter to a last line that has none.
func (b *block) fill(s *Source, delim byte) {
	b.data, b.err = s.Next(b.data)
	if n := len(b.data); b.err == io.EOF && n > 0 && b.data[n-1] != delim {
		b.data = append(b.data, delim)
	}
}

// index finds the lines of the block and makes their keys. With unique, it drops a line that equals the
// line before it. It ends before a line that the order refuses: an order by JSON keys refuses text that is
// not JSON.
func (b *block) index(order *Order, delim byte, unique bool) {
	b.lines, b.keys, b.read, b.refused = b.lines[:0], b.keys[:0], 0, nil
	for at := 0; at < len(b.data); b.read++ {
		end := at + bytes.IndexByte(b.data[at:], delim)
		line := b.data[at:end]
		at = end + 1
		if b.refused = order.Check(line); b.refused != nil {
			return
		}
		// If order.Key has to move b.keys to more memory, earlier keys still point to the old memory,
		// which stays valid.
		b.lines = append(b.lines, Line{Text: line, Key: order.Key(&b.keys, line)})
		if n := len(b.lines); unique && n > 1 && order.Compare(&b.lines[n-2], &b.lines[n-1]) == 0 {
			b.lines = b.lines[:n-1]
		}
	}
}

// refusal returns the error of the line that the order refuses. before is the number of lines in the blocks
// before.
func (b *block) refusal(s *Source, before int64) error {
	return errs.Inputf(errs.Quote(s.Name), "line %d: %w", before+int64(b.read)+1, b.refused)
}
