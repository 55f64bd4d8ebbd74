package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/hadoop/stream"
	"mrlocal/hadoop/submit"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/jobs"
	"mrlocal/slots/report"
)

// programWord is the subcommand of submit for a job in a program of the user. JobFirst inserts it.
const programWord = "program"

// submitHelp is the help of mrlocal submit.
const submitHelp = "Hadoop Streaming starts children that do the work. A child is this mrlocal, which the job carries to the cluster. It may also be a static program of your own (mrlocal submit ./PROGRAM), whose main begins with stream.Main. The parts of the output, one after the other, are the result that mrlocal run writes."

// submitFlags returns the flags of submit other than those of the job. jobArgs passes all other flags
// to the children.
func submitFlags() []argv.Spec {
	input := argv.ValueSpec("input", "read the file or directory `URI`, as hdfs://HOST:PORT/PATH; may be repeated", "")
	input.Repeat = true
	property := argv.ValueSpec("property", "set a property of Hadoop, `NAME=VALUE`; may be repeated", "")
	property.Repeat = true
	return append([]argv.Spec{input, property,
		argv.ValueSpec("output", "write the parts into the new directory `URI`", ""),
		argv.ValueSpec("reducers", "`N` reduce tasks of the first job", "1"),
		argv.ValueSpec("queue", "submit to the queue `NAME` of YARN", "the cluster's"),
		argv.ValueSpec("job-name", "the `NAME` of the job in YARN", "mrlocal JOB"),
		argv.ValueSpec("hadoop", "the command of Hadoop is `PATH`", "hadoop, in the search path"),
		argv.ValueSpec("streaming-jar", "hadoop-streaming is `PATH`", "share/hadoop/tools/lib next to the command"),
		argv.ValueSpec("binary", "the children are `PATH`, a static mrlocal", "this one"),
		argv.ValueSpec("files", "the input has `N` files, for a job that depends on their number", ""),
		{Flag: argv.Flag{Name: "in-order"}, Help: "values of a key keep the order of the input; sort -s and -u do so without it"},
		{Flag: argv.Flag{Name: "print"}, Help: "print the commands, and run nothing"},
		argv.ValueSpec("report", "write the report of the jobs to `FILE` as JSON", ""),
		argv.ValueSpec("progress", "show progress on standard error: `auto|plain|none`", "auto"),
		argv.ValueSpec("results", "pass results as `text|typedbytes`: carriage returns need typedbytes, which needs UTF-8", "text"),
	}, command.HDFSFlags()...)
}

// submitJob plans the jobs on the cluster, then prints or runs the plan. It makes all checks that
// need no cluster before it contacts the cluster. It checks the path of the report before the first
// job, which may take hours. build makes the chain of a built-in job; for a program it is nil, and
// the program describes its chain.
func submitJob(ctx context.Context, e command.Env, line argv.Line, job string, build func() (jobs.Chain, error)) error {
	r := &argv.Reader{Line: line}
	// For a program, the word after submit is its path and not the name of a job.
	if job == programWord {
		program := r.Path("binary")
		if job, build = "", func() (jobs.Chain, error) { return submit.Program(program) }; program == "" {
			return errs.Optionf("submit", "name the program: mrlocal submit ./PROGRAM")
		}
	}
	s := submit.Options{
		Job: job, Args: jobArgs(line), Inputs: append(line.Values("input"), line.Words...), Output: r.Path("output"),
		Reducers: r.Count("reducers", 1, mrlocal.MostReducers), Name: r.Path("job-name"), Queue: r.Path("queue"), Properties: line.Values("property"),
		Hadoop: cmp.Or(r.Path("hadoop"), "hadoop"), Jar: r.Path("streaming-jar"), Binary: r.Path("binary"),
		// sort -s and -u depend on the order of lines with equal keys, which Hadoop does not keep
		// by itself.
		InOrder: line.Has("in-order") || job == "sort" && (line.Has("stable") || line.Has("unique")),
	}
	results, err := stream.ParseResults(r.Choice("results", "text", "typedbytes"))
	r.Keep(err)
	s.Results = results
	if line.Has("files") {
		s.Files = r.Count("files", 1, 1<<31-1)
	}
	mode := r.Choice("progress", "auto", "plain", "none")
	reportPath := r.Path("report")
	at := command.ReadHDFS(r, s.Inputs)
	if r.Err != nil {
		return r.Err
	}
	if s.Chain, err = build(); err != nil {
		return err
	}
	if err := fitForHadoop(&s, line); err != nil {
		return err
	}
	// By default the children run this program. The cluster may need a binary for another processor.
	if s.Binary == "" {
		if s.Binary, err = os.Executable(); err != nil {
			return err
		}
	}
	if line.Has("print") {
		return printPlan(e, s, line)
	}
	if s.Jar == "" {
		if s.Jar, err = submit.Jar(s.Hadoop); err != nil {
			return err
		}
	}
	// This plan only checks the options, before the first contact with the cluster.
	if _, err := submit.New(s); err != nil {
		return err
	}
	// The inputs and the output lie on the cluster, so no local file can collide with the report.
	file, err := (&process.Work{Stdout: e.Stdout}).Open("report", reportPath)
	if err != nil {
		return err
	}
	remove, err := sampleCuts(ctx, &s, at)
	if err != nil {
		return err
	}
	defer remove()
	// Now s.Cuts is set, so the plan is made again.
	plan, err := submit.New(s)
	if err != nil {
		return err
	}
	// After a failure, the report has the jobs that have begun, and is written too.
	done, err := plan.Run(ctx, progressOf(e, mode))
	if file != nil {
		err = errors.Join(err, report.WriteJSON(file, []*report.Report{done}), file.Close())
	}
	return err
}

// fitForHadoop sets the number of input files. It returns an options error if a job with Begin needs it,
// and it is not known. A built-in job with Begin prints file names. By default it does so only for
// several files.
func fitForHadoop(s *submit.Options, line argv.Line) error {
	named := line.Has("with-filename") || line.Has("no-filename")
	switch {
	case s.Chain[0].Begin == nil || s.Files > 0:
	case s.Job == "":
		return errs.Optionf("--files", "give the number of input files: the job of the program depends on it (Begin)")
	case !named:
		return errs.Optionf("-H, --no-filename", "give one of them: a child does not know whether there are several files")
	default:
		s.Files = 1 // any number gives the same job
	}
	return nil
}

// jobArgs returns the flags of the job in the line, for its children. It keeps their order, on
// which repeated flags such as the keys of sort depend.
func jobArgs(line argv.Line) (args []string) {
	own := submitFlags()
	for _, s := range line.Flags {
		switch {
		// The children do not take flags of submit.
		case slices.ContainsFunc(own, func(f argv.Spec) bool { return f.Name == s.Flag.Name }):
		case s.Flag.Value || s.Value != "":
			args = append(args, "--"+s.Flag.Name+"="+s.Value)
		default:
			args = append(args, "--"+s.Flag.Name)
		}
	}
	return args
}

// progressOf returns a listener that writes progress and notes to standard error, a line for each
// change of the percentages. In the mode none it writes nothing.
func progressOf(e command.Env, mode string) submit.Listener {
	if mode == "none" {
		return submit.Listener{Progress: func(string, int, int) {}, Note: func(string) {}}
	}
	return submit.Listener{
		Progress: func(job string, maps, reduces int) {
			fmt.Fprintf(e.Stderr, "mrlocal: %s: map %d%%, reduce %d%%\n", job, maps, reduces)
		},
		Note: func(text string) { fmt.Fprintf(e.Stderr, "mrlocal: %s\n", text) },
	}
}

// printPlan writes the commands of the plan for a shell. If the job needs cuts, the command that
// samples them comes first. printPlan does not contact the cluster, so without --streaming-jar the
// path of the jar is the usual one, submit.HomeJar.
func printPlan(e command.Env, s submit.Options, line argv.Line) error {
	s.Jar = cmp.Or(s.Jar, submit.HomeJar)
	plan, err := submit.New(s)
	if err != nil {
		return err
	}
	var cuts []string
	if s.NeedsCuts() && s.Job == "" {
		return errs.Optionf("--print", "a total order over %d reduces needs cuts, which only submit itself samples for another program", s.Reducers)
	}
	if s.NeedsCuts() {
		cuts = append([]string{s.Binary, "stream", cutsSide, s.Job}, s.Args...)
		cuts = append(cuts, fmt.Sprintf("--reduces=%d", s.Reducers))
		// The command that samples reads HDFS too, so it needs the same flags of HDFS.
		for _, flag := range command.HDFSFlags() {
			if v, ok := line.Value(flag.Name); ok {
				cuts = append(cuts, "--"+flag.Name+"="+v)
			}
		}
		cuts = append(cuts, s.Inputs...)
	}
	return e.Write([]byte(plan.Text(cuts)))
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
