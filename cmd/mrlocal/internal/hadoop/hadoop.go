// Package hadoop has the commands that users of Hadoop know, and those that need a cluster. The
// commands streaming and lint take the arguments of hadoop-streaming. submit runs a job on a
// cluster, and stream is the child that does one side of it there.
//
// Memory: nothing is kept. Neighbours: packages streaming, stream and submit do the work; runjob
// runs a streaming job as any other. Package command has the flags of run streaming and of HDFS.
package hadoop

import (
	"context"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/jobs"
)

// jobCommand does the work of a command for one job. line is the command line, job the name of the job,
// and build makes the job of the flags. Its error decides the exit code.
type jobCommand = func(ctx context.Context, e command.Env, line argv.Line, job string, build func() (jobs.Chain, error)) error

// Submit is mrlocal submit: it runs a job on a cluster. Beside the built-in jobs it takes a program
// with a job of its own (programWord), whose flags submit does not know.
func Submit() command.Command {
	c := forEachJob("run a job on a Hadoop cluster, through Hadoop Streaming", submitHelp, "JOB [FLAGS]", submitFlags(), submitJob)
	c.Sub = append(c.Sub, command.Command{Name: programWord, Usage: "a program with a job of its own: mrlocal submit ./PROGRAM", Args: c.Args, Long: c.Long, Flags: submitFlags(),
		Run: func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
			return command.Done, submitJob(ctx, e, line, programWord, nil)
		}})
	return c
}

// Stream is a child of Hadoop Streaming. Its words are SIDE JOB; SideLast turns them around.
func Stream() command.Command {
	return forEachJob("do one side of a job as the child of Hadoop Streaming", streamHelp, "SIDE JOB [FLAGS] [PATH…]", streamFlags(), streamJob)
}

// forEachJob returns a command with a subcommand for each job that runs on a cluster. flags are
// those beside the flags of the job. Other jobs read files by themselves, which a child of Hadoop
// Streaming cannot.
func forEachJob(usage, help, args string, flags []argv.Spec, run jobCommand) command.Command {
	// The job is built late (build): submit makes it after it has checked the flags of the
	// cluster, and a child after it knows its side.
	c := command.ForEachJob(command.Command{Usage: usage, Long: help + "\n\n" + runjob.Help}, func(command.NamedJob) []argv.Spec { return flags },
		func(ctx context.Context, e command.Env, line argv.Line, job string, build func(*command.Reader) (jobs.Chain, error)) (int, error) {
			return command.Done, run(ctx, e, line, job, func() (jobs.Chain, error) { return build(command.NewReader(line)) })
		})
	c.Args, c.Sub = args, c.Sub[:3] // wordcount, sort, grep
	return c
}
