// Package streaming makes jobs of Hadoop Streaming's arguments: mappers, combiners
// and reducers that are commands, reading and writing records on their standard
// streams. The jobs run on the slots of the engine as any job.
//
//	arguments ──parse──► parse.ParsedJob ──New──► Work: jobs.Job + output ──engine──► Finish: counters
//
// Each map reads its own split (package records), because the splits of Hadoop can
// be seen in the results. So the job is one without input for the engine, with as
// many maps as there are splits. A command runs on the thread of its slot (package
// child), in a process group that dies with the attempt.
//
// Two modes: strict does what Hadoop 3.4.2 does, traps included. Friendly warns of
// traps, and takes the more useful way where a trap has one. docs/streaming.md
// lists both.
//
// Memory: an attempt charges the buffers of its command and of its split to the
// budget of the run. Neighbours: jobs, records, child, wire, fields, parse; the
// command mrlocal runs Work.
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

// Options say how a job runs that arguments describe. Environ and TempDir are
// required.
type Options struct {
	Friendly   bool
	Apart      bool       // shipped files lie apart, as on a cluster, although the run is friendly
	Environ    []string   // of this process, NAME=VALUE; commands inherit it
	TempDir    string     // an existing directory for working directories and unpacked archives
	Stderr     io.Writer  // what commands write to standard error; it is locked here. nil: dropped
	ErrorDir   string     // a file for each attempt's standard error; "": only Stderr
	Reducers   int        // if the arguments do not say; 0: 1
	Maps       int64      // so many splits if files are large; 0: 1, as in Hadoop's local runner
	ValueOrder ValueOrder // in what order records with equal keys come
	Warn       func(text string)
	Status     func(text string) // gets what commands report as their status, at most once a second; may be nil
}

// ValueOrder says in what order records with equal keys come.
type ValueOrder uint8

const (
	AsTheyAre ValueOrder = iota
	Reversed             // the last one first
	Shuffled             // as a hash of their places has it, the same in each run
)

// Work is a job that is ready to run, and what it has counted. It may run again after
// Forget. Close removes its temporary files.
type Work struct {
	Job      jobs.Job
	MapOnly  bool
	Reducers int
	Output   string
	Style    output.DirStyle
	Compress compress.Format
	// InputBytes is the size of all splits together.
	InputBytes int64
	MaxTries   int
	TimeoutMS  int64

	mostCounters int // of the commands, in an attempt

	o      Options
	args   *parse.ParsedJob
	conf   parse.Conf
	splits []records.Split
	files  int // of the input

	mapper, combiner, reducer stage
	input                     inputFormat
	mapKinds                  [2]wire.Kind // what maps emit: keys and values
	order                     *fields.Order
	exact                     bool // records are numbered: equal keys come as Hadoop happens to give them, or in reverse
	partition                 func(key []byte, parts int) int
	textSeparator             string // of text output
	drops                     bool   // nothing is written (NullOutputFormat)
	lock                      sync.Mutex
	counted                   map[taskID]tally
	shown                     time.Time  // when Options.Status was called last
	quiet                     sync.Mutex // guards Options.Stderr
	ship                      shipped
	kept                      *disk.TempRoot // nil: none
}

// stage says what happens in a map, combine or reduce. in is how records go to its
// command, and out how the command's output is read.
type stage struct {
	kind    stageKind
	words   []string // of the command
	command string
	in      wire.Writer
	out     wire.Reader
}

// stageKind is what does the work of a stage.
type stageKind uint8

const (
	absent stageKind = iota
	command
	identity
	inverse
	aggregate
)

// New makes the job. Its errors are *parse.Error, with the exit code and the lines
// that Hadoop gives. Inputs are looked at, nothing is written.
func New(args *parse.ParsedJob, o Options) (*Work, error) {
	w := &Work{o: o, args: args, conf: args.Conf, Output: records.Local(args.Output), counted: map[taskID]tally{}}
	if w.o.Warn == nil {
		w.o.Warn = func(string) {}
	}
	for _, step := range []func() error{w.readConf, w.chooseInput, w.chooseStages, w.chooseKinds, w.chooseOrder, w.choosePartition, w.chooseOutput, w.plan, w.files0} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	// Only a small job is sorted in Hadoop's order, because each map keeps all its records for
	// that.
	w.exact = !w.MapOnly && (w.o.ValueOrder != AsTheyAre || !w.o.Friendly && w.InputBytes <= exactBytes)
	w.makeJob()
	return w, nil
}

// refuse returns an error for what is not built here, or wrong, with the exit code of
// Hadoop's command.
func refuse(exit int, format string, args ...any) error {
	return &parse.Error{Exit: exit, Lines: []string{fmt.Sprintf(format, args...)}}
}

// failed is an error that Hadoop finds only when its tasks run.
func failed(format string, args ...any) error {
	return &parse.Error{Exit: 1, Lines: []string{fmt.Sprintf(format, args...), "Job not successful!"}}
}

// readConf reads the properties that are numbers. Defaults are those of
// mapred-default.xml. A property that is no number fails the tasks in Hadoop, so the
// message is that of a failed job.
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
		// The engine has one number for both kinds, so that of maps counts.
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
	w.combiner.out.KeyFields = w.reducer.out.KeyFields
	w.textSeparator = w.conf.Get("mapreduce.output.textoutputformat.separator", "\t")
	return nil
}

// separator returns a separator as bytes; where a property is empty, as Hadoop has
// it, nothing separates.
func (w *Work) separator(name string) []byte { return []byte(w.conf.Get(name, "\t")) }

// chooseStages finds out what maps, combines and reduces (StreamJob.setJobConf). A job
// with -reducer NONE, or without reduces, is map-only, and its combiner is not run.
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

// unqualify makes a program that -file has shipped a name in the working directory
// (StreamJob.unqualifyIfLocalPath).
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

// kindOf tells commands from classes, and keeps a command in its stage. The classes of
// Hadoop that are built in here are those that need no code of a user.
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

// isClass reports whether text is the name of a class of Hadoop that a job may name.
// Any other name is a command for Hadoop too, unless its class is on the class path.
func isClass(text string) bool { return strings.HasPrefix(text, "org.apache.hadoop.") }

// leg returns the format of a leg such as map.input.
func (w *Work) leg(name string) wire.Format { return wire.FormatNamed(w.conf.Get("stream."+name, "")) }

// chooseKinds finds the kinds of keys and values on every leg, and makes the
// protocols of the commands.
func (w *Work) chooseKinds() error {
	in := [2]wire.Kind{w.input.key, wire.Text}
	w.mapKinds = in
	switch w.mapper.kind {
	case command:
		w.mapper.out.Format, w.mapper.out.Separator = w.leg("map.output"), w.separator("stream.map.output.field.separator")
		w.mapKinds[0], w.mapKinds[1] = w.mapper.out.Format.Kinds()
		w.mapper.in = wire.Writer{Format: w.leg("map.input"), Separator: w.separator("stream.map.input.field.separator"), Key: in[0], Value: in[1]}
		w.mapper.in.NoKey = w.mapper.in.Format == wire.TextLines && w.conf.Bool("stream.map.input.ignoreKey", w.input.ignoresKey)
	case inverse:
		w.mapKinds = [2]wire.Kind{in[1], in[0]}
	case aggregate:
		return refuse(1, "-mapper : %s is no mapper", w.args.Mapper.Text)
	}
	for _, s := range []*stage{&w.combiner, &w.reducer} {
		s.in = wire.Writer{Format: w.leg("reduce.input"), Separator: w.separator("stream.reduce.input.field.separator"), Key: w.mapKinds[0], Value: w.mapKinds[1]}
		s.out.Format, s.out.Separator = w.leg("reduce.output"), w.separator("stream.reduce.output.field.separator")
	}
	// A job whose mapper is no command has the classes of its reducer's output between map and
	// reduce. If these differ, each map fails (MapTask, "Type mismatch").
	if !w.MapOnly && w.mapper.kind != command {
		declared := [2]wire.Kind{wire.Long, wire.Text}
		if w.conf.Has("stream.map.output") {
			declared[0], declared[1] = w.leg("map.output").Kinds()
		} else if w.reducer.kind == command || w.conf.Has("stream.reduce.output") {
			declared[0], declared[1] = w.leg("reduce.output").Kinds()
		}
		for i, class := range []string{"mapreduce.map.output.key.class", "mapreduce.map.output.value.class"} {
			if w.conf.Get(class, "") == "org.apache.hadoop.io.Text" {
				declared[i] = wire.Text
			}
		}
		for i, what := range []string{"key", "value"} {
			// A friendly job goes on: between our maps and reduces there are bytes and no
			// classes.
			if declared[i] != w.mapKinds[i] && !w.o.Friendly {
				return &parse.Error{Exit: 1, Lines: []string{
					fmt.Sprintf("java.lang.Exception: java.io.IOException: Type mismatch in %s from map: expected %s, received %s", what, className(declared[i]), className(w.mapKinds[i])),
					"Job not successful!"}}
			}
		}
	}
	return nil
}

// className returns Hadoop's class of a kind.
func className(k wire.Kind) string {
	return [...]string{"org.apache.hadoop.io.Text", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.BytesWritable", "org.apache.hadoop.typedbytes.TypedBytesWritable", "org.apache.hadoop.io.NullWritable"}[k]
}

// last returns the part of a class name behind its package.
func last(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// chooseOrder reads the comparator. Only KeyFieldBasedComparator changes the order;
// Text's own is that of the bytes.
func (w *Work) chooseOrder() error {
	class := w.conf.Get("mapreduce.job.output.key.comparator.class", "")
	if group := w.conf.Get("mapreduce.job.output.group.comparator.class", ""); group != "" && last(group) != "KeyFieldBasedComparator" {
		return refuse(1, "mapreduce.job.output.group.comparator.class : class not built here : %s", group)
	}
	switch {
	case class == "":
		return nil
	case last(class) == "KeyFieldBasedComparator" && isClass(class):
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

// choosePartition reads the partitioner. Each is a function of the key's bytes and the
// number of reduces, as Hadoop's class of that name computes it.
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
	if w.Reducers <= 1 { // Hadoop does not ask the partitioner then
		w.partition = func([]byte, int) int { return 0 }
	}
	return nil
}

// keyText returns the string of a key.
func (w *Work) keyText(key []byte) []byte {
	if w.mapKinds[0] == wire.Text {
		return key
	}
	return w.mapKinds[0].AppendString(nil, key)
}

// chooseOutput reads what the output looks like: whether there is any, the names of its
// parts, and how they are compressed.
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

// plan finds the splits, of all inputs in order. An input that is missing has Hadoop's
// exit code 5.
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

// name returns the name of the job.
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

// makeJob makes the job for the engine. For the engine it has no input: each map opens
// the split of its number.
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
	if w.paired() {
		w.Job.Partition = partOf
	}
	if w.combiner.kind != absent {
		w.Job.NewCombiner = func() jobs.Reducer { return w.newGroups(&w.combiner, true) }
	}
}

// newReducer returns the reducer of an attempt. The engine looks for the methods that it
// has beyond jobs.Reducer, such as ReduceRecord.
func (w *Work) newReducer() jobs.Reducer { return w.newGroups(&w.reducer, false) }

// Exists reports whether the output directory of the arguments is there already, which
// Hadoop refuses before the job starts.
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

// Shown returns a path as Hadoop shows it in messages: file:/absolute/path.
func Shown(path string) string { return records.Qualify(path) }

// Timeout returns after how long without progress a task fails; 0: the arguments do not
// say.
func (w *Work) Timeout() time.Duration {
	switch {
	case !w.conf.Has("mapreduce.task.timeout"):
		return 0
	case w.TimeoutMS == 0: // never
		return 1 << 62
	}
	return time.Duration(w.TimeoutMS) * time.Millisecond
}

// Tries returns how often a task is tried; 0: the arguments do not say.
func (w *Work) Tries() int {
	if !w.conf.Has("mapreduce.map.maxattempts") {
		return 0
	}
	return w.MaxTries
}

// Close removes what the job has unpacked. Working directories of attempts go with
// their attempts. A nil Work has nothing.
func (w *Work) Close() error {
	if w == nil {
		return nil
	}
	var all []error
	for _, temp := range []*disk.TempRoot{w.ship.temp, w.kept} {
		if temp != nil {
			all = append(all, temp.Close())
		}
	}
	return errors.Join(all...)
}

// Keep lets Close close temp, which has inputs of the job.
func (w *Work) Keep(temp *disk.TempRoot) { w.kept = temp }
