// Package stream is the child of a Hadoop Streaming job: it does one side of a job of this
// module (map, combine or reduce) on standard input and standard output. The mappers,
// combiners and reducers are those that the engine runs.
//
//	input text ──► Map ──wire──► Hadoop: hash, sort ──wire──► Reduce ──► result
//	                    └──wire──► Combine ──wire──┘
//
// The command is mrlocal stream. A program with a job of its own calls Main in three lines.
// Package submit writes the command lines of Hadoop that start the children.
//
// The wire is text, so that Hadoop compares and hashes keys as Text, and so that sort(1) can
// stand in for Hadoop (wire.go). Keys keep their byte order on it, whatever bytes they have.
// Where a job wants keys at certain reduces, as a total order does, each key has a label that
// Hadoop's default hash sends there (label.go).
//
// A job without reducers has one reduce here: it puts the outputs of the maps in the order of
// the input and runs the jobs.Releaser.
//
// Results are text. Hadoop ends a record of text at a carriage return too, so a result with one
// is an error; typed bytes carry it (Options.Results).
//
// Memory: a block of the input and a window of values. Both are about 1 MiB, or as long as
// the longest record. There is also a table of folded values (Options.TableBytes). Slices
// that user code gets are borrowed, as package jobs says.
//
// Neighbours: package jobs defines jobs; package submit starts Hadoop.
package stream

import (
	"bufio"
	"context"
	"io"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// Side is what a child does.
type Side uint8

const (
	Map Side = iota
	Combine
	Reduce
)

// Sides returns the names of the sides, in the order of their values.
func Sides() []string { return []string{"map", "combine", "reduce"} }

// Results says how a reduce writes its records.
type Results uint8

const (
	// Text ends records with newlines. Hadoop takes any bytes but carriage returns.
	Text Results = iota
	// TypedBytes writes each record as a string of typed bytes. Hadoop takes carriage returns
	// and newlines, but only valid UTF-8.
	TypedBytes
)

// Options say which job of a chain the child works for, and how its keys travel. Map, combine
// and reduce of one job get the same options. The zero value is for the first job with one
// reduce.
type Options struct {
	Step    int      // of the chain, from 1; 0: the first
	Reduces int      // reduce tasks of the job; 0: one
	Cuts    [][]byte // for jobs with Ordered: ascending keys that begin the ranges of reduces 1, 2, …

	// InOrder lets the values of a key reach the reducer in the order of the input, as they do in
	// package engine. Hadoop itself keeps no order of values.
	InOrder bool
	// Inputs are the inputs as the user named them. They order files for InOrder, and for jobs
	// without reducers. Files of one input are in the order of their paths.
	Inputs []string
	Files  int // number of input files, for jobs.Job.Begin; 0: one

	Results    Results
	TableBytes int64 // of the table in which a map folds values; 0: 64 MiB

	Task Task
}

// Task says what Hadoop tells the child of its task.
type Task struct {
	Number     int
	InputFile  string // of a map
	InputStart int64  // of its split, in bytes
	Counts     bool   // Hadoop reads counters from standard error
}

// TaskOf reads the variables that Hadoop Streaming sets (PipeMapRed, Environment).
func TaskOf(getenv func(string) string) Task {
	start, _ := strconv.ParseInt(getenv("mapreduce_map_input_start"), 10, 64)
	number, _ := strconv.Atoi(getenv("mapreduce_task_partition"))
	return Task{Number: number, InputFile: getenv("mapreduce_map_input_file"), InputStart: start, Counts: getenv("mapreduce_task_id") != ""}
}

const (
	blockBytes        = 1 << 20
	defaultTableBytes = 64 << 20
)

// Run does one side of a job of chain. It reads stdin to its end. Counters for Hadoop go to
// stderr. Errors of kind errs.BadOptions say that the job cannot run under Hadoop Streaming.
func Run(ctx context.Context, chain jobs.Chain, side Side, o Options, stdin io.Reader, stdout, stderr io.Writer) error {
	c, err := newChild(chain, o)
	if err != nil {
		return err
	}
	c.ctx, c.stderr = ctx, stderr
	c.out = bufio.NewWriterSize(stdout, 64<<10)
	switch side {
	case Map:
		err = c.runMap(stdin)
	case Combine:
		err = c.runCombine(stdin)
	default:
		err = c.runReduce(stdin)
	}
	if err != nil {
		return err
	}
	c.tellCounters()
	return c.out.Flush()
}

// child is one side at work.
type child struct {
	ctx    context.Context
	job    jobs.Job
	o      Options
	wire   wire
	out    *bufio.Writer
	stderr io.Writer

	counters [counters]int64
}

// JobOf returns a job of the chain by its step, as Options has it. The error is of kind errs.BadOptions.
func JobOf(chain jobs.Chain, step int) (jobs.Job, error) {
	if step < 0 || max(step, 1) > len(chain) {
		return jobs.Job{}, errs.Optionf("Options.Step", "%d: the job is a chain of %d", step, len(chain))
	}
	return chain[max(step, 1)-1], nil
}

// newChild checks that the job can run under Hadoop Streaming.
func newChild(chain jobs.Chain, o Options) (*child, error) {
	job, err := JobOf(chain, o.Step)
	if err != nil {
		return nil, err
	}
	o.Reduces, o.Files = max(o.Reduces, 1), max(o.Files, 1)
	if o.TableBytes <= 0 {
		o.TableBytes = defaultTableBytes
	}
	if job.Begin != nil {
		job = job.Begin(o.Files)
	}
	switch {
	case job.Delim != jobs.Newline || job.RecordBytes > 0:
		return nil, errs.Optionf("job "+job.Name, "its records do not end with newlines, as those of Hadoop Streaming do")
	case job.NoInput:
		return nil, errs.Optionf("job "+job.Name, "it reads no input, and Hadoop Streaming starts a map for input only")
	case job.NewReducer == nil && o.Reduces > 1:
		return nil, errs.Optionf("Options.Reduces", "%d: the job has no reducers; one reduce puts its output in order", o.Reduces)
	case job.NewReducer != nil && job.Ordered && job.Partition == nil && o.Reduces > 1 && len(o.Cuts) != o.Reduces-1:
		return nil, errs.Optionf("Options.Cuts", "%d for %d reduces; a total order needs %d", len(o.Cuts), o.Reduces, o.Reduces-1)
	}
	return &child{job: job, o: o, wire: newWire(&job, o)}, nil
}

// mapOnly reports whether the job has no reducers.
func (c *child) mapOnly() bool { return c.job.NewReducer == nil }

// begin describes the attempt to user code that implements jobs.Attempter.
func (c *child) begin(user any) {
	if a, ok := user.(jobs.Attempter); ok {
		a.Begin(jobs.OwnAttempt{Context: c.ctx, Task: c.o.Task.Number, Progress: func(int64, int64) {}})
	}
}
