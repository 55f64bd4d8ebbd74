package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mrlocal/hadoop/streaming"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
)

// Exit codes of Hadoop's StreamJob: the job ran and failed, and the job could not be started.
const exitJobNotSuccessful, exitNotLaunched = 1, 5

// makeStreaming returns mrlocal streaming. Its exit codes and its last lines on standard error are
// those of Hadoop's StreamJob, so that scripts for Hadoop work. It parses its arguments itself,
// because options of hadoop-streaming are long names with one hyphen.
func makeStreaming(e Env) *flags.Command {
	return &flags.Command{Usage: "run a job of Hadoop Streaming with the arguments of hadoop-streaming", Args: "[FLAGS OF run] ARGS…", Help: usageText,
		Raw: func(ctx context.Context, args []string) (int, error) { return runStreaming(ctx, args, e) }}
}

// runStreaming runs the job and returns the exit code. An error in the arguments has the text of
// StreamJob. The settings of mrlocal run read the flags, and package streaming the options of
// hadoop-streaming. After the first error, all later steps are skipped.
func runStreaming(ctx context.Context, args []string, e Env) (int, error) {
	if len(args) == 1 && args[0] == "-h" {
		return Done, e.Write([]byte(usageText))
	}
	j := StreamingJob()
	run := Run(e, j)
	ours, theirs := divide(args, run.Settings)
	line, err := run.Parse(ours)
	var job *streaming.ParsedJob
	if err == nil {
		job, err = streaming.Args(theirs)
	}
	if err == nil && job.Help {
		return Done, e.Write([]byte(usageText))
	}
	code := Done
	if err == nil {
		j.Inputs = append(j.Inputs, job.Inputs...)
		j.Build = func() (jobs.Chain, error) {
			s := j.StreamingOptions()
			s.Friendly = j.Compat == "friendly"
			work, err := streaming.New(job, s)
			if err != nil {
				return nil, err
			}
			// As in Hadoop, an existing output is refused before anything starts.
			if work.Exists() {
				return nil, &streaming.Error{Exit: exitNotLaunched, Lines: []string{"Error Launching job : Output directory " + streaming.Qualify(job.Output) + " already exists"}}
			}
			return j.Streams(work), nil
		}
		code, err = run.Run(ctx, line)
	}
	if err == nil {
		return code, nil
	}
	if code, ok := refused(err, e.Stderr, e.Stdout); ok {
		return code, nil
	}
	if code, ok := interrupted(ctx, e, "streaming"); ok {
		return code, nil
	}
	fmt.Fprint(e.Stderr, ErrorLine("streaming", err, run.Settings...))
	if j.Stream != nil { // StreamJob has submitted the job
		fmt.Fprintln(e.Stderr, "Job not successful!")
	}
	fmt.Fprintln(e.Stderr, "Streaming Command Failed!")
	return exitJobNotSuccessful, nil
}

// divide divides the arguments of mrlocal streaming. ours are the flags of mrlocal run, which come
// first and have two hyphens. theirs are the arguments of hadoop-streaming, whose options have one
// hyphen. Both are slices of args.
func divide(args []string, all []setting.Setting) (ours, theirs []string) {
	i := 0
	for i < len(args) {
		name, isLong := strings.CutPrefix(args[i], "--")
		name, _, hasValue := strings.Cut(name, "=")
		// The first word that is not a flag of mrlocal run ends ours.
		s := setting.Named(all, name)
		if !isLong || s == nil {
			break
		}
		i++
		// In the form --sched fifo, the next word is the value.
		if !s.Toggle() && !hasValue && i < len(args) {
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
