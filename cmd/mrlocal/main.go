// Command mrlocal runs MapReduce jobs on the files and cores of one machine, and
// shows how the slots are handed out.
//
// Each command has a file: run.go, batch.go, sim.go, sweep.go, measure.go (tune
// and profile), reproduce.go, replay.go, explain.go (and ui), compare.go, gen.go (and demo), clean.go,
// policies.go, cluster.go (submit and stream). tree.go lists the commands and calls them. flags.go and sched.go
// hold the flags that several commands share; jobs.go has the jobs, and
// batchjobs.go reads the jobs of a workload file as run reads its flags. tools.go
// calls the tools, such as mrlocal sort.
//
// The packages below internal:
//
//	argv         reads the command line, words errors
//	cluster      mrlocal submit and mrlocal stream; the flags of HDFS
//	engineflags  flags of real runs alone: memory, spills, bandwidths
//	guide        groups and examples of the help, completion scripts, manual pages
//	measure      runs of a job or a workload with several numbers of slots; mrlocal demo
//	page         --ui and mrlocal ui
//	pictures     --svg, --trace, --csv and --metrics
//	process      signals, GOMAXPROCS, memory limit, --profile, files beside the result
//	show         progress, tables and gantts
//	tools        the commands that work as GNU tools do
//	virtual      flags of virtual time alone
//
// Results go to standard output, everything else to standard error. The exit
// codes are: 0 done; 1 nothing matched (run grep); 2 wrong usage or input; 3 the
// job failed; 128 plus the number of the signal when interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/cluster"
	"mrlocal/cmd/mrlocal/internal/page"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/streamcmd"
	"mrlocal/errs"
)

// Exit codes. process.Interrupted has those of signals.
const (
	exitDone    = 0
	exitNoMatch = 1
	exitUsage   = 2
	exitFailed  = 3
)

// env holds the standard streams, which tests replace.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	page *page.Page // of --ui; nil: none
}

// main is the only function that sees the process: its streams, its arguments, its
// exit code.
func main() {
	// Both calls set the runtime of the process, before anything allocates much. A library must
	// not do so.
	process.SampleNoAllocations()
	process.CollectLate()
	// The first signal cancels ctx. Its number decides the exit code.
	ctx, stop := process.Watch(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr})
	stop()
	os.Exit(code)
}

// run is the whole program. It writes every error, and returns the exit code.
func run(ctx context.Context, args []string, e env) (code int) {
	// what is the command for error lines. It is empty until the line has been read.
	what := ""
	defer func() { // user code never panics here: the engine catches that inside attempts
		if r := recover(); r != nil {
			code = fail(ctx, e, what, fmt.Errorf("a bug in mrlocal: %v", r))
		}
	}()
	// Tools come first, because their flags are not those of the tree.
	if code, done := tool(ctx, args, e); done {
		return code
	}
	if len(args) > 0 && args[0] == "streaming" {
		return runStreaming(ctx, args[1:], e)
	}
	if len(args) > 0 && args[0] == "lint" && !(len(args) > 1 && isHelp(args[len(args)-1])) {
		return streamcmd.Lint(ctx, args[1:], e.stdout, e.stderr)
	}
	// Help and version need no command, so the parser would refuse them.
	if code, done := shortcut(args, e); done {
		return code
	}
	tree := commands()
	line, err := argv.Parse(cluster.SideLast(args), leaves(tree))
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
func fail(ctx context.Context, e env, what string, err error) int {
	// A signal explains every error that follows from it, so it is the one that is reported.
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		fmt.Fprint(e.stderr, argv.ErrorLine(what, s))
		return s.ExitCode()
	}
	// All errors that are not wrong usage or wrong input are failures of the job.
	usage := errs.IsUsage(err)
	// A new user meets this error first: the examples read wiki/.
	if usage && missingWiki.MatchString(err.Error()) {
		err = fmt.Errorf("%w; mrlocal demo makes wiki/, and mrlocal gen wiki one of any size", err)
	}
	fmt.Fprint(e.stderr, argv.ErrorLine(what, err))
	if usage {
		return exitUsage
	}
	return exitFailed
}

// missingWiki matches the error of an input that the examples in the documents use and
// that the user has not made yet.
var missingWiki = regexp.MustCompile(`(^|[ "/])wiki(/[^: ]*)?"?: no such file`)
