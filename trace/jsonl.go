package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"mrlocal/internal/errs"
)

// schema is the version of event files. The package writes and reads only this one.
const schema = 3

// JSONL is a Sink that writes an event file, one JSON object per line, with times in
// nanoseconds. The first line is the header. The last line has the number of events
// and a hash of all lines before it. With these a reader detects a file that was cut
// or changed.
type JSONL struct {
	w     *bufio.Writer
	hash  *xxhash.Digest // of all lines so far
	line  []byte         // the buffer of a line, used again for the next one
	count uint64         // number of events so far
	tasks taskCount
}

// NewJSONL returns a sink that writes to w. Stream.Close writes the last line; it
// does not close w.
func NewJSONL(w io.Writer) *JSONL {
	return &JSONL{w: bufio.NewWriterSize(w, 64<<10), hash: xxhash.New()}
}

// fileHeader is the first line.
type fileHeader struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	Header
}

// fileKind is the kind in the header of every event file.
const fileKind = "mrlocal-events"

// Open writes the header.
func (j *JSONL) Open(h *Header) error {
	if len(h.Slots) > maxSlots {
		return fmt.Errorf("header: %d slots; an event file has at most %d", len(h.Slots), maxSlots)
	}
	first := fileHeader{schema, fileKind, *h}
	if first.Config == nil { // readers expect an object, not null
		first.Config = json.RawMessage("{}")
	}
	line, err := json.Marshal(first)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return j.write(append(line, '\n'))
}

// Record writes the line of an event.
func (j *JSONL) Record(s *Stream, e *Event) error {
	j.count++
	if err := j.tasks.add(e); err != nil {
		return err
	}
	j.line = AppendJSON(j.line[:0], e, s.Texts(e.Ref))
	j.line = append(j.line, '\n')
	return j.write(j.line)
}

// write writes a line, and adds it to the hash of the file.
func (j *JSONL) write(line []byte) error {
	j.hash.Write(line)
	_, err := j.w.Write(line)
	return err
}

// Close writes the last line and all lines that are still in memory. It does not close the writer.
func (j *JSONL) Close() error {
	// Flush returns an error of this write.
	fmt.Fprintf(j.w, `{"op":"end","events":%d,"hash":"%016x"}`+"\n", j.count, j.hash.Sum64())
	return j.w.Flush()
}

// Flush writes all lines that are still in memory, for readers of a file that grows.
func (j *JSONL) Flush() error {
	return errs.About("write events", j.w.Flush())
}

// AppendJSON appends the line of an event to dst, without the newline, and returns the extended
// slice. texts are those that e.Ref refers to.
// hot: runs once per event of a recorded run.
func AppendJSON(dst []byte, e *Event, texts []string) []byte {
	s := e.Op.shape()
	dst = strconv.AppendUint(append(dst, `{"seq":`...), e.Seq, 10)
	dst = strconv.AppendInt(append(dst, `,"at":`...), int64(e.At), 10)
	dst = appendText(append(dst, `,"op":`...), s.name)
	// The order of the fields is part of the format: docs/formats.md.
	number := func(has parts, name string, v int32) {
		if s.parts&has != 0 {
			dst = append(append(append(dst, `,"`...), name...), `":`...)
			dst = strconv.AppendInt(dst, int64(v), 10)
		}
	}
	number(hasJob, "job", e.Job)
	if s.parts&hasKind != 0 {
		dst = appendText(append(dst, `,"kind":`...), e.Kind.String())
	}
	number(hasTask, "task", e.Task)
	number(hasN, "n", e.N)
	number(hasSlot, "slot", e.Slot)
	if s.parts&hasPhase != 0 {
		dst = appendText(append(dst, `,"phase":`...), e.Phase.String())
	}
	if s.parts&hasRule != 0 {
		dst = appendText(append(dst, `,"rule":`...), RuleOf(texts).String())
	}
	for i, name := range flagNames {
		if f := Flags(1) << i; s.flags&f != 0 {
			dst = append(append(append(dst, `,"`...), name...), `":`...)
			dst = strconv.AppendBool(dst, e.Has(f))
		}
	}
	values := [...]int64{e.A, e.B, e.C, e.D, e.E, e.F}
	for i, name := range s.values {
		if s.isOptional(i) && values[i] == 0 {
			continue
		}
		dst = append(append(append(dst, `,"`...), name...), `":`...)
		if i == 0 && s.words != nil {
			dst = appendText(dst, nameOf(s.words, uint8(values[0])))
		} else {
			dst = strconv.AppendInt(dst, values[i], 10)
		}
	}
	for i, name := range s.texts {
		// Missing texts are left out. A Decoder then reports a missing field.
		if i < len(texts) {
			dst = append(append(append(dst, `,"`...), name...), `":`...)
			dst = appendText(dst, texts[i])
		}
	}
	return append(dst, '}')
}

// noRule is the rule in event files of a decision without a rule.
const noRule = "none"

// RuleOf returns the rule of a decision, given its texts.
func RuleOf(texts []string) Rule {
	if len(texts) == 0 {
		return RuleNone
	}
	return Rule(texts[0])
}

// appendText appends text as a JSON string. Bytes that are not UTF-8 become U+FFFD, as in
// encoding/json. Texts without escapes, which are nearly all, need no allocation.
func appendText(dst []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, _ := json.Marshal(text) // never fails: it accepts every string
	return append(dst, quoted...)
}

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
	if isText(v) {
		return v[1 : len(v)-1]
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
	if wrong, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(line, &whole)); ok {
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

// splitPlain splits an object that has no spaces and whose values are whole numbers, true, false, and text without
// escapes, commas and colons. ok is false for a line of another form.
// hot: runs once per event that is read.
func (f fields) splitPlain(line []byte) (_ fields, ok bool) {
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return f, false
	}
	for rest := line[1:]; len(rest) > 0; {
		end := bytes.IndexByte(rest, ',')
		if end < 0 {
			end = len(rest) - 1
		}
		name, value, _ := bytes.Cut(rest[:end], []byte{':'})
		if !isText(name) || !isText(value) && !isLiteral(value) || len(f) == maxFields {
			return f, false
		}
		f, rest = append(f, field{name[1 : len(name)-1], value}), rest[end+1:]
	}
	return f, true
}

// isText reports whether v is a text in quotes without escapes.
func isText(v []byte) bool {
	return len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' && isPlain(v[1:len(v)-1])
}

// isPlain reports whether text stands for itself between quotes.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isLiteral reports whether v is a whole number, true or false.
func isLiteral(v []byte) bool {
	digits := bytes.TrimPrefix(v, []byte{'-'})
	for _, c := range digits {
		if c < '0' || c > '9' {
			return string(v) == "true" || string(v) == "false"
		}
	}
	return len(digits) == 1 || len(digits) > 1 && digits[0] != '0' // JSON has no leading zeros
}
