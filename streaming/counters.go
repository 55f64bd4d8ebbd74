package streaming

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/report"
	"mrlocal/streaming/fields"
)

// Counter is one counter of a job.
type Counter struct {
	Group, Name string
	Value       int64
}

// Counters returns the counters of a job that has ended: those of the engine under
// Hadoop's names, and those of the commands. Groups come by their names.
func (w *Work) Counters(c report.Counters, o OutputBytes) []Counter {
	w.lock.Lock()
	defer w.lock.Unlock()
	const framework = "Map-Reduce Framework"
	for _, t := range w.counted {
		c.ReduceOutputRecords += t.dropped
	}
	// The engine counts the output of a map-only job as that of its reduces.
	mapOutput := c.MapOutputRecords
	if w.MapOnly {
		mapOutput = c.ReduceOutputRecords
	}
	var all []Counter
	if len(w.splits) > 0 {
		all = append(all, Counter{framework, "Map input records", c.MapInputRecords}, Counter{framework, "Map output records", mapOutput})
	}
	if !w.MapOnly {
		groups := c.ReduceInputGroups
		// With an order of its own each record of the engine is a group, so the groups are
		// counted by the attempts.
		if w.paired() {
			groups = 0
			for _, t := range w.counted {
				groups += t.groups
			}
		}
		all = append(all,
			Counter{framework, "Combine input records", c.CombineInputRecords}, Counter{framework, "Combine output records", c.CombineOutputRecords},
			Counter{framework, "Reduce input groups", groups}, Counter{framework, "Reduce input records", c.ReduceInputRecords},
			Counter{framework, "Reduce output records", c.ReduceOutputRecords},
			Counter{framework, "Shuffled Maps ", int64(len(w.splits) * w.Reducers)})
	}
	all = append(all, Counter{"File Output Format Counters ", "Bytes Written", int64(o)})
	all = append(all, w.users()...)
	slices.SortStableFunc(all, func(a, b Counter) int { return cmp.Compare(a.Group, b.Group) })
	return all
}

// users returns the counters of the commands, by group and name. w.lock is held.
func (w *Work) users() (all []Counter) {
	sums := map[[2]string]int64{}
	for _, t := range w.counted {
		for k, n := range t.counters {
			sums[k] += n
		}
	}
	for k, n := range sums {
		all = append(all, Counter{k[0], k[1], n})
	}
	slices.SortFunc(all, func(a, b Counter) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name)) })
	return all
}

// mostStatuses bounds the tasks whose status is in the report.
const mostStatuses = 1000

// Forget forgets what an earlier run of the same Work has counted. A nil Work has nothing.
func (w *Work) Forget() {
	if w != nil {
		w.lock.Lock()
		defer w.lock.Unlock()
		clear(w.counted)
	}
}

// Report adds the commands' own counters to the report of the job, and the last status of each
// of the first tasks that have one. A nil Work adds nothing.
func (w *Work) Report(to *report.JobReport) {
	if w == nil {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, c := range w.users() {
		to.UserCounters = append(to.UserCounters, report.UserCounter(c))
	}
	for id, t := range w.counted {
		if t.status != "" {
			to.Statuses = append(to.Statuses, report.TaskStatus{Task: id.name(), Status: t.status})
		}
	}
	slices.SortFunc(to.Statuses, func(a, b report.TaskStatus) int { return cmp.Compare(a.Task, b.Task) })
	to.Statuses = to.Statuses[:min(len(to.Statuses), mostStatuses)]
}

// OutputBytes is the size of a result.
type OutputBytes int64

// WriteCounters writes counters as Hadoop prints them: a TAB and the group, then two
// TABs and NAME=VALUE for each counter.
func WriteCounters(out io.Writer, all []Counter) error {
	text := fmt.Appendf(nil, "Counters: %d\n", len(all))
	for i, c := range all {
		if i == 0 || all[i-1].Group != c.Group {
			text = fmt.Appendf(text, "\t%s\n", c.Group)
		}
		text = fmt.Appendf(text, "\t\t%s=%d\n", c.Name, c.Value)
	}
	_, err := out.Write(text)
	return err
}

// taskID names a task of the job: its kind ("m", "r", or "c" for what combined in a
// map) and its number.
type taskID struct {
	kind string
	task int
}

// tally is what an attempt has counted beside the engine. It belongs to the attempt until keep
// or add gives it to the Work.
type tally struct {
	counters map[[2]string]int64 // by group and name
	groups   int64               // where an order makes larger groups than keys
	dropped  int64               // records of NullOutputFormat
	status   string              // the last one
}

// count adds to a counter of the user.
func (t *tally) count(group, name string, n int64) {
	if t.counters == nil {
		t.counters = map[[2]string]int64{}
	}
	t.counters[[2]string{group, name}] += n
}

// keep keeps what an attempt that has succeeded has counted. Of several attempts at a
// task the last one counts.
func (w *Work) keep(id taskID, t tally) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.counted[id] = t
}

// add adds to what was kept for a task: a map may combine several times.
func (w *Work) add(id taskID, t tally) {
	w.lock.Lock()
	defer w.lock.Unlock()
	kept := w.counted[id]
	for k, n := range t.counters {
		kept.count(k[0], k[1], n)
	}
	w.counted[id] = kept
}

// Bounds on what is kept of standard error.
const (
	mostLine   = 64 << 10 // a longer line is cut
	mostPassed = 1 << 20  // of an attempt, passed on to Options.Stderr
	mostTail   = 2 << 10  // of an attempt, for the message of its failure
)

// stderr reads what a command writes to standard error (PipeMapRed.MRErrorThread). Lines that
// begin with the prefix change counters and the status; the others are passed on. One
// goroutine calls take; the attempt reads the tally after close.
type stderr struct {
	work   *Work
	task   taskID
	tally  *tally
	prefix string
	line   []byte
	tail   []byte
	file   *os.File // nil: none
	passed int64
	most   int                 // counters
	failed error               // there were more
	tell   func(status string) // nil: nobody wants to know
}

// newStderr makes one for an attempt. If its file cannot be made, a warning says so, and the
// attempt goes on without it.
func newStderr(w *Work, id taskID, n int, t *tally) *stderr {
	e := &stderr{work: w, task: id, tally: t, prefix: w.conf.Get("stream.stderr.reporter.prefix", "reporter:"), most: w.mostCounters}
	if w.o.ErrorDir != "" {
		var err error
		if err = os.MkdirAll(w.o.ErrorDir, 0o777); err == nil {
			e.file, err = os.OpenFile(filepath.Join(w.o.ErrorDir, attemptName(id, n)+".stderr"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
		}
		if err != nil {
			w.o.Warn(err.Error())
		}
	}
	return e
}

// take takes a piece of any length, which it does not keep. Lines end with LF, CR or both.
func (e *stderr) take(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\n\r")
		if end < 0 {
			e.line = append(e.line, p...)
			if len(e.line) > mostLine {
				e.endLine()
			}
			return
		}
		e.line = append(e.line, p[:end]...)
		// CR LF ends one line: the empty line between them is left out.
		if len(e.line) > 0 || p[end] == '\n' && !(end == 0 && len(e.line) == 0) {
			e.endLine()
		}
		p = p[end+1:]
	}
}

// endLine handles a whole line.
func (e *stderr) endLine() {
	line := e.line
	e.line = e.line[:0]
	text, ours := strings.CutPrefix(string(line), e.prefix)
	if !ours {
		e.pass(line)
		return
	}
	text = string(fields.ReplaceInvalid([]byte(text)))
	if counter, ok := strings.CutPrefix(text, "counter:"); ok {
		if !e.counter(strings.TrimSpace(counter)) {
			e.work.o.Warn("Cannot parse counter line: " + e.prefix + text)
		}
	} else if status, ok := strings.CutPrefix(text, "status:"); ok {
		e.tally.status = cut(strings.TrimSpace(status))
		if e.work.showStatus(e.task, e.tally.status); e.tell != nil {
			e.tell(e.tally.status)
		}
	} else {
		e.work.o.Warn("Cannot parse reporter line: " + e.prefix + text)
	}
}

// mostStatus bounds a status (mapreduce.task.max.status.length).
const mostStatus = 512

// cut cuts a status that is too long, between two characters.
func cut(text string) string {
	if len(text) > mostStatus {
		text = strings.ToValidUTF8(text[:mostStatus], "")
	}
	return text
}

// showStatus tells Options.Status, at most once a second for the whole job.
func (w *Work) showStatus(id taskID, text string) {
	if w.o.Status == nil {
		return
	}
	w.lock.Lock()
	now := time.Now()
	show := now.Sub(w.shown) >= time.Second
	if show {
		w.shown = now
	}
	w.lock.Unlock()
	if show {
		w.o.Status(id.name() + ": " + text)
	}
}

// name returns the name of a task in messages: m_000003.
func (t taskID) name() string { return fmt.Sprintf("%s_%06d", t.kind, t.task) }

// counter reads GROUP,NAME,NUMBER.
func (e *stderr) counter(text string) bool {
	columns := strings.Split(strings.TrimRight(text, ","), ",")
	if len(columns) != 3 {
		return false
	}
	n, err := strconv.ParseInt(columns[2], 10, 64)
	if err != nil {
		return false
	}
	if _, known := e.tally.counters[[2]string{columns[0], columns[1]}]; !known && len(e.tally.counters) >= e.most {
		e.overflow()
		return true
	}
	e.tally.count(columns[0], columns[1], n)
	return true
}

// overflow is called for a counter more than an attempt may have: Hadoop fails the attempt.
func (e *stderr) overflow() {
	if e.failed != nil {
		return
	}
	e.failed = fmt.Errorf("too many counters: %d max=%d", e.most+1, e.most)
	if e.work.o.Friendly {
		e.work.o.Warn(e.failed.Error() + "; the others are dropped here, and Hadoop fails the task")
	}
}

// pass passes a line on and remembers it for a message. tail is cut when it is twice as long
// as needed, so that each byte is moved once on average.
func (e *stderr) pass(line []byte) {
	if e.tail = append(append(e.tail, line...), '\n'); len(e.tail) > 2*mostTail {
		e.tail = e.tail[:copy(e.tail, e.tail[len(e.tail)-mostTail:])]
	}
	if e.file != nil {
		_, _ = e.file.Write(append(line, '\n')) // a full disk loses messages, not results
	}
	e.passed += int64(len(line)) + 1
	if e.work.o.Stderr == nil || e.passed > mostPassed {
		return
	}
	e.work.quiet.Lock()
	defer e.work.quiet.Unlock()
	_, _ = e.work.o.Stderr.Write(append(bytes.Clone(line), '\n'))
}

// close ends the last line.
func (e *stderr) close() {
	if len(e.line) > 0 {
		e.endLine()
	}
	if e.file != nil {
		_ = e.file.Close()
		e.file = nil
	}
	if e.passed > mostPassed {
		e.work.o.Warn(fmt.Sprintf("a command wrote %d bytes to standard error; %d were shown", e.passed, mostPassed))
		e.passed = 0
	}
}

// last returns the last line of standard error, for a message.
func (e *stderr) last() string {
	text := strings.TrimSpace(string(e.tail))
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}
