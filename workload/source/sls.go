package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"mrlocal/internal/errs"
)

// slsTask is an entry of job.tasks: Count equal tasks. Times are in milliseconds.
type slsTask struct {
	Type     text `json:"container.type"`
	Start    text `json:"container.start.ms"`
	End      text `json:"container.end.ms"`
	Duration text `json:"container.duration.ms"`
	Legacy   text `json:"duration.ms"`
	Count    text `json:"count"`
	Delay    text `json:"container.request.delay"`
}

// text is a single JSON value without its quotes. It is empty for null and for a missing field.
type text string

// UnmarshalJSON implements json.Unmarshaler. It accepts a text, a number, a boolean or null. It
// refuses an object and a list.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		err := json.Unmarshal(b, &s)
		*t = text(s)
		return err
	}
	if b[0] == '{' || b[0] == '[' {
		return fmt.Errorf("a single value is expected, not %s", map[byte]string{'{': "an object", '[': "a list"}[b[0]])
	}
	if *t = text(b); *t == "null" {
		*t = ""
	}
	return nil
}

// number returns a whole number from 0 to 2^50. For an empty text it returns otherwise. It fails for
// any other text.
func (t text) number(otherwise int64) (int64, error) {
	if t == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(string(t), 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return 0, fmt.Errorf("%s is not a whole number of at least 0", errs.Quote(string(t)))
	}
	return n, nil
}

// slsDocument has the fields that are read of a load (Hadoop, SLSConfiguration: JOB_*). Hadoop reads all values as
// text, so numbers may have quotes.
type slsDocument struct {
	ID     text      `json:"job.id"`
	Queue  text      `json:"job.queue.name"`
	User   text      `json:"job.user"`
	Start  text      `json:"job.start.ms"`
	Count  text      `json:"job.count"`
	Type   text      `json:"am.type"`
	Legacy text      `json:"yarn.sls.am.type"`
	Tasks  []slsTask `json:"job.tasks"`
	Nodes  text      `json:"num.nodes"`
	Racks  text      `json:"num.racks"`
}

// slsJob is a job of a load while its tasks are added.
type slsJob struct {
	building
	kind error // of the first container that is neither map nor reduce
}

// SLS reads a load of YARN's Scheduler Load Simulator: a file with a JSON document for each job
// (Hadoop, hadoop-sls, AMRunner.startAMFromSLSTrace, AMDefinitionSLS). A document may have the number
// of nodes instead of a job, or with it. A task lasts for its duration, or from its start to its
// end. It is a Reader.
func SLS(name string, r io.Reader, o Reading) (*Set, error) {
	s := &Set{Notes: []string{"jobs of the SLS load " + name + "; the wait of a task for its container is not in them"}}
	number := 0 // of the jobs
	err := eachDocument(name, r, func(at string, d *slsDocument) error {
		if d.Nodes != "" {
			n, err := d.Nodes.number(0)
			if err != nil || n == 0 || n > 1_000_000 {
				return errs.Inputf(at, "num.nodes: %s is not a whole number from 1 to 1000000", errs.Quote(string(d.Nodes)))
			}
			s.Trackers = int(n)
			if racks, err := d.Racks.number(1); err != nil || racks > 1 {
				s.dropped.add(int(racks), "racks")
			}
			if len(d.Tasks) == 0 {
				return nil
			}
		}
		number++
		return s.addSLS(d, number, at, o)
	})
	return s.result(name, err)
}

// addSLS adds the jobs of a document: one, or job.count of them. A job without an id gets its name
// from number, the number of the document.
func (s *Set) addSLS(d *slsDocument, number int, at string, o Reading) error {
	j := slsJob{building: o.building(at)}
	j.Name = cmp.Or(string(d.ID), fmt.Sprintf("job_%d", number))
	j.Pool, j.User = string(d.Queue), string(d.User)
	for i := range d.Tasks {
		if err := j.addTask(i, &d.Tasks[i]); err != nil {
			j.fail("task %d: %w", i, err)
		}
	}
	start, err := d.Start.number(0)
	if err != nil {
		j.fail("job.start.ms: %w", err)
	}
	j.submitted(start)
	count, err := d.Count.number(1)
	if err != nil || count > 100_000 {
		j.fail("job.count: %s is not a whole number from 0 to 100000", errs.Quote(string(d.Count)))
	}
	if am := cmp.Or(string(d.Type), string(d.Legacy), "mapreduce"); am != "mapreduce" {
		// Such a job asks for all of its containers at once, so they are maps.
		j.MapTimes, j.ReduceTimes = append(j.MapTimes, j.ReduceTimes...), nil
		j.assumed.add(1, fmt.Sprintf("jobs of type %s whose containers are maps", errs.Quote(am)))
	} else if j.kind != nil {
		j.fail("%w", j.kind)
	}
	switch {
	case j.err != nil:
		j.err = fmt.Errorf("job %s, %w", errs.Quote(j.Name), j.err)
	case len(d.Tasks) == 0:
		j.fail("job %s has no job.tasks", errs.Quote(j.Name))
	default:
		j.building.count()
	}
	return s.add(&j.building, o, int(max(count, 1)))
}

// addTask adds the tasks of one entry of job.tasks. It prefers a duration to start and end, and
// container.duration.ms to the older duration.ms.
func (j *slsJob) addTask(entry int, t *slsTask) error {
	// The four times in milliseconds, in the order of the loop; -1: not given.
	took := [4]int64{}
	for i, of := range []text{t.Duration, t.Legacy, t.Start, t.End} {
		var err error
		if took[i], err = of.number(-1); err != nil {
			return err
		}
	}
	ms := took[3] - took[2]
	switch {
	case took[0] >= 0:
		ms = took[0]
	case took[1] >= 0:
		ms = took[1]
	case took[2] < 0 || took[3] < 0:
		return errors.New("neither container.duration.ms nor container.start.ms and container.end.ms")
	}
	if ms <= 0 || ms > mostSeconds {
		return fmt.Errorf("lasts %d ms; a task lasts longer than 0, and at most %d ms", ms, int64(mostSeconds))
	}
	n, err := t.Count.number(1)
	if err != nil {
		return err
	}
	n = max(n, 1)
	to := &j.MapTimes
	switch t.Type {
	case "", "map":
	case "reduce":
		to = &j.ReduceTimes
	default:
		if j.kind == nil {
			j.kind = fmt.Errorf("task %d: container.type %s is neither map nor reduce", entry, errs.Quote(string(t.Type)))
		}
	}
	j.repeat(to, time.Duration(ms)*time.Millisecond, n)
	if delay, err := t.Delay.number(0); err != nil || delay > 0 {
		j.dropped.add(int(min(n, int64(j.most))), "delays of requests for containers")
	}
	return nil
}

// Rumen reads a job trace of Rumen, as its TraceBuilder writes one for SLS, Gridmix and Mumak
// (Hadoop, hadoop-rumen, LoggedJob, LoggedTask, LoggedTaskAttempt): a JSON object for each job. A
// task has the times of its last attempt that succeeded. A task without one is not in the
// workload, and neither are the tasks of set-up and clean-up. Rumen's Folder repeats jobs with their
// IDs, so a later job of an ID gets a number. It is a Reader.
func Rumen(name string, r io.Reader, o Reading) (*Set, error) {
	s := &Set{Notes: []string{"jobs of the Rumen trace " + name}}
	seen := map[string]int{} // jobs by their IDs
	err := eachDocument(name, r, func(at string, j *rumenJob) error {
		b := o.building(at)
		b.readRumen(j)
		if b.Name == "" {
			b.err = errors.New("has no jobID; a job of Rumen is expected, and no topology")
		}
		seen[b.Name]++
		if n := seen[b.Name]; n > 1 {
			b.Name = fmt.Sprintf("%s-%d", b.Name, n)
			b.assumed.add(1, "jobs whose ID the trace repeats, which get a number")
		}
		return s.build(&b, o)
	})
	return s.result(name, err)
}

// rumenJob has the fields that are read of a LoggedJob.
type rumenJob struct {
	ID      text        `json:"jobID"`
	User    text        `json:"user"`
	Queue   text        `json:"queue"`
	Outcome text        `json:"outcome"`
	Submit  text        `json:"submitTime"`
	Maps    []rumenTask `json:"mapTasks"`
	Reduces []rumenTask `json:"reduceTasks"`
	Others  []struct{}  `json:"otherTasks"`
}

// rumenTask has the fields that are read of a LoggedTask.
type rumenTask struct {
	ID       text           `json:"taskID"`
	Attempts []rumenAttempt `json:"attempts"`
}

// rumenAttempt has the fields that are read of a LoggedTaskAttempt. An unknown time is -1, or nil.
type rumenAttempt struct {
	Result   string `json:"result"`
	Start    *int64 `json:"startTime"`
	End      *int64 `json:"finishTime"`
	Shuffled int64  `json:"shuffleFinished"`
	Emitted  int64  `json:"mapOutputBytes"`
	Copied   int64  `json:"reduceShuffleBytes"`
	Written  int64  `json:"hdfsBytesWritten"`
}

// readRumen takes the fields and the tasks of a job.
func (b *building) readRumen(j *rumenJob) {
	b.Name, b.outcome = string(j.ID), string(j.Outcome)
	b.User, b.Pool = string(j.User), string(j.Queue)
	if ms, bad := j.Submit.number(-1); bad != nil || ms < 0 {
		b.fail("submitTime %s is not a time in milliseconds", errs.Quote(string(j.Submit)))
	} else {
		b.submitted(ms)
	}
	b.dropped.add(len(j.Others), droppedOthers)
	for i := range j.Maps {
		b.recordRumen(&j.Maps[i], false)
	}
	for i := range j.Reduces {
		b.recordRumen(&j.Reduces[i], true)
	}
}

// recordRumen records a task.
func (b *building) recordRumen(t *rumenTask, reduce bool) {
	done := (*attempt)(nil)
	for _, a := range t.Attempts {
		if !slices.Contains([]string{"SUCCESS", "SUCCEEDED"}, a.Result) {
			continue
		}
		done = &attempt{reduce: reduce, start: orUnknown(a.Start), shuffled: a.Shuffled, end: orUnknown(a.End), bytes: a.Emitted, written: a.Written}
		if reduce {
			done.bytes = a.Copied
		}
	}
	if done == nil {
		b.dropped.add(len(t.Attempts), droppedAttempts)
		b.dropped.add(1, droppedTasks)
		return
	}
	b.dropped.add(len(t.Attempts)-1, droppedAttempts)
	b.record(string(t.ID), *done)
}

// orUnknown returns a time, or -1 if the trace lacks it.
func orUnknown(ms *int64) int64 {
	if ms == nil {
		return -1
	}
	return *ms
}

// These are names in a tally of what was dropped.
const (
	droppedAttempts = "attempts that failed, were killed or were replaced"
	droppedOthers   = "tasks of set-up and clean-up"
	droppedTasks    = "tasks without an attempt that succeeded"
)

// mostDocumentBytes bounds a document of a trace in JSON, which has one job.
const mostDocumentBytes = 256 << 20

// eachDocument reads JSON objects, one after the other, and calls do with each and its place. name is the file, for
// messages. It holds one object at a time. The first error ends it.
func eachDocument[T any](name string, r io.Reader, do func(at string, document *T) error) error {
	in := &lineReader{name: name, r: r}
	d := json.NewDecoder(in)
	spaces := int64(0) // between the objects
	for {
		spaces -= d.InputOffset()
		d.More() // goes to the next object
		in.begin(d.InputOffset())
		spaces += in.begins
		document := new(T)
		err := d.Decode(document)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return in.problem(err, spaces)
		}
		if err := do(in.place(in.begins), document); err != nil {
			return err
		}
	}
}

// lineReader counts the lines that it reads, so that an offset has a line.
type lineReader struct {
	name   string
	r      io.Reader
	read   int64   // bytes that were read
	begins int64   // offset of the object that is read now
	lines  int     // line ends before those in ends
	ends   []int64 // offsets of the other line ends
	err    error   // of r, or of an object that is too long
}

// Read reads from r. It fails if an object is longer than mostDocumentBytes.
func (l *lineReader) Read(p []byte) (int, error) {
	if l.read-l.begins > mostDocumentBytes {
		l.err = fmt.Errorf("a single object is longer than %d MiB", mostDocumentBytes>>20)
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

// begin says that the next object begins at offset.
func (l *lineReader) begin(offset int64) {
	n := 0
	for n < len(l.ends) && l.ends[n] < offset {
		n++
	}
	l.begins = offset
	l.lines += n
	l.ends = l.ends[n:]
}

// place returns the place of an offset in the object that is read now: "NAME:LINE".
func (l *lineReader) place(offset int64) string {
	line := l.lines + 1
	for _, end := range l.ends {
		if end < offset {
			line++
		}
	}
	return fmt.Sprintf("%s:%d", l.name, line)
}

// problem returns a decoder's error with its place. spaces is the number of bytes before and between the objects, which
// the offset of an error of syntax does not count.
func (l *lineReader) problem(err error, spaces int64) error {
	at := l.begins
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case l.err != nil:
		return errs.Inputf(l.place(l.read), "%w", errs.Cause(l.err))
	case errors.As(err, &syntax):
		at = spaces + syntax.Offset - 1
	case errors.As(err, &kind):
		at += kind.Offset - 1
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = l.read
	}
	return errs.Inputf(l.place(at), "%s", errs.OfJSON(err))
}
