package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mrlocal/errs"
)

// slsJob is a JSON document of a load (Hadoop, SLSConfiguration: JOB_* and TASK_*). Hadoop reads
// all values as text, so numbers may have quotes.
type slsJob struct {
	ID     text      `json:"job.id"`
	Start  text      `json:"job.start.ms"`
	Queue  text      `json:"job.queue.name"`
	User   text      `json:"job.user"`
	Count  text      `json:"job.count"`
	AMType text      `json:"am.type"`
	Tasks  []slsTask `json:"job.tasks"`
}

// slsTask is an entry of job.tasks: Count equal tasks. Times are in milliseconds.
type slsTask struct {
	Type     text `json:"container.type"`
	Start    text `json:"container.start.ms"`
	End      text `json:"container.end.ms"`
	Duration text `json:"container.duration.ms"`
	Legacy   text `json:"duration.ms"`
	Count    text `json:"count"`
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
		return fmt.Errorf("a single value is expected, not %.20s", b)
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
		return 0, fmt.Errorf("%q is not a whole number of at least 0", short(string(t)))
	}
	return n, nil
}

// mostLoadBytes bounds a load of SLS.
const mostLoadBytes = 256 << 20

// SLS reads a load of YARN's Scheduler Load Simulator: a file with a JSON document for each job
// (Hadoop, hadoop-sls, AMRunner.startAMFromSLSTrace, AMDefinitionSLS). A task lasts for its duration,
// or from its start to its end. name is the file, for messages and notes.
//
// SLS fails with errs.BadInput if r fails, or if the load is not valid or has no jobs. It reads the
// whole load into memory: messages name a line, and the JSON decoder knows only offsets in bytes.
func SLS(name string, r io.Reader) (*Set, error) {
	whole, err := io.ReadAll(io.LimitReader(r, mostLoadBytes+1))
	if err != nil {
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	}
	if len(whole) > mostLoadBytes {
		return nil, errs.Inputf(name, "longer than %d MiB; import a part of it", mostLoadBytes>>20)
	}
	// line returns the place of an offset: "NAME:LINE". It skips white space, because the decoder
	// reports a document's offset before that.
	line := func(offset int64) string {
		offset = min(max(offset, 0), int64(len(whole)))
		for offset < int64(len(whole)) && strings.IndexByte(" \t\r\n", whole[offset]) >= 0 {
			offset++
		}
		return fmt.Sprintf("%s:%d", name, bytes.Count(whole[:offset], []byte("\n"))+1)
	}
	s, d := &Set{}, json.NewDecoder(bytes.NewReader(whole))
	for number := 1; ; number++ {
		start := d.InputOffset()
		var doc slsJob
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			// A syntax error has its own offset. Other errors are reported at the document's start.
			at := start
			if x := (*json.SyntaxError)(nil); errors.As(err, &x) {
				at = x.Offset - 1
			}
			return nil, errs.Inputf(line(at), "%s", strings.TrimPrefix(err.Error(), "json: "))
		}
		if err := s.addSLS(&doc, number, line(start)); err != nil {
			return nil, errs.Inputf(line(start), "%w", err)
		}
	}
	if len(s.Jobs) == 0 {
		return nil, errs.Inputf(name, "no jobs")
	}
	s.Notes = []string{fmt.Sprintf("%d jobs of the SLS load %s; the wait of a task for its container is not in them", len(s.Jobs), name)}
	return s, s.names()
}

// addSLS adds the jobs of a document: one, or job.count of them. A job without an id gets its name
// from number, the number of the document. at is the place of the document, for messages.
func (s *Set) addSLS(doc *slsJob, number int, at string) error {
	j := TraceJob{Name: string(doc.ID), Pool: string(doc.Queue), User: string(doc.User), At: at}
	if j.Name == "" {
		j.Name = fmt.Sprintf("job_%d", number)
	}
	start, err := doc.Start.number(0)
	if err != nil {
		return fmt.Errorf("job.start.ms: %w", err)
	}
	j.Submit = time.Duration(min(start, mostSeconds*1000)) * time.Millisecond
	count, err := doc.Count.number(1)
	if err != nil || count > 100_000 {
		return fmt.Errorf("job.count: %q is not a whole number from 0 to 100000", short(string(doc.Count)))
	}
	if len(doc.Tasks) == 0 {
		return fmt.Errorf("job %s has no job.tasks", j.Name)
	}
	tasks := int64(0)
	for i := range doc.Tasks {
		n, err := j.addTask(&doc.Tasks[i])
		if tasks += n; err == nil && tasks*max(count, 1) > mostTasks {
			err = fmt.Errorf("more than %d tasks", mostTasks)
		}
		if err != nil {
			return fmt.Errorf("job %s, task %d: %w", j.Name, i, err)
		}
	}
	if j.Maps, j.Reduces = len(j.MapTimes), len(j.ReduceTimes); j.Maps == 0 {
		return fmt.Errorf("job %s has reduces and no map", j.Name)
	}
	// The jobs of one document share the lists of durations. So no function changes their elements.
	for n := range max(count, 1) {
		one := j
		if count > 1 { // the document's id cannot be the name of several jobs
			one.Name = fmt.Sprintf("%s-%d", j.Name, n)
		}
		s.Jobs = append(s.Jobs, one)
	}
	return nil
}

// addTask adds the tasks of one entry to j and returns their number n. It prefers a duration to
// start and end, and container.duration.ms to the older duration.ms. If n is over mostTasks it adds
// none and returns no error; the caller must check n.
func (j *TraceJob) addTask(t *slsTask) (n int64, err error) {
	// The four times in milliseconds, in the order of the loop; -1: not given.
	took := [4]int64{}
	for i, of := range []text{t.Duration, t.Legacy, t.Start, t.End} {
		if took[i], err = of.number(-1); err != nil {
			return 0, err
		}
	}
	ms := took[3] - took[2]
	switch {
	case took[0] >= 0:
		ms = took[0]
	case took[1] >= 0:
		ms = took[1]
	case took[2] < 0 || took[3] < 0:
		return 0, errors.New("neither container.duration.ms nor container.start.ms and container.end.ms")
	}
	if ms <= 0 || ms > mostSeconds {
		return 0, fmt.Errorf("lasts %d ms; a task lasts longer than 0, and at most %d ms", ms, int64(mostSeconds))
	}
	if n, err = t.Count.number(1); err != nil {
		return 0, err
	}
	if n = max(n, 1); n > mostTasks {
		return n, nil // the caller refuses it
	}
	to := &j.MapTimes
	switch t.Type {
	case "", "map":
	case "reduce":
		to = &j.ReduceTimes
	default:
		return 0, fmt.Errorf("container.type %q is neither map nor reduce", short(string(t.Type)))
	}
	for range n {
		*to = append(*to, time.Duration(ms)*time.Millisecond)
	}
	return n, nil
}
