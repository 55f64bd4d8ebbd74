package main

import (
	"context"
	"os"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/cluster"
	"mrlocal/jobs"
)

// clusterCommands are the commands that have to do with Hadoop.
func clusterCommands() (all []command) {
	for _, k := range cluster.Commands() {
		run := func(ctx context.Context, e env, line argv.Line, job string, build func(*reader) (jobs.Chain, error)) (int, error) {
			return exitDone, k.Run(ctx, cluster.Env{Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr, Getenv: os.Getenv}, line, job, func() (jobs.Chain, error) { return build(newReader(line)) })
		}
		c := forEachJob(command{name: k.Name, usage: k.Usage, long: k.Help + "\n\n" + runHelp}, func(jobKind) []flagSpec { return k.Flags }, run)
		c.args, c.sub = k.Args, c.sub[:3] // wordcount, sort, grep
		if k.Other != "" {
			c.sub = append(c.sub, command{name: k.Other, usage: k.OtherUsage, args: k.Args, long: c.long, flags: k.Flags, run: func(ctx context.Context, e env, line argv.Line) (int, error) { return run(ctx, e, line, k.Other, nil) }})
		}
		all = append(all, c)
	}
	return all
}
