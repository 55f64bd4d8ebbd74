package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/hadoop/stream"
	"mrlocal/hadoop/submit"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/slots/report"
)

// programWord is the subcommand of submit for a job in a program of the user. jobFirst inserts it.
const programWord = "program"

// submitCommand has the options of mrlocal submit for one job.
type submitCommand struct {
	Env
	job              *job // of a program: without a name
	o                submit.Options
	print            bool
	report, progress string
}

// makeSubmit returns mrlocal submit, which runs a job on a cluster. In addition to the built-in jobs, it has a
// subcommand for a program of the user (programWord), which takes no flags of a job.
func makeSubmit(e Env) *flags.Command {
	of := func(j *job) *flags.Command {
		c := &submitCommand{Env: e, job: j, o: submit.Options{Job: j.Name, Hadoop: "hadoop"}}
		return &flags.Command{Run: c.run, Settings: append(c.settings(), j.Own...)}
	}
	c := forEachJob("run a job on a cluster, through Hadoop Streaming or Spark", helpText("submit"), "JOB [FLAGS]", of)
	c.Sub = append(c.Sub, flags.Entry{Name: programWord, Make: func() *flags.Command {
		program := of(&job{NamedJob: &NamedJob{}})
		program.Usage, program.Args, program.Long = "a program with a job of its own: mrlocal submit ./PROGRAM", c.Args, c.Long
		return program
	}})
	return c
}

// settings returns the flags other than those of the job, which the children get.
func (c *submitCommand) settings() []setting.Setting {
	o := &c.o
	return append([]setting.Setting{
		setting.Of("engine", "Engine", "run the job by `hadoop|spark`", "hadoop", setting.Enum(&o.Engine, "hadoop", "spark")),
		setting.Of("input", "Inputs", "read the file or directory `URI`, as hdfs://HOST:PORT/PATH; may be repeated", "", setting.List(&o.Inputs)),
		setting.Of("property", "Properties", "set a property of Hadoop or Spark, `NAME=VALUE`; may be repeated", "", setting.List(&o.Properties)),
		setting.Of("output", "Output", "write the parts into the new directory `URI`", "", setting.Text(&o.Output)),
		setting.Of("reducers", "Reducers", "`N` reduce tasks of the first job", "1", setting.Count(&o.Reducers, 1, mrlocal.MostReducers)),
		setting.Of("queue", "Queue", "submit to the queue `NAME` of YARN", "the cluster's", setting.Text(&o.Queue)),
		setting.Of("job-name", "Name", "the `NAME` of the job on the cluster", "mrlocal JOB", setting.Text(&o.Name)),
		setting.Of("hadoop", "Hadoop", "the command of Hadoop is `PATH`", "hadoop, in the search path", setting.Text(&o.Hadoop)),
		setting.Of("spark-submit", "Submit", "the command of Spark is `PATH`", "spark-submit, in the search path", setting.Text(&o.Submit)),
		setting.Of("streaming-jar", "Jar", "hadoop-streaming is `PATH`", "share/hadoop/tools/lib next to the command", setting.Text(&o.Jar)),
		setting.Of("binary", "Binary", "the children are `PATH`, a static mrlocal", "this one", setting.Text(&o.Binary)),
		setting.Of("files", "Files", "the input has `N` files, for a job that depends on their number", "", setting.Count(&o.Files, 1, 1<<31-1)),
		setting.Of("in-order", "InOrder", "values of a key keep the order of the input; sort -s and -u do so without it", "", setting.Toggle(&o.InOrder)),
		setting.Of("print", "", "print the commands, and run nothing", "", setting.Toggle(&c.print)),
		setting.Of("report", "", "write the report of the jobs to `FILE` as JSON", "", setting.Text(&c.report)),
		setting.Of("progress", "", "show progress on standard error: `auto|plain|none`", "auto", setting.Choice(&c.progress, "auto", "plain", "none")),
		setting.Of("results", "Results", "pass results as `text|typedbytes`: carriage returns need typedbytes, which needs UTF-8", "text", setting.Enum(&o.Results, "text", "typedbytes")),
	}, hdfsSettings(&c.job.JobOptions)...)
}

// run plans the jobs on the cluster, then prints or runs the plan. It makes all checks that need no
// cluster before it contacts the cluster. It checks the path of the report before the first job, which
// may take hours.
func (c *submitCommand) run(ctx context.Context, line *flags.Line) (code int, err error) {
	s := &c.o
	s.Args, s.Inputs = line.Own(c.job.Own), append(s.Inputs, line.Words...)
	switch {
	case s.Job != "":
		s.Chain, err = c.job.Build()
	// A program describes its chain.
	case s.Binary == "":
		err = errs.Optionf("submit", "name the program: mrlocal submit ./PROGRAM")
	default:
		s.Chain, err = submit.Program(s.Binary)
	}
	if err == nil {
		err = c.fitForHadoop()
	}
	if err != nil {
		return 0, err
	}
	// By default the children run this program. The cluster may need a binary for another processor.
	if s.Binary == "" {
		if s.Binary, err = os.Executable(); err != nil {
			return 0, err
		}
	}
	if c.print {
		return Done, c.printPlan()
	}
	if s.Jar == "" && s.Engine == submit.Hadoop {
		if s.Jar, err = submit.Jar(s.Hadoop); err != nil {
			return 0, err
		}
	}
	// This plan only checks the options, before the first contact with the cluster.
	if _, err := submit.New(*s); err != nil {
		return 0, err
	}
	// The inputs and the output lie on the cluster, so no local file can collide with the report.
	file, err := (&work{Stdout: c.Stdout}).Open("report", c.report)
	if err != nil {
		return 0, err
	}
	at := c.job.HDFS
	at.User = hdfsUser(at.User, s.Inputs)
	remove, err := sampleCuts(ctx, s, at)
	if err != nil {
		return 0, err
	}
	defer remove()
	// Now s.Cuts is set, so the plan is made again.
	plan, err := submit.New(*s)
	if err != nil {
		return 0, err
	}
	// After a failure, the report has the jobs that have begun, and is written too.
	done, err := plan.Run(ctx, c.listener())
	if file != nil {
		err = errors.Join(err, report.WriteJSON(file, []*report.Report{done}), file.Close())
	}
	return Done, err
}

// fitForHadoop sets options that depend on the job. It fails with an options error if a job with Begin
// needs the number of input files, and it is not known.
func (c *submitCommand) fitForHadoop() error {
	s := &c.o
	// Hadoop does not keep the order of lines with equal keys by itself.
	s.InOrder = s.InOrder || c.job.InOrder != nil && c.job.InOrder()
	if s.Chain[0].Begin == nil || s.Files > 0 {
		return nil
	}
	if c.job.AnyFiles == nil {
		return errs.Optionf("--files", "give the number of input files: the job of the program depends on it (Begin)")
	}
	s.Files = 1 // any number gives the same job
	return c.job.AnyFiles()
}

// listener returns a listener that writes progress and notes to standard error, a line for each
// change of the percentages. With --progress none it writes nothing.
func (c *submitCommand) listener() submit.Listener {
	if c.progress == "none" {
		return submit.Listener{Progress: func(string, int, int) {}, Note: func(string) {}}
	}
	return submit.Listener{
		Progress: func(job string, maps, reduces int) {
			fmt.Fprintf(c.Stderr, "mrlocal: %s: map %d%%, reduce %d%%\n", job, maps, reduces)
		},
		Note: func(text string) { fmt.Fprintf(c.Stderr, "mrlocal: %s\n", text) },
	}
}

// printPlan writes the commands of the plan for a shell. If the job needs cuts, the command that
// samples them comes first. printPlan does not contact the cluster, so without --streaming-jar the
// path of the jar is the usual one, submit.HomeJar.
func (c *submitCommand) printPlan() error {
	s := c.o
	if s.Engine == submit.Hadoop {
		s.Jar = cmp.Or(s.Jar, submit.HomeJar)
	}
	plan, err := submit.New(s)
	if err != nil {
		return err
	}
	var cuts []string
	if s.NeedsCuts() && s.Job == "" {
		return errs.Optionf("--print", "a total order over %d reduces needs cuts, which only submit itself samples for another program", s.Reducers)
	}
	if s.NeedsCuts() {
		cuts = slices.Concat([]string{s.Binary, "stream", cutsSide, s.Job}, s.Args, []string{fmt.Sprintf("--reduces=%d", s.Reducers)})
		// The command that samples reads HDFS too, so it needs the same flags of HDFS.
		for _, f := range hdfsSettings(&c.job.JobOptions) {
			if text := f.Value.String(); text != "" {
				cuts = append(cuts, "--"+f.Name+"="+text)
			}
		}
		cuts = append(cuts, s.Inputs...)
	}
	return c.Write([]byte(plan.Text(cuts)))
}

// sampleCuts samples the input of a job with a total order over several reduces. It writes the cuts to
// a temporary file and sets s.Cuts to its path. The caller must call remove after the job, which
// removes the file. For a job that needs no cuts, sampleCuts does nothing. at is how to reach HDFS.
func sampleCuts(ctx context.Context, s *submit.Options, at hdfs.Options) (remove func(), err error) {
	if !s.NeedsCuts() {
		return func() {}, nil
	}
	// Sampling reads HDFS over WebHDFS, whose address the configuration of Hadoop has.
	if at.Web == "" {
		if at.Web, err = submit.WebAddress(ctx, s.Hadoop); err != nil {
			return nil, fmt.Errorf("%w; give --webhdfs HOST:PORT", err)
		}
	}
	// Only the first job of a chain reads the input, so the cuts are those of this job.
	keys, err := mrlocal.Cuts(ctx, s.Chain[0], s.Reducers, mrlocal.JobOptions{Inputs: s.Inputs, HDFS: at})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mrlocal-submit-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	s.Cuts = filepath.Join(dir, "cuts")
	f, err := os.Create(s.Cuts)
	if err == nil {
		err = errors.Join(stream.WriteCuts(f, keys), f.Close())
	}
	if err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// forEachJob returns a command with a subcommand for each job that can run on a cluster. Some jobs read
// files by themselves, which a child of Hadoop Streaming cannot do, so they have no subcommand.
func forEachJob(usage, help, args string, make func(*job) *flags.Command) *flags.Command {
	c := ForEachJob(flags.Command{Usage: usage, Long: help + "\n" + helpText("run")}, func(n *NamedJob) bool { return n.OnHadoop }, make)
	c.Args, c.Noun = args, "job"
	return c
}

// hdfsSettings returns the flags that say how to reach HDFS.
func hdfsSettings(o *mrlocal.JobOptions) []setting.Setting {
	all := o.Fields()
	return []setting.Setting{*setting.Named(all, "webhdfs"), *setting.Named(all, "hdfs-user")}
}

// cutsSide is the word in place of a side with which mrlocal stream samples cuts.
const cutsSide = "cuts"

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
	return forEachJob("do one side of a job as the child of Hadoop Streaming", helpText("stream"), "SIDE JOB [FLAGS] [PATH…]", func(j *job) *flags.Command {
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
