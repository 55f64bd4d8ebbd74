package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
)

// ErrCut means that an event file has no last line. The run that wrote it goes on or was killed,
// or the file was cut.
var ErrCut = errors.New("cut short: its last line is missing")

// ErrChanged means that the hash or the number of events in the last line does not
// fit the lines before it.
var ErrChanged = errors.New("changed after it was written: the hash in its last line does not match")

// errAfterEnd is the error of a file with lines after the last line of a run, such as two files in
// one.
var errAfterEnd = errors.New("something comes after the run's last line")

// errNotOurs is the error of a file that does not begin like an event file.
var errNotOurs = errors.New("line 1: not an event file of mrlocal")

// SyntaxError is an error in one line of an event file. Lines count from 1.
type SyntaxError struct {
	Line int
	Err  error
}

// Error returns the error with the number of the line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error without the line.
func (e *SyntaxError) Unwrap() error { return e.Err }

// MaxTasks bounds the tasks of all jobs of an event file.
const MaxTasks = 1 << 23

// A reader of an event file may keep MaxBytes of memory. Each job, attempt, slot, pool, user and text counts
// as this many bytes, about as a replay keeps it.
const (
	MaxBytes  = 768 << 20
	JobBytes  = 1536
	TaskBytes = attemptBytes + decisionBytes + 3*phaseBytes // of a task with one attempt, and one more decision

	attemptBytes  = 64
	slotBytes     = 1280 // also of a pool, a user
	decisionBytes = 40
	phaseBytes    = 16
	detailBytes   = 24
	textBytes     = 40 // in addition to the text
)

// Bounds of an event file, so that no file takes all memory: a small compressed one may have any
// length. The header grows with the number of slots, so its bound is larger.
const (
	maxLineBytes   = 16 << 20
	maxHeaderBytes = 64 << 20
	maxSlots       = MaxBytes / slotBytes
	maxFields      = 1000 // of a line
	maxNulls       = 1000 // in the header, whose lists could have many of them
)

// Decoder reads an event file. It keeps one line and all texts. It does not close the reader.
type Decoder struct {
	header Header
	scan   *bufio.Scanner // of the lines after the header
	line   int            // number of the last line
	count  uint64         // number of events so far
	hash   *xxhash.Digest // of all lines so far
	ops    map[string]Op  // by name in the file

	texts [][]string // by number; 0: none. It grows with the file
	bytes int        // that a reader keeps
	most  int        // of bytes

	details int // bytes that a detail counts

	seq   uint64 // of the last event, plus 1
	tasks taskCount
	rules map[string]int32 // numbers of texts, by rule

	fields fields // of the current line; they point into it, so they are valid until the next line
}

// NewDecoder reads the header from r. It fails if r is not an event file or has another schema than this
// program writes. It also fails if a slot is not at its number.
func NewDecoder(r io.Reader) (*Decoder, error) {
	d := &Decoder{hash: xxhash.New(), ops: map[string]Op{}, rules: map[string]int32{}, texts: [][]string{nil}, line: 1, most: MaxBytes}
	for op := range numOps {
		d.ops[op.String()] = op
	}
	in := bufio.NewReaderSize(r, 64<<10)
	// The header may be longer than the lines of the scanner.
	line, err := headerLine(in)
	if err != nil {
		return nil, err
	}
	d.scan = bufio.NewScanner(in)
	d.scan.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	if bytes.Count(line, []byte{'{'}) > maxSlots || bytes.Count(line, []byte("null")) > maxNulls {
		return nil, &SyntaxError{1, fmt.Errorf("more than %d slots, pools and users", maxSlots)}
	}
	var h fileHeader
	// Other JSON files may begin with a schema, too. The kind distinguishes them.
	if err := json.Unmarshal(line, &h); err != nil || h.Kind != fileKind {
		return nil, errNotOurs
	}
	if h.Schema != schema {
		return nil, &SyntaxError{1, fmt.Errorf("schema %d; this version of mrlocal reads schema %d only", h.Schema, schema)}
	}
	d.bytes = slotBytes * bytes.Count(line, []byte{'{'})
	d.header = h.Header
	for i, s := range h.Slots {
		if int(s.ID) != i {
			return nil, &SyntaxError{1, fmt.Errorf("slot %d has the number %d", i, s.ID)}
		}
		if s.Tracker < 0 || int(s.Tracker) >= len(h.Slots) {
			return nil, &SyntaxError{1, fmt.Errorf("slot %d is on tracker %d, of at most %d", i, s.Tracker, len(h.Slots))}
		}
	}
	d.sum(line)
	return d, nil
}

// headerLine reads the first line, without its newline. It fails if the line does not begin like
// a header.
func headerLine(in *bufio.Reader) (line []byte, err error) {
	const begin = `{"schema":`
	// The check of the first bytes keeps a large file of another kind from being read into memory
	// as one line.
	switch start, err := in.Peek(len(begin)); {
	case len(start) == 0 && err == io.EOF:
		return nil, errors.New("empty")
	case err != nil && err != io.EOF:
		return nil, &SyntaxError{1, err}
	case string(start) != begin:
		return nil, errNotOurs
	}
	// ReadSlice returns parts of a long line, which are joined here.
	for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull && len(line) < maxHeaderBytes; {
		var part []byte
		part, err = in.ReadSlice('\n')
		line = append(line, part...)
	}
	if err == bufio.ErrBufferFull {
		return nil, &SyntaxError{1, fmt.Errorf("longer than %d MiB", maxHeaderBytes>>20)}
	}
	if err != nil && err != io.EOF {
		return nil, &SyntaxError{1, err}
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// Share lowers the budget to the given number of bytes, for a reader that keeps two runs, or more of each attempt than
// a replay. It also makes details count.
func (d *Decoder) Share(bytes int) { d.most, d.details = bytes, detailBytes }

// Header returns the header, which belongs to the Decoder.
func (d *Decoder) Header() *Header { return &d.header }

// Line returns the number of the line that Next read last, from 1.
func (d *Decoder) Line() int { return d.line }

// Texts returns the texts that the Ref of a decoded event refers to. They belong to the Decoder
// and stay valid.
func (d *Decoder) Texts(ref int32) []string { return d.texts[ref] }

// next returns the next line, which is valid until the next call.
func (d *Decoder) next() ([]byte, error) {
	if !d.scan.Scan() {
		switch err := d.scan.Err(); {
		case d.Failed():
			return nil, &SyntaxError{d.line + 1, err}
		case err != nil:
			return nil, &SyntaxError{d.line + 1, fmt.Errorf("longer than %d MiB", maxLineBytes>>20)}
		}
		return nil, io.EOF
	}
	d.line++
	return d.scan.Bytes(), nil
}

// Failed reports whether reading the file has failed, as a compressed file does that is cut short. Then
// events may be missing behind the last one.
func (d *Decoder) Failed() bool {
	err := d.scan.Err()
	return err != nil && !errors.Is(err, bufio.ErrTooLong)
}

// sum adds a line to the hash that the last line of the file has to match.
func (d *Decoder) sum(line []byte) {
	d.hash.Write(line)
	d.hash.Write([]byte{'\n'})
}

// Next returns the next event. At the end it returns io.EOF if the file is whole, and
// ErrCut or ErrChanged if it is not. An error in a line is a *SyntaxError.
func (d *Decoder) Next() (Event, error) {
	line, err := d.next()
	// Next returns io.EOF at the line "end", so a file that ends here has no such line.
	if err == io.EOF {
		return Event{}, ErrCut
	}
	if err != nil {
		return Event{}, err
	}
	if d.fields, err = d.fields[:0].split(line); err != nil {
		at := d.line
		switch _, peek := d.next(); {
		case peek == io.EOF: // the file was cut in this line
			return Event{}, ErrCut
		case d.Failed(): // the reader failed in this line
			err = d.scan.Err()
		}
		return Event{}, &SyntaxError{at, err}
	}
	// The last line is not an event, and its own hash does not cover it.
	if op, _ := d.fields.get("op"); string(op) == `"end"` {
		return Event{}, d.end()
	}
	d.sum(line)
	d.count++
	e, err := d.event()
	if err == nil {
		err = d.check(&e)
	}
	if err != nil {
		return Event{}, &SyntaxError{d.line, err}
	}
	return e, nil
}

// All yields the events that follow, as Next does. The end of a whole file is not an error, and each error
// is the last. An event is valid until the next one.
func (d *Decoder) All() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		var e Event
		var err error
		for err == nil {
			if e, err = d.Next(); err == io.EOF || !yield(&e, err) {
				return
			}
		}
	}
}

// Limits of the numbers of an event. Timelines have a place for each job up to the largest number,
// and add times.
const (
	maxJobs = 1 << 22
	maxTime = time.Duration(1 << 60) // 36 years
)

// check fails if a number of e is negative or too large, so readers may use these numbers as indexes. It
// fails if readers would keep more than the budget, or if e repeats an event: a file of repeated lines
// takes few bytes when it is compressed.
func (d *Decoder) check(e *Event) error {
	switch {
	case e.Op == OpSubmit:
		d.bytes += JobBytes
	case e.Op == OpStart:
		d.bytes += attemptBytes
	case e.Op == OpPhase:
		d.bytes += phaseBytes
	case e.Op.Class() == Decision:
		d.bytes += decisionBytes
	case e.Op.Class() == Detail:
		d.bytes += d.details
	}
	switch {
	case e.Seq < d.seq:
		return fmt.Errorf("%v has the number %d, and an event before it %d", e.Op, e.Seq, d.seq-1)
	case d.bytes > d.most:
		return fmt.Errorf("a reader would need more than %d MiB for this file", d.most>>20)
	case e.At < 0 || e.At > maxTime:
		return fmt.Errorf("the time %d of %v is not from 0 to %d", int64(e.At), e.Op, int64(maxTime))
	case e.Job < 0 || e.Job >= maxJobs:
		return fmt.Errorf("the job %d of %v is not from 0 to %d", e.Job, e.Op, maxJobs-1)
	// The slot -1 is that of an attempt whose tracker is lost.
	case e.Task < 0 || e.N < 0 || e.Slot < -1:
		return fmt.Errorf("%v has a negative number: task %d, n %d, slot %d", e.Op, e.Task, e.N, e.Slot)
	case int(e.Slot) >= max(1, len(d.header.Slots)):
		return fmt.Errorf("%v has the slot %d, and the header %d slots", e.Op, e.Slot, len(d.header.Slots))
	case e.Task >= MaxTasks:
		return fmt.Errorf("the task %d of %v is not from 0 to %d", e.Task, e.Op, MaxTasks-1)
	}
	d.seq = e.Seq + 1
	return d.tasks.add(e)
}

// taskCount counts the tasks of all jobs.
type taskCount struct {
	maps  []int32 // by job
	total int64
}

// add adds the tasks that an event makes known. It fails if there are more than MaxTasks.
func (c *taskCount) add(e *Event) error {
	maps, reduces := e.A, e.B
	switch {
	case e.Job < 0, e.Job >= maxJobs:
		return nil
	case e.Op == OpReady:
		maps, reduces = e.B, 0 // all maps of the job so far
	case e.Op != OpSubmit:
		return nil
	}
	if min(maps, reduces) < 0 || max(maps, reduces) > MaxTasks {
		return fmt.Errorf("job %d has %d maps and %d reduces; an event file has at most %d tasks", e.Job, maps, reduces, MaxTasks)
	}
	if more := int(e.Job) + 1 - len(c.maps); more > 0 {
		c.maps = append(c.maps, make([]int32, more)...)
	}
	c.total += max(maps-int64(c.maps[e.Job]), 0) + reduces
	c.maps[e.Job] = max(c.maps[e.Job], int32(maps))
	if c.total > MaxTasks {
		return fmt.Errorf("with job %d there are more than %d tasks", e.Job, MaxTasks)
	}
	return nil
}

// end checks the last line, and that no line follows. It returns io.EOF if the file is whole.
func (d *Decoder) end() error {
	want := fmt.Sprintf(`"%016x"`, d.hash.Sum64())
	hash, _ := d.fields.get("hash")
	events, _ := d.fields.get("events")
	if string(hash) != want || string(events) != strconv.FormatUint(d.count, 10) {
		return ErrChanged
	}
	// A second file, or lines that were added later, may follow the last line.
	if _, err := d.next(); err == io.EOF || d.Failed() {
		return err
	}
	return &SyntaxError{d.line, errAfterEnd}
}

// event returns the event of the current line. It is the inverse of AppendJSON. It fails if a
// field that the Op needs is missing or malformed.
func (d *Decoder) event() (Event, error) {
	var e Event
	name, _ := d.fields.get("op")
	op, ok := d.ops[string(bytes.Trim(name, `"`))]
	if !ok || op == OpNone {
		return e, fmt.Errorf("unknown op %.40s", name)
	}
	e.Op = op
	s := op.shape()
	f := fieldReader{fields: d.fields}
	e.Seq = uint64(f.number("seq", 64))
	e.At = time.Duration(f.number("at", 64))
	// The table of shapes says which fields the line must have. Other fields are ignored.
	part := func(has parts, name string) int32 {
		if s.parts&has == 0 {
			return 0
		}
		return int32(f.number(name, 32))
	}
	e.Job = part(hasJob, "job")
	e.Task = part(hasTask, "task")
	e.N = part(hasN, "n")
	e.Slot = part(hasSlot, "slot")
	if s.parts&hasKind != 0 {
		e.Kind = Kind(f.word("kind", kindNames[:]))
	}
	if s.parts&hasPhase != 0 {
		e.Phase = Phase(f.word("phase", phaseNames[:]))
	}
	if s.parts&hasRule != 0 {
		e.Ref = d.rule(&f)
	}
	for i, name := range flagNames {
		if bit := Flags(1) << i; s.flags&bit != 0 && string(f.field(name)) == "true" {
			e.Flags |= bit
		}
	}
	// Fields that the Op does not use stay 0, so decoded and recorded events can be compared by ==.
	values := [...]*int64{&e.A, &e.B, &e.C, &e.D, &e.E, &e.F}
	for i, name := range s.values {
		switch {
		case i == 0 && s.words != nil:
			*values[i] = int64(f.word(name, s.words))
		case !s.isOptional(i) || f.fields.has(name):
			*values[i] = f.number(name, 64)
		}
	}
	if len(s.texts) > 0 {
		// Each event with texts gets an entry of its own. Most of these events are submissions.
		texts := make([]string, len(s.texts))
		for i, name := range s.texts {
			texts[i] = f.text(name)
			d.bytes += len(texts[i]) + textBytes
		}
		e.Ref = int32(len(d.texts))
		d.texts = append(d.texts, texts)
	}
	return e, f.err
}

// rule returns the number of the texts with the line's rule; 0: none. Each rule has one entry in
// the table.
func (d *Decoder) rule(f *fieldReader) int32 {
	rule := f.unquoted("rule")
	if f.err != nil || string(rule) == noRule {
		return 0
	}
	ref, ok := d.rules[string(rule)]
	if !ok {
		ref = int32(len(d.texts))
		d.bytes += len(rule) + 4*textBytes
		d.rules[string(rule)], d.texts = ref, append(d.texts, []string{string(rule)})
	}
	return ref
}
