package runjob

import (
	"context"
	"errors"
	"fmt"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/settings"
	"mrlocal/cmd/mrlocal/internal/streamcmd"
	"mrlocal/jobs"
	"mrlocal/streaming"
	"mrlocal/streaming/parse"
)

// Exit codes of StreamJob.
const exitJobNotSuccessful, exitNotLaunched = 1, 5

// Streaming is mrlocal streaming. Its exit codes are those of StreamJob.
func Streaming() command.Command {
	return command.Command{Usage: "run a job of Hadoop Streaming with the arguments of hadoop-streaming", Args: "[FLAGS OF run] ARGS…",
		Raw: func(ctx context.Context, args []string, e command.Env) (int, bool) {
			return runStreaming(ctx, args, e), true
		}}
}

// Lint says what of a streaming job will differ on a cluster.
func Lint() command.Command {
	return command.Command{Usage: "say what of a streaming job will differ on a cluster", Args: "streaming [--no-run] ARGS…",
		Raw: func(ctx context.Context, args []string, e command.Env) (int, bool) {
			if len(args) > 0 && command.IsHelp(args[len(args)-1]) {
				return 0, false
			}
			return streamcmd.Lint(ctx, args, e.Stdout, e.Stderr), true
		}}
}

// runStreaming runs the job. An error of the command line has the words of StreamJob.
func runStreaming(ctx context.Context, args []string, e command.Env) int {
	if len(args) == 1 && command.IsHelp(args[0]) {
		streamcmd.Usage(e.Stdout)
		return command.Done
	}
	kind := settings.StreamingJob()
	flags := append(append(settings.RunFlags(""), settings.VerboseFlag(), settings.QuietFlag()), kind.Flags...)
	ours, theirs := streamcmd.Divide(args, flags)
	line, err := argv.ParseTool("streaming", ours, argv.Flags(flags))
	var job *parse.Job
	if err == nil {
		job, err = parse.Args(theirs)
	}
	if err == nil && (job.Help || job.Info) {
		streamcmd.Usage(e.Stdout)
		return command.Done
	}
	code, submitted := command.Done, false
	if err == nil {
		line.Path = []string{"streaming"}
		for _, in := range job.Inputs {
			line.Flags = append(line.Flags, argv.Setting{Flag: &argv.Flag{Name: "input", Value: true, Repeat: true}, Value: in})
		}
		code, err = runJob(ctx, e, line, kind.Name, func(r *settings.Reader) (jobs.Chain, error) {
			s := streamcmd.Settings(line, &mrlocal.Options{TempDirs: line.Values("tmp")}, e.Stderr)
			compat, _ := line.Value("compat")
			s.Friendly = compat == "friendly"
			work, err := streaming.New(job, s)
			if err != nil {
				return nil, err
			}
			if work.Exists() {
				return nil, &parse.Error{Exit: exitNotLaunched, Lines: []string{"Error Launching job : Output directory " + streaming.Shown(job.Output) + " already exists"}}
			}
			r.Stream, submitted = work, true
			return jobs.Chain{work.Job}, nil
		})
	}
	if err == nil {
		return code
	}
	if code, ok := streamcmd.Refused(err, e.Stderr, e.Stdout); ok {
		return code
	}
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
