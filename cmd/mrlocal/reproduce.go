package main

import (
	"context"

	"mrlocal/bench/reproduce"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/papers"
	"mrlocal/errs"
)

const reproduceHelp = `Runs the papers' experiments in the simulator, all of them or those named, and holds what comes out against what the papers print. The workloads are in the binary; --list lists them, --file prints the one of NAME, for mrlocal sim.

--write writes docs/reproduction.md and its charts, below the current directory.`

func reproduceCommand() command {
	return command{name: "reproduce", usage: "run the papers' experiments and compare", args: "[NAME…]", long: reproduceHelp, run: runReproduce, flags: []flagSpec{
		toggle("list", "", "list the experiments and run none"),
		toggle("file", "", "print the workload files of the experiments named and run none"),
		toggle("write", "", "write docs/reproduction.md and its charts"),
	}}
}

func runReproduce(ctx context.Context, e env, line argv.Line) (int, error) {
	all, err := reproduce.All()
	if err != nil {
		return 0, err
	}
	some, err := reproduce.Named(all, line.Words)
	switch {
	case err != nil:
		return 0, err
	case line.Has("file"):
		return exitDone, papers.Files(e.stdout, some)
	case line.Has("list"):
		return exitDone, papers.List(e.stdout, some)
	case line.Has("write") && len(line.Words) > 0:
		return 0, errs.Optionf("--write", "writes all experiments; name none")
	}
	return exitDone, papers.Run(ctx, e.stdout, some, line.Has("write"))
}
