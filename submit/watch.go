package submit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/stream"
)

// watcher reads what the client of a job prints (Hadoop 3.4, mapreduce.Job and StreamJob). The
// client has no form for machines, so the watcher looks for the texts of its messages. All fields
// but id belong to the goroutine of Plan.Run.
type watcher struct {
	job *report.JobReport
	l   Listener

	// mu guards id, which the goroutine that kills the job reads.
	mu sync.Mutex
	id string // of the job; "": not known yet

	running  bool     // the cluster has taken the job
	counters bool     // the counters are being printed
	counted  bool     // counters have been printed, so the job has ended
	group    string   // of the counters at hand
	reason   string   // why the job failed, as far as it was said
	last     string   // the last line that is not empty and is no counter
	silent   []string // servers that did not answer
	seen     [2]int   // percent of maps and reduces
}

// jobID returns the ID of the job, from any goroutine.
func (w *watcher) jobID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// know sets the ID of the job.
func (w *watcher) know(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
}

// line takes in one line, without its end. begun is when the plan began: times in the report are
// seconds since then. The first case that fits decides.
func (w *watcher) line(line string, begun time.Time) {
	// Counters are indented by TABs; the first line without one ends them.
	if w.counters && strings.HasPrefix(line, "\t") {
		w.counter(line)
		return
	}
	if line == "" {
		return
	}
	w.counters = false
	w.last = line
	switch message := after(line, ": "); {
	// It stands there before the cluster has the job, so that no moment is without an ID to kill.
	case strings.Contains(line, "Submitting tokens for job: "):
		w.know(after(line, "Submitting tokens for job: "))
	case strings.Contains(line, "Running job: "):
		w.running = true
		w.know(after(line, "Running job: "))
		w.l.Note(w.jobID())
	// Hadoop tries for a quarter of an hour before it gives up.
	case strings.Contains(line, "Retrying connect to server: "):
		server, _, _ := strings.Cut(after(line, "Retrying connect to server: "), ". ")
		if !slices.Contains(w.silent, server) {
			w.silent = append(w.silent, server)
			w.l.Note("no answer from " + server + "; Hadoop tries again")
		}
	case strings.Contains(line, "Counters: "):
		w.counters, w.counted = true, true
	case strings.Contains(line, "url to track the job: "):
		w.l.Note(after(line, "url to track the job: "))
	case strings.Contains(line, " map ") && strings.Contains(line, "% reduce "):
		w.progress(line[strings.Index(line, " map "):], begun)
	// The first line of a kind says the cause, those behind it what follows from it.
	case w.reason == "" && (strings.Contains(line, "Error Launching job") || strings.Contains(line, "failed with state ") || strings.Contains(line, "Error: java")):
		w.reason = message
	}
}

// after returns what follows sep for the first time, or line itself.
func after(line, sep string) string {
	if _, rest, ok := strings.Cut(line, sep); ok {
		return strings.TrimSpace(rest)
	}
	return line
}

// progress reads " map 50% reduce 0%". Hadoop repeats the line while nothing changes; the listener
// gets only changes. The client asks once a second, so MapsDoneS may be late by that much.
func (w *watcher) progress(text string, begun time.Time) {
	var now [2]int
	if n, _ := fmt.Sscanf(text, " map %d%% reduce %d%%", &now[0], &now[1]); n != 2 || now == w.seen {
		return
	}
	if now[0] == 100 && w.seen[0] < 100 {
		w.job.MapsDoneS = time.Since(begun).Seconds()
	}
	w.seen = now
	w.l.Progress(w.job.Name, now[0], now[1])
}

// counter reads a line of the counters: a group behind one TAB, a counter behind two.
func (w *watcher) counter(line string) {
	name, counter := strings.CutPrefix(line, "\t\t")
	if !counter {
		w.group = strings.TrimSpace(line)
		return
	}
	// The last one: the name of a counter may have an equals sign, a number has none.
	at := strings.LastIndexByte(name, '=')
	n, err := strconv.ParseInt(name[at+1:], 10, 64)
	if at < 0 || err != nil {
		return
	}
	w.count(name[:at], n)
}

// count takes in a counter. What the children have counted themselves replaces Hadoop's count:
// a map that folds in its table has fewer records for Hadoop than its mapper made.
func (w *watcher) count(name string, n int64) {
	c := &w.job.Counters
	if w.group == stream.CounterGroup {
		switch name {
		case "INPUT_BYTES":
			c.MapInputBytes = n
		case "MAP_OUTPUT_RECORDS":
			c.MapOutputRecords = n
		case "COMBINE_INPUT_RECORDS":
			c.CombineInputRecords = n
		case "COMBINE_OUTPUT_RECORDS":
			c.CombineOutputRecords = n
		}
		return
	}
	switch name {
	case "Map input records":
		c.MapInputRecords = n
	case "Map output records":
		// The order of groups is not fixed: the count of the children may have come before.
		first(&c.MapOutputRecords, n)
	case "Map output bytes":
		c.MapOutputBytes = n
	case "Reduce input groups":
		c.ReduceInputGroups = n
	case "Reduce input records":
		c.ReduceInputRecords = n
	case "Reduce output records":
		c.ReduceOutputRecords = n
	case "Reduce shuffle bytes":
		c.ReduceShuffleBytes = n
	case "Spilled Records":
		c.SpilledRecords = n
	case "Launched map tasks":
		c.LaunchedMaps, w.job.Maps = n, int(n)
	case "Launched reduce tasks":
		c.LaunchedReduces, w.job.Reduces = n, int(n)
	case "Data-local map tasks":
		c.DataLocalMaps = n
	case "Rack-local map tasks":
		c.GroupLocalMaps = n
	case "Failed map tasks":
		c.FailedMaps = n
	case "Failed reduce tasks":
		c.FailedReduces = n
	case "Killed map tasks":
		c.KilledMaps = n
	case "Killed reduce tasks":
		c.KilledReduces = n
	}
}

// first sets a counter that is not set yet.
func first(c *int64, n int64) {
	if *c == 0 {
		*c = n
	}
}

// These are exit codes of StreamJob. A missing input and an existing output both give 5, and so does a connection that
// is lost while the job runs.
const (
	exitUsage  = 2
	exitRefuse = 5
)

// failure returns the error of a job that ended with an exit code. err is the error of the command.
// The kind is errs.BadInput if StreamJob refused the job before the cluster took it. Any other
// failure is of kind errs.JobFailed.
func (w *watcher) failure(err error, code int) error {
	cause := errors.New(errs.OneLine(firstOf(w.reason, w.last, err.Error())))
	if !w.running && (code == exitRefuse || code == exitUsage) {
		return &errs.Error{Kind: errs.BadInput, Object: "hadoop", Cause: cause}
	}
	return &errs.Error{Kind: errs.JobFailed, Object: w.job.Name, Cause: fmt.Errorf("hadoop ended with %d: %w", code, cause)}
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
