// Package streamcmd reads the command lines of mrlocal streaming and mrlocal run
// streaming, and gives their answers: the job, its counters, Hadoop's exit codes.
//
// mrlocal streaming takes the arguments of hadoop-streaming, and before them the
// flags of mrlocal run. run streaming has the same as flags of its own (Flags).
package streamcmd

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/internal/machine"
	"mrlocal/internal/tempdir"
	"mrlocal/output/compress"
	"mrlocal/report"
	"mrlocal/streaming"
	"mrlocal/streaming/parse"
)

// Flags are the flags of run streaming alone.
func Flags() []argv.Spec {
	repeat := func(name, help string) argv.Spec {
		f := argv.ValueSpec(name, help, "")
		f.Repeat = true
		return f
	}
	property := repeat("define", "set the property `NAME=VALUE` of the job, as Hadoop's -D")
	property.Short = "D"
	return []argv.Spec{
		argv.ValueSpec("mapper", "the `COMMAND` that maps; no shell reads it", "records pass as they are"),
		argv.ValueSpec("combiner", "the `COMMAND` that combines on the side of the maps", ""),
		argv.ValueSpec("reducer", "the `COMMAND` that reduces, NONE, or aggregate", "records pass as they are"),
		argv.ValueSpec("compat", "`strict|friendly`: do what Hadoop does, traps included, or take the useful way and warn", "friendly; strict for mrlocal streaming"),
		repeat("files", "let `PATH[#NAME]` appear in the working directory of the commands; commas separate several"),
		repeat("archives", "unpack `PATH[#NAME]` there"),
		repeat("cmdenv", "set the variable `NAME=VALUE` for the commands"),
		property,
		argv.ValueSpec("partitioner", "the `CLASS` that divides keys among reduces", "by hash"),
		argv.ValueSpec("inputformat", "the `CLASS` that cuts the input into records", "TextInputFormat"),
		argv.ValueSpec("inputreader", "the reader and its marks, `StreamXmlRecordReader,begin=<a>,end=</a>`", ""),
		argv.ValueSpec("io", "`text|keyonlytext|rawbytes|typedbytes`: how records are told to commands and by them", "text"),
		{Flag: argv.Flag{Name: "lazy-output"}, Help: "make no part for a task that writes nothing"},
		argv.ValueSpec("stderr-dir", "keep the standard error of each attempt in a file in `DIR`", "shown, up to 1 MiB of an attempt"),
	}
}

// arguments returns the flags as hadoop-streaming's arguments. The output is that of
// the run, so any stands for it here.
func arguments(line argv.Line, inputs []string, reducers int, mapOnly bool) []string {
	var args []string
	add := func(option, flag string) {
		for _, v := range line.Values(flag) {
			args = append(args, option, v)
		}
	}
	add("-D", "define")
	add("-files", "files")
	add("-archives", "archives")
	for _, o := range []string{"mapper", "combiner", "reducer", "cmdenv", "partitioner", "inputformat", "inputreader", "io"} {
		add("-"+o, o)
	}
	for _, in := range inputs {
		args = append(args, "-input", in)
	}
	if line.Has("lazy-output") {
		args = append(args, "-lazyOutput")
	}
	if reducers > 0 || mapOnly {
		args = append(args, "-numReduceTasks", strconv.Itoa(reducers))
	}
	return append(args, "-output", "-")
}

// Friendly makes the work of run streaming. inputs and the rest of o are those of the
// flags that all jobs share.
func Friendly(line argv.Line, o *mrlocal.Options, stderr io.Writer) (work *streaming.Work, err error) {
	stdin, err := spool(o, stderr == nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Work closes stdin from Keep on. Before, an error must not leave the copied input
		// behind.
		if err != nil {
			err = errors.Join(err, stdin.Close())
		}
	}()
	job, err := parse.Args(arguments(line, o.Inputs, o.Reducers, o.MapOnly))
	if err != nil {
		return nil, usage(err)
	}
	cores := int64(len(machine.Cores()))
	compat, given := line.Value("compat")
	if given && compat != "strict" && compat != "friendly" {
		return nil, errs.Optionf("--compat", "%s: strict or friendly", argv.Quote(compat))
	}
	s := Settings(line, o, stderr)
	if s.Friendly = compat != "strict"; s.Friendly {
		// Hadoop makes maps by blocks of 128 MB; on one machine two maps a core end together.
		s.Maps = 2 * cores
		if !job.Conf.Has("fs.local.block.size") {
			job.Conf.Set("fs.local.block.size", strconv.FormatInt(max(o.BlockBytes, 0)+boolBytes(o.BlockBytes == 0, 64<<20), 10))
		}
	}
	if work, err = streaming.New(job, s); err != nil {
		return nil, usage(err)
	}
	// By the size of the input, as other jobs choose: a reduce for each 8 MiB, at most
	// one a core. Only the job knows that size, so it is made a second time.
	if s.Friendly && !job.Conf.Has("mapreduce.job.reduces") && !work.MapOnly {
		if n := min(cores, work.InputBytes/(8<<20)); n > 1 {
			s.Reducers = int(n)
			if work, err = streaming.New(job, s); err != nil {
				return nil, usage(err)
			}
		}
	}
	work.Output = ""
	work.Keep(stdin)
	return work, work.Overwrites(o.OutputFile)
}

// spool copies standard input, if it is among the inputs, to a file in a Root that the caller
// closes: maps read their splits themselves. In a batch nobody knows whose it is.
func spool(o *mrlocal.Options, batch bool) (*tempdir.Root, error) {
	at := slices.Index(o.Inputs, "-")
	root := tempdir.New(o.TempDirs, 0)
	switch {
	case at < 0:
		return root, nil
	case batch || o.Stdin == nil:
		return root, errs.Optionf("input", "-: there is no standard input for this job; name a file")
	}
	dir, err := root.Dir()
	if err != nil {
		return root, err
	}
	path := filepath.Join(dir, "standard-input")
	f, err := os.Create(path)
	if err == nil {
		_, err = io.Copy(f, o.Stdin)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return root, errors.Join(fmt.Errorf("keep standard input: %w", err), root.Close())
	}
	o.Inputs[at] = path
	return root, nil
}

// boolBytes returns n if on is set.
func boolBytes(on bool, n int64) int64 {
	if on {
		return n
	}
	return 0
}

// Settings returns the options of streaming from the flags that both commands have. stderr
// nil stands for a batch, whose jobs print nothing.
func Settings(line argv.Line, o *mrlocal.Options, stderr io.Writer) streaming.Options {
	dir, _ := line.Value("stderr-dir")
	s := streaming.Options{Environ: os.Environ(), TempDir: os.TempDir(), ErrorDir: dir}
	if len(o.TempDirs) > 0 {
		s.TempDir = o.TempDirs[0]
	}
	if stderr != nil {
		s.Stderr = &lines{w: stderr}
		s.Warn = func(text string) { _, _ = io.WriteString(s.Stderr, "mrlocal: streaming: "+errs.OneLine(text)+"\n") }
		if s.Status = s.Warn; line.Has("quiet") {
			s.Status = nil
		}
	}
	return s
}

// lines lets several goroutines write whole lines: each attempt copies the standard error of
// its command in a goroutine of its own.
type lines struct {
	sync.Mutex
	w io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.w.Write(p)
}

// usage turns an error of hadoop-streaming's arguments into one of kind errs.BadOptions, on
// one line. Other errors stay as they are.
func usage(err error) error {
	var p *parse.Error
	if errors.As(err, &p) {
		return errs.Optionf("streaming", "%s", strings.Join(slices.DeleteFunc(slices.Clone(p.Lines), func(l string) bool { return l == "" || l == "Try -help for more information" }), "; "))
	}
	return err
}

// Apply makes the options of a run those of the work. The job reads its input by itself and
// says how many reduces it has, so these options are cleared. Apply does nothing if w is nil.
func Apply(w *streaming.Work, o *mrlocal.Options) {
	if w == nil {
		return
	}
	o.Inputs, o.Reducers, o.ReducersPerSlot, o.MapOnly, o.BlockBytes = nil, 0, 0, false, 0
	o.DirStyle = w.Style
	// Friendly clears Output, because run streaming has --output.
	if w.Output != "" {
		o.OutputDir = w.Output
	}
	if w.Compress != compress.None && o.CompressOutput == compress.BySuffix {
		o.CompressOutput = w.Compress
	}
	if t := w.Timeout(); t > 0 {
		// Hadoop's milliseconds may be more than a Duration holds; a quarter leaves room for
		// sums.
		o.TaskTimeout = min(t, math.MaxInt64/4)
	}
	// 0 stands for the engine's default in both.
	if n := w.Tries(); n > 0 {
		o.Attempts = n
	}
}

// Divide divides the arguments of mrlocal streaming: flags of mrlocal run come first,
// and those of hadoop-streaming, which begin with one hyphen, after them.
func Divide(args []string, flags []argv.Spec) (ours, theirs []string) {
	i := 0
	for i < len(args) {
		name, isLong := strings.CutPrefix(args[i], "--")
		name, _, hasValue := strings.Cut(name, "=")
		// The first word that is no flag of ours ends ours: hadoop-streaming's options have the
		// same form with one hyphen.
		at := slices.IndexFunc(flags, func(f argv.Spec) bool { return f.Name == name })
		if !isLong || at < 0 {
			break
		}
		i++
		if flags[at].Value && !hasValue && i < len(args) {
			i++
		}
	}
	return args[:i], args[i:]
}

// Refused writes an error of the arguments as StreamJob does, and returns its exit
// code. ok is false for any other error.
func Refused(err error, stderr, stdout io.Writer) (code int, ok bool) {
	var p *parse.Error
	if !errors.As(err, &p) {
		return 0, false
	}
	if p.Usage {
		_, _ = io.WriteString(stdout, usageText)
	}
	for _, l := range p.Lines {
		fmt.Fprintln(stderr, l)
	}
	fmt.Fprintln(stderr, "Streaming Command Failed!")
	return p.Exit, true
}

// Usage writes the help that -help asks for.
func Usage(w io.Writer) { _, _ = io.WriteString(w, usageText) }

const usageText = `Usage: mrlocal streaming [FLAGS OF mrlocal run] [generic options] [options]
Options, those of hadoop-streaming:
  -input          <path> files, directories, patterns
  -output         <path> directory of the result
  -mapper         <cmd|JavaClassName> command to be run as mapper
  -combiner       <cmd|JavaClassName> command to be run as combiner
  -reducer        <cmd|JavaClassName> command to be run as reducer, NONE, aggregate
  -file           <file> deprecated, use -files
  -inputformat    TextInputFormat, KeyValueTextInputFormat, org.apache.hadoop.mapred.lib.NLineInputFormat
  -outputformat   org.apache.hadoop.mapred.TextOutputFormat
  -partitioner    <JavaClassName>
  -numReduceTasks <num>
  -inputreader    StreamXmlRecordReader,begin=<mark>,end=<mark>
  -cmdenv         <n>=<v> variable for the commands
  -io             text, keyonlytext, rawbytes or typedbytes
  -lazyOutput     no part for a task that writes nothing
  -info, -help    this text
Generic options come first:
  -conf <file>, -D <property=value>, -files <paths>, -archives <paths>
Flags of mrlocal come before them: --sched, --memory, --events, --gantt, --report, --compat friendly and others;
see mrlocal run streaming --help and docs/streaming.md.
`

// Reported returns the report of the run, to which it adds what the commands have reported.
// They belong to the last job: a streaming job is a chain of one.
func Reported(work *streaming.Work, done *mrlocal.Report) []*report.Report {
	if len(done.Jobs) > 0 {
		work.Report(&done.Jobs[len(done.Jobs)-1])
	}
	return []*report.Report{done}
}

// Counters writes the counters of a job that has ended well, as Hadoop's client prints them.
// It does nothing for a job that is no streaming job.
func Counters(w io.Writer, work *streaming.Work, done *mrlocal.Report) error {
	if work == nil || done == nil || len(done.Jobs) == 0 {
		return nil
	}
	c := done.Jobs[len(done.Jobs)-1].Counters
	return streaming.WriteCounters(w, work.Counters(c, streaming.OutputBytes(c.OutputBytes)))
}
