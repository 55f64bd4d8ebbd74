package hadoop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/jobs"
	"mrlocal/streaming"
	"mrlocal/streaming/parse"
)

// Exit codes of StreamJob: the job ran and failed, and the job could not be started.
const exitJobNotSuccessful, exitNotLaunched = 1, 5

// Streaming is mrlocal streaming. Its exit codes and last lines on standard error are those of
// StreamJob, so that scripts written for Hadoop work. It reads its arguments itself (Raw), because
// options of Hadoop begin with one hyphen.
func Streaming() command.Command {
	return command.Command{Usage: "run a job of Hadoop Streaming with the arguments of hadoop-streaming", Args: "[FLAGS OF run] ARGS…",
		Raw: func(ctx context.Context, args []string, e command.Env) (int, bool) {
			return runStreaming(ctx, args, e), true
		}}
}

// Lint is mrlocal lint: it says what of a streaming job will differ on a cluster. It exits with 0
// if there is nothing to say, 1 if there is, and 2 for wrong arguments.
func Lint() command.Command {
	return command.Command{Usage: "say what of a streaming job will differ on a cluster", Args: "streaming [--no-run] ARGS…",
		Raw: func(ctx context.Context, args []string, e command.Env) (int, bool) {
			if len(args) > 0 && command.IsHelp(args[len(args)-1]) {
				return 0, false
			}
			return lint(ctx, args, e.Stdout, e.Stderr), true
		}}
}

// runStreaming runs the job and returns the exit code. An error of the command line has the words
// of StreamJob. The flags of mrlocal run and the options of Hadoop are read by two parsers; the
// first error of either ends the reading, and each later step is skipped.
func runStreaming(ctx context.Context, args []string, e command.Env) int {
	if len(args) == 1 && command.IsHelp(args[0]) {
		usage(e.Stdout)
		return command.Done
	}
	kind := command.StreamingJob()
	flags := append(append(command.RunFlags(""), command.VerboseFlag(), command.QuietFlag()), kind.Flags...)
	ours, theirs := divide(args, flags)
	line, err := argv.ParseTool("streaming", ours, argv.Flags(flags))
	var job *parse.ParsedJob
	if err == nil {
		job, err = parse.Args(theirs)
	}
	if err == nil && (job.Help || job.Info) {
		usage(e.Stdout)
		return command.Done
	}
	code, submitted := command.Done, false
	if err == nil {
		// From here on the job is one of mrlocal run, which finds inputs among the flags.
		line.Path = []string{"streaming"}
		for _, in := range job.Inputs {
			line.Flags = append(line.Flags, argv.Setting{Flag: &argv.Flag{Name: "input", Value: true, Repeat: true}, Value: in})
		}
		code, err = runjob.Run(ctx, e, line, kind.Name, func(r *command.Reader) (jobs.Chain, error) {
			s := command.StreamingOptions(line, &mrlocal.Options{TempDirs: line.Values("tmp")}, e.Stderr)
			compat, _ := line.Value("compat")
			s.Friendly = compat == "friendly"
			work, err := streaming.New(job, s)
			if err != nil {
				return nil, err
			}
			// Hadoop refuses an existing output before it starts anything, with exit code 5.
			if work.Exists() {
				return nil, &parse.Error{Exit: exitNotLaunched, Lines: []string{"Error Launching job : Output directory " + streaming.Shown(job.Output) + " already exists"}}
			}
			// From here on StreamJob would have submitted the job, and a failure has one more line.
			r.Stream, submitted = work, true
			return jobs.Chain{work.Job}, nil
		})
	}
	if err == nil {
		return code
	}
	if code, ok := refused(err, e.Stderr, e.Stdout); ok {
		return code
	}
	// An interrupt is no failure of the job: it gets the line and the exit code of its signal.
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		fmt.Fprint(e.Stderr, argv.ErrorLine("streaming", s))
		return s.ExitCode()
	}
	fmt.Fprint(e.Stderr, argv.ErrorLine("streaming", err))
	if submitted {
		fmt.Fprintln(e.Stderr, "Job not successful!")
	}
	fmt.Fprintln(e.Stderr, "Streaming Command Failed!")
	return exitJobNotSuccessful
}

// divide divides the arguments of mrlocal streaming: flags of mrlocal run come first,
// and those of hadoop-streaming, which begin with one hyphen, after them. Both results are parts
// of args.
func divide(args []string, flags []argv.Spec) (ours, theirs []string) {
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
		// The value is the next word (--sched fifo), whatever it looks like.
		if flags[at].Value && !hasValue && i < len(args) {
			i++
		}
	}
	return args[:i], args[i:]
}

// refused writes an error of the arguments as StreamJob does, and returns its exit
// code. ok is false for any other error.
func refused(err error, stderr, stdout io.Writer) (code int, ok bool) {
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

// usage writes the help that -help asks for.
func usage(w io.Writer) { _, _ = io.WriteString(w, usageText) }

// usageText has the form of the help that StreamJob prints.
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
