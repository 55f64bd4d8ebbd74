package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
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
	Schema int             `json:"schema"`
	Kind   string          `json:"kind"`
	Policy string          `json:"policy"`
	Seed   uint64          `json:"seed"`
	Config json.RawMessage `json:"config"`
	Slots  []Slot          `json:"slots"`
}

// fileKind is the kind in the header of every event file.
const fileKind = "mrlocal-events"

// Open writes the header.
func (j *JSONL) Open(h *Header) error {
	if len(h.Slots) > maxSlots {
		return fmt.Errorf("header: %d slots; an event file has at most %d", len(h.Slots), maxSlots)
	}
	config := h.Config
	if config == nil { // readers expect an object, not null
		config = json.RawMessage("{}")
	}
	line, err := json.Marshal(fileHeader{schema, fileKind, h.Policy, h.Seed, config, h.Slots})
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
	if err := j.w.Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
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
	plain := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, _ := json.Marshal(text) // never fails: it accepts every string
	return append(dst, quoted...)
}
