package source

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"mrlocal/internal/errs"
)

// History1 reads the histories of Hadoop 1.x and 0.x (Hadoop, JobHistory.parseHistoryFromFS),
// of one job or of several. A record has a type and fields KEY="VALUE", and ends with a dot at the
// end of a line. In a value, a backslash stands before each quote, dot and equals sign. Older
// histories do not begin with Meta. There a line is a record, and nothing is escaped. Log files of
// Rumen join histories and configurations by lines of a form feed and !!FILE=NAME!!
// (ConcatenatedInputFilesDemuxer), which History1 reads too.
//
// The tasks and the bytes of a job are those of History. It is a Reader.
func History1(name string, r io.Reader, o Reading) (*Set, error) {
	h := &history1{o: o, set: &Set{Notes: []string{"jobs of the Hadoop 1.x history " + name}}, jobs: map[string]*past{}, started: map[string]int64{}}
	err := eachLine(name, r, h.line)
	if err == nil {
		err = h.end()
	}
	for _, p := range h.order {
		if err == nil {
			err = p.add(h.set, o)
		}
	}
	return h.set.result(name, err)
}

// history1 is the state of History1.
type history1 struct {
	o       Reading
	set     *Set
	jobs    map[string]*past // by their IDs
	order   []*past          // the same jobs as they come
	started map[string]int64 // of all jobs, see past

	// One of the files in the text.
	begun, escaped bool            // something was read; it begins with Meta
	skipping       bool            // it is a configuration
	record         strings.Builder // the lines of a record that has not ended
	recordAt       string          // the place of the last record
}

// line takes a line of the text.
func (h *history1) line(at, line string) error {
	if strings.HasPrefix(line, "\f!!FILE=") {
		err := h.end()
		h.begun, h.skipping = false, strings.HasSuffix(strings.TrimSpace(line), "_conf.xml!!")
		return err
	}
	if h.skipping {
		return nil
	}
	line = strings.TrimRight(line, " \t\r")
	if h.record.Len() == 0 {
		if line == "" {
			return nil
		}
		h.recordAt = at
	} else {
		h.record.WriteByte('\n')
	}
	if !h.begun {
		h.begun, h.escaped = true, strings.HasPrefix(line, "Meta ")
	}
	h.record.WriteString(line)
	if h.record.Len() > mostLineBytes {
		return h.bad(fmt.Errorf("a record of more than %d MiB", mostLineBytes>>20))
	}
	if h.escaped && (!strings.HasSuffix(line, ".") || strings.HasSuffix(line, `\.`)) {
		return nil
	}
	err := h.read(h.record.String())
	h.record.Reset()
	if err != nil {
		return h.bad(err)
	}
	return nil
}

// end checks that no record is cut short by the end of a file.
func (h *history1) end() error {
	if h.record.Len() == 0 {
		return nil
	}
	return h.bad(errors.New("the record is cut short"))
}

// bad drops the record, or returns err with its place. Hadoop ignores such records, too.
func (h *history1) bad(err error) error {
	h.record.Reset()
	if h.o.SkipFailed {
		h.set.dropped.add(1, "records that cannot be read")
		return nil
	}
	return errs.Inputf(h.recordAt, "%w", &Failure{Err: err})
}

// job returns the job of that ID, which may be new.
func (h *history1) job(id string) *past {
	p := h.jobs[id]
	if p == nil {
		p = newPast(h.recordAt, h.o)
		p.started = h.started
		h.jobs[id], h.order = p, append(h.order, p)
	}
	return p
}

// read reads a whole record.
func (h *history1) read(record string) error {
	kind, of, err := fields1(record, h.escaped)
	if err != nil {
		return err
	}
	switch kind {
	case "Meta", "Jobtracker", "Task":
	case "Job":
		return h.readJob(of)
	case "MapAttempt", "ReduceAttempt":
		return h.readAttempt(kind == "ReduceAttempt", of)
	default:
		return fmt.Errorf("%s is not a record of a history of Hadoop 1.x; a .jhist file has another format", errs.Quote(kind))
	}
	return nil
}

// readJob reads a record about a job. Only its last one has the outcome.
func (h *history1) readJob(of map[string]string) error {
	id := of["JOBID"]
	if id == "" {
		return fmt.Errorf("the record of a job has no JOBID")
	}
	p := h.job(id)
	if submit, ok := of["SUBMIT_TIME"]; ok {
		ms, err := text(submit).number(0)
		if err != nil {
			return fmt.Errorf("SUBMIT_TIME: %w", err)
		}
		p.submitted(ms)
		p.Name = id
		p.User = of["USER"]
		p.Pool = of["JOB_QUEUE"]
	}
	if of["FINISH_TIME"] != "" {
		p.outcome = of["JOB_STATUS"]
	}
	return nil
}

// readAttempt reads the start or the end of an attempt.
func (h *history1) readAttempt(reduce bool, of map[string]string) error {
	// The ID of a task is task_CLUSTER_JOB_KIND_NUMBER, or tip_... in old histories.
	id := strings.Split(of["TASKID"], "_")
	if len(id) < 4 {
		return fmt.Errorf("TASKID %s is not the ID of a task", errs.Quote(of["TASKID"]))
	}
	p := h.job("job_" + id[1] + "_" + id[2])
	var at [3]int64
	for i, key := range []string{"START_TIME", "SHUFFLE_FINISHED", "FINISH_TIME"} {
		var err error
		if at[i], err = text(of[key]).number(-1); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	attemptID := of["TASK_ATTEMPT_ID"]
	if kind := of["TASK_TYPE"]; kind == "SETUP" || kind == "CLEANUP" {
		if at[0] >= 0 {
			p.dropped.add(1, droppedOthers)
		}
		return nil
	}
	if at[0] >= 0 {
		if err := p.start(attemptID, at[0]); err != nil {
			return err
		}
	}
	if of["TASK_STATUS"] != "SUCCESS" {
		return nil
	}
	a := attempt{reduce: reduce, shuffled: at[1], end: at[2]}
	a.count(counters1(of["COUNTERS"]))
	return p.finish(of["TASKID"], attemptID, a)
}

// value1 is a value with the quote at its end, and escape1 a character behind a backslash.
var value1, escape1 = regexp.MustCompile(`(?s)^(?:[^"\\]|\\.)*"`), regexp.MustCompile(`(?s)\\(.)`)

// fields1 returns the type and the fields of a record. If escaped is true, backslashes before
// characters of values are removed.
func fields1(record string, escaped bool) (kind string, of map[string]string, err error) {
	kind, rest, _ := strings.Cut(record, " ")
	of = map[string]string{}
	for {
		if rest = strings.TrimSpace(rest); rest == "" || rest == "." {
			return kind, of, nil
		}
		key, after, ok := strings.Cut(rest, `="`)
		if !ok || strings.ContainsAny(key, " \t\n\"") {
			return kind, of, fmt.Errorf(`%s is not KEY="VALUE"`, errs.Quote(rest))
		}
		value := value1.FindString(after)
		if value == "" {
			return kind, of, fmt.Errorf("the value of %s has no end", errs.Quote(key))
		}
		rest = after[len(value):]
		if of[key] = value[:len(value)-1]; escaped {
			of[key] = escape1.ReplaceAllString(of[key], "$1")
		}
	}
}

// counters1 returns the counters of a text: {(GROUP)(words)[(NAME)(words)(VALUE)]...}... Before Hadoop
// 0.20 it is a list of GROUP.Words:VALUE with commas. A value that is not a number counts as 0.
func counters1(all string) map[string]int64 {
	of := map[string]int64{}
	groups := strings.Split(all, "[(")
	for _, c := range groups[1:] {
		c, _, _ = strings.Cut(c, ")]")
		name, _, _ := strings.Cut(c, ")")
		of[name], _ = text(c[strings.LastIndexByte(c, '(')+1:]).number(0)
	}
	if len(groups) > 1 {
		return of
	}
	for _, c := range strings.Split(all, ",") {
		words, value, _ := strings.Cut(c, ":")
		name := words[strings.LastIndexByte(words, '.')+1:]
		of[strings.ToUpper(strings.ReplaceAll(name, " ", "_"))], _ = text(value).number(0)
	}
	return of
}
