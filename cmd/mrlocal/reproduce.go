package main

import (
	"context"
	"errors"

	"mrlocal/bench"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
)

const reproduceHelp = `Runs the experiments of the papers in the simulator, all or those of the given names, and compares the results with the figures that the papers print. The binary contains the workloads: --list lists the experiments, --file prints the workload file of NAME for mrlocal sim. FILE is a workload file of your own with experiments (docs/workloads.md), such as ./mine.yaml, or - for standard input; then NAMEs are of its experiments.

--write writes docs/reproduction.md, its charts and its figures, below the current directory. --format prints all figures at the end, as CSV, JSON or tables of Markdown, instead of each experiment when it is done. A verdict is exact, inside, outside or words; docs/reproduction.md explains them.`

// reproduceCommand runs in the simulator alone, so its results do not depend on
// the machine.
func reproduceCommand() command.Command {
	return command.Command{Usage: "run the experiments of the papers and compare", Args: "[FILE…] [NAME…]", Long: reproduceHelp, Run: runReproduce, Flags: []argv.Spec{
		argv.ToggleSpec("list", "", "list the experiments, run none"),
		argv.ToggleSpec("file", "", "print the workload files of the named experiments, run none"),
		argv.ToggleSpec("write", "", "write docs/reproduction.md, its charts and its figures"),
		argv.ValueSpec("format", "print the figures as `text|csv|json|markdown`", "text"),
		pictures.HTMLFlag(), argv.ValueSpec("seeds", "run at most `N` seeds of each experiment", ""),
	}}
}

// runReproduce reads the flags, of which at most one applies.
func runReproduce(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	all, names, own, err := findExperiments(line.Words, e.Workload)
	if err != nil {
		return 0, err
	}
	some, err := bench.Named(all, names) // all of them without names
	switch {
	case err != nil:
		return 0, err
	case own && line.Has("file"):
		return 0, errs.Optionf("--file", "prints files of the binary; leave out your own")
	case line.Has("file"):
		text, err := experimentFiles(some)
		return command.Done, errors.Join(err, e.Write(text))
	case line.Has("list"):
		return command.Done, e.Write(listExperiments(some))
	case line.Has("write") && len(line.Words) > 0:
		return 0, errs.Optionf("--write", "writes all experiments; name none of them")
	}
	r := command.NewReader(line)
	o := experiments{seeds: r.Count("seeds", 1, mostSeeds), format: r.Choice("format", "text", "csv", "json", "markdown"), toDocs: line.Has("write"), write: e.Write}
	if o.html, err = pictures.HTML(r.Path("html"), process.Work{Stdout: e.Stdout}); err != nil {
		return 0, err
	}
	// A figure that is outside is a result and no failure: the exit code is 0.
	if r.Err != nil {
		return 0, r.Err
	}
	return command.Done, o.run(ctx, some)
}

// mostSeeds bounds --seeds.
const mostSeeds = 1000
