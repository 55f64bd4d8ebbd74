// Package hadoop has the commands for users of Hadoop:
//
//	streaming   runs a job with the arguments of hadoop-streaming
//	lint        reports which parts of such a job would work differently on a cluster
//	submit      runs a job of mrlocal on a cluster, through Hadoop Streaming
//	stream      does one side of that job (map, combine or reduce) as a child of Hadoop Streaming
package hadoop

import (
	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/flags"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/internal/setting"
)

// forEachJob returns a command with a subcommand for each job that can run on a cluster. Some jobs read
// files by themselves, which a child of Hadoop Streaming cannot do, so they have no subcommand.
func forEachJob(usage, help, args string, make func(*command.Job) *flags.Command) *flags.Command {
	c := command.ForEachJob(flags.Command{Usage: usage, Long: help + "\n\n" + runjob.Help}, func(n *command.NamedJob) bool { return n.OnHadoop }, make)
	c.Args = args
	return c
}

// hdfsSettings returns the flags that say how to reach HDFS.
func hdfsSettings(o *mrlocal.JobOptions) []setting.Setting {
	all := o.Fields()
	return []setting.Setting{*setting.Named(all, "webhdfs"), *setting.Named(all, "hdfs-user")}
}
