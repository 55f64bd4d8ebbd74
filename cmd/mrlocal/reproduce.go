package main

import (
	"context"
	"errors"

	"mrlocal/bench"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/experiments"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/workload"
)

const reproduceHelp = `Runs the experiments of the papers in the simulator, all or those of the given names, and compares the results with the figures that the papers print. The binary contains the workloads: --list lists the experiments, --file prints the workload file of NAME for mrlocal sim. FILE is a workload file of your own with experiments (docs/workloads.md), such as ./mine.yaml, or - for standard input; then NAMEs are of its experiments.

--write writes docs/reproduction.md, its charts and its figures, below the current directory. --format prints all figures at the end, as CSV, JSON or tables of Markdown, instead of each experiment when it is done. A verdict is exact, inside, outside or words; docs/reproduction.md explains them.`

// reproduceCommand runs in the simulator alone, so its results do not depend on
// the machine.
func reproduceCommand() command {
	return command{name: "reproduce", usage: "run the experiments of the papers and compare", args: "[FILE…] [NAME…]", long: reproduceHelp, run: runReproduce, flags: []flagSpec{
		toggle("list", "", "list the experiments, run none"),
		toggle("file", "", "print the workload files of the named experiments, run none"),
		toggle("write", "", "write docs/reproduction.md, its charts and its figures"),
		value("format", "print the figures as `text|csv|json|markdown`", "text"),
		pictures.HTMLFlag(), value("seeds", "run at most `N` seeds of each experiment", ""),
	}}
}

// runReproduce reads the flags, of which at most one applies.
func runReproduce(ctx context.Context, e env, line argv.Line) (int, error) {
	all, names, own, err := experiments.Find(line.Words, func(name string) (*workload.File, error) { return readWorkload(e, name) })
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
		text, err := experiments.Workloads(some)
		return exitDone, errors.Join(err, write(e, text))
	case line.Has("list"):
		return exitDone, write(e, experiments.List(some))
	case line.Has("write") && len(line.Words) > 0:
		return 0, errs.Optionf("--write", "writes all experiments; name none of them")
	}
	r := newReader(line)
	o := experiments.Options{Seeds: r.Count("seeds", 1, mostSeeds), Format: r.Choice("format", "text", "csv", "json", "markdown"), ToDocs: line.Has("write"), Write: func(text []byte) error { return write(e, text) }}
	if o.Web, err = pictures.HTML(r.Path("html"), process.Work{Stdout: e.stdout}); err != nil {
		return 0, err
	}
	// A figure that is outside is a result and no failure: the exit code is 0.
	if r.Err != nil {
		return 0, r.Err
	}
	return exitDone, o.Run(ctx, some)
}

// mostSeeds bounds --seeds.
const mostSeeds = 1000
