package main

import (
	"mrlocal"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
)

// forEachJob returns a command with a subcommand for each job that can run on a cluster. Some jobs read
// files by themselves, which a child of Hadoop Streaming cannot do, so they have no subcommand.
func forEachJob(usage, help, args string, make func(*Job) *flags.Command) *flags.Command {
	c := ForEachJob(flags.Command{Usage: usage, Long: help + "\n\n" + Help}, func(n *NamedJob) bool { return n.OnHadoop }, make)
	c.Args, c.Noun = args, "job"
	return c
}

// hdfsSettings returns the flags that say how to reach HDFS.
func hdfsSettings(o *mrlocal.JobOptions) []setting.Setting {
	all := o.Fields()
	return []setting.Setting{*setting.Named(all, "webhdfs"), *setting.Named(all, "hdfs-user")}
}
