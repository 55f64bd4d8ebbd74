package workload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/ppm"
)

// Pos is a place in a workload file, both counted from 1.
type Pos struct{ Line, Column int }

// File is a workload: jobs that arrive in pools, on a cluster. Load and Parse
// make one that has been checked whole; what refers by name in the file refers
// by index here.
type File struct {
	Name       string // for messages
	Cluster    Cluster
	Defaults   Defaults
	Replicas   int // trackers that hold the input of a map; 0: no placement given
	Groups     int // trackers of a group (a rack); 0: there are no groups
	Users      []User
	Pools      []Pool
	Slow       []Slow
	Capacities []Capacity
	Faults     []Fault
	Jobs       []Job

	Experiments []Experiment // of papers, with these jobs
}

// Cluster is what each tracker has; 0: not given.
type Cluster struct {
	Trackers, MapSlots, ReduceSlots, Cores int
	DiskBytes, NetBytes                    int64 // per second
	MapWeight, ReduceWeight                int   // of a slot of each kind; both are given, or none
	Overcommit                             Overcommit
}

// Overcommit is what it costs that tasks want more of a resource than their
// tracker has: of so much beyond it, the share of its speed in question. 0:
// nothing but that it is shared.
type Overcommit = Demand

// Defaults stand for what jobs do not give. The times have been applied to the
// jobs already.
type Defaults struct {
	Slowstart           *ppm.Share // nil: not given
	MapTime, ReduceTime Times
}

// User is who submits jobs.
type User struct {
	Name       string
	MaxRunning int // jobs at a time; 0: no limit
}

// Pool is a share of the slots (SPEC 1.9).
type Pool struct {
	Name                string
	Weight              ppm.Share
	MinMaps, MinReduces int
	MaxMaps, MaxReduces int // 0: no limit
	MaxRunning          int // jobs at a time; 0: no limit
	FIFO                bool
	PreemptAfter        time.Duration // below its min share for so long; negative: never
	FairPreemptAfter    time.Duration // below half of its fair share for so long; negative: never
}

// Slow makes a tracker's tasks take 1/Factor times as long. Factor is above 0.
type Slow struct {
	Tracker int
	Factor  ppm.Share
}

// Capacity is what a tracker has of each resource, in shares of what profiles are
// shares of; all above 0. One that is not listed has the whole of each.
type Capacity struct {
	Tracker int
	Demand
}

// Fault is something that goes wrong.
type Fault struct {
	At      time.Duration
	Tracker int  // -1: a task's fault
	Lost    bool // of a tracker: it is lost at At. Of a map: its committed output is
	Job     int
	Reduce  bool
	Task    int
	Fail    int // so many first attempts of the task fail, at the end of their time
}

// Job is one job: simulated, real, or both.
type Job struct {
	Name, Pool, User    string // Pool: Name unless given
	Submit              time.Duration
	After               []int // indexes into Jobs: it starts when these have ended
	Weight              ppm.Share
	Priority            int           // -2 very_low to 2 very_high
	Deadline            time.Duration // absolute; 0: none
	Maps, Reduces       int
	MapTime, ReduceTime Times
	MapOutputBytes      int64     // per map
	CPU                 ppm.Share // of a core, while computing
	DiskBytes           int64     // per second, in the I/O period
	Profile             *Profile  // nil: not given
	Job                 string    // wordcount, sort, grep, sleep; "": simulated only
	Args                []Arg     // in the file's order
	Pos                 Pos
}

// Profile is what a job's tasks need of a tracker, by phase, in shares of the
// whole tracker (RAS, SPEC 4.4 R2). The shuffle's is per map placed.
type Profile struct{ Map, Shuffle, Reduce Demand }

// Demand is a share of each resource of a tracker.
type Demand struct{ CPU, IO, Memory ppm.Share }

// Arg is an option of a real job as the file has it: {input: [a, b], reducers:
// 3}. A bare true is "true".
type Arg struct {
	Name   string
	Values []string // at least one
	Pos    Pos
}

// Jobs that can run for real.
func realJobs() []string { return []string{"wordcount", "sort", "grep", "sleep"} }

// mostFileBytes bounds what Load reads: a file of a million jobs is shorter.
const mostFileBytes = 512 << 20

// Load reads and checks a workload file. Errors are usage errors of one line:
// file:line:column: what.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostFileBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Parse(path, text)
}

func unreadable(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return errs.Inputf(path, "%v", err)
}

// Errorf is a usage error at a place of the file: name:line:column, then
// object unless it is empty, then the cause.
func (f *File) Errorf(p Pos, object, format string, args ...any) error {
	at := fmt.Sprintf("%s:%d:%d", f.Name, p.Line, p.Column)
	if object != "" {
		at += ": " + object
	}
	return errs.Inputf(at, format, args...)
}

// CheckSimulated reports the first job that can not be simulated: one without
// counts of tasks, or without a time for them.
func (f *File) CheckSimulated() error {
	for i := range f.Jobs {
		j := &f.Jobs[i]
		switch {
		case j.Maps == 0:
			return f.Errorf(j.Pos, "job "+j.Name, "no maps: a simulated job gives the number of its tasks")
		case !j.MapTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no map_time, neither here nor in defaults")
		case j.Reduces > 0 && !j.ReduceTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no reduce_time, neither here nor in defaults")
		}
	}
	return nil
}

// CheckReal reports the first job that can not run for real.
func (f *File) CheckReal() error {
	for i := range f.Jobs {
		if j := &f.Jobs[i]; j.Job == "" {
			return f.Errorf(j.Pos, "job "+j.Name, "it says what to simulate and not what to run: give job, as in {job: wordcount, args: {input: wiki/}}")
		}
	}
	return nil
}
