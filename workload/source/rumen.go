package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"mrlocal/internal/errs"
)

// Rumen reads a job trace of Rumen, as its TraceBuilder writes one for SLS, Gridmix and Mumak
// (Hadoop, hadoop-rumen, LoggedJob, LoggedTask, LoggedTaskAttempt): a JSON object for each job. A
// task has the times of its last attempt that succeeded. A task without one is not in the
// workload, and neither are the tasks of set-up and clean-up. Rumen's Folder repeats jobs with their
// IDs, so a later job of an ID gets a number. It is a Reader.
func Rumen(name string, r io.Reader, o Reading) (*Set, error) {
	s, in := &Set{Notes: []string{"jobs of the Rumen trace " + name}}, newObjects(name, r)
	seen := map[string]int{} // jobs by their IDs
	err := in.each(func(at string) error {
		b := o.building(at)
		if err := b.readRumen(in); err != nil {
			return err
		}
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

// readRumen reads the fields of a job.
func (b *building) readRumen(in *objects) error {
	var submit text
	to := map[string]*text{
		"jobID": (*text)(&b.Name), "user": (*text)(&b.User), "queue": (*text)(&b.Pool), "outcome": (*text)(&b.outcome), "submitTime": &submit,
	}
	err := in.fields(func(key string) error {
		switch key {
		case "mapTasks", "reduceTasks":
			return in.list(func() error { return b.readRumenTask(in, key == "reduceTasks") })
		case "otherTasks":
			return in.list(func() error {
				b.dropped.add(1, droppedOthers)
				return in.skip()
			})
		}
		if to[key] != nil {
			return in.value(to[key])
		}
		return in.skip()
	})
	if ms, bad := submit.number(-1); bad != nil || ms < 0 {
		b.fail("submitTime %s is not a time in milliseconds", errs.Quote(string(submit)))
	} else {
		b.submitted(ms)
	}
	return err
}

// rumenAttempt has the fields that are read of a LoggedTaskAttempt. -1 stands for an unknown number.
type rumenAttempt struct {
	Result   string `json:"result"`
	Start    int64  `json:"startTime"`
	End      int64  `json:"finishTime"`
	Shuffled int64  `json:"shuffleFinished"`
	Emitted  int64  `json:"mapOutputBytes"`
	Copied   int64  `json:"reduceShuffleBytes"`
	Written  int64  `json:"hdfsBytesWritten"`
}

// readRumenTask reads a task and records it.
func (b *building) readRumenTask(in *objects, reduce bool) error {
	var attempts int
	id := text("")
	done := (*attempt)(nil)
	err := in.object(func(key string) error {
		switch key {
		case "taskID":
			return in.value(&id)
		case "attempts":
			return in.list(func() error {
				a := rumenAttempt{Start: -1, End: -1}
				if err := in.value(&a); err != nil {
					return err
				}
				if attempts++; slices.Contains([]string{"SUCCESS", "SUCCEEDED"}, a.Result) {
					done = &attempt{reduce: reduce, start: a.Start, shuffled: a.Shuffled, end: a.End, bytes: a.Emitted, written: a.Written}
					if reduce {
						done.bytes = a.Copied
					}
				}
				return nil
			})
		}
		return in.skip()
	})
	if done == nil {
		b.dropped.add(attempts, droppedAttempts)
		b.dropped.add(1, droppedTasks)
		return err
	}
	b.dropped.add(attempts-1, droppedAttempts)
	b.record(string(id), *done)
	return cmp.Or(err, b.checkCount())
}

// These are names in a tally of what was dropped.
const (
	droppedAttempts = "attempts that failed, were killed or were replaced"
	droppedOthers   = "tasks of set-up and clean-up"
	droppedTasks    = "tasks without an attempt that succeeded"
)
