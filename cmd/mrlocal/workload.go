package main

import (
	"context"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/workloads"
)

const workloadHelp = `Writes a workload file for sim, sweep and batch, with comments that say how it was made. docs/workloads.md describes the file.`

// workloadCommand makes workload files.
func workloadCommand() command {
	make := func(text workloads.Maker) func(context.Context, env, argv.Line) (int, error) {
		return func(_ context.Context, e env, line argv.Line) (int, error) {
			return exitDone, workloads.Write(line, e.stdin, e.stdout, text)
		}
	}
	return command{name: "workload", usage: "make a workload file: generate one at random, or import a trace", args: "generate|import", long: workloadHelp, sub: []command{
		{name: "generate", usage: "draw the jobs of a workload at random", long: workloadHelp, flags: workloads.GenerateFlags(), run: make(workloads.Generate)},
		{name: "import", usage: "make a workload of a trace of SWIM, SLS or Hadoop", args: "[FILE…]", long: workloadHelp, flags: workloads.ImportFlags(), run: make(workloads.Import)},
	}}
}
