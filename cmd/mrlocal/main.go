// Command mrlocal runs MapReduce jobs on the files and cores of one machine. It also simulates
// workloads of such jobs, and shows which task gets which slot.
//
// The function table lists the commands. tree.go finds the command that a line names, and calls it.
// help.go has the groups and the examples of the help. This package has the commands of event files
// (replay, explain, compare, show, ui), and gen, clean, reproduce, policies, completion, man and
// version. The packages below internal have the others:
//
//	argv         parses the command line, formats errors
//	command      parts that commands share: their type, streams, exit codes, flags; the jobs of run
//	hadoop       streaming, lint, submit, stream
//	measure      runs of a job or a workload with several numbers of slots; demo without a lesson
//	pictures     --svg, --trace, --csv, --metrics, --html and --ui
//	predict      the measurements of profile and validate
//	process      signals, GOMAXPROCS, memory limit, --profile, auxiliary files, licence notices
//	runjob       run, tune, profile JOB
//	show         progress, tables and gantts
//	teach        demo
//	tools        sort, grep, count: the commands that work as GNU tools do
//	workloads    batch, sim, sweep, validate, profile WORKLOAD, workload
//
// Results go to standard output, everything else to standard error. The exit codes are:
//
//	0      done
//	1      nothing matched (run grep), or a difference was found (replay, compare, sim --compare, lint)
//	2      wrong usage or input
//	3      the job failed
//	128+n  ended by signal n
//
// Tools have the exit codes of GNU tools, and streaming those of Hadoop.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/demo"
	"mrlocal/cmd/mrlocal/internal/hadoop"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/cmd/mrlocal/internal/tools"
	"mrlocal/cmd/mrlocal/internal/workloads"
	"mrlocal/internal/errs"
)

// entry is a command of the table.
type entry struct {
	name string
	make func() command.Command // returns the command without its name
}

// table lists the commands in the order of the help. A new command gets a line here. make is a
// function, because making the flags of all commands takes more than a millisecond. A start makes
// only the command that it needs.
func table() []entry {
	return []entry{
		{"count", tools.Count}, {"grep", tools.Grep}, {"sort", tools.Sort},
		{"run", runjob.Command}, {"streaming", hadoop.Streaming}, {"lint", hadoop.Lint},
		{"batch", workloads.Batch}, {"submit", hadoop.Submit}, {"stream", hadoop.Stream},
		{"sim", workloads.Sim}, {"sweep", workloads.Sweep}, {"workload", workloads.Workload},
		{"profile", workloads.Profile}, {"tune", runjob.Tune}, {"reproduce", reproduceCommand},
		{"replay", replayCommand}, {"explain", explainCommand}, {"compare", compareCommand},
		{"validate", workloads.Validate}, {"show", showCommand}, {"ui", uiCommand},
		{"gen", genCommand}, {"clean", cleanCommand}, {"demo", demo.Command}, {"policies", policiesCommand},
		{"completion", completionCommand}, {"man", manCommand}, {"version", versionCommand},
	}
}

// main passes the arguments and the streams of the process to run, and exits with its code.
// Everything else is in run, so that tests can call it.
func main() {
	if err := process.CheckStart(); err != nil {
		fmt.Fprint(os.Stderr, argv.ErrorLine("", err))
		os.Exit(command.Usage)
	}
	// Both calls change the runtime of the process. They come before large allocations.
	process.SampleNoAllocations()
	process.CollectLate()
	// The first signal cancels ctx.
	ctx, stop := process.Watch(context.Background(), func(cause error) { fmt.Fprint(os.Stderr, argv.ErrorLine("", cause)) }, os.Exit)
	code := run(ctx, os.Args[1:], command.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Arg0: os.Args[0]})
	stop()
	os.Exit(code)
}

// run is the whole program. It finds the command that args name and calls it, writes its error, and
// returns the exit code.
func run(ctx context.Context, args []string, e command.Env) (code int) {
	// what is the command in error lines. It is "" until the line is parsed.
	what := ""
	defer func() { // the engine catches panics of user code, so this one is a bug
		if r := recover(); r != nil {
			code = fail(ctx, e, what, fmt.Errorf("a bug in mrlocal: %v", r))
		}
	}()
	if c, rest := raw(args); c != nil {
		if code, done := c.Raw(ctx, rest, e); done {
			return code
		}
	}
	// Lines such as mrlocal help and mrlocal --version name no command that the parser knows.
	if code, done := shortcut(args, e); done {
		return code
	}
	args = hadoop.JobFirst(args)
	tree := meant(args)
	line, err := argv.Parse(args, leaves(tree))
	if err != nil {
		return fail(ctx, e, "", err)
	}
	what = join(line.Path)
	code, err = dispatch(ctx, tree, line, e)
	if err != nil {
		return fail(ctx, e, what, err)
	}
	return code
}

// fail writes err as one line to standard error, and returns the exit code for its kind. what is
// the command.
func fail(ctx context.Context, e command.Env, what string, err error) int {
	// After a signal, err is only a consequence. The line and the exit code are those of the signal.
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		fmt.Fprint(e.Stderr, argv.ErrorLine(what, s))
		return s.ExitCode()
	}
	usage := errs.IsUsage(err)
	// The examples of the documents read wiki/, so new users often see this error.
	if usage && missingWiki.MatchString(err.Error()) {
		err = fmt.Errorf("%w; mrlocal demo makes wiki/, and mrlocal gen wiki one of any size", err)
	}
	fmt.Fprint(e.Stderr, argv.ErrorLine(what, err))
	if usage {
		return command.Usage
	}
	return command.Failed
}

// missingWiki matches the error of an input wiki, or below wiki, that does not exist.
var missingWiki = regexp.MustCompile(`(^|[ "/])wiki(/[^: ]*)?"?: no such file`)
