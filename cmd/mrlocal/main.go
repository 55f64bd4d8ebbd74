// Command mrlocal runs MapReduce jobs on the files and cores of one machine
// and shows how the slots are handed out.
//
// main wires the process: standard streams, signals (internal/process), exit code. run is the
// program and is what tests call. One file a command: run.go, batch.go, sim.go,
// sweep.go, jobprofile.go, tune.go, reproduce.go, replay.go, explain.go, gen.go, demo.go, policies.go;
// tree.go lists them. flags.go and sched.go hold what they share, batchjobs.go
// reads the jobs of a workload file as run reads its flags. The words of the
// command line are put into plain form by internal/argv before the flag library
// sees them; internal/show draws progress, tables and gantts, internal/sweep
// those of a sweep; internal/papers shows what reproduce finds, internal/side are
// the files beside a result, internal/profile those of --profile; internal/jobprofile
// measures what a job needs, internal/tune with how many slots it runs best.
//
// Results go to standard output, everything else to standard error. Exit
// codes: 0 done; 1 nothing matched (run grep); 2 wrong usage or input; 3 the
// job failed; 128 + the signal's number when interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/profile"
	"mrlocal/errs"
)

// Exit codes; of signals, process.Interrupted has them.
const (
	exitDone    = 0
	exitNoMatch = 1
	exitUsage   = 2
	exitFailed  = 3
)

// env is the program's surroundings.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

func main() {
	profile.Off()
	process.CollectLate()
	ctx, stop := process.Watch(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], env{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run is the whole program: it returns the exit code and has told every error.
func run(ctx context.Context, args []string, e env) (code int) {
	what := ""
	defer func() {
		if r := recover(); r != nil {
			code = fail(ctx, e, what, fmt.Errorf("a bug in mrlocal: %v", r))
		}
	}()
	if code, done := shortcut(args, e); done {
		return code
	}
	tree := commands()
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

// fail tells err in one line and returns its exit code.
func fail(ctx context.Context, e env, what string, err error) int {
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		fmt.Fprint(e.stderr, argv.ErrorLine(what, s))
		return s.ExitCode()
	}
	fmt.Fprint(e.stderr, argv.ErrorLine(what, err))
	if errs.IsUsage(err) {
		return exitUsage
	}
	return exitFailed
}
