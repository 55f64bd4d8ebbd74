// Package workload reads workload files.
//
// A workload file (docs/workloads.md) lists jobs that arrive in pools, on a cluster.
// Load and Parse read the YAML and check all of it. They return a File in which
// references are indexes and defaults are applied. The first mistake is an error
// with file, line and column. A long file is read in parts, so that 100,000 jobs
// take tens of megabytes.
//
// Times are the durations of simulated tasks: a pure function of seed, job and task.
//
// Memory: a File belongs to the caller; the package does not write to it afterwards.
// Neighbours: slots/setup has the configuration that File.Lower fills; sim, bench and the
// command line use both. It knows package errs and internal/ppm.
package workload

import (
	"fmt"
	"io"
	"os"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/slots/demand"
	"mrlocal/slots/setup"
)

// Pos is a place in a workload file. Lines and columns count from 1.
// The zero Pos means that the file does not give the value.
type Pos struct{ Line, Column int }

// File is a workload: jobs that arrive in pools, on a cluster. Load and Parse return
// one that has been checked whole. Where the text refers to a job by its name, File
// refers to it by its index.
type File struct {
	Name string // for messages

	setup.Config         // what the file sets of it
	Cluster      Cluster // what only the simulator knows of the trackers
	// In the order of the file.
	Jobs []ListedJob

	Experiments []Experiment // of papers, with these jobs

	Measured *Measured // the times of real jobs; nil: not measured

	text string // of a file with Experiments, which Changed reads again
}

// Cluster is what each tracker has besides its slots; 0: not given.
// All trackers are alike, apart from Config.Slow and Config.Capacities.
type Cluster struct {
	Cores                   int
	DiskBytes, NetBytes     int64 // per second
	MapWeight, ReduceWeight int   // of a slot of each kind; both are given, or none
	Overcommit              Overcommit

	// KernelBytes is what a core moves to or from disks and networks in a second of
	// kernel time; 0: not known.
	KernelBytes int64
	WarmUp      time.Duration // under cost measured: what the first attempt on each slot takes longer
	Buffer      Buffer
	Shuffle     Shuffle
}

// Buffer is the kvbuffer of a simulated map. With StartBytes 0 a map writes its output
// once, at its end. Zero values of the others mean Hadoop's defaults.
type Buffer struct {
	StartBytes   int64     // capacity at the start (io.sort.mb)
	MemoryBytes  int64     // of the map's process; what the kvbuffer does not have of it is afm
	Growth       bool      // by the rule of Dynamic Split
	SpillPercent ppm.Share // 0: 0.8
	Threshold    ppm.Share // of growth; 0: 0.8
	MergeFactor  int       // 0: 10
}

// Shuffle bounds the copiers of a simulated reduce, and says when it merges what they copied. The zero
// value bounds nothing, and a reduce sorts what it has copied once.
type Shuffle struct {
	Copiers      int       // at a time (mapred.reduce.parallel.copies); 0: as many as there are
	CopyBytes    int64     // of one copy in a second; 0: what the network gives
	MemoryBytes  int64     // for segments; 0: merges are not counted
	MergePercent ppm.Share // of the memory; 0: 0.66
	Segments     int       // 0: 1000
	MergeFactor  int       // 0: 10
}

// CopyRate returns what one reduce copies in a second at most: what the network of its
// tracker gives, or what all its copiers do.
func (c *Cluster) CopyRate() int64 {
	if c.Shuffle.Copiers == 0 || c.Shuffle.CopyBytes > c.NetBytes/int64(c.Shuffle.Copiers) {
		return c.NetBytes
	}
	return c.Shuffle.CopyBytes * int64(c.Shuffle.Copiers)
}

// Overcommit says what it costs that tasks want more of a resource than their tracker
// has. Each field is the share k of docs/workloads.md; 0: the resource is shared, and
// works at full speed.
type Overcommit = demand.Vector

// ListedJob is one job: simulated, real, or both.
// The fields after Submission are for the simulator, except Job and Args, which are for
// real runs.
type ListedJob struct {
	setup.Submission // Pool is never empty

	Maps, Reduces       int
	MapTime, ReduceTime Times
	MapOutputBytes      int64     // of each map
	MapEmitsBytes       int64     // that each map collects before the combiner; 0: MapOutputBytes
	CPU                 ppm.Share // cores that a task uses while it computes
	DiskBytes           int64     // per second, in the I/O period

	// MapInputBytes is what each map reads, under cost measured; 0: not known.
	MapInputBytes int64
	// Uses is, by kind, what a task takes of the machine, under cost measured. File.Predicted
	// sets it.
	Uses [2]Use

	Job  string // wordcount, sort, grep, sleep; "": simulated only
	Args []Arg  // in the file's order
	Pos  Pos
}

// Lower returns what both drivers take: the configuration of a run and its jobs in
// the order of the file. Fields that over sets, from flags for example, go before
// those of the file. The slices of the result belong to the file.
// It copies no strings or lists, so the File must stay unchanged while a run uses them.
func (f *File) Lower(over setup.Config) (setup.Config, []setup.Submission) {
	jobs := make([]setup.Submission, len(f.Jobs))
	for i := range f.Jobs {
		jobs[i] = f.Jobs[i].Submission
	}
	return over.Or(f.Config), jobs
}

// SlotWeights returns the file's slot weights. Without them it returns weights that
// bound nothing.
func (f *File) SlotWeights() demand.Weights {
	return demand.Weights{Map: int32(f.Cluster.MapWeight), Reduce: int32(f.Cluster.ReduceWeight)}
}

// Arg is an option of a real job as the file has it: {input: [a, b], reducers: 3}. A
// bare true is "true".
// The job checks names and values. Here both are text.
type Arg struct {
	Name   string
	Values []string // at least one
	Pos    Pos
}

// realJobs returns the names of the jobs that can run for real.
// docs/workloads.md lists them. The command knows how to build each.
func realJobs() []string {
	return []string{
		"wordcount", "sort", "grep", "streaming", "inverted-index", "ranked-inverted-index", "term-vector", "sequence-count", "self-join",
		"adjacency-list", "histogram-movies", "histogram-ratings", "kmeans", "classification", "terasort", "teravalidate",
		"randomtext", "combine", "select", "join", "sleep",
	}
}

// mostFileBytes bounds what Load reads. A file of a million jobs is shorter.
const mostFileBytes = 512 << 20

// Load reads and checks a workload file. Its errors are those of Parse, or say why the
// file cannot be read.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	return Read(path, f)
}

// Read reads a workload file from r. The name is for messages.
// It reads one byte more than allowed, so that Parse can tell that the file is too
// long.
func Read(name string, r io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostFileBytes+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return Parse(name, text)
}

// unreadable returns an error of kind errs.BadInput without the name of the system
// call.
func unreadable(path string, err error) error {
	return errs.Inputf(path, "%w", errs.Cause(err))
}

// Errorf returns an error of kind errs.BadInput at a place of the file: name:line:column,
// then object unless it is empty, then the cause.
func (f *File) Errorf(p Pos, object, format string, args ...any) error {
	at := fmt.Sprintf("%s:%d:%d", f.Name, p.Line, p.Column)
	if object != "" {
		at += ": " + object
	}
	return errs.Inputf(at, format, args...)
}

// CheckSimulated reports the first job that cannot be simulated: a real job without
// numbers of tasks, or a job without a time for its tasks.
// Parse cannot check this, because the same file may be meant for a real run.
func (f *File) CheckSimulated() error {
	for i := range f.Jobs {
		j := &f.Jobs[i]
		switch {
		case j.Maps == 0 && j.Job != "":
			return f.Errorf(j.Pos, "job "+j.Name, "no maps: a simulated job gives the number of its tasks")
		case j.Maps > 0 && !j.MapTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no map_time, neither here nor in defaults")
		case j.Reduces > 0 && !j.ReduceTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no reduce_time, neither here nor in defaults")
		}
	}
	return nil
}

// CheckReal reports the first job that cannot run for real.
// A file with one such job is refused whole.
func (f *File) CheckReal() error {
	for i := range f.Jobs {
		if j := &f.Jobs[i]; j.Job == "" {
			return f.Errorf(j.Pos, "job "+j.Name, "it says what to simulate and not what to run: give job, as in {job: wordcount, args: {input: wiki/}}")
		}
	}
	return nil
}
