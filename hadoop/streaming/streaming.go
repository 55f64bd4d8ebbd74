// Package streaming makes jobs from the arguments of Hadoop Streaming. Mappers, combiners
// and reducers are commands that read and write records on their standard streams. The
// jobs run on the slots of the engine as any other job.
//
//	arguments ──parse──► ParsedJob ──New──► Work: jobs.Job + output ──engine──► Work.Counters
//
// Each map reads its own split (package streaming), because users can see Hadoop's splits
// in the results. For the engine the job therefore has no input (jobs.Job.NoInput), and
// one map for each split. A command runs on the thread of its slot (package streaming). The
// attempt kills the process group of the command when it ends.
//
// There are two modes. A strict run does what Hadoop 3.4.2 does, traps included. A
// friendly run warns of traps, and does the more useful thing if there is one.
// docs/streaming.md lists both.
//
// Memory: an attempt charges the buffers of its command and of its split to the budget
// of the run. Packages parse, records, child, wire and fields are its parts. The command
// mrlocal runs Work.Job on the engine.
package streaming

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
	"mrlocal/jobs"
	"mrlocal/output"
)

// Options say how New makes a job, beyond its arguments. Environ and TempDir are
// required. The functions may be called by several attempts at once.
type Options struct {
	Friendly bool // warn of traps, and avoid them; false: strict, as Hadoop
	// SeparateFiles puts each shipped file into a directory of its own, as a cluster does, in a
	// friendly run too. A strict run always does so.
	SeparateFiles bool
	Environ       []string // the environment of this process, NAME=VALUE; commands inherit it
	TempDir       string   // an existing directory for working directories and unpacked archives
	// Stderr gets what commands write to standard error. Work locks it, so it need not
	// be safe for several goroutines. nil: that text is dropped.
	Stderr     io.Writer
	ErrorDir   string            // gets a file with the standard error of each attempt; "": no files
	Reducers   int               // number of reduces if the arguments give none; 0: 1
	Maps       int64             // number of splits to aim at; 0: 1, as in Hadoop's local runner
	ValueOrder ValueOrder        // the order of records with equal keys
	Warn       func(text string) // gets each warning, one line; nil: warnings are dropped
	Status     func(text string) // gets the status that commands report, at most once a second; nil: nothing
}

// ValueOrder is the order in which a reduce gets records with equal keys.
type ValueOrder uint8

const (
	// DefaultOrder is the order of the engine, or in small strict jobs that of Hadoop.
	DefaultOrder ValueOrder = iota
	// Reversed is the order in which the last record of the last map comes first.
	Reversed
	// Shuffled is an order by a hash of each record's map and number. Each run has the same.
	Shuffled
)

// Work is a job that is ready to run, with its counters and temporary files. New sets the
// exported fields. A Work may run again after Forget. The caller closes it.
type Work struct {
	Job        jobs.Job
	MapOnly    bool
	Reducers   int    // 0 if MapOnly
	Output     string // the output directory of the arguments, as a local path
	Style      output.DirStyle
	Compress   output.Format // of the output
	InputBytes int64         // length of all splits together
	MaxTries   int           // attempts of a task, at least 1
	TimeoutMS  int64         // milliseconds without progress after which an attempt fails; 0: never

	mostCounters int // limit on the counters that the commands of an attempt make

	o      Options
	args   *ParsedJob
	conf   Conf
	splits []FileSplit // split i is the input of map i
	files  int         // number of input files

	mapper, combiner, reducer stage
	input                     inputFormat
	mapKinds                  [2]Kind // kinds of the keys and values that maps emit
	order                     *Order  // of KeyFieldBasedComparator; nil: byte order
	exact                     bool    // emitPaired numbers records, to put those with equal keys in order
	partition                 func(key []byte, parts int) int
	textSeparator             string // between key and value in text output
	drops                     bool   // the job writes no records (NullOutputFormat)
	// lock guards counted and statusShown.
	lock        sync.Mutex
	counted     map[taskID]tally // what attempts that succeeded have counted
	statusShown time.Time        // when Options.Status was called last
	stderrLock  sync.Mutex       // guards Options.Stderr
	ship        shipped
	inputTemp   *disk.TempRoot // temporary files that hold inputs; nil: none
}

// stage is the work of all maps, combines or reduces of a job. in writes records to its
// command, and out reads the output of the command.
type stage struct {
	kind    stageKind
	words   []string // command, divided into its program and arguments
	command string
	in      Writer
	out     WireReader
	fields  *fieldSelection // of a selection
}

// stageKind says what does the work of a stage: a command, or a class of Hadoop that is
// built in here.
type stageKind uint8

const (
	absent    stageKind = iota // the job has no such stage
	command                    // a command of the user
	identity                   // IdentityMapper, IdentityReducer
	inverse                    // InverseMapper: it swaps key and value
	aggregate                  // ValueAggregatorReducer, ValueAggregatorCombiner
	selection                  // FieldSelectionMapReduce
)

// New makes a job from its arguments. It reads the sizes of input files, and with
// NLineInputFormat their text. It writes nothing. Its errors are *Error, with the
// exit code and the lines that Hadoop gives.
func New(args *ParsedJob, o Options) (*Work, error) {
	w := &Work{o: o, args: args, conf: args.Conf, Output: Local(args.Output), counted: map[taskID]tally{}}
	w.ship.unpack = sync.OnceValue(w.unpack)
	if w.o.Warn == nil {
		w.o.Warn = func(string) {}
	}
	for _, step := range []func() error{w.readConf, w.chooseInput, w.chooseStages, w.chooseKinds, w.chooseOrder, w.choosePartition, w.chooseOutput, w.plan, w.checkShipped} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	// Only a small job is sorted in Hadoop's order, because each of its maps holds all its records
	// in memory.
	w.exact = !w.MapOnly && (w.o.ValueOrder != DefaultOrder || !w.o.Friendly && w.InputBytes <= exactBytes)
	w.makeJob()
	return w, nil
}

// readConf reads the properties that are numbers, and the separator of text output.
// Defaults are those of mapred-default.xml. In Hadoop a property that is not a number fails
// the tasks, so the error is that of a failed job.
func (w *Work) readConf() error {
	w.o.Reducers = cmp.Or(w.o.Reducers, 1)
	numbers := []struct {
		name      string
		otherwise int64
		to        func(int64)
	}{
		{"mapreduce.job.reduces", int64(w.o.Reducers), func(n int64) { w.Reducers = int(n) }},
		{"mapreduce.task.timeout", 600000, func(n int64) { w.TimeoutMS = n }},
		// The engine has one limit for both kinds of tasks. It is that of the maps.
		{"mapreduce.map.maxattempts", 4, func(n int64) { w.MaxTries = int(max(1, n)) }},
		{"mapreduce.job.counters.max", 120, func(n int64) { w.mostCounters = int(min(max(n, 0), 1<<20)) }},
		{"stream.num.map.output.key.fields", 1, func(n int64) { w.mapper.out.KeyFields = int(n) }},
		{"stream.num.reduce.output.key.fields", 1, func(n int64) { w.reducer.out.KeyFields = int(n) }},
	}
	for _, n := range numbers {
		v, err := w.conf.Int(n.name, n.otherwise)
		if err != nil {
			return failed("%v", err)
		}
		n.to(v)
	}
	if w.Reducers < 0 || w.Reducers > 1<<20 {
		return failed("mapreduce.job.reduces: %d is not a number of tasks", w.Reducers)
	}
	// Hadoop reads a combiner's output with the properties of the reduce (PipeCombiner).
	w.combiner.out.KeyFields = w.reducer.out.KeyFields
	w.textSeparator = w.conf.Get("mapreduce.output.textoutputformat.separator", "\t")
	return nil
}

// plan divides the inputs into splits. The error for a missing input has Hadoop's exit
// code 5.
func (w *Work) plan() error {
	var o SplitOptions
	var err error
	for _, n := range []struct {
		name      string
		otherwise int64
		to        *int64
	}{
		{"mapreduce.job.maps", max(1, w.o.Maps), &o.Maps},
		{"mapreduce.input.fileinputformat.split.minsize", 1, &o.LeastBytes},
		{"fs.local.block.size", 32 << 20, &o.BlockBytes},
	} {
		if *n.to, err = w.conf.Int(n.name, n.otherwise); err != nil {
			return refuse(1, "%v", err)
		}
	}
	o.Recursive = w.conf.Bool("mapreduce.input.fileinputformat.input.dir.recursive", false)
	o.IgnoreSubdirs = w.conf.Bool("mapreduce.input.fileinputformat.input.dir.nonrecursive.ignore.subdirs", false)
	o.NoHidden = !w.o.Friendly
	if o.Lines, err = w.input.linesPerMap(w.conf); err != nil {
		return err
	}
	w.splits, err = Plan(w.args.Inputs, o)
	if err != nil {
		return refuse(5, "Error Launching job : %v", err)
	}
	seen := map[string]bool{}
	for _, s := range w.splits {
		w.InputBytes += s.Length
		seen[s.Path] = true
	}
	w.files = len(seen)
	return nil
}

// name returns the name of the job: the one that is set, or that of the first command's
// program, or "streaming".
func (w *Work) name() string {
	if n := w.conf.Get("mapreduce.job.name", ""); n != "" {
		return n
	}
	words := w.mapper.words
	if len(words) == 0 {
		words = w.reducer.words
	}
	if len(words) == 0 {
		return "streaming"
	}
	return filepath.Base(words[0])
}

// makeJob sets w.Job. For the engine the job has no input, because each map opens the
// split of its own number.
func (w *Work) makeJob() {
	w.Job = jobs.Job{
		Name: w.name(), NoInput: true, Maps: len(w.splits), Reduces: w.Reducers, BuiltIn: true,
		NewMapper: func() jobs.Mapper { return &mapper{runner: runner{work: w, stage: &w.mapper}} },
	}
	if w.MapOnly {
		return
	}
	w.Job.NewReducer = w.newReducer
	w.Job.Partition = w.partition
	if w.paired() { // the engine's key then begins with the number of its reduce
		w.Job.Partition = partOf
	}
	if w.combiner.kind != absent {
		w.Job.NewCombiner = func() jobs.Reducer { return w.newGroups(&w.combiner, true) }
	}
}

// newReducer returns the reducer of an attempt. The engine finds its other methods, such
// as ReduceRecord, by a type assertion.
func (w *Work) newReducer() jobs.Reducer { return w.newGroups(&w.reducer, false) }

// Exists reports whether the output directory of the arguments exists. Hadoop refuses such
// a job before it starts.
func (w *Work) Exists() bool {
	_, err := os.Lstat(w.Output)
	return w.Output != "" && err == nil
}

// Overwrites returns an error if file is one of the inputs. The engine cannot check that,
// because the job finds its input by itself.
func (w *Work) Overwrites(file string) error {
	info, err := os.Stat(file)
	if file == "" || err != nil {
		return nil
	}
	var inputs []string
	for _, s := range w.splits {
		inputs = append(inputs, s.Path)
	}
	if _, same := paths.Same(info, inputs); same {
		return errs.Fieldf("Options.OutputFile", "%s: is an input", file)
	}
	return nil
}

// Timeout returns the time without progress after which a task fails. It is 0 if the
// arguments give none.
func (w *Work) Timeout() time.Duration {
	switch {
	case !w.conf.Has("mapreduce.task.timeout"):
		return 0
	case w.TimeoutMS == 0: // never
		return 1 << 62
	}
	return time.Duration(w.TimeoutMS) * time.Millisecond
}

// Tries returns how many attempts a task may have. It is 0 if the arguments give no number.
func (w *Work) Tries() int {
	if !w.conf.Has("mapreduce.map.maxattempts") {
		return 0
	}
	return w.MaxTries
}

// Close removes the archives that the job has unpacked, and the files given to AdoptInput. Each
// attempt removes its own working directory.
func (w *Work) Close() error {
	var all []error
	for _, temp := range []*disk.TempRoot{w.ship.temp, w.inputTemp} {
		if temp != nil {
			all = append(all, temp.Close())
		}
	}
	return errors.Join(all...)
}

// AdoptInput gives temp, which holds inputs of the job, to the Work. Close closes it.
func (w *Work) AdoptInput(temp *disk.TempRoot) { w.inputTemp = temp }
