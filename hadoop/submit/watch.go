package submit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/slots/report"
)

// watcher reads the output of Hadoop's client for a job (Hadoop 3.4, mapreduce.Job and StreamJob).
// The client prints text for people only, so the watcher looks for the words of its messages. All
// fields but id belong to the goroutine of Plan.Run.
type watcher struct {
	job *report.JobReport // is filled in
	l   Listener

	id atomic.Value // of the job, a string; the goroutine that kills the job reads it

	accepted bool     // the cluster has the job
	counted  bool     // counters were printed, so the job has ended
	counters bool     // the last line was one of the counters
	group    string   // of the last counters
	reason   string   // first message about a failure; "": none
	last     string   // the last line that is not empty and is not a counter
	silent   []string // servers that did not answer
	seen     [2]int   // the last percentages of maps and reduces
}

// jobID returns the ID of the job, from any goroutine.
func (w *watcher) jobID() string {
	id, _ := w.id.Load().(string) // not known yet: ""
	return id
}

// line takes one line, without its end. begun is when Run began; times in the report are seconds
// since then. Of the cases below, the first that fits counts.
func (w *watcher) line(line string, begun time.Time) {
	// Counters are indented by TABs. The first line without a TAB ends them.
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
	// The client prints this before the cluster has the job, so a job can always be killed.
	case strings.Contains(line, "Submitting tokens for job: "):
		w.id.Store(after(line, "Submitting tokens for job: "))
	case strings.Contains(line, "Running job: "):
		w.accepted = true
		w.id.Store(after(line, "Running job: "))
		w.l.Note(w.jobID())
	// Hadoop tries for a quarter of an hour before it gives up, so the user gets one note a server.
	case strings.Contains(line, "Retrying connect to server: "):
		server, _, _ := strings.Cut(after(line, "Retrying connect to server: "), ". ")
		if !slices.Contains(w.silent, server) {
			w.silent = append(w.silent, server)
			w.l.Note("no answer from " + server + "; Hadoop tries again")
		}
	case strings.Contains(line, "Counters: "):
		w.accepted, w.counters, w.counted = true, true, true
	case strings.Contains(line, "url to track the job: "):
		w.l.Note(after(line, "url to track the job: "))
	case strings.Contains(line, " map ") && strings.Contains(line, "% reduce "):
		w.progress(line[strings.Index(line, " map "):], begun)
	// The first such line has the cause. Later ones report its consequences.
	case w.reason == "" && (strings.Contains(line, "Error Launching job") || strings.Contains(line, "failed with state ") || strings.Contains(line, "Error: java")):
		w.reason = message
	}
}

// after returns the part of line behind the first sep, without spaces at its ends. It returns line
// if there is no sep.
func after(line, sep string) string {
	if _, rest, ok := strings.Cut(line, sep); ok {
		return strings.TrimSpace(rest)
	}
	return line
}

// progress reads " map 50% reduce 0%" and passes changes to the Listener. Hadoop's client asks the
// cluster once a second, so MapsDoneS may be late by a second.
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

// counter reads a line of the counters: a group behind one TAB, or NAME=VALUE behind two.
func (w *watcher) counter(line string) {
	name, counter := strings.CutPrefix(line, "\t\t")
	if !counter {
		w.group = strings.TrimSpace(line)
		return
	}
	// The name of a counter may have equals signs, so the last one counts.
	at := strings.LastIndexByte(name, '=')
	n, err := strconv.ParseInt(name[at+1:], 10, 64)
	if at < 0 || err != nil {
		return
	}
	w.count(name[:at], n)
}

// count puts a counter into the report. The children's own counters replace those of Hadoop, because
// a map that folds writes fewer records than its mapper emits.
func (w *watcher) count(name string, n int64) {
	c := &w.job.Counters
	own := map[string]*int64{
		"INPUT_BYTES": &c.MapInputBytes, "MAP_OUTPUT_RECORDS": &c.MapOutputRecords,
		"COMBINE_INPUT_RECORDS": &c.CombineInputRecords, "COMBINE_OUTPUT_RECORDS": &c.CombineOutputRecords,
		"MAP_INPUT_RECORDS": &c.MapInputRecords, "REDUCE_INPUT_GROUPS": &c.ReduceInputGroups,
		"REDUCE_INPUT_RECORDS": &c.ReduceInputRecords, "REDUCE_OUTPUT_RECORDS": &c.ReduceOutputRecords,
	}
	hadoop := map[string]*int64{
		"Map input records": &c.MapInputRecords, "Map output bytes": &c.MapOutputBytes,
		"Reduce input groups": &c.ReduceInputGroups, "Reduce input records": &c.ReduceInputRecords,
		"Reduce output records": &c.ReduceOutputRecords, "Reduce shuffle bytes": &c.ReduceShuffleBytes,
		"Spilled Records": &c.SpilledRecords, "Launched map tasks": &c.LaunchedMaps, "Launched reduce tasks": &c.LaunchedReduces,
		"Data-local map tasks": &c.DataLocalMaps, "Rack-local map tasks": &c.GroupLocalMaps,
		"Failed map tasks": &c.FailedMaps, "Failed reduce tasks": &c.FailedReduces,
		"Killed map tasks": &c.KilledMaps, "Killed reduce tasks": &c.KilledReduces,
	}
	to := hadoop[name]
	switch {
	case w.group == stream.CounterGroup:
		to = own[name]
	// Groups come in any order, so the children's count may be there already.
	case name == "Map output records" && c.MapOutputRecords == 0:
		to = &c.MapOutputRecords
	}
	if to != nil {
		*to = n
	}
	w.job.Maps, w.job.Reduces = int(c.LaunchedMaps), int(c.LaunchedReduces)
}

// These are exit codes of StreamJob. A missing input and an existing output give exitRefuse. So does a
// connection that is lost while the job runs.
const (
	exitUsage  = 2
	exitRefuse = 5
)

// failure returns the error of a job whose command failed with err and the exit code. Its kind is
// errs.BadInput if StreamJob refused the job before the cluster accepted it, and otherwise
// errs.JobFailed.
func (w *watcher) failure(err error, code int) error {
	cause := errors.New(errs.OneLine(cmp.Or(w.reason, w.last, err.Error())))
	if !w.accepted && (code == exitRefuse || code == exitUsage) {
		return &errs.Error{Kind: errs.BadInput, Object: "hadoop", Cause: cause}
	}
	return &errs.Error{Kind: errs.JobFailed, Object: w.job.Name, Cause: fmt.Errorf("hadoop ended with %d: %w", code, cause)}
}
