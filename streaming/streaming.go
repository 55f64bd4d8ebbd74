// Package streaming makes jobs from the arguments of Hadoop Streaming. Mappers, combiners
// and reducers are commands that read and write records on their standard streams. The
// jobs run on the slots of the engine as any other job.
//
//	arguments ──parse──► parse.ParsedJob ──New──► Work: jobs.Job + output ──engine──► Work.Counters
//
// Each map reads its own split (package records), because users can see Hadoop's splits
// in the results. For the engine the job therefore has no input (jobs.Job.NoInput), and
// one map for each split. A command runs on the thread of its slot (package child). The
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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/disk"
	"mrlocal/internal/paths"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/output/compress"
	"mrlocal/streaming/fields"
	"mrlocal/streaming/parse"
	"mrlocal/streaming/records"
	"mrlocal/streaming/wire"
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
	Compress   compress.Format // of the output
	InputBytes int64           // length of all splits together
	MaxTries   int             // attempts of a task, at least 1
	TimeoutMS  int64           // milliseconds without progress after which an attempt fails; 0: never

	mostCounters int // limit on the counters that the commands of an attempt make

	o      Options
	args   *parse.ParsedJob
	conf   parse.Conf
	splits []records.Split // split i is the input of map i
	files  int             // number of input files

	mapper, combiner, reducer stage
	input                     inputFormat
	mapKinds                  [2]wire.Kind  // kinds of the keys and values that maps emit
	order                     *fields.Order // of KeyFieldBasedComparator; nil: byte order
	exact                     bool          // emitPaired numbers records, to put those with equal keys in order
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
	in      wire.Writer
	out     wire.Reader
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
)

// New makes a job from its arguments. It reads the sizes of input files, and with
// NLineInputFormat their text. It writes nothing. Its errors are *parse.Error, with the
// exit code and the lines that Hadoop gives.
func New(args *parse.ParsedJob, o Options) (*Work, error) {
	w := &Work{o: o, args: args, conf: args.Conf, Output: records.Local(args.Output), counted: map[taskID]tally{}}
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

// refuse returns an error that ends mrlocal before the job starts. exit is the exit code
// of Hadoop's command.
func refuse(exit int, format string, args ...any) error {
	return &parse.Error{Exit: exit, Lines: []string{fmt.Sprintf(format, args...)}}
}

// failed returns an error that Hadoop finds only when its tasks run. Its text and exit
// code are those of a failed job.
func failed(format string, args ...any) error {
	return &parse.Error{Exit: 1, Lines: []string{fmt.Sprintf(format, args...), "Job not successful!"}}
}

// readConf reads the properties that are numbers, and the separator of text output.
// Defaults are those of mapred-default.xml. In Hadoop a property that is no number fails
// the tasks, so the error is that of a failed job.
func (w *Work) readConf() error {
	if w.o.Reducers == 0 {
		w.o.Reducers = 1
	}
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
		return failed("mapreduce.job.reduces: %d is no number of tasks", w.Reducers)
	}
	// Hadoop reads a combiner's output with the properties of the reduce (PipeCombiner).
	w.combiner.out.KeyFields = w.reducer.out.KeyFields
	w.textSeparator = w.conf.Get("mapreduce.output.textoutputformat.separator", "\t")
	return nil
}

// separator returns the bytes of a property that is a separator, by default a TAB. It is
// empty if the property is set to "".
func (w *Work) separator(name string) []byte { return []byte(w.conf.Get(name, "\t")) }

// chooseStages sets the kinds and commands of the three stages (StreamJob.setJobConf). A
// job with -reducer NONE, or with 0 reduces, is map-only and runs no combiner.
func (w *Work) chooseStages() error {
	a := w.args
	if a.Reducer.Given && a.Reducer.Text == "NONE" {
		w.Reducers = 0
	}
	w.MapOnly = w.Reducers == 0
	var err error
	if w.mapper.kind, err = w.kindOf("mapper", a.Mapper, identity); err != nil {
		return err
	}
	if w.combiner.kind, err = w.kindOf("combiner", a.Combiner, absent); err != nil {
		return err
	}
	if w.MapOnly {
		w.combiner.kind = absent
	} else if w.reducer.kind, err = w.kindOf("reducer", a.Reducer, identity); err != nil {
		return err
	}
	// The reducer aggregate is also the combiner, whatever -combiner says.
	if !w.MapOnly && strings.EqualFold(a.Reducer.Text, "aggregate") {
		w.reducer.kind, w.combiner.kind = aggregate, aggregate
	}
	for _, s := range []*stage{&w.mapper, &w.combiner, &w.reducer} {
		if s.kind != command {
			continue
		}
		if s.words = parse.Split(s.command); len(s.words) == 0 {
			return failed("an empty command")
		}
		w.unqualify(s.words)
	}
	for _, name := range []string{"mapdebug", "reducedebug"} {
		if slices.Contains(a.Debugs, name) {
			w.o.Warn("-" + name + ": debug scripts are not run here")
		}
	}
	return nil
}

// unqualify replaces the path of a program by its name in the working directory, if -file
// ships the program (StreamJob.unqualifyIfLocalPath).
func (w *Work) unqualify(words []string) {
	abs, err := filepath.Abs(words[0])
	if err != nil {
		return
	}
	for _, f := range w.args.Files {
		if f.Packed && f.Path == abs {
			words[0] = f.Link
		}
	}
}

// kindOf returns the kind of the stage that -mapper, -combiner or -reducer names. what is
// the option without its hyphen. otherwise is the kind if the option is not given. The
// text of a command goes to its stage. It refuses a class of Hadoop that is not built in.
func (w *Work) kindOf(what string, c parse.Command, otherwise stageKind) (stageKind, error) {
	if !c.Given {
		return otherwise, nil
	}
	switch c.Text {
	case "org.apache.hadoop.mapred.lib.IdentityMapper", "org.apache.hadoop.mapred.lib.IdentityReducer":
		return identity, nil
	case "org.apache.hadoop.mapred.lib.InverseMapper":
		return inverse, nil
	case "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorReducer", "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorCombiner":
		return aggregate, nil
	}
	if isClass(c.Text) {
		return absent, refuse(1, "-%s : class not built here : %s", what, c.Text)
	}
	switch what {
	case "mapper":
		w.mapper.command = c.Text
	case "combiner":
		w.combiner.command = c.Text
	default:
		w.reducer.command = c.Text
	}
	return command, nil
}

// isClass reports whether text is the name of a class of Hadoop. Hadoop takes any other
// name for a command too, unless a class of that name is on its class path.
func isClass(text string) bool { return strings.HasPrefix(text, "org.apache.hadoop.") }

// formatOf returns the format of records on their way to or from a command. name is
// map.input, map.output, reduce.input or reduce.output.
func (w *Work) formatOf(name string) wire.Format {
	return wire.FormatNamed(w.conf.Get("stream."+name, ""))
}

// chooseKinds finds the kinds of keys and values between the stages. It sets in and out of
// each stage.
func (w *Work) chooseKinds() error {
	in := [2]wire.Kind{w.input.key, wire.Text}
	w.mapKinds = in
	switch w.mapper.kind {
	case command:
		w.mapper.out.Format, w.mapper.out.Separator = w.formatOf("map.output"), w.separator("stream.map.output.field.separator")
		w.mapKinds[0], w.mapKinds[1] = w.mapper.out.Format.Kinds()
		w.mapper.in = wire.Writer{Format: w.formatOf("map.input"), Separator: w.separator("stream.map.input.field.separator"), Key: in[0], Value: in[1]}
		w.mapper.in.NoKey = w.mapper.in.Format == wire.TextLines && w.conf.Bool("stream.map.input.ignoreKey", w.input.ignoresKey)
	case inverse:
		w.mapKinds = [2]wire.Kind{in[1], in[0]}
	case aggregate:
		return refuse(1, "-mapper : %s is no mapper", w.args.Mapper.Text)
	}
	for _, s := range []*stage{&w.combiner, &w.reducer} {
		s.in = wire.Writer{Format: w.formatOf("reduce.input"), Separator: w.separator("stream.reduce.input.field.separator"), Key: w.mapKinds[0], Value: w.mapKinds[1]}
		s.out.Format, s.out.Separator = w.formatOf("reduce.output"), w.separator("stream.reduce.output.field.separator")
	}
	// If the mapper is no command, Hadoop gives the map's output the classes of the reducer's
	// output. Each map then fails if it emits another class (MapTask, "Type mismatch").
	if !w.MapOnly && w.mapper.kind != command {
		declared := [2]wire.Kind{wire.Long, wire.Text}
		if w.conf.Has("stream.map.output") {
			declared[0], declared[1] = w.formatOf("map.output").Kinds()
		} else if w.reducer.kind == command || w.conf.Has("stream.reduce.output") {
			declared[0], declared[1] = w.formatOf("reduce.output").Kinds()
		}
		for i, class := range []string{"mapreduce.map.output.key.class", "mapreduce.map.output.value.class"} {
			if w.conf.Get(class, "") == "org.apache.hadoop.io.Text" {
				declared[i] = wire.Text
			}
		}
		for i, what := range []string{"key", "value"} {
			// A friendly job goes on. The engine moves bytes, which have no class.
			if declared[i] != w.mapKinds[i] && !w.o.Friendly {
				return &parse.Error{Exit: 1, Lines: []string{
					fmt.Sprintf("java.lang.Exception: java.io.IOException: Type mismatch in %s from map: expected %s, received %s", what, className(declared[i]), className(w.mapKinds[i])),
					"Job not successful!"}}
			}
		}
	}
	return nil
}

// className returns the full name of Hadoop's class for a kind.
func className(k wire.Kind) string {
	return [...]string{"org.apache.hadoop.io.Text", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.BytesWritable", "org.apache.hadoop.typedbytes.TypedBytesWritable", "org.apache.hadoop.io.NullWritable"}[k]
}

// simpleName returns the part of a class name behind its package.
func simpleName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// chooseOrder reads the comparator of keys. Only KeyFieldBasedComparator changes the
// order; that of Text compares bytes, as the engine does.
func (w *Work) chooseOrder() error {
	class := w.conf.Get("mapreduce.job.output.key.comparator.class", "")
	if group := w.conf.Get("mapreduce.job.output.group.comparator.class", ""); group != "" && simpleName(group) != "KeyFieldBasedComparator" {
		return refuse(1, "mapreduce.job.output.group.comparator.class : class not built here : %s", group)
	}
	switch {
	case class == "":
		return nil
	case simpleName(class) == "KeyFieldBasedComparator" && isClass(class):
		s, err := fields.Parse(w.conf.Get("mapreduce.partition.keycomparator.options", ""), w.conf.Get("mapreduce.map.output.key.field.separator", "\t"))
		if err != nil {
			return failed("mapreduce.partition.keycomparator.options: %v", err)
		}
		w.order = &fields.Order{Specs: s}
		return nil
	case class == "org.apache.hadoop.io.Text$Comparator":
		return nil
	}
	return refuse(1, "mapreduce.job.output.key.comparator.class : class not built here : %s", class)
}

// choosePartition sets w.partition, a function of the bytes of a key and the number of
// reduces. It gives the same reduce as Hadoop's class of that name.
func (w *Work) choosePartition() error {
	class := w.args.Partitioner
	if class == "" {
		class = w.conf.Get("mapred.partitioner.class", "")
	}
	w.partition = w.mapKinds[0].Partition
	switch class {
	case "", "org.apache.hadoop.mapred.lib.HashPartitioner":
	case "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner":
		separator := w.conf.Get("mapreduce.map.output.key.field.separator", "\t")
		s, err := fields.Parse(w.conf.Get("mapreduce.partition.keypartitioner.options", ""), separator)
		if err != nil {
			return failed("mapreduce.partition.keypartitioner.options: %v", err)
		}
		if w.conf.Has("num.key.fields.for.partition") {
			n, err := w.conf.Int("num.key.fields.for.partition", 0)
			if err != nil {
				return refuse(1, "%v", err)
			}
			s = fields.First(int(n), separator)
		}
		w.partition = func(key []byte, parts int) int { return fields.ByFields(&s, w.keyText(key), parts) }
	case "org.apache.hadoop.mapred.lib.BinaryPartitioner":
		left, err := w.conf.Int("mapreduce.partition.binarypartitioner.left.offset", 0)
		right, err2 := w.conf.Int("mapreduce.partition.binarypartitioner.right.offset", -1)
		if err != nil || err2 != nil {
			return refuse(1, "mapreduce.partition.binarypartitioner: an offset is no number")
		}
		w.partition = func(key []byte, parts int) int {
			p, ok := fields.BySlice(key, int(left), int(right), parts)
			if !ok {
				// A partitioner has no error to return. The engine turns the panic into a failed
				// attempt, as Hadoop's exception is.
				panic(errs.Optionf("BinaryPartitioner", "/ by zero: an empty key, or an offset outside of it"))
			}
			return p
		}
	default:
		if isClass(class) {
			return refuse(1, "-partitioner : class not built here : %s", class)
		}
		return &parse.Error{Exit: 1, Lines: []string{"-partitioner : class not found : " + class, "Try -help for more information"}}
	}
	if w.Reducers <= 1 { // Hadoop does not call the partitioner then
		w.partition = func([]byte, int) int { return 0 }
	}
	return nil
}

// keyText returns a key as text, as toString of its class gives it. It may be key itself.
func (w *Work) keyText(key []byte) []byte {
	if w.mapKinds[0] == wire.Text {
		return key
	}
	return w.mapKinds[0].AppendString(nil, key)
}

// chooseOutput reads the output format: whether the job writes records, the style of its
// output directory, and the compression of its parts.
func (w *Work) chooseOutput() error {
	switch w.args.OutputFormat {
	case "", "org.apache.hadoop.mapred.TextOutputFormat":
	case "org.apache.hadoop.mapred.lib.NullOutputFormat":
		w.drops = true
	default:
		if isClass(w.args.OutputFormat) {
			return refuse(1, "-outputformat : class not built here : %s", w.args.OutputFormat)
		}
		return &parse.Error{Exit: 1, Lines: []string{"-outputformat : class not found : " + w.args.OutputFormat, "Try -help for more information"}}
	}
	w.Style = output.DirStyle{PlainNames: true, OmitEmpty: w.args.LazyOutput || w.drops, NoSuccess: !w.conf.Bool("mapreduce.fileoutputcommitter.marksuccessfuljobs", true)}
	if !w.conf.Bool("mapreduce.output.fileoutputformat.compress", false) {
		w.Compress = compress.None
		return nil
	}
	class := w.conf.Get("mapreduce.output.fileoutputformat.compress.codec", "org.apache.hadoop.io.compress.DefaultCodec")
	switch class {
	case "org.apache.hadoop.io.compress.GzipCodec":
		w.Compress = compress.Gzip
	case "org.apache.hadoop.io.compress.ZStandardCodec":
		w.Compress = compress.Zstd
	default:
		return failed("mapreduce.output.fileoutputformat.compress.codec : class not built here : %s", class)
	}
	return nil
}

// plan divides the inputs into splits. The error for a missing input has Hadoop's exit
// code 5.
func (w *Work) plan() error {
	var o records.Options
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
	if o.Lines, err = w.input.linesPerMap(w.conf); err != nil {
		return err
	}
	w.splits, err = records.Plan(w.args.Inputs, o)
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
	if w.Output == "" {
		return false
	}
	_, err := os.Lstat(w.Output)
	return err == nil
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
		return errs.Optionf("Options.OutputFile", "%s: is an input", file)
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
// attempt removes its own working directory. A nil Work has nothing to close.
func (w *Work) Close() error {
	if w == nil {
		return nil
	}
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
