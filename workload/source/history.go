package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mrlocal/errs"
)

// event holds the fields of the events of a history that are read (Hadoop, Events.avpr:
// JobSubmitted, JobQueueChange, TaskAttemptStarted, MapAttemptFinished,
// ReduceAttemptFinished). Times are in milliseconds since 1970.
type event struct {
	JobID     string `json:"jobid"`
	UserName  string `json:"userName"`
	Queue     string `json:"jobQueueName"`
	Submitted int64  `json:"submitTime"`

	TaskID    string `json:"taskid"`
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

// counter returns a counter of any group; 0 if there is none.
func (e *event) counter(name string) int64 {
	for _, g := range e.Counters.Groups {
		for _, c := range g.Counts {
			if c.Name == name {
				return c.Value
			}
		}
	}
	return 0
}

// past is a job of a history while it is read. Its maps have an entry for each attempt that started
// and for each task that succeeded; keys are the IDs of Hadoop.
type past struct {
	job      TraceJob
	started  map[string]int64         // by attempt
	maps     map[string]time.Duration // by task
	reduces  map[string]time.Duration // by task, from the end of the shuffle
	outputs  int64                    // of all maps, in bytes
	attempts int                      // that were started
}

// History reads the history of a job that Hadoop has written, a .jhist file: the word
// Avro-Json, the schema, and then an event in JSON on each line (Hadoop, EventWriter,
// EventReader); or the same in Avro's binary form. The tasks of the job are those that
// succeeded. A map lasts from its start to its end, and a reduce from the end of its shuffle.
// map_output is the mean of what the maps left. Failed attempts are not in the workload.
func History(name string, r io.Reader) (*Set, error) {
	p := past{started: map[string]int64{}, maps: map[string]time.Duration{}, reduces: map[string]time.Duration{}}
	in := bufio.NewReader(r)
	// Peek fails for a shorter file, which the reader of lines then refuses.
	if first, _ := in.Peek(len(avroBinary)); string(first) == avroBinary {
		if err := binaryHistory(name, in, p.take); err != nil {
			return nil, err
		}
		return p.set(name)
	}
	n := 0 // lines with something on them
	err := eachLine(name, in, func(at, line string) error {
		line = strings.TrimSpace(line)
		if line == "" {
			return nil
		}
		n++
		switch {
		case n == 1 && line != "Avro-Json":
			return errs.Inputf(at, "%q is no history; a .jhist file begins with Avro-Json or Avro-Binary", short(line))
		case n <= 2: // the schema
			return nil
		}
		if err := p.take(line); err != nil {
			return errs.Inputf(at, "%s", strings.TrimPrefix(err.Error(), "json: "))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.set(name)
}

// take adds an event, as it stands in Avro's JSON form. Events of other types are skipped.
func (p *past) take(line string) error {
	var of struct {
		Type  string                     `json:"type"`
		Event map[string]json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal([]byte(line), &of); err != nil {
		return err
	}
	// The event is a union of Avro, so the only field is called by the record's full name.
	for union, body := range of.Event {
		var e event
		kind := union[strings.LastIndexByte(union, '.')+1:]
		switch kind {
		case "JobSubmitted", "JobQueueChange", "TaskAttemptStarted", "MapAttemptFinished", "ReduceAttemptFinished":
			if err := json.Unmarshal(body, &e); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
		}
		switch kind {
		case "JobSubmitted":
			p.job.Name, p.job.User, p.job.Pool = e.JobID, e.UserName, e.Queue
			// Bounded before it becomes nanoseconds, which a hostile number would overflow.
			p.job.Submit = time.Duration(min(max(e.Submitted, 0), mostSeconds*1000)) * time.Millisecond
		case "JobQueueChange":
			p.job.Pool = e.Queue
		case "TaskAttemptStarted":
			p.started[e.AttemptID] = e.Started
			p.attempts++
		case "MapAttemptFinished", "ReduceAttemptFinished":
			return p.finish(&e, kind)
		}
	}
	return nil
}

// finish takes in an attempt that has succeeded. A map whose output was lost has several;
// the last one counts.
func (p *past) finish(e *event, kind string) error {
	start, ok := p.started[e.AttemptID]
	if !ok {
		return fmt.Errorf("%s: attempt %s ends and has not started", kind, short(e.AttemptID))
	}
	// A reduce waits in its shuffle for maps, and that wait belongs to the cluster that ran it.
	// So the time of a reduce begins at the end of its shuffle.
	to := p.maps
	if kind == "ReduceAttemptFinished" {
		to, start = p.reduces, max(start, e.Shuffled)
	}
	// In milliseconds this bound is 58 days, longer than any attempt and far from an overflow.
	if e.Finished < start || e.Finished-start > mostSeconds {
		return fmt.Errorf("%s: attempt %s ends %d ms after its start", kind, short(e.AttemptID), e.Finished-start)
	}
	// A map that ran again leaves the same output, so its bytes count once.
	if _, again := to[e.TaskID]; !again && kind == "MapAttemptFinished" {
		// Materialized bytes are those after compression, which a reduce copies. Local runs have
		// only the others.
		bytes := e.counter("MAP_OUTPUT_MATERIALIZED_BYTES")
		if bytes == 0 {
			bytes = e.counter("MAP_OUTPUT_BYTES")
		}
		p.outputs += min(max(bytes, 0), 1<<40)
	}
	to[e.TaskID] = time.Duration(e.Finished-start) * time.Millisecond
	return nil
}

// set makes the one job of the history. It fails if the history has no submission or no map that
// succeeded, as after a failure or in a file that is cut short. name is the file, for errors.
func (p *past) set(name string) (*Set, error) {
	j := p.job
	j.At = name
	switch {
	case j.Name == "":
		return nil, errs.Inputf(name, "no job was submitted")
	case len(p.maps) == 0:
		return nil, errs.Inputf(name, "no map of job %s has succeeded", j.Name)
	}
	// By id, so that the same history gives the same file.
	inOrder := func(tasks map[string]time.Duration) (all []time.Duration) {
		for _, id := range slices.Sorted(maps.Keys(tasks)) {
			all = append(all, tasks[id])
		}
		return all
	}
	j.MapTimes, j.ReduceTimes = inOrder(p.maps), inOrder(p.reduces)
	j.Maps, j.Reduces = len(j.MapTimes), len(j.ReduceTimes)
	j.MapOutputBytes = p.outputs / int64(j.Maps)
	s := &Set{Jobs: []TraceJob{j}, Notes: []string{fmt.Sprintf("job %s of the history %s: %d of its %d attempts succeeded", j.Name, name, j.Maps+j.Reduces, p.attempts)}}
	return s, s.names()
}

// Join puts the notes, pools and jobs of several sets together, in the order of sets. Submissions
// stay as they are; Scale sorts them. The result shares the lists of task durations with sets. Join
// fails with an error of kind errs.BadInput if two jobs have one name.
func Join(sets []*Set) (*Set, error) {
	all := &Set{}
	for _, s := range sets {
		all.Notes, all.Pools, all.Jobs = append(all.Notes, s.Notes...), append(all.Pools, s.Pools...), append(all.Jobs, s.Jobs...)
	}
	return all, all.names()
}
