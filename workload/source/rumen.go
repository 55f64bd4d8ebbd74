package source

import (
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
	s := &Set{Notes: []string{"jobs of the Rumen trace " + name}}
	seen := map[string]int{} // jobs by their IDs
	err := eachDocument(name, r, func(at string, j *rumenJob) error {
		b := o.building(at)
		b.readRumen(j)
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

// rumenJob has the fields that are read of a LoggedJob.
type rumenJob struct {
	ID      text        `json:"jobID"`
	User    text        `json:"user"`
	Queue   text        `json:"queue"`
	Outcome text        `json:"outcome"`
	Submit  text        `json:"submitTime"`
	Maps    []rumenTask `json:"mapTasks"`
	Reduces []rumenTask `json:"reduceTasks"`
	Others  []struct{}  `json:"otherTasks"`
}

// rumenTask has the fields that are read of a LoggedTask.
type rumenTask struct {
	ID       text           `json:"taskID"`
	Attempts []rumenAttempt `json:"attempts"`
}

// rumenAttempt has the fields that are read of a LoggedTaskAttempt. An unknown time is -1, or nil.
type rumenAttempt struct {
	Result   string `json:"result"`
	Start    *int64 `json:"startTime"`
	End      *int64 `json:"finishTime"`
	Shuffled int64  `json:"shuffleFinished"`
	Emitted  int64  `json:"mapOutputBytes"`
	Copied   int64  `json:"reduceShuffleBytes"`
	Written  int64  `json:"hdfsBytesWritten"`
}

// readRumen takes the fields and the tasks of a job.
func (b *building) readRumen(j *rumenJob) {
	b.Name, b.User, b.Pool, b.outcome = string(j.ID), string(j.User), string(j.Queue), string(j.Outcome)
	if ms, bad := j.Submit.number(-1); bad != nil || ms < 0 {
		b.fail("submitTime %s is not a time in milliseconds", errs.Quote(string(j.Submit)))
	} else {
		b.submitted(ms)
	}
	b.dropped.add(len(j.Others), droppedOthers)
	for i := range j.Maps {
		b.recordRumen(&j.Maps[i], false)
	}
	for i := range j.Reduces {
		b.recordRumen(&j.Reduces[i], true)
	}
}

// recordRumen records a task.
func (b *building) recordRumen(t *rumenTask, reduce bool) {
	done := (*attempt)(nil)
	for _, a := range t.Attempts {
		if !slices.Contains([]string{"SUCCESS", "SUCCEEDED"}, a.Result) {
			continue
		}
		done = &attempt{reduce: reduce, start: orUnknown(a.Start), shuffled: a.Shuffled, end: orUnknown(a.End), bytes: a.Emitted, written: a.Written}
		if reduce {
			done.bytes = a.Copied
		}
	}
	if done == nil {
		b.dropped.add(len(t.Attempts), droppedAttempts)
		b.dropped.add(1, droppedTasks)
		return
	}
	b.dropped.add(len(t.Attempts)-1, droppedAttempts)
	b.record(string(t.ID), *done)
}

// orUnknown returns a time, or -1 if the trace lacks it.
func orUnknown(ms *int64) int64 {
	if ms == nil {
		return -1
	}
	return *ms
}

// These are names in a tally of what was dropped.
const (
	droppedAttempts = "attempts that failed, were killed or were replaced"
	droppedOthers   = "tasks of set-up and clean-up"
	droppedTasks    = "tasks without an attempt that succeeded"
)
