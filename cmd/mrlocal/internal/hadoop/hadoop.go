// Package hadoop has the commands for users of Hadoop:
//
//	streaming   runs a job with the arguments of hadoop-streaming
//	lint        reports which parts of such a job would work differently on a cluster
//	submit      runs a job of mrlocal on a cluster, through Hadoop Streaming
//	stream      does one side of that job (map, combine or reduce) as a child of Hadoop Streaming
package hadoop

import (
	"context"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/jobs"
)

// jobCommand does the work of submit or stream for one job. job is the name of the job, and build
// makes its chain from the flags of line. The kind of its error decides the exit code.
type jobCommand = func(ctx context.Context, e command.Env, line argv.Line, job string, build func() (jobs.Chain, error)) error

// Submit returns mrlocal submit, which runs a job on a cluster. In addition to the built-in jobs, it has a
// subcommand for a program of the user (programWord), which takes no flags of a job.
func Submit() command.Command {
	c := forEachJob("run a job on a Hadoop cluster, through Hadoop Streaming", submitHelp, "JOB [FLAGS]", submitFlags(), submitJob)
	c.Sub = append(c.Sub, command.Command{Name: programWord, Usage: "a program with a job of its own: mrlocal submit ./PROGRAM", Args: c.Args, Long: c.Long, Flags: submitFlags(),
		Run: func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
			return command.Done, submitJob(ctx, e, line, programWord, nil)
		}})
	return c
}

// Stream returns mrlocal stream, a child of Hadoop Streaming. The user writes SIDE JOB, and
// JobFirst swaps these words.
func Stream() command.Command {
	return forEachJob("do one side of a job as the child of Hadoop Streaming", streamHelp, "SIDE JOB [FLAGS] [PATH…]", streamFlags(), streamJob)
}

// forEachJob returns a command with a subcommand for each job that can run on a cluster. A
// subcommand takes flags and those of its job. Some jobs read files by themselves, which a child of
// Hadoop Streaming cannot do, so they have no subcommand.
func forEachJob(usage, help, args string, flags []argv.Spec, run jobCommand) command.Command {
	// run calls build itself: submit after it has checked the flags of the cluster, and stream after it
	// has read the side.
	c := command.ForEachJob(command.Command{Usage: usage, Long: help + "\n\n" + runjob.Help}, func(command.NamedJob) []argv.Spec { return flags },
		func(ctx context.Context, e command.Env, line argv.Line, j *command.NamedJob) (int, error) {
			return command.Done, run(ctx, e, line, j.Name, func() (jobs.Chain, error) { return j.Build(j.Reader(line)) })
		})
	// command.Jobs begins with wordcount, sort and grep.
	c.Args, c.Sub = args, c.Sub[:3]
	return c
}
