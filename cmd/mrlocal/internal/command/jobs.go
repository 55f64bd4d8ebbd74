package command

import (
	"context"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/jobs"
)

// NamedJob is a job that run, tune, profile and workload files know by name.
type NamedJob struct {
	Name, Use   string                            // Use is the line of help
	ShortOutput string                            // the letter of --output-file, or ""
	Example     string                            // the arguments after "mrlocal run NAME", or ""
	Inputs      int                               // the number of paths that it takes: noInput, or 0 for any number above 0
	Flags       []argv.Spec                       // the flags of this job alone
	Build       func(*Reader) (jobs.Chain, error) // reads those flags and makes the chain
}

// Jobs lists the jobs in the order of the help. A new job gets a line in paperJobs. Package main has
// the examples of wordcount, sort and grep.
func Jobs() []NamedJob {
	return append([]NamedJob{
		{"wordcount", "count words; prints word, TAB, count, in byte order of the word", "o", "", 0, wordcountFlags(), wordcountJob},
		{"sort", "sort lines in byte order or by keys as in GNU sort", "o", "", 0, sortFlags(), sortJob},
		{"grep", "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", "", "", 0, grepFlags(), grepJob},
		StreamingJob(),
	}, paperJobs()...)
}

// RunJob does the work of a subcommand with one job: run, tune or profile. name is the name of the
// job. build reads its flags and makes its chain.
type RunJob = func(ctx context.Context, e Env, line argv.Line, name string, build func(*Reader) (jobs.Chain, error)) (int, error)

// ForEachJob returns c with a subcommand for each job of Jobs. A subcommand takes the flags that
// flags returns for its job, then the flags of the job alone that have other names. It calls run.
func ForEachJob(c Command, flags func(NamedJob) []argv.Spec, run RunJob) Command {
	c.Args = "JOB [FLAGS] [PATH…]"
	for _, j := range Jobs() {
		c.Sub = append(c.Sub, Command{Name: j.Name, Usage: j.Use, Args: "[PATH…]", Long: c.Long,
			More: func() []argv.Spec {
				shared := flags(j)
				return slices.Concat(shared, slices.DeleteFunc(slices.Clone(j.Flags), func(own argv.Spec) bool {
					return slices.ContainsFunc(shared, func(f argv.Spec) bool { return f.Name == own.Name })
				}))
			},
			Run: func(ctx context.Context, e Env, line argv.Line) (int, error) {
				return run(ctx, e, line, j.Name, j.Build)
			}})
	}
	return c
}

// StreamingJob returns the job of run streaming. Its Build also sets Reader.Stream, the work that the
// caller must close after the run. It fails for arguments that streaming refuses, and if standard
// input is an input but cannot be copied.
func StreamingJob() NamedJob {
	return NamedJob{"streaming", "run commands as mapper and reducer, by the protocol of Hadoop Streaming", "o", "", 0, streamingFlags(), func(r *Reader) (jobs.Chain, error) {
		// The inputs and the output of a streaming job are part of its arguments, so Build reads them
		// too. RunOptions reads them again for the run.
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
	}}
}
