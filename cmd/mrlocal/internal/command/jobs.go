package command

import (
	"context"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/jobs"
)

// NamedJob is a job that run, tune, profile and workload files know by name.
type NamedJob struct {
	Name, Use   string
	ShortOutput string                            // the letter of --output-file, or ""
	Example     string                            // arguments behind "mrlocal run NAME", or ""
	Inputs      int                               // paths that it takes: noInput, or 0 for any number
	Flags       []argv.Spec                       // the flags of this job alone
	Build       func(*Reader) (jobs.Chain, error) // reads those flags
}

// Jobs lists the jobs in the order of the help. A new job gets a line in
// paperJobs.
func Jobs() []NamedJob {
	return append([]NamedJob{
		{"wordcount", "count words; prints word, TAB, count, in byte order of the word", "o", "", 0, wordcountFlags(), wordcountJob},
		{"sort", "sort lines in byte order or by keys as in GNU sort", "o", "", 0, sortFlags(), sortJob},
		{"grep", "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", "", "", 0, grepFlags(), grepJob},
		StreamingJob(),
	}, paperJobs()...)
}

// RunJob runs the job of that name; build reads its flags.
type RunJob = func(ctx context.Context, e Env, line argv.Line, name string, build func(*Reader) (jobs.Chain, error)) (int, error)

// ForEachJob adds to c a subcommand for each job. A subcommand takes the
// given flags and the job's own.
func ForEachJob(c Command, flags func(NamedJob) []argv.Spec, run RunJob) Command {
	c.Args = "JOB [FLAGS] [PATH…]"
	// The loop variable is new in each turn, so each subcommand keeps its own job.
	for _, j := range Jobs() {
		c.Sub = append(c.Sub, Command{Name: j.Name, Usage: j.Use, Args: "[PATH…]", Long: c.Long, More: func() []argv.Spec { return slices.Concat(flags(j), j.Flags) },
			Run: func(ctx context.Context, e Env, line argv.Line) (int, error) {
				return run(ctx, e, line, j.Name, j.Build)
			}})
	}
	return c
}

// CheckReduces refuses flags that leave a job without the reduces that it
// needs. A map-only job, such as grep --lines, accepts them.
func CheckReduces(name string, chain jobs.Chain, o mrlocal.Options) error {
	for i := range chain {
		switch {
		// This job of the chain has no reduces.
		case chain[i].NewReducer == nil:
		// A reduce without a slot would wait for ever.
		case o.NoReduces:
			return errs.Optionf("--reduce-slots", "0: %s has reduces; at least 1", name)
		case o.MapOnly:
			return errs.Optionf("--reducers", "0: %s needs its reduces; at least 1", name)
		}
	}
	return nil
}

// StreamingJob is the job of run streaming.
func StreamingJob() NamedJob {
	return NamedJob{"streaming", "run commands as mapper and reducer, by the protocol of Hadoop Streaming", "o", "", 0, streamingFlags(), func(r *Reader) (jobs.Chain, error) {
		var o mrlocal.Options
		r.JobOptions(&o)
		if r.Err != nil {
			return nil, r.Err
		}
		o.TempDirs, o.Stdin = r.Line.Values("tmp"), r.Stdin
		var err error
		if r.Stream, err = friendlyStreaming(r.Line, &o, r.Stderr); err != nil {
			return nil, err
		}
		return jobs.Chain{r.Stream.Job}, nil
	}}
}
