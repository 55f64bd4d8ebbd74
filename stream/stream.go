// Package stream is the child process of a Hadoop Streaming job. A child does one side of a
// job of this module (map, combine or reduce) on its standard input and standard output. It
// runs the same mappers, combiners and reducers as the engine.
//
//	input text ──► Map ──wire──► Hadoop: hash, sort ──wire──► Reduce ──► result
//	                    └──wire──► Combine ──wire──┘
//
// The command mrlocal stream is such a child. A program with a job of its own calls Main in
// three lines. Package submit writes the command lines of Hadoop that start the children.
//
// Records between the sides have the form of the wire (wire.go). It is text, so Hadoop
// compares and hashes keys as Text, and sort(1) can take the place of Hadoop. The form keeps
// the byte order of keys. Some jobs need keys at certain reduces, as a total order does. Each
// of their keys ends with a label, which makes Hadoop's default hash choose that reduce
// (label.go).
//
// A job without reducers has one reduce here. It puts the outputs of the maps in the order of
// the input, and runs the jobs.Releaser of the job.
//
// Results are text. Hadoop also ends a record of text at a carriage return, so a carriage
// return in a result is an error. Results as typed bytes may have them (Options.Results).
//
// Memory: a block of the input and a window of values. Each has about 1 MiB, or the length of
// the longest record. A map that folds values also has a table (Options.TableBytes). Slices
// that user code gets are borrowed, as package jobs says.
//
// Package jobs defines jobs. Package submit starts Hadoop.
package stream

import (
	"bufio"
	"context"
	"io"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// Side is the part of a job that a child does.
type Side uint8

const (
	Map     Side = iota // from text of the input to records on the wire
	Combine             // from records on the wire to fewer of them
	Reduce              // from records on the wire to the result
)

// Sides returns the names of the sides, in the order of their values.
func Sides() []string { return []string{"map", "combine", "reduce"} }

// Results is the form in which a reduce writes its records.
type Results uint8

const (
	// Text writes a line for each record. A record may hold any bytes but carriage returns and
	// newlines.
	Text Results = iota
	// TypedBytes writes each record as a string of typed bytes. A record may hold carriage
	// returns and newlines, but must be valid UTF-8.
	TypedBytes
)

// Options say which job of a chain the child works for, and the form of its keys on the wire.
// Map, combine and reduce of one job must get the same options, apart from Task. The zero value
// is for the first job of a chain, with one reduce.
type Options struct {
	Step    int      // number of the job in the chain, from 1; 0: the first
	Reduces int      // number of reduce tasks; 0: one
	Cuts    [][]byte // of a total order: the first keys of reduces 1, 2, …, ascending

	// InOrder makes the values of a key reach the reducer in the order of the input, as in package
	// engine. Hadoop itself keeps no order of values.
	InOrder bool
	// Inputs are the inputs as the user named them. They give the order of files, for InOrder and
	// for jobs without reducers. Files of one input have the order of their paths.
	Inputs []string
	Files  int // number of input files, for jobs.Job.Begin; 0: one

	Results    Results
	TableBytes int64 // limit on the table in which a map folds values; 0: 64 MiB

	Task Task
}

// Task describes the task that a child runs in.
type Task struct {
	Number     int    // from 0
	InputFile  string // path or URI of the split's file, in a map
	InputStart int64  // first byte of the split, in a map
	Counts     bool   // Hadoop reads counters from standard error
}

// TaskOf returns the task that the variables of Hadoop Streaming describe
// (PipeMapRed.addJobConfToEnvironment). A number that is missing or wrong is 0.
func TaskOf(getenv func(string) string) Task {
	start, _ := strconv.ParseInt(getenv("mapreduce_map_input_start"), 10, 64)
	number, _ := strconv.Atoi(getenv("mapreduce_task_partition"))
	return Task{Number: number, InputFile: getenv("mapreduce_map_input_file"), InputStart: start, Counts: getenv("mapreduce_task_id") != ""}
}

const (
	blockBytes        = 1 << 20  // of the block that a mapper gets, unless a line is longer
	defaultTableBytes = 64 << 20 // of Options.TableBytes
)

// Run does one side of a job of chain. It reads stdin to its end, writes records to stdout, and
// writes counters for Hadoop to stderr. An error of kind errs.BadOptions says that the options
// are wrong or that the job cannot run under Hadoop Streaming. Run does not watch ctx itself; it
// passes it to user code.
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
	c.writeCounters()
	return c.out.Flush()
}

// child is a running side of a job. One goroutine uses it.
type child struct {
	ctx    context.Context
	job    jobs.Job
	o      Options
	wire   wire
	out    *bufio.Writer
	stderr io.Writer

	counters [counters]int64 // by the constants in wire.go
}

// JobOf returns the job of the chain with number step, as in Options.Step. The error is of kind
// errs.BadOptions.
func JobOf(chain jobs.Chain, step int) (jobs.Job, error) {
	if step < 0 || max(step, 1) > len(chain) {
		return jobs.Job{}, errs.Optionf("Options.Step", "%d: the job is a chain of %d", step, len(chain))
	}
	return chain[max(step, 1)-1], nil
}

// newChild returns a child without its streams, with defaults for unset options. Its errors are
// of kind errs.BadOptions: the options are wrong, or the job cannot run under Hadoop Streaming.
func newChild(chain jobs.Chain, o Options) (*child, error) {
	job, err := JobOf(chain, o.Step)
	if err != nil {
		return nil, err
	}
	o.Reduces, o.Files = max(o.Reduces, 1), max(o.Files, 1)
	if o.TableBytes <= 0 {
		o.TableBytes = defaultTableBytes
	}
	if o.Step <= 1 { // a run calls Begin of the first job only
		if job, err = chain.Begun(o.Files); err != nil {
			return nil, err
		}
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
