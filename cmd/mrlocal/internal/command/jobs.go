package command

import (
	"context"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// NamedJob is a job that run, tune, profile and workload files know by name. They know nothing else
// about single jobs: whatever one job needs and the others do not is a field.
type NamedJob struct {
	Name, Use string                            // Use is the line of help
	Examples  []string                          // the arguments after "mrlocal run NAME"
	Inputs    int                               // the number of paths that it takes: noInput, or 0 for any number above 0
	Flags     []argv.Spec                       // the flags of this job alone
	Build     func(*Reader) (jobs.Chain, error) // reads those flags and makes the chain

	Without []string              // the flags of run that it does not take
	UTF16   bool                  // text with a mark of UTF-16 is decoded
	Matches bool                  // the exit code says whether anything matched
	Check   func(argv.Line) error // refuses a line before any other check; nil: it refuses none
	// Adapt changes the options of the run as the job needs them, after Build. notes are for the user. nil:
	// nothing changes.
	Adapt func(r *Reader, chain jobs.Chain, o *mrlocal.Options) (notes []string)
}

// Jobs lists the jobs in the order of the help. A new job gets a line in paperJobs. Package main has
// the examples of wordcount, sort and grep.
func Jobs() []NamedJob {
	return append([]NamedJob{
		{Name: "wordcount", Use: "count words; prints word, TAB, count, in byte order of the word", Examples: []string{"wiki/ -o words.txt", "--top 10 --alnum --ignore-case wiki/"}, Flags: wordcountFlags(), Build: wordcountJob},
		{Name: "sort", Use: "sort lines in byte order or by keys as in GNU sort", Examples: []string{"-k2,2nr words.txt -o by-count.txt", "--memory 64MiB words.txt --output sorted/"}, Flags: sortFlags(), Build: sortJob},
		{Name: "grep", Use: "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", Examples: []string{"--input wiki/ --sched pi-dhfs", "-n -e '== .* ==' wiki/"}, Flags: grepFlags(), Build: grepJob,
			Without: []string{"quiet"}, UTF16: true, Matches: true, Check: missingPattern, Adapt: adaptGrep}, // as in mrlocal grep, --quiet is that of GNU grep
		StreamingJob(),
	}, paperJobs()...)
}

// Reader returns a reader of the flags of line, which are those of run and of the job.
func (j *NamedJob) Reader(line argv.Line) *Reader {
	return &Reader{Reader: argv.Reader{Line: line}, Job: j}
}

// OutputLetter returns the letter of --output-file. It is "" if -o means something else in the job.
func (j *NamedJob) OutputLetter() string {
	if argv.Named("o", j.Flags) != nil {
		return ""
	}
	return "o"
}

// Settle calls Adapt, if the job has it.
func (j *NamedJob) Settle(r *Reader, chain jobs.Chain, o *mrlocal.Options) (notes []string) {
	if j.Adapt == nil {
		return nil
	}
	return j.Adapt(r, chain, o)
}

// checkInputs returns an options error if the job does not take this number of inputs.
func (j *NamedJob) checkInputs(inputs int) error {
	switch {
	case j.Inputs == noInput && inputs > 0:
		return errs.Optionf(j.Name, "reads no input")
	case j.Inputs != noInput && inputs == 0:
		return errs.Optionf("no input", "name files, directories or globs, or - for standard input")
	case j.Inputs > 0 && inputs != j.Inputs:
		return errs.Optionf(j.Name, "takes %d inputs, not %d; quote a glob, so that the shell leaves it alone", j.Inputs, inputs)
	}
	return nil
}

// RunJob does the work of a subcommand with one job, such as run, tune or profile.
type RunJob = func(ctx context.Context, e Env, line argv.Line, j *NamedJob) (int, error)

// ForEachJob returns c with a subcommand for each job of Jobs. A subcommand takes the flags that
// flags returns for its job, then the flags of the job alone that have other names. It calls run.
func ForEachJob(c Command, flags func(NamedJob) []argv.Spec, run RunJob) Command {
	c.Args = "JOB [FLAGS] [PATH…]"
	for _, j := range Jobs() {
		c.Sub = append(c.Sub, Command{Name: j.Name, Usage: j.Use, Args: "[PATH…]", Long: c.Long, Examples: examples(c.Name, &j),
			More: func() []argv.Spec {
				shared := flags(j)
				return slices.Concat(shared, slices.DeleteFunc(slices.Clone(j.Flags), func(own argv.Spec) bool {
					return slices.ContainsFunc(shared, func(f argv.Spec) bool { return f.Name == own.Name })
				}))
			},
			Run: func(ctx context.Context, e Env, line argv.Line) (int, error) { return run(ctx, e, line, &j) }})
	}
	return c
}

// examples returns the examples in the help of a job of run.
func examples(command string, j *NamedJob) (all []string) {
	for _, args := range j.Examples {
		if command == "run" {
			all = append(all, "mrlocal run "+j.Name+" "+args)
		}
	}
	return all
}

// StreamingJob returns the job of run streaming. Its Build also sets Reader.Stream, the work that the
// caller must close after the run. It fails for arguments that streaming refuses, and if standard
// input is an input but cannot be copied.
func StreamingJob() NamedJob {
	return NamedJob{Name: "streaming", Use: "run commands as mapper and reducer, by the protocol of Hadoop Streaming", Flags: streamingFlags(), Build: buildStreaming,
		Without: []string{"resume"}, // its input is not an input of its jobs, so no journal can know it again
		Adapt: func(r *Reader, _ jobs.Chain, o *mrlocal.Options) []string {
			ApplyStreaming(r.Stream, o)
			return nil
		}}
}

// buildStreaming is NamedJob.Build of streaming.
func buildStreaming(r *Reader) (jobs.Chain, error) {
	// The inputs and the output of a streaming job are part of its arguments, so they are read here too.
	// RunOptions reads them again for the run.
	var o mrlocal.Options
	r.JobOptions(&o)
	if r.Err != nil {
		return nil, r.Err
	}
	o.TempDirs, o.Stdin = r.Line.Values("tmp"), r.Stdin
	var err error
	if r.Stream, err = runStreaming(r.Line, &o, r.Stderr); err != nil {
		return nil, err
	}
	return jobs.Chain{r.Stream.Job}, nil
}
