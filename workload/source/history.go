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

// event holds the fields that History reads of events (Hadoop, Events.avpr: JobSubmitted,
// JobQueueChange, TaskAttemptStarted, MapAttemptFinished, ReduceAttemptFinished). Times are in
// milliseconds since 1970.
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

// counter returns the counter of that name from any group; 0: there is none.
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

// past is the job of a history while the history is read. The keys are Hadoop's IDs.
type past struct {
	job      TraceJob
	started  map[string]int64         // the start of each attempt, in milliseconds since 1970
	maps     map[string]time.Duration // the time of each map that succeeded
	reduces  map[string]time.Duration // the time of each reduce that succeeded, after its shuffle
	outputs  int64                    // bytes of map output of all maps
	attempts int                      // number of attempts that started
}

// History reads the history of one job, a .jhist file of Hadoop (Hadoop, EventWriter, EventReader).
// Its first line is Avro-Json, and then come a line with the schema and a line of JSON for each
// event. Or the file is in Avro's binary form. name is the file, for messages and notes.
//
// The job gets the tasks that succeeded; failed attempts are not in the workload. A map lasts from
// its start to its end, and a reduce from the end of its shuffle to its end. MapOutputBytes is the
// mean over all maps. History fails with errs.BadInput if r fails, the file is not valid, or no map
// succeeded.
func History(name string, r io.Reader) (*Set, error) {
	p := past{started: map[string]int64{}, maps: map[string]time.Duration{}, reduces: map[string]time.Duration{}}
	in := bufio.NewReader(r)
	// Peek fails for a shorter file, which eachLine below then refuses.
	if first, _ := in.Peek(len(avroBinary)); string(first) == avroBinary {
		if err := binaryHistory(name, in, p.take); err != nil {
			return nil, err
		}
		return p.set(name)
	}
	n := 0 // lines that are not empty
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

// take adds an event in Avro's JSON form. It skips events of a type that History does not read.
func (p *past) take(line string) error {
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
		case "JobSubmitted", "JobQueueChange", "TaskAttemptStarted", "MapAttemptFinished", "ReduceAttemptFinished":
			if err := json.Unmarshal(body, &e); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
		}
		switch kind {
		case "JobSubmitted":
			p.job.Name, p.job.User, p.job.Pool = e.JobID, e.UserName, e.Queue
			// The bound keeps a hostile number from overflowing when it becomes nanoseconds.
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

// finish adds an attempt that succeeded. A map has several of them if its output was lost. The last
// one counts.
func (p *past) finish(e *event, kind string) error {
	start, ok := p.started[e.AttemptID]
	if !ok {
		return fmt.Errorf("%s: attempt %s ends, but has not started", kind, short(e.AttemptID))
	}
	// In its shuffle a reduce waits for maps. This wait depends on the cluster and not on the
	// reduce. So the time of a reduce begins at the end of its shuffle.
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
		// The reduces copy the materialized bytes: those after compression. A run of Hadoop's local
		// mode has only the bytes before compression.
		bytes := e.counter("MAP_OUTPUT_MATERIALIZED_BYTES")
		if bytes == 0 {
			bytes = e.counter("MAP_OUTPUT_BYTES")
		}
		p.outputs += min(max(bytes, 0), 1<<40)
	}
	to[e.TaskID] = time.Duration(e.Finished-start) * time.Millisecond
	return nil
}

// set returns the job of the history as a Set. It fails if no job was submitted or no map succeeded,
// as in a history that is cut short. name is the file, for messages and notes.
func (p *past) set(name string) (*Set, error) {
	j := p.job
	j.At = name
	switch {
	case j.Name == "":
		return nil, errs.Inputf(name, "no job was submitted")
	case len(p.maps) == 0:
		return nil, errs.Inputf(name, "no map of job %s has succeeded", j.Name)
	}
	// inOrder sorts by ID, so that the same history always gives the same file.
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

// Join returns a Set with the notes, pools and jobs of all sets, in the order of sets. Times of
// submission do not change, and the jobs are not sorted by them. The result shares the lists of task
// durations with sets. Join fails with errs.BadInput if two jobs have the same name.
func Join(sets []*Set) (*Set, error) {
	all := &Set{}
	for _, s := range sets {
		all.Notes, all.Pools, all.Jobs = append(all.Notes, s.Notes...), append(all.Pools, s.Pools...), append(all.Jobs, s.Jobs...)
	}
	return all, all.names()
}
