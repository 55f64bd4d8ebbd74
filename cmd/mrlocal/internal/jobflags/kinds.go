package jobflags

import (
	"context"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/paperjobs"
	"mrlocal/cmd/mrlocal/internal/settings"
	"mrlocal/cmd/mrlocal/internal/streamcmd"
	"mrlocal/errs"
	"mrlocal/jobs"
)

// Kind is a job that run, tune, profile and workload files know by name.
type Kind struct {
	Name, Use   string
	ShortOutput string                                     // the letter of --output-file, or ""
	Flags       []argv.Spec                                // the flags of this job alone
	Build       func(*settings.Reader) (jobs.Chain, error) // reads those flags
}

// Kinds lists the jobs in the order of the help. A new job gets a line in
// paperjobs.Kinds.
func Kinds() []Kind {
	kinds := []Kind{
		{"wordcount", "count words; prints word, TAB, count, in byte order of the word", "o", WordcountFlags(), plain(Wordcount)},
		{"sort", "sort lines in byte order or by keys as in GNU sort", "o", SortFlags(), plain(Sort)},
		{"grep", "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", "", GrepFlags(), plain(Grep)},
		Streaming(),
	}
	for _, k := range paperjobs.Kinds() {
		kinds = append(kinds, Kind{k.Name, k.Use, "o", k.Flags, plain(k.Build)})
	}
	return kinds
}

// plain is for a job that its flags alone describe.
func plain(build func(*argv.Reader) (jobs.Chain, error)) func(*settings.Reader) (jobs.Chain, error) {
	return func(r *settings.Reader) (jobs.Chain, error) { return build(&r.Reader) }
}

// Run runs the job of that name; build reads its flags.
type Run = func(ctx context.Context, e command.Env, line argv.Line, name string, build func(*settings.Reader) (jobs.Chain, error)) (int, error)

// ForEach adds to c a subcommand for each kind of job. A subcommand takes the
// given flags and the job's own.
func ForEach(c command.Command, flags func(Kind) []argv.Spec, run Run) command.Command {
	c.Args = "JOB [FLAGS] [PATH…]"
	// The loop variable is new in each turn, so each subcommand keeps its own job.
	for _, j := range Kinds() {
		c.Sub = append(c.Sub, command.Command{Name: j.Name, Usage: j.Use, Args: "[PATH…]", Long: c.Long, More: func() []argv.Spec { return slices.Concat(flags(j), j.Flags) },
			Run: func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
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

// Streaming is the job of run streaming.
func Streaming() Kind {
	return Kind{"streaming", "run commands as mapper and reducer, by the protocol of Hadoop Streaming", "o", streamcmd.Flags(), func(r *settings.Reader) (jobs.Chain, error) {
		var o mrlocal.Options
		r.JobOptions(&o)
		if r.Err != nil {
			return nil, r.Err
		}
		o.TempDirs, o.Stdin = r.Line.Values("tmp"), r.Stdin
		var err error
		if r.Stream, err = streamcmd.Friendly(r.Line, &o, r.Stderr); err != nil {
			return nil, err
		}
		return jobs.Chain{r.Stream.Job}, nil
	}}
}
