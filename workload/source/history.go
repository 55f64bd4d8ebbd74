package source

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"mrlocal/internal/errs"
)

// event holds the fields that History reads of events (Hadoop, Events.avpr: JobSubmitted,
// JobQueueChange, JobUnsuccessfulCompletion, TaskAttemptStarted, MapAttemptFinished, ReduceAttemptFinished). Times are
// in milliseconds since 1970.
type event struct {
	JobID     string `json:"jobid"`
	UserName  string `json:"userName"`
	Queue     string `json:"jobQueueName"`
	Submitted int64  `json:"submitTime"`
	Status    string `json:"jobStatus"`

	TaskID    string `json:"taskid"`
	TaskType  string `json:"taskType"`
	AttemptID string `json:"attemptId"`
	Started   int64  `json:"startTime"`
	Finished  int64  `json:"finishTime"`
	Shuffled  int64  `json:"shuffleFinishTime"`

	Counters struct {
		Groups []struct {
			Counts []struct {
				Name  string `json:"name"`
				Value int64  `json:"value"`
			} `json:"counts"`
		} `json:"groups"`
	} `json:"counters"`
}

// counters returns the counters of all groups by their names.
func (e *event) counters() map[string]int64 {
	of := map[string]int64{}
	for _, g := range e.Counters.Groups {
		for _, c := range g.Counts {
			of[c.Name] = c.Value
		}
	}
	return of
}

// count takes the bytes of the attempt from its counters.
func (a *attempt) count(of map[string]int64) {
	if a.reduce {
		a.bytes = of["REDUCE_SHUFFLE_BYTES"]
		return
	}
	// The reduces copy the materialized bytes: those after compression. A run of Hadoop's local mode
	// and Hadoop 1.x have only the bytes before compression.
	a.bytes = cmp.Or(of["MAP_OUTPUT_MATERIALIZED_BYTES"], of["MAP_OUTPUT_BYTES"])
	// The local file system has files that are not part of the output.
	for name, n := range of {
		if strings.HasSuffix(name, "_BYTES_WRITTEN") && name != "FILE_BYTES_WRITTEN" && name != "LOCAL_BYTES_WRITTEN" {
			a.written = min(a.written+min(max(n, 0), mostBytes), mostBytes)
		}
	}
	a.written = cmp.Or(a.written, of["BYTES_WRITTEN"])
}

// past is a job of a history while the history is read.
type past struct {
	building
	started  map[string]int64   // the start of each attempt by its ID, in milliseconds since 1970
	done     map[string]attempt // the last attempt that succeeded, by the ID of the task
	attempts int                // number of attempts that started
}

// newPast returns a job without tasks that begins at a place of the trace.
func newPast(at string, o Reading) *past {
	return &past{building: o.building(at), started: map[string]int64{}, done: map[string]attempt{}}
}

// start adds an attempt.
func (p *past) start(id string, ms int64) error {
	if len(p.started) == mostAttempts {
		return fmt.Errorf("more than %d attempts in a file", mostAttempts)
	}
	if _, again := p.started[id]; !again {
		p.attempts++
	}
	p.started[id] = ms
	return nil
}

// finish adds an attempt that succeeded. A map has several of them if its output was lost. The last
// one counts.
func (p *past) finish(task, id string, a attempt) error {
	start, ok := p.started[id]
	if !ok {
		return fmt.Errorf("attempt %s ends, but has not started", errs.Quote(id))
	}
	a.start = start
	if _, err := a.took(); err != nil {
		return fmt.Errorf("attempt %s %w", errs.Quote(id), err)
	}
	p.done[task] = a
	return nil
}

// add adds the job to s, or drops it as o says. A history that is cut short may lack the submission.
func (p *past) add(s *Set, o Reading) error {
	if p.Name == "" {
		p.fail("no job was submitted")
	}
	// The order of the IDs makes the same file of the same history.
	for _, id := range slices.Sorted(maps.Keys(p.done)) {
		p.record(id, p.done[id])
	}
	p.dropped.add(p.attempts-len(p.done), droppedAttempts)
	return s.build(&p.building, o)
}

// History reads the history of one job, a .jhist file of Hadoop (Hadoop, EventWriter, EventReader).
// Its first line is Avro-Json, and then come a line with the schema and a line of JSON for each
// event. Or the file is in Avro's binary form.
//
// The job gets the tasks that succeeded; failed attempts are not in the workload. MapOutputBytes is
// the mean over all maps. In a job without reduces it is what the maps wrote to the output. It is a
// Reader. It also fails if no map succeeded.
func History(name string, r io.Reader, o Reading) (*Set, error) {
	p, s := newPast(name, o), &Set{Notes: []string{"the job of the history " + name}}
	if err := p.read(name, bufio.NewReader(r)); err != nil {
		return s, s.refuse(name, err, o)
	}
	if err := p.add(s, o); err != nil {
		return nil, err
	}
	return s, nil
}

// read reads a history.
func (p *past) read(name string, in *bufio.Reader) error {
	// Peek fails for a shorter file, which eachLine below then refuses.
	if first, _ := in.Peek(len(avroBinary)); string(first) == avroBinary {
		return binaryHistory(name, in, p.event)
	}
	n := 0 // lines that are not empty
	return eachLine(name, in, func(at, line string) error {
		line = strings.TrimSpace(line)
		if line == "" {
			return nil
		}
		n++
		switch {
		case n == 1 && line != "Avro-Json":
			return errs.Inputf(at, "%s is not a history; a .jhist file begins with Avro-Json or Avro-Binary, and Hadoop 1.x has another format", errs.Quote(line))
		case n <= 2: // the schema
			return nil
		}
		if err := p.event(line); err != nil {
			return errs.Inputf(at, "%s", errs.OfJSON(err))
		}
		return nil
	})
}

// event adds an event in Avro's JSON form. It skips events of a type that History does not read.
func (p *past) event(line string) error {
	var of struct {
		Type  string                     `json:"type"`
		Event map[string]json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal([]byte(line), &of); err != nil {
		return err
	}
	// An event is a union in Avro, so the name of its only field is the full name of the record.
	for union, body := range of.Event {
		var e event
		kind := union[strings.LastIndexByte(union, '.')+1:]
		switch kind {
		case "JobSubmitted", "JobQueueChange", "JobUnsuccessfulCompletion", "TaskAttemptStarted", "MapAttemptFinished", "ReduceAttemptFinished":
			if err := json.Unmarshal(body, &e); err != nil {
				return fmt.Errorf("%s: %s", kind, errs.OfJSON(err))
			}
		}
		switch kind {
		case "JobSubmitted":
			p.Name = e.JobID
			p.User = e.UserName
			p.Pool = e.Queue
			p.submitted(e.Submitted)
		case "JobQueueChange":
			p.Pool = e.Queue
		case "JobUnsuccessfulCompletion":
			p.outcome = e.Status
		case "TaskAttemptStarted":
			if e.TaskType == "JOB_SETUP" || e.TaskType == "JOB_CLEANUP" {
				p.dropped.add(1, droppedOthers)
				return nil
			}
			if err := p.start(e.AttemptID, e.Started); err != nil {
				return err
			}
		case "MapAttemptFinished", "ReduceAttemptFinished":
			a := attempt{reduce: kind == "ReduceAttemptFinished", shuffled: e.Shuffled, end: e.Finished}
			a.count(e.counters())
			if err := p.finish(e.TaskID, e.AttemptID, a); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
		}
	}
	return nil
}

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

// These bounds stop hostile files. No Avro library bounds the values of an event (docs/adr/0031).
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
