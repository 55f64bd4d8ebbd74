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
	"mrlocal/hadoop/streaming"
	"mrlocal/jobs"
)

// Exit codes of Hadoop's StreamJob: the job ran and failed, and the job could not be started.
const exitJobNotSuccessful, exitNotLaunched = 1, 5

// Streaming returns mrlocal streaming. Its exit codes and its last lines on standard error are
// those of Hadoop's StreamJob, so that scripts for Hadoop work. It parses its arguments itself,
// because options of hadoop-streaming are long names with one hyphen.
func Streaming() command.Command {
	return command.Command{Usage: "run a job of Hadoop Streaming with the arguments of hadoop-streaming", Args: "[FLAGS OF run] ARGS…",
		Raw: func(ctx context.Context, args []string, e command.Env) (int, error) {
			return runStreaming(ctx, args, e), nil
		}}
}

// Lint returns mrlocal lint, which reports what would differ if a streaming job ran on a cluster.
// Its exit code is 0 if it finds nothing, 1 if it finds something, and 2 for wrong arguments.
func Lint() command.Command {
	return command.Command{Usage: "report what would differ if a streaming job ran on a cluster", Args: "streaming [--no-run] ARGS…",
		Raw: func(ctx context.Context, args []string, e command.Env) (int, error) { return lint(ctx, args, e), nil }}
}

// runStreaming runs the job and returns the exit code. An error in the arguments has the text of
// StreamJob. Package argv parses the flags of mrlocal run, and package streaming the options of
// hadoop-streaming. After the first error, all later steps are skipped.
func runStreaming(ctx context.Context, args []string, e command.Env) int {
	if len(args) == 1 && command.IsHelp(args[0]) {
		return printText(e, "streaming", usageText, command.Done)
	}
	kind := command.StreamingJob()
	flags := append(append(command.RunFlags(""), command.VerboseFlag(), command.QuietFlag()), kind.Flags...)
	ours, theirs := divide(args, flags)
	line, err := command.ParseTool("streaming", ours, flags)
	var job *streaming.ParsedJob
	if err == nil {
		job, err = streaming.Args(theirs)
	}
	if err == nil && (job.Help || job.Info) {
		return printText(e, "streaming", usageText, command.Done)
	}
	code, submitted := command.Done, false
	if err == nil {
		// runjob.Run expects the inputs of a job among the flags of the line.
		for _, in := range job.Inputs {
			line.Flags = append(line.Flags, argv.Setting{Flag: &argv.Flag{Name: "input", Value: true, Repeat: true}, Value: in})
		}
		kind.Build = func(r *command.Reader) (jobs.Chain, error) {
			s := command.StreamingOptions(line, &mrlocal.Options{TempDirs: line.Values("tmp")}, e.Stderr)
			compat, _ := line.Value("compat")
			s.Friendly = compat == "friendly"
			work, err := streaming.New(job, s)
			if err != nil {
				return nil, err
			}
			// As in Hadoop, an existing output is refused before anything starts.
			if work.Exists() {
				return nil, &streaming.Error{Exit: exitNotLaunched, Lines: []string{"Error Launching job : Output directory " + streaming.Qualify(job.Output) + " already exists"}}
			}
			// At this point StreamJob submits the job. A later failure has one more line.
			r.Stream, submitted = work, true
			return jobs.Chain{work.Job}, nil
		}
		code, err = runjob.Run(ctx, e, line, &kind)
	}
	if err == nil {
		return code
	}
	if code, ok := refused(err, e.Stderr, e.Stdout); ok {
		return code
	}
	// After a signal, err is only a consequence. The line and the exit code are those of the signal.
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

// divide divides the arguments of mrlocal streaming. ours are the flags of mrlocal run, which come
// first and have two hyphens. theirs are the arguments of hadoop-streaming, whose options have one
// hyphen. Both are slices of args.
func divide(args []string, flags []argv.Spec) (ours, theirs []string) {
	i := 0
	for i < len(args) {
		name, isLong := strings.CutPrefix(args[i], "--")
		name, _, hasValue := strings.Cut(name, "=")
		// The first word that is not a flag of mrlocal run ends ours.
		at := slices.IndexFunc(flags, func(f argv.Spec) bool { return f.Name == name })
		if !isLong || at < 0 {
			break
		}
		i++
		// In the form --sched fifo, the next word is the value.
		if flags[at].Value && !hasValue && i < len(args) {
			i++
		}
	}
	return args[:i], args[i:]
}

// refused writes err as StreamJob does if it is an error in the arguments, and returns the exit code of
// StreamJob. For any other error it does nothing and returns ok as false.
func refused(err error, stderr, stdout io.Writer) (code int, ok bool) {
	var p *streaming.Error
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

// printText writes text to standard output, and returns code. If that fails, it writes an error line of the
// command what, and returns command.Failed.
func printText(e command.Env, what, text string, code int) int {
	if err := e.Write([]byte(text)); err != nil {
		fmt.Fprint(e.Stderr, argv.ErrorLine(what, err))
		return command.Failed
	}
	return code
}

// usageText is what -help and --help of mrlocal streaming print. Its form is that of the help of StreamJob.
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
