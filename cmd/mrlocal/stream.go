package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/hdfs"
	"mrlocal/jobs"
)

// cutsSide is the word in place of a side with which mrlocal stream samples cuts.
const cutsSide = "cuts"

// streamHelp is the help of mrlocal stream.
const streamHelp = "SIDE is map, combine or reduce, which read standard input; or cuts, which samples PATHs and prints the keys that divide them among --reduces. Map, combine and reduce of one job take the same flags."

// streamCommand has the options of mrlocal stream for one job.
type streamCommand struct {
	Env
	job *job
	o   stream.Options
}

// makeStream returns mrlocal stream, a child of Hadoop Streaming. The user writes SIDE JOB, and
// jobFirst swaps these words. Package submit writes the flags into the command lines of the children, so
// both packages must agree on them.
func makeStream(e Env) *flags.Command {
	return forEachJob("do one side of a job as the child of Hadoop Streaming", streamHelp, "SIDE JOB [FLAGS] [PATH…]", func(j *job) *flags.Command {
		c := &streamCommand{Env: e, job: j}
		return &flags.Command{Run: c.run, Settings: slices.Concat(c.o.Fields(), hdfsSettings(&j.JobOptions), j.Own)}
	})
}

// jobFirst changes the arguments of mrlocal so that the name of a job follows the command, as in
// the tree of commands. It turns "stream SIDE JOB" into "stream JOB SIDE", and "submit ./PROGRAM"
// into "submit program --binary=./PROGRAM". It returns other arguments as they are.
func jobFirst(args []string) []string {
	// A path has a separator, and no name of a job has one. A URI of HDFS is an input and not a
	// program.
	if len(args) > 1 && args[0] == "submit" && strings.ContainsRune(args[1], filepath.Separator) && args[1][0] != '-' && !hdfs.Is(args[1]) {
		return append([]string{args[0], programWord, "--binary=" + args[1]}, args[2:]...)
	}
	if len(args) < 3 || args[0] != "stream" || !slices.Contains(append(stream.Sides(), cutsSide), args[1]) {
		return args
	}
	return append([]string{args[0], args[2], args[1]}, args[3:]...)
}

// run does one side of a job, from standard input to standard output. With the word cutsSide it samples
// cuts and writes them to standard output. It checks all flags before it reads anything.
func (c *streamCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	var side stream.Side
	var err error
	words := line.Words
	// Paths may follow the word cutsSide, but not a side.
	cuts := len(words) > 0 && words[0] == cutsSide
	switch {
	case len(words) == 0:
		err = errs.Optionf("stream", "name a side: map, combine or reduce")
	case !cuts && len(words) > 1:
		err = errs.Optionf(errs.Quote(words[1]), "a child reads standard input, and no file")
	case !cuts:
		side, err = stream.ParseSide(words[0])
	}
	if err != nil {
		return 0, err
	}
	chain, err := c.job.Build()
	if err != nil {
		return 0, err
	}
	if cuts {
		return Done, c.sample(ctx, chain, append(words[1:], c.o.Inputs...))
	}
	c.o.Task = stream.TaskOf(c.Getenv)
	return Done, stream.Run(ctx, chain, side, c.o, c.Stdin, c.Stdout, c.Stderr)
}

// sample samples the cuts of a job of the chain from paths, and writes them to standard output.
func (c *streamCommand) sample(ctx context.Context, chain jobs.Chain, paths []string) error {
	if len(paths) == 0 {
		return errs.Optionf("no input", "name files or directories to sample")
	}
	job, err := stream.JobOf(chain, c.o.Step)
	if err != nil {
		return err
	}
	// mrlocal run takes the same sample, so both divide the keys in the same way.
	o := mrlocal.JobOptions{Inputs: paths, Stdin: c.Stdin, HDFS: c.job.HDFS}
	o.HDFS.User = hdfsUser(o.HDFS.User, paths)
	keys, err := mrlocal.Cuts(ctx, job, max(c.o.Reduces, 1), o)
	if err != nil {
		return err
	}
	return stream.WriteCuts(c.Stdout, keys)
}
