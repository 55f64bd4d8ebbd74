package hadoop

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/jobs"
)

// cutsSide is the word in place of a side with which mrlocal stream samples cuts.
const cutsSide = "cuts"

// streamHelp is the help of mrlocal stream.
const streamHelp = "SIDE is map, combine or reduce, which read standard input; or cuts, which samples PATHs and prints the keys that divide them among --reduces. Map, combine and reduce of one job take the same flags."

// streamFlags returns the flags of stream other than those of the job. Package submit writes these
// flags into the command lines of the children, so both packages must agree on them.
func streamFlags() []argv.Spec {
	input := argv.ValueSpec("input", "an input of the job is `PATH`, in the order given; may be repeated", "")
	input.Repeat = true
	return append([]argv.Spec{input,
		argv.ValueSpec("step", "do job `N` of the chain", "1"),
		argv.ValueSpec("reduces", "the job has `N` reduces", "1"),
		argv.ValueSpec("cuts", "the keys that begin the ranges of a total order are in `FILE`", ""),
		{Flag: argv.Flag{Name: "in-order"}, Help: "values of a key keep the order of the input"},
		argv.ValueSpec("files", "the input has `N` files", "1 outside of Hadoop"),
		argv.ValueSpec("results", "write results as `text|typedbytes`: carriage returns need typedbytes, which needs UTF-8", "text"),
	}, command.HDFSFlags()...)
}

// JobFirst changes the arguments of mrlocal so that the name of a job follows the command, as in
// the tree of commands. It turns "stream SIDE JOB" into "stream JOB SIDE", and "submit ./PROGRAM"
// into "submit program --binary=./PROGRAM". It returns other arguments as they are.
func JobFirst(args []string) []string {
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

// streamJob does one side of a job, from standard input to standard output. With the word cutsSide it
// samples cuts and writes them to standard output. It checks all flags before it reads anything.
func streamJob(ctx context.Context, e command.Env, line argv.Line, _ string, build func() (jobs.Chain, error)) error {
	r := &argv.Reader{Line: line}
	var side stream.Side
	// Paths may follow the word cutsSide, but not a side.
	cuts := len(line.Words) > 0 && line.Words[0] == cutsSide
	switch {
	case len(line.Words) == 0:
		r.Keep(errs.Optionf("stream", "name a side: map, combine or reduce"))
	case !cuts && len(line.Words) > 1:
		r.Keep(errs.Optionf(errs.Quote(line.Words[1]), "a child reads standard input, and no file"))
	case !cuts:
		var err error
		side, err = stream.ParseSide(line.Words[0])
		r.Keep(err)
	}
	o := stream.Options{
		Step: r.Count("step", 1, 100), Reduces: r.Count("reduces", 1, mrlocal.MostReducers),
		InOrder: line.Has("in-order"), Inputs: line.Values("input"), Task: stream.TaskOf(e.Getenv),
	}
	if line.Has("files") {
		o.Files = r.Count("files", 1, 1<<31-1)
	}
	results, err := stream.ParseResults(r.Choice("results", "text", "typedbytes"))
	r.Keep(err)
	o.Results = results
	// The full slice expression makes append copy, so line.Words stays as it is.
	hdfsOptions := command.ReadHDFS(r, append(line.Words[:len(line.Words):len(line.Words)], o.Inputs...))
	path := r.Path("cuts")
	if r.Err != nil {
		return r.Err
	}
	chain, err := build()
	if err != nil {
		return err
	}
	if cuts {
		paths := append(line.Words[1:], o.Inputs...)
		if len(paths) == 0 {
			return errs.Optionf("no input", "name files or directories to sample")
		}
		job, err := stream.JobOf(chain, o.Step)
		if err != nil {
			return err
		}
		// mrlocal run takes the same sample, so both divide the keys in the same way.
		keys, err := mrlocal.Cuts(ctx, job, max(o.Reduces, 1), mrlocal.JobOptions{Inputs: paths, Stdin: e.Stdin, HDFS: hdfsOptions})
		if err != nil {
			return err
		}
		return stream.WriteCuts(e.Stdout, keys)
	}
	// Only a job with a total order over several reduces has cuts.
	if path != "" {
		if o.Cuts, err = stream.ReadCuts(path); err != nil {
			return err
		}
	}
	return stream.Run(ctx, chain, side, o, e.Stdin, e.Stdout, e.Stderr)
}
