package source

import (
	"bufio"
	"cmp"
	"encoding/json"
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
