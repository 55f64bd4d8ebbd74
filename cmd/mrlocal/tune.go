package main

import (
	"context"
	"os"
	"slices"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
)

// tuneHelp is the help text of mrlocal tune below its usage.
const tuneHelp = `Runs the job alone, first with 1 to --map-slots map slots on each tracker, then with 1 to --reduce-slots reduce slots. The results are thrown away. tune prints Avg_k, the mean time of a task while k tasks run at a time, and the flags that follow from Dynamic Split's guideline. By it, fewer slots m are better than n if Gain_m is above Lose_m. Gain_m = (Avg_n - Avg_m) * P/n, and Lose_m = (P/m - P/n) * Avg_m. So the best k has the least Avg_k/k. Each row is compared with the best number; its Gain and Lose belong to the fewer slots of the two. The table calls that number the paper's best, and also marks the fastest run, by its makespan.

All runs use the policy fair, which lends no slots, and have the same P tasks. The first run is not counted.`

// tuneCommand has the options of mrlocal tune for one job.
type tuneCommand struct {
	Env
	job              *job
	rounds           int
	progress, report string
}

// makeTune returns mrlocal tune, with a subcommand for each job.
func makeTune(e Env) *flags.Command {
	return ForEachJob(flags.Command{Usage: "find the best numbers of slots for a job, by Dynamic Split's guideline", Long: tuneHelp, Examples: []string{"mrlocal tune wordcount wiki/"}}, nil,
		func(j *job) *flags.Command {
			c := &tuneCommand{Env: e, job: j, rounds: 3}
			own := func(s setting.Setting) bool { return s.Name == "rounds" } // some jobs have rounds of their own
			all := append(slices.DeleteFunc(measured(j, "its cores, at least 2"), own),
				setting.Of("rounds", "", "make `N` runs with each number of slots and take the median", "3", setting.Count(&c.rounds, 1, 1000)))
			reduces := setting.Named(all, "reduce-slots")
			reduces.Help, reduces.Default = "try up to `N` home reduce slots on each tracker", "its cores, at least 2"
			return &flags.Command{Run: c.run, Settings: append(all, setting.In("INPUT AND OUTPUT", []setting.Setting{
				setting.Of("report", "", "write the measurements to `FILE` as JSON", "", setting.Text(&c.report)),
				setting.Of("progress", "", "print a line for each run on standard error: `auto|plain|none`", "auto", setting.Choice(&c.progress, "auto", "plain", "none")),
			})...)}
		})
}

// run measures the job with several numbers of slots and prints the tables.
func (c *tuneCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	// With --progress none, notes are dropped too, so only the table appears.
	m, err := measure(c.Env, c.job, line, c.progress == "none")
	if err != nil {
		return 0, err
	}
	defer c.job.Extra.Close()
	// The path of the report is checked before the runs, which may take minutes.
	file, err := c.openReport(work{Inputs: m.Options.Inputs, Stdout: c.Stdout}, c.report)
	if err != nil {
		return 0, err
	}
	m.Rounds = c.rounds
	found, err := m.Tune(ctx)
	if err != nil {
		return 0, err
	}
	return Done, c.printResult(file, found)
}

// measured returns the settings of a job that runs several times: those of run except those of results,
// policies, pictures and files. They have no effect if results are thrown away and the policy is fixed.
// slots is the default of --map-slots.
func measured(j *job, slots string) []setting.Setting {
	all := slices.Concat(j.Settings(), j.Config.Fields(mrlocal.Bounds()), j.Options.Fields())
	maps := setting.Named(all, "map-slots")
	maps.Help, maps.Default = "try up to `N` home map slots on each tracker", slots
	return setting.Without(all, "output", "overwrite", "output-file", "max-slots", "seed")
}

// measure returns what measures the job, whose options it completes by the line. It fails if an input can
// be read only once. With quiet, notes are dropped.
func measure(e Env, j *job, line *flags.Line, quiet bool) (*study.MeasuredJob, error) {
	if err := j.Given(line); err != nil {
		return nil, err
	}
	if err := readAgain(j.Inputs); err != nil {
		return nil, err
	}
	chain, err := j.Build()
	m := &study.MeasuredJob{Chain: chain, Options: j.Options, Run: runChain, Note: noteOf(e, quiet)}
	for _, n := range j.Notes {
		m.Note(n)
	}
	return m, err
}

// readAgain refuses inputs that can be read only once, such as standard input and pipes.
func readAgain(inputs []string) error {
	for _, path := range inputs {
		// A glob or a missing file passes here. The run reports a missing one.
		info, err := os.Stat(path)
		if path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return errs.Optionf(errs.Quote(path), "can be read only once, but the job runs several times; name a file or directory")
		}
	}
	return nil
}

// profileHelp is the help text of mrlocal profile JOB below its usage.
const profileHelp = `Runs the job alone with 1 to --map-slots map slots on each tracker, and throws the results away. profile prints the times of the runs, and the profile of the fastest run as a workload file has it. A profile has the shares of the CPU, I/O and memory of a tracker that a task needs, by phase. The policy ras places tasks by it. I/O is measured as a share of --disk-bw. All runs use the policy fair, which lends no slots, so that as many maps run as there are map slots.`

// makeProfileJobs returns mrlocal profile with a subcommand for each job. It measures what tasks need. The
// flag --profile is something else: it records profiles for pprof.
func makeProfileJobs(e Env) *flags.Command {
	return ForEachJob(flags.Command{Usage: "measure what the tasks of a job need, for workload files", Long: profileHelp}, nil,
		func(j *job) *flags.Command {
			return &flags.Command{Settings: measured(j, "its cores"), Run: func(ctx context.Context, line *flags.Line) (int, error) {
				m, err := measure(e, j, line, false)
				if err != nil {
					return 0, err
				}
				defer j.Extra.Close()
				text, err := m.Profile(ctx)
				if err != nil {
					return 0, err
				}
				return Done, e.Write(text)
			}}
		})
}
