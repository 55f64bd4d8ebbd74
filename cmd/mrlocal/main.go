// Command mrlocal runs MapReduce jobs on the files and cores of one machine, and
// shows how the slots are handed out.
//
// table lists the commands; tree.go finds and calls the one that a line names. help.go has the groups
// and examples of the help. The commands of event files are here (replay, explain, compare, convert,
// ui), and gen, clean, reproduce, policies, completion, man and version; the others are in the
// packages below internal:
//
//	argv         reads the command line, words errors
//	command      what commands share: their type, streams, exit codes, flags; the jobs of run, with their flags
//	hadoop       streaming, lint, submit, stream
//	measure      runs of a job or a workload with several numbers of slots; demo without a lesson
//	pictures     --svg, --trace, --csv, --metrics, --html and --ui
//	predict      profile and validate
//	process      signals, GOMAXPROCS, memory limit, --profile, files beside the result, notices of others
//	runjob       run, tune
//	show         progress, tables and gantts
//	teach        demo
//	tools        the commands that work as GNU tools do
//	workloads    batch, sim, sweep, validate, profile, workload
//
// Results go to standard output, everything else to standard error. The exit
// codes are: 0 done; 1 nothing matched (run grep); 2 wrong usage or input; 3 the
// job failed; 128 plus the number of the signal when interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/hadoop"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/cmd/mrlocal/internal/teach"
	"mrlocal/cmd/mrlocal/internal/tools"
	"mrlocal/cmd/mrlocal/internal/workloads"
	"mrlocal/errs"
)

// entry is a command of the table.
type entry struct {
	name string
	make func() command.Command
}

// table lists the commands in the order of the help. A new command gets a line here. Only the
// commands that a line needs are made: the flags of all take more than a millisecond.
func table() []entry {
	return []entry{
		{"count", tools.Count}, {"grep", tools.Grep}, {"sort", tools.Sort},
		{"run", runjob.Command}, {"streaming", hadoop.Streaming}, {"lint", hadoop.Lint},
		{"batch", workloads.Batch}, {"submit", hadoop.Submit}, {"stream", hadoop.Stream},
		{"sim", workloads.Sim}, {"sweep", workloads.Sweep}, {"workload", workloads.Workload},
		{"profile", workloads.Profile}, {"tune", runjob.Tune}, {"reproduce", reproduceCommand},
		{"replay", replayCommand}, {"explain", explainCommand}, {"compare", compareCommand},
		{"validate", workloads.Validate}, {"convert", convertCommand}, {"ui", uiCommand},
		{"gen", genCommand}, {"clean", cleanCommand}, {"demo", teach.Command}, {"policies", policiesCommand},
		{"completion", completionCommand}, {"man", manCommand}, {"version", versionCommand},
	}
}

// main is the only function that sees the process: its streams, its arguments, its
// exit code.
func main() {
	if err := process.CheckStart(); err != nil {
		fmt.Fprint(os.Stderr, argv.ErrorLine("", err))
		os.Exit(command.Usage)
	}
	// Both calls set the runtime of the process, before anything allocates much. A library must
	// not do so.
	process.SampleNoAllocations()
	process.CollectLate()
	// The first signal cancels ctx. Its number decides the exit code.
	ctx, stop := process.Watch(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], command.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})
	stop()
	os.Exit(code)
}

// run is the whole program. It writes every error, and returns the exit code.
func run(ctx context.Context, args []string, e command.Env) (code int) {
	// what is the command for error lines. It is empty until the line has been read.
	what := ""
	defer func() { // user code never panics here: the engine catches that inside attempts
		if r := recover(); r != nil {
			code = fail(ctx, e, what, fmt.Errorf("a bug in mrlocal: %v", r))
		}
	}()
	if c, rest := raw(args); c != nil {
		if code, done := c.Raw(ctx, rest, e); done {
			return code
		}
	}
	// Help and version need no command, so the parser would refuse them.
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

// fail writes err in one line and returns its exit code, which follows from the
// kind of the error.
func fail(ctx context.Context, e command.Env, what string, err error) int {
	// A signal explains every error that follows from it, so it is the one that is reported.
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		fmt.Fprint(e.Stderr, argv.ErrorLine(what, s))
		return s.ExitCode()
	}
	// All errors that are not wrong usage or wrong input are failures of the job.
	usage := errs.IsUsage(err)
	// A new user meets this error first: the examples read wiki/.
	if usage && missingWiki.MatchString(err.Error()) {
		err = fmt.Errorf("%w; mrlocal demo makes wiki/, and mrlocal gen wiki one of any size", err)
	}
	fmt.Fprint(e.Stderr, argv.ErrorLine(what, err))
	if usage {
		return command.Usage
	}
	return command.Failed
}

// missingWiki matches the error of an input that the examples in the documents use and
// that the user has not made yet.
var missingWiki = regexp.MustCompile(`(^|[ "/])wiki(/[^: ]*)?"?: no such file`)
