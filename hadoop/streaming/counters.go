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

	"mrlocal/internal/errs"
	"mrlocal/slots/report"
)

// Counters returns the counters of a job that has ended, sorted by group. c has the
// engine's counters, which get Hadoop's names. The commands' own counters are added.
func (w *Work) Counters(c report.Counters) []report.UserCounter {
	w.lock.Lock()
	defer w.lock.Unlock()
	const framework = "Map-Reduce Framework"
	// The engine has not seen the records that a job without output dropped.
	for _, t := range w.counted {
		c.ReduceOutputRecords += t.dropped
	}
	// The engine counts the records of a map-only job as output of reduces.
	mapOutput := c.MapOutputRecords
	if w.MapOnly {
		mapOutput = c.ReduceOutputRecords
	}
	var all []report.UserCounter
	count := func(group, name string, n int64) {
		all = append(all, report.UserCounter{Group: group, Name: name, Value: n})
	}
	if len(w.splits) > 0 {
		count(framework, "Map input records", c.MapInputRecords)
		count(framework, "Map output records", mapOutput)
	}
	if !w.MapOnly {
		groups := c.ReduceInputGroups
		// In a paired job the engine's keys differ from those of the job, so the attempts have
		// counted the groups.
		if w.paired() {
			groups = 0
			for _, t := range w.counted {
				groups += t.groups
			}
		}
		count(framework, "Combine input records", c.CombineInputRecords)
		count(framework, "Combine output records", c.CombineOutputRecords)
		count(framework, "Reduce input groups", groups)
		count(framework, "Reduce input records", c.ReduceInputRecords)
		count(framework, "Reduce output records", c.ReduceOutputRecords)
		count(framework, "Shuffled Maps ", int64(len(w.splits)*w.Reducers))
	}
	count("File Output Format Counters ", "Bytes Written", c.OutputBytes)
	all = append(all, w.users()...)
	slices.SortStableFunc(all, func(a, b report.UserCounter) int { return cmp.Compare(a.Group, b.Group) })
	return all
}

// users returns the counters of the commands, sorted by group and name. The caller holds
// w.lock.
func (w *Work) users() (all []report.UserCounter) {
	sums := map[[2]string]int64{}
	for _, t := range w.counted {
		for k, n := range t.counters {
			sums[k] += n
		}
	}
	for k, n := range sums {
		all = append(all, report.UserCounter{Group: k[0], Name: k[1], Value: n})
	}
	slices.SortFunc(all, func(a, b report.UserCounter) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// mostStatuses limits the number of tasks whose status is in the report.
const mostStatuses = 1000

// Forget clears the counters of an earlier run, before the Work runs again.
func (w *Work) Forget() {
	w.lock.Lock()
	defer w.lock.Unlock()
	clear(w.counted)
}

// Report adds the commands' own counters to the report of the job. It also adds the last status
// of tasks, of the first 1,000 that have one.
func (w *Work) Report(to *report.JobReport) {
	w.lock.Lock()
	defer w.lock.Unlock()
	to.UserCounters = append(to.UserCounters, w.users()...)
	for id, t := range w.counted {
		if t.status != "" {
			to.Statuses = append(to.Statuses, report.TaskStatus{Task: id.name(), Status: t.status})
		}
	}
	slices.SortFunc(to.Statuses, func(a, b report.TaskStatus) int { return cmp.Compare(a.Task, b.Task) })
	to.Statuses = to.Statuses[:min(len(to.Statuses), mostStatuses)]
}

// WriteCounters writes Counters as Hadoop prints them: a TAB and the group, then two
// TABs and NAME=VALUE for each counter.
func (w *Work) WriteCounters(out io.Writer, c report.Counters) error {
	all := w.Counters(c)
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

// taskID names a task of the job: its kind and its number, from 0. The kind is "m", "r",
// or "c" for the combines of map number task.
type taskID struct {
	kind string
	task int
}

// tally is what an attempt counts in addition to the engine. It belongs to the attempt until the
// attempt passes it to keep or add.
type tally struct {
	counters map[[2]string]int64 // of the commands, by group and name
	groups   int64               // keys that a reduce got, in a paired job
	dropped  int64               // records that NullOutputFormat drops
	status   string              // the last status that the command reported
}

// count adds n to a counter of the command.
func (t *tally) count(group, name string, n int64) {
	if t.counters == nil {
		t.counters = map[[2]string]int64{}
	}
	t.counters[[2]string{group, name}] += n
}

// keep stores the tally of an attempt that has succeeded. It replaces that of an earlier
// attempt at the same task.
func (w *Work) keep(id taskID, t tally) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.counted[id] = t
}

// add adds counters to those that were kept for a task, since a map may combine several
// times.
func (w *Work) add(id taskID, t tally) {
	w.lock.Lock()
	defer w.lock.Unlock()
	kept := w.counted[id]
	for k, n := range t.counters {
		kept.count(k[0], k[1], n)
	}
	w.counted[id] = kept
}

// Limits on standard error, in bytes.
const (
	mostLine   = 64 << 10 // of a line; a longer one counts as several
	mostPassed = 1 << 20  // that an attempt passes on to Options.Stderr
	mostTail   = 2 << 10  // that an attempt keeps for its error message
)

// stderr reads what a command writes to standard error (PipeMapRed.MRErrorThread). Lines that
// begin with the prefix change counters and the status. The others are passed on. Only the
// goroutine of the attempt uses it.
type stderr struct {
	work        *Work
	task        taskID
	tally       *tally   // of the attempt
	prefix      string   // of lines for Hadoop, by default "reporter:"
	line        []byte   // the part of a line that was read so far
	afterCR     bool     // the last byte was CR, so LF ends no further line
	tail        []byte   // the last lines that were passed on
	file        *os.File // also gets the lines that are passed on; nil: none
	passed      int64    // bytes that were passed on, with those beyond mostPassed
	maxCounters int
	failed      error               // the command makes more counters than it may; nil: it does not
	status      func(status string) // gets each new status; nil: none does
}

// newStderr makes the stderr of attempt n at a task. It counts in t. If the file of the
// attempt cannot be made, a warning says so, and the attempt goes on without it.
func newStderr(w *Work, id taskID, n int, t *tally) *stderr {
	e := &stderr{work: w, task: id, tally: t, prefix: w.conf.Get("stream.stderr.reporter.prefix", "reporter:"), maxCounters: w.mostCounters}
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

// read takes p, which is any part of standard error, and borrows it during the call. Lines
// end with LF, CR or CR LF.
func (e *stderr) read(p []byte) {
	for len(p) > 0 {
		if e.afterCR && p[0] == '\n' {
			e.afterCR, p = false, p[1:]
			continue
		}
		e.afterCR = false
		end := bytes.IndexAny(p, "\n\r")
		if len(e.line) > mostLine && end != 0 {
			e.endLine()
		}
		if end < 0 {
			e.line = append(e.line, p...)
			return
		}
		e.line = append(e.line, p[:end]...)
		e.endLine()
		e.afterCR, p = p[end] == '\r', p[end+1:]
	}
}

// endLine takes the whole line in e.line and clears it.
func (e *stderr) endLine() {
	line := e.line
	e.line = e.line[:0]
	text, ours := strings.CutPrefix(string(line), e.prefix)
	if !ours {
		e.pass(line)
		return
	}
	text = string(ReplaceInvalid([]byte(text)))
	if counter, ok := strings.CutPrefix(text, "counter:"); ok {
		if !e.counter(strings.TrimSpace(counter)) {
			e.work.o.Warn("Cannot parse counter line: " + e.prefix + text)
		}
	} else if status, ok := strings.CutPrefix(text, "status:"); ok {
		status = errs.OneLine(strings.TrimSpace(status)) // it may reach a terminal
		e.tally.status = strings.ToValidUTF8(status[:min(len(status), mostStatus)], "")
		if e.work.showStatus(e.task, e.tally.status); e.status != nil {
			e.status(e.tally.status)
		}
	} else {
		e.work.o.Warn("Cannot parse reporter line: " + e.prefix + text)
	}
}

// mostStatus is the limit on a status, in bytes (mapreduce.task.max.status.length). A longer one ends between two
// characters.
const mostStatus = 512

// showStatus passes a status to Options.Status, but at most one per second of the whole job.
func (w *Work) showStatus(id taskID, text string) {
	if w.o.Status == nil {
		return
	}
	w.lock.Lock()
	now := time.Now()
	show := now.Sub(w.statusShown) >= time.Second
	if show {
		w.statusShown = now
	}
	w.lock.Unlock()
	if show {
		w.o.Status(id.name() + ": " + text)
	}
}

// name returns the name of a task in messages: m_000003.
func (t taskID) name() string { return fmt.Sprintf("%s_%06d", t.kind, t.task) }

// counter reads GROUP,NAME,NUMBER and adds the number to the counter. It returns false if
// text has another form.
func (e *stderr) counter(text string) bool {
	columns := strings.Split(strings.TrimRight(text, ","), ",")
	if len(columns) != 3 {
		return false
	}
	n, err := strconv.ParseInt(columns[2], 10, 64)
	if err != nil {
		return false
	}
	if _, known := e.tally.counters[[2]string{columns[0], columns[1]}]; !known && len(e.tally.counters) >= e.maxCounters {
		// Hadoop fails the attempt then. A friendly job only warns.
		if e.failed == nil && e.work.o.Friendly {
			e.work.o.Warn(fmt.Sprintf("too many counters: %d max=%d; the others are dropped here, and Hadoop fails the task", e.maxCounters+1, e.maxCounters))
		}
		e.failed = fmt.Errorf("too many counters: %d max=%d", e.maxCounters+1, e.maxCounters)
		return true
	}
	e.tally.count(columns[0], columns[1], n)
	return true
}

// pass passes a line on to the file and to Options.Stderr, and keeps it for an error message.
// tail is cut only when it is twice as long as needed, so each byte is moved once on average.
func (e *stderr) pass(line []byte) {
	if e.tail = append(append(e.tail, line...), '\n'); len(e.tail) > 2*mostTail {
		e.tail = e.tail[:copy(e.tail, e.tail[len(e.tail)-mostTail:])]
	}
	if e.file != nil {
		_, _ = e.file.Write(append(line, '\n')) // an error loses messages, but no results
	}
	e.passed += int64(len(line)) + 1
	if e.work.o.Stderr == nil || e.passed > mostPassed {
		return
	}
	e.work.stderrLock.Lock()
	defer e.work.stderrLock.Unlock()
	_, _ = e.work.o.Stderr.Write(append(bytes.Clone(line), '\n'))
}

// close ends the last line and closes the file. It warns if lines were not shown. It may be
// called again.
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

// last returns ": " and the last line that was passed on, for an error message, or "".
func (e *stderr) last() string {
	text := strings.TrimSpace(string(e.tail))
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}
