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
// (main.go).
//
// A job without reducers has one reduce here. It puts the outputs of the maps in the order of
// the input, and runs the jobs.Releaser of the job.
//
// Results are text. Hadoop also ends a record of text at a carriage return, so a carriage
// return in a result is an error. Results as typed bytes may have them (Options.Results).
//
// A child knows less than a run. It does not know the other files of the input, nor where a file
// ends. Hadoop runs each job once, and ends each record of a result with a newline. A job that needs
// more is refused by name before anything runs (Check). docs/abilities.md has the table.
//
// Memory: a block of the input and a window of values. Each has about 1 MiB, or the length of
// the longest record. A map that folds or combines values, and a reduce of Spark, also have a
// kvbuffer (Options.TableBytes), which spills to the system's directory of temporary files. Slices
// that user code gets are borrowed, as package jobs says.
//
// Package jobs defines jobs. Packages spill and shuffle fold, combine and group, as for package
// engine. Package submit starts Hadoop.
package stream

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/setting"
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
	// Inputs are the inputs as the user named them, for jobs.Block.Input. They also give the order of
	// files, for InOrder and for jobs without reducers. Files of one input have the order of their
	// paths. If there are several, the file of a map must belong to one of them.
	Inputs []string

	// Files is the number of input files, for jobs.Job.Begin. 0: standard input is the only one. A task
	// of Hadoop must then not have a job with Begin.
	Files int

	Results Results
	// Spark is for the driver of package submit. A map writes blocks of records, each for a reduce, and
	// needs no label. A reduce sorts its records. A result may hold any bytes.
	Spark      bool
	TableBytes int64 // first size of the kvbuffer, in which a map folds or combines values, and a reduce of Spark sorts; 0: 64 MiB

	Task Task
}

// Fields returns the settings of a child.
func (o *Options) Fields() []setting.Setting {
	return []setting.Setting{
		setting.Of("input", "Inputs", "an input of the job is `PATH`, in the order given; may be repeated", "", setting.List(&o.Inputs)),
		setting.Of("step", "Step", "do job `N` of the chain", "1", setting.Count(&o.Step, 1, 100)),
		setting.Of("reduces", "Reduces", "the job has `N` reduces", "1", setting.Count(&o.Reduces, 1, jobs.MostReducers)),
		setting.Of("cuts", "Cuts", "the keys that begin the ranges of a total order are in `FILE`", "", setting.Func(func(path string) (err error) {
			o.Cuts, err = readCuts(path)
			return err
		})),
		setting.Of("in-order", "InOrder", "values of a key keep the order of the input", "", setting.Toggle(&o.InOrder)),
		setting.Of("files", "Files", "the input has `N` files", "1 outside of Hadoop", setting.Count(&o.Files, 1, 1<<31-1)),
		setting.Of("results", "Results", "write results as `text|typedbytes`: carriage returns need typedbytes, which needs UTF-8", "text", setting.Enum(&o.Results, "text", "typedbytes")),
		setting.Of("spark", "Spark", "write records and results for the driver of mrlocal submit --engine spark", "", setting.Toggle(&o.Spark)),
	}
}

// Task describes the task that a child runs in.
type Task struct {
	Number     int    // from 0
	Attempt    int    // number of the attempt, from 0
	InputFile  string // path or URI of the split's file, in a map
	InputStart int64  // first byte of the split, in a map
	Counts     bool   // Hadoop reads counters from standard error
}

// TaskOf returns the task that the variables of Hadoop Streaming describe
// (PipeMapRed.addJobConfToEnvironment). A number that is missing or wrong is 0.
func TaskOf(getenv func(string) string) Task {
	start, _ := strconv.ParseInt(getenv("mapreduce_map_input_start"), 10, 64)
	number, _ := strconv.Atoi(getenv("mapreduce_task_partition"))
	id := getenv("mapreduce_task_attempt_id") // attempt_1700000000000_0001_m_000003_0
	attempt, _ := strconv.Atoi(id[strings.LastIndexByte(id, '_')+1:])
	return Task{Number: number, Attempt: attempt, InputFile: getenv("mapreduce_map_input_file"), InputStart: start, Counts: getenv("mapreduce_task_id") != ""}
}

const (
	blockBytes        = 1 << 20  // of the block that a mapper gets, unless a line is longer
	defaultTableBytes = 64 << 20 // of Options.TableBytes

	// A task of Hadoop that shows no sign of life for ten minutes is killed.
	statusPause = time.Second // least time between two lines of status
	alivePause  = time.Minute // least time between two signs of life without a text
)

// Run does one side of a job of chain. It reads stdin to its end, writes records to stdout, and
// writes counters for Hadoop to stderr. An error of kind errs.BadOptions says that the options
// are wrong or that the job cannot run on a cluster. A panic of user code is an error, and so is
// the end of its goroutine. Run does not watch ctx itself; it passes it to user code.
func Run(ctx context.Context, chain jobs.Chain, side Side, o Options, stdin io.Reader, stdout, stderr io.Writer) error {
	return guard.Apart(func() error {
		return guard.Own(Sides()[side], func() error { return run(ctx, chain, side, o, stdin, stdout, stderr) })
	})
}

// run is Run without the guard of user code.
func run(ctx context.Context, chain jobs.Chain, side Side, o Options, stdin io.Reader, stdout, stderr io.Writer) error {
	c, err := newChild(chain, o)
	if err != nil {
		return err
	}
	c.ctx, c.stderr = ctx, stderr
	c.out = bufio.NewWriterSize(stdout, 64<<10)
	defer func() { _ = c.closeUser() }() // after a failure, which counts more than that of Close
	switch side {
	case Map:
		err = c.runMap(stdin)
	case Combine:
		err = c.runCombine(stdin)
	default:
		err = c.runReduce(stdin)
	}
	if err == nil {
		err = c.closeUser() // before the result counts, as in package engine
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
	input  int // number of the input of the map
	wire   wire
	blocks [][]byte // for Spark: of each reduce
	out    *bufio.Writer
	stderr io.Writer
	begun  []any     // user code whose Begin was called; closeUser closes it
	shown  time.Time // when the last line of status was written

	closing bool  // no call of user code that may emit follows
	late    error // user code has emitted all the same

	counters [counters]int64 // by the constants in wire.go
}

// JobOf returns the job of the chain with number step, as in Options.Step. The error is of kind
// errs.BadOptions.
func JobOf(chain jobs.Chain, step int) (jobs.Job, error) {
	if step < 0 || max(step, 1) > len(chain) {
		return jobs.Job{}, errs.Fieldf("Options.Step", "%d: the job is a chain of %d", step, len(chain))
	}
	return chain[max(step, 1)-1], nil
}

// Check returns the options error for the first job of the chain that cannot run on a cluster,
// with Hadoop Streaming or Spark, or nil. It calls no function of the jobs.
func Check(chain jobs.Chain) error {
	for i := range chain {
		j, why := &chain[i], ""
		switch {
		case j.Delim != jobs.Newline || j.RecordBytes > 0:
			why = "its records do not end with newlines, as those on a cluster do"
		case j.Bare:
			why = "its output is binary (Bare), and a cluster ends each record with a newline"
		case chain.Paired(i):
			why = "it reads the pairs of the job before, which a cluster passes on as lines; with Text it reads these"
		case j.NoInput:
			why = "it reads no input, and a cluster starts a map for input only"
		case j.Rounds > 1:
			why = "it has several Rounds, and a cluster runs a job once"
		case j.Rereads && i > 0:
			why = "it reads the input of the chain again (Rereads), and has no side data on a cluster"
		case len(j.Outputs) > 0:
			why = "it has named outputs (" + strings.Join(j.Outputs, ", ") + "), and a job on a cluster has one output"
		case j.ByFile:
			why = "it needs the index or the end of a file (ByFile), which a child on a cluster does not know"
		default:
			continue
		}
		return errs.Optionf("job "+j.Name, "%s", why)
	}
	return nil
}

// newChild returns a child without its streams, with defaults for unset options. Its errors are
// of kind errs.BadOptions: the options are wrong, or the job cannot run on a cluster.
func newChild(chain jobs.Chain, o Options) (*child, error) {
	job, err := JobOf(chain, o.Step)
	if err != nil {
		return nil, err
	}
	if o.TableBytes <= 0 {
		o.TableBytes = defaultTableBytes
	}
	o.Reduces = max(o.Reduces, 1)
	if o.Step <= 1 { // a run calls Begin of the first job only
		if job.Begin != nil && o.Files <= 0 && o.Task.Counts {
			return nil, errs.Optionf("job "+job.Name, "it has Begin, which gets the number of input files; give %s", errs.Field("Options.Files"))
		}
		if job, err = chain.Begun(max(o.Files, 1)); err != nil {
			return nil, err
		}
	}
	// The whole chain counts: a step must not run if a later one cannot.
	checked := append(jobs.Chain(nil), chain...)
	checked[max(o.Step, 1)-1] = job
	if job.ByFile && o.Task.InputFile == "" { // standard input is the file
		checked[max(o.Step, 1)-1].ByFile = false
	}
	if err := Check(checked); err != nil {
		return nil, err
	}
	switch {
	case job.NewReducer == nil && o.Reduces > 1:
		return nil, errs.Fieldf("Options.Reduces", "%d: the job has no reducers; one reduce puts its output in order", o.Reduces)
	case job.NewReducer != nil && job.Ordered && job.Partition == nil && o.Reduces > 1 && len(o.Cuts) != o.Reduces-1:
		return nil, errs.Fieldf("Options.Cuts", "%d for %d reduces; a total order needs %d", len(o.Cuts), o.Reduces, o.Reduces-1)
	}
	input, err := o.input()
	if err != nil {
		return nil, err
	}
	return &child{job: job, o: o, input: input, wire: newWire(&job, o, input)}, nil
}

// input returns the number of the input to which the file of the task belongs. It is that with the
// longest name that is the file or a directory above it. A name may be a pattern. The file has the
// scheme and the server in front, which the user may have left out. It fails if there are several
// inputs, and the file belongs to none.
func (o *Options) input() (number int, err error) {
	file, longest := o.Task.InputFile, -1
	for _, bare := range []bool{false, true} {
		if bare && longest < 0 {
			file = pathOfURI(file)
		}
		for i, in := range o.Inputs {
			if bare {
				in = pathOfURI(in)
			}
			if len(in) > longest && isAbove(in, file) {
				number, longest = i, len(in)
			}
		}
		if longest >= 0 {
			break
		}
	}
	if longest < 0 && len(o.Inputs) > 1 && file != "" {
		return 0, errs.Fieldf("Options.Inputs", "%s: belongs to none of them (%s)", o.Task.InputFile, strings.Join(o.Inputs, ", "))
	}
	return number, nil
}

// isAbove reports whether a pattern of the input names the file, or a directory above it.
func isAbove(pattern, file string) bool {
	pattern = strings.TrimRight(pattern, "/")
	if file == pattern || strings.HasPrefix(file, pattern+"/") {
		return true
	}
	above := strings.Split(file, "/")
	above = above[:min(len(above), strings.Count(pattern, "/")+1)]
	is, err := path.Match(pattern, strings.Join(above, "/"))
	return is && err == nil
}

// pathOfURI returns the path of a URI; that of a plain path is the path itself.
func pathOfURI(uri string) string {
	_, rest, is := strings.Cut(uri, "://")
	if !is {
		return uri
	}
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}

// mapOnly reports whether the job has no reducers.
func (c *child) mapOnly() bool { return c.job.NewReducer == nil }

// begin describes the attempt to user code that implements jobs.Attempter.
func (c *child) begin(user any) {
	if a, ok := user.(jobs.Attempter); ok {
		c.begun = append(c.begun, user)
		a.Begin(jobs.OwnAttempt{
			Context: c.ctx, Task: c.o.Task.Number, Number: c.o.Task.Attempt,
			Progress: func(int64, int64) { c.status("", alivePause) }, Status: func(text string) { c.status(text, statusPause) },
		})
	}
}

// closeUser closes the user code that begin has called, if it is an io.Closer. It returns the first
// error.
func (c *child) closeUser() (err error) {
	c.closing = true
	for len(c.begun) > 0 {
		user := c.begun[0]
		c.begun = c.begun[1:]
		if closer, ok := user.(io.Closer); ok {
			err = cmp.Or(err, closer.Close())
		}
	}
	return cmp.Or(err, c.late)
}

// emittedLate notes that user code has emitted a record that is lost.
func (c *child) emittedLate() {
	c.late = errors.New("user code has emitted a record after Map, Reduce and Flush, as in Close")
}

// status shows a text to the users of Hadoop, which also is a sign of life. It drops texts that come
// sooner than pause after the last one. Without a text it repeats none. Outside of a task it writes
// nothing.
func (c *child) status(text string, pause time.Duration) {
	if now := time.Now(); c.o.Task.Counts && now.Sub(c.shown) >= pause {
		c.shown = now
		fmt.Fprintf(c.stderr, "reporter:status:%s\n", errs.OneLine(cmp.Or(text, "works")))
	}
}
