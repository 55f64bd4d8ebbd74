// Command mrlocal runs MapReduce jobs on the files and cores of one machine. It also simulates
// workloads of such jobs, and shows which task gets which slot.
//
// The function table lists the commands. A command has a file of its name, with a struct of its options,
// their settings, and a run function. Other files have what several commands share: the jobs (jobs.go), the settings
// of scheduling, pages and pictures, and what changes the process (signals.go, limits.go). Package internal/flags reads
// the command line, and internal/term draws on the terminal.
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
	"io/fs"
	"os"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/slots/policy"
)

// entry is a command of the table, below a heading of the list of commands.
type entry struct {
	group, name string
	make        func(Env) *flags.Command
}

// table lists the commands. A new command gets a line here.
func table() []entry {
	return []entry{
		{"TOOLS", "sort", makeSort},
		{"TOOLS", "grep", makeGrep},
		{"TOOLS", "count", makeCount},
		{"RUN", "run", makeRun},
		{"RUN", "batch", makeBatch},
		{"RUN", "streaming", makeStreaming},
		{"RUN", "submit", makeSubmit},
		{"LAB", "sim", makeSim},
		{"LAB", "sweep", makeSweep},
		{"LAB", "compare", makeCompare},
		{"LAB", "explain", makeExplain},
		{"LAB", "replay", makeReplay},
		{"LAB", "reproduce", makeReproduce},
		{"LAB", "tune", makeTune},
		{"LAB", "profile", makeProfile},
		{"LAB", "validate", makeValidate},
		{"SEE", "demo", makeDemo},
		{"SEE", "show", makeShow},
		{"SEE", "ui", makeUI},
		{"", "workload", makeWorkload},
		{"", "gen", makeGen},
		{"", "lint", makeLint},
		{"", "stream", makeStream},
		{"", "policies", makePolicies},
		{"", "clean", makeClean},
		{"", "completion", makeCompletion},
		{"", "man", makeMan},
		{"", "version", makeVersion},
	}
}

// program returns mrlocal with its commands.
func program(e Env) *flags.Program {
	p := &flags.Program{Name: "mrlocal", Usage: "MapReduce on the files and cores of one machine", About: about, Version: versionText(), Write: e.Write, Width: func() int {
		return min(100, e.width()) // longer lines are hard to read
	}}
	for _, c := range table() {
		p.Commands = append(p.Commands, flags.Entry{Name: c.name, Make: func() *flags.Command {
			made := c.make(e)
			made.Group = c.group
			return made
		}})
	}
	return p
}

// about is the description in mrlocal --help and in the manual page of mrlocal.
const about = `mrlocal COMMAND --help describes a command; mrlocal demo shows what mrlocal does. Results go to standard output, everything else to standard error.

Exit codes: 0 done; 1 nothing matched (grep, run grep), out of order (sort -c), or a difference (replay, compare, sim --compare, lint); 2 wrong usage or input, nothing was started; 3 the job failed; 128 plus the number of the signal when interrupted.

Sizes: 64MiB, 100MB (decimal), K M G T (binary). Times: 250ms, 20s. Shares: 0.5. Flags stand after the name of the command; -- ends them.`

// main passes the arguments and the streams of the process to run, and exits with its code.
// Everything else is in run, so that tests can call it.
func main() {
	if err := checkStart(); err != nil {
		fmt.Fprint(os.Stderr, errorLine("", err))
		os.Exit(Usage)
	}
	// Both calls change the runtime of the process. They come before large allocations.
	sampleNoAllocations()
	collectLate()
	// The first signal cancels ctx.
	ctx, stop := watch(context.Background(), func(cause error) { fmt.Fprint(os.Stderr, errorLine("", cause)) }, os.Exit)
	code := run(ctx, os.Args[1:], Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Arg0: os.Args[0]})
	stop()
	os.Exit(code)
}

// run is the whole program. It finds the command that args name and calls it, writes its error, and
// returns the exit code.
func run(ctx context.Context, args []string, e Env) (code int) {
	defer func() { // the engine catches panics of user code, so this one is a bug
		if r := recover(); r != nil {
			code = fail(ctx, e, "", fmt.Errorf("a bug in mrlocal: %v", r))
		}
	}()
	line, code, err := program(e).Run(ctx, jobFirst(args))
	if line == nil {
		line = &flags.Line{Command: &flags.Command{}}
	}
	if err != nil {
		if code = fail(ctx, e, strings.Join(line.Path, " "), err, line.Command.Settings...); line.Command.Tool && code == Failed {
			code = Usage // as in GNU tools
		}
	}
	return code
}

// fail writes err as one line to standard error, and returns the exit code for its kind. what is
// the command, and own its settings.
func fail(ctx context.Context, e Env, what string, err error, own ...setting.Setting) int {
	if code, ok := interrupted(ctx, e, what); ok {
		return code
	}
	usage := errs.IsUsage(err)
	// The examples of the documents read wiki/, so new users often see this error.
	if usage && missesWiki(err) {
		err = fmt.Errorf("%w; mrlocal demo makes wiki/, and mrlocal gen wiki one of any size", err)
	}
	fmt.Fprint(e.Stderr, errorLine(what, err, own...))
	if usage {
		return Usage
	}
	return Failed
}

// interrupted writes the line of the signal that has ended ctx, and returns its exit code. After a signal any
// other error is only a consequence. ok is false if there was no signal.
func interrupted(ctx context.Context, e Env, what string) (code int, ok bool) {
	s, ok := errors.AsType[Interrupted](context.Cause(ctx))
	if ok {
		fmt.Fprint(e.Stderr, errorLine(what, s))
		code = s.ExitCode()
	}
	return code, ok
}

// missesWiki reports whether err is about an input wiki, or below wiki, and there is no wiki.
func missesWiki(err error) bool {
	for e := (*errs.Error)(nil); errors.As(err, &e); err = e.Cause {
		path := e.Object[strings.LastIndex(e.Object, " ")+1:] // a place in a file may stand before
		if root, _, _ := strings.Cut(path, "/"); root == "wiki" {
			_, missing := os.Stat(root)
			return errors.Is(missing, fs.ErrNotExist)
		}
	}
	return false
}

// mostLineBytes is the largest number of bytes of an error line, because a word in it may be very long.
const mostLineBytes = 4096

// errorLine returns err as the one line that a user sees, with its newline:
//
//	mrlocal: what: object: cause
//
// what is the command, or "". own are its settings.
func errorLine(what string, err error, own ...setting.Setting) string {
	text := errs.Word(err, flagOf(own))
	if what != "" {
		text = what + ": " + text
	}
	return "mrlocal: " + errs.Shorten(errs.OneLine(text), mostLineBytes) + "\n"
}

// flagOf returns the names of fields in errors: the flags of own, or else those of runs.
func flagOf(own []setting.Setting) func(field string) string {
	return func(field string) string { // the tables take time
		var o mrlocal.Options
		all := slices.Concat(own, new(mrlocal.JobOptions).Fields(), o.Fields(), o.Config.Fields(mrlocal.Bounds()), new(policy.Options).Fields(), new(sim.Options).Fields())
		return setting.Fields(all, (*setting.Setting).Flag)(field)
	}
}
