package main

import (
	"context"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/jobflags"
	"mrlocal/cmd/mrlocal/internal/paperjobs"
	"mrlocal/jobs"
)

// jobKind is a job that run, tune, profile and workload files know by name.
type jobKind struct {
	name, use   string
	shortOutput string                            // the letter of --output-file, or ""
	flags       []flagSpec                        // the flags of this job alone
	build       func(*reader) (jobs.Chain, error) // reads those flags
}

// jobKinds lists the jobs in the order of the help. A new job gets a line here.
func jobKinds() []jobKind {
	kinds := []jobKind{
		{"wordcount", "count words; prints word, TAB, count, in byte order of the word", "o", jobflags.WordcountFlags(), plain(jobflags.Wordcount)},
		{"sort", "sort lines in byte order or by keys as in GNU sort", "o", jobflags.SortFlags(), plain(jobflags.Sort)},
		{"grep", "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", "", jobflags.GrepFlags(), plain(jobflags.Grep)},
		streamingKind(),
	}
	for _, k := range paperjobs.Kinds() {
		kinds = append(kinds, jobKind{k.Name, k.Use, "o", k.Flags, plain(k.Build)})
	}
	return kinds
}

// plain is for a job that its flags alone describe.
func plain(build func(*argv.Reader) (jobs.Chain, error)) func(*reader) (jobs.Chain, error) {
	return func(r *reader) (jobs.Chain, error) { return build(&r.Reader) }
}

// forEachJob adds to c a subcommand for each kind of job. A subcommand takes the
// given flags and the job's own.
func forEachJob(c command, flags func(jobKind) []flagSpec, run func(context.Context, env, argv.Line, string, func(*reader) (jobs.Chain, error)) (int, error)) command {
	c.args = "JOB [FLAGS] [PATH…]"
	// The loop variable is new in each turn, so each subcommand keeps its own job.
	for _, j := range jobKinds() {
		c.sub = append(c.sub, command{name: j.name, usage: j.use, args: "[PATH…]", long: c.long, flags: slices.Concat(flags(j), j.flags),
			run: func(ctx context.Context, e env, line argv.Line) (int, error) {
				return run(ctx, e, line, j.name, j.build)
			}})
	}
	return c
}
