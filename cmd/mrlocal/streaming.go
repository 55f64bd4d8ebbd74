package main

import (
	"context"
	"errors"
	"fmt"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/streamcmd"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/streaming"
	"mrlocal/streaming/parse"
)

// streamingKind is the job of run streaming.
func streamingKind() jobKind {
	return jobKind{"streaming", "run commands as mapper and reducer, by the protocol of Hadoop Streaming", "o", streamcmd.Flags(), func(r *reader) (jobs.Chain, error) {
		var o mrlocal.Options
		r.jobOptions(&o)
		if r.Err != nil {
			return nil, r.Err
		}
		o.TempDirs = r.Line.Values("tmp")
		var err error
		if r.stream, err = streamcmd.Friendly(r.Line, &o, r.stderr); err != nil {
			return nil, err
		}
		return jobs.Chain{r.stream.Job}, nil
	}}
}

// Exit codes of StreamJob.
const exitJobNotSuccessful, exitNotLaunched = 1, 5

// namedFirst is a command for the list of commands alone: its arguments are not those of
// the tree, so run reads them where the name stands first.
func namedFirst(name, usage, args string) command {
	return command{name: name, usage: usage, args: args, run: func(context.Context, env, argv.Line) (int, error) {
		return 0, errs.Optionf(name, "the name stands first: mrlocal %s", name)
	}}
}

// runStreaming is mrlocal streaming. Its exit codes are those of StreamJob.
func runStreaming(ctx context.Context, args []string, e env) int {
	if len(args) == 1 && isHelp(args[0]) {
		streamcmd.Usage(e.stdout)
		return exitDone
	}
	kind := streamingKind()
	flags := append(append(runFlags(""), verboseFlag(), quietFlag()), kind.flags...)
	ours, theirs := streamcmd.Divide(args, flags)
	line, err := argv.ParseTool("streaming", ours, argvFlags(flags))
	var job *parse.Job
	if err == nil {
		job, err = parse.Args(theirs)
	}
	if err == nil && (job.Help || job.Info) {
		streamcmd.Usage(e.stdout)
		return exitDone
	}
	code, submitted := exitDone, false
	if err == nil {
		line.Path = []string{"streaming"}
		for _, in := range job.Inputs {
			line.Flags = append(line.Flags, argv.Setting{Flag: &argv.Flag{Name: "input", Value: true, Repeat: true}, Value: in})
		}
		code, err = runJob(ctx, e, line, kind.name, func(r *reader) (jobs.Chain, error) {
			s := streamcmd.Settings(line, &mrlocal.Options{TempDirs: line.Values("tmp")}, e.stderr)
			compat, _ := line.Value("compat")
			s.Friendly = compat == "friendly"
			work, err := streaming.New(job, s)
			if err != nil {
				return nil, err
			}
			if work.Exists() {
				return nil, &parse.Error{Exit: exitNotLaunched, Lines: []string{"Error Launching job : Output directory " + streaming.Shown(job.Output) + " already exists"}}
			}
			r.stream, submitted = work, true
			return jobs.Chain{work.Job}, nil
		})
	}
	if err == nil {
		return code
	}
	if code, ok := streamcmd.Refused(err, e.stderr, e.stdout); ok {
		return code
	}
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		return fail(ctx, e, "streaming", err)
	}
	fmt.Fprint(e.stderr, argv.ErrorLine("streaming", err))
	if submitted {
		fmt.Fprintln(e.stderr, "Job not successful!")
	}
	fmt.Fprintln(e.stderr, "Streaming Command Failed!")
	return exitJobNotSuccessful
}
