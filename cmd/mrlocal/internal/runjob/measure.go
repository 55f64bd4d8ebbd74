package runjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// tuneHelp is the help text of mrlocal tune below its usage.
const tuneHelp = `Runs the job alone, first with 1 to --map-slots map slots on each tracker, then with 1 to --reduce-slots reduce slots. The results are thrown away. tune prints Avg_k, the mean time of a task while k tasks run at a time, and the flags that follow from Dynamic Split's guideline. By it, fewer slots m are better than n if Gain_m is above Lose_m. Gain_m = (Avg_n - Avg_m) * P/n, and Lose_m = (P/m - P/n) * Avg_m. So the best k has the least Avg_k/k. Each row is compared with the best number; its Gain and Lose belong to the fewer slots of the two. The table calls that number the paper's best, and also marks the fastest run, by its makespan.

All runs use the policy fair, which lends no slots, and have the same P tasks. The first run is not counted.`

// defaultRounds is the default of --rounds.
const defaultRounds = 3

// Tune returns mrlocal tune, with a subcommand for each job.
func Tune() command.Command {
	flags := tuneFlags()
	return command.ForEachJob(command.Command{Usage: "find the best numbers of slots for a job, by Dynamic Split's guideline", Long: tuneHelp},
		func(command.NamedJob) []argv.Spec { return flags }, tuneJob)
}

// tuneFlags returns measuringFlags with the flags that mean something else in tune.
func tuneFlags() []argv.Spec {
	rounds := argv.ValueSpec("rounds", "make `N` runs with each number of slots and take the median", fmt.Sprint(defaultRounds))
	return append([]argv.Spec{rounds}, measuringFlags(
		argv.ValueSpec("map-slots", "try up to `N` home map slots on each tracker", "its cores, at least 2"),
		argv.ValueSpec("reduce-slots", "try up to `N` home reduce slots on each tracker", "its cores, at least 2"),
		argv.ValueSpec("report", "write the measurements to `FILE` as JSON", ""),
		argv.ValueSpec("progress", "print a line for each run on standard error: `auto|plain|none`", "auto"),
	)...)
}

// measuringFlags returns the flags of a run except those of results, policies, pictures and files.
// A flag of others takes the place of the flag with its name.
func measuringFlags(others ...argv.Spec) []argv.Spec {
	// These flags have no effect if results are thrown away and the policy is fixed.
	leave := []string{"output", "overwrite", "output-file", "sched", "max-slots", "events", "report", "progress", "profile", "fault"}
	for _, f := range append(command.PolicyFlags(), command.GanttFlags("")...) {
		leave = append(leave, f.Name)
	}
	var flags []argv.Spec
	for _, f := range command.RunFlags("") {
		same := func(o argv.Spec) bool { return o.Name == f.Name }
		// A flag of others gets the place in the help that the flag of run has.
		if i := slices.IndexFunc(others, same); i >= 0 {
			flags = append(flags, others[i])
		} else if !slices.Contains(leave, f.Name) {
			flags = append(flags, f)
		}
	}
	return flags
}

// tuneJob measures the job with several numbers of slots and prints the tables.
func tuneJob(ctx context.Context, e command.Env, line argv.Line, j *command.NamedJob) (int, error) {
	r := j.Reader(line)
	rounds := cmp.Or(r.Count("rounds", 1, command.MostAttempts), defaultRounds)
	quiet := r.Choice("progress", "auto", "plain", "none") == "none"
	reportPath := r.Path("report")
	// With --progress none, notes are dropped too, so only the table appears.
	note := func(text string) {
		if !quiet {
			fmt.Fprint(e.Stderr, argv.ErrorLine("", errors.New(text)))
		}
	}
	chain, o, err := measured(r, note)
	if err != nil {
		return 0, err
	}
	defer r.Stream.Close()
	// The path of the report is checked before the runs, which may take minutes.
	beside := process.Work{Inputs: o.Inputs, Stdout: e.Stdout}
	file, err := beside.Open("report", reportPath)
	if err != nil {
		return 0, err
	}
	// If the report is standard output, the table must not mix with it.
	if file.OnStdout() {
		e.Stdout = e.Stderr
	}
	found, err := (&study.MeasuredJob{Chain: chain, Options: o, Rounds: rounds, Run: process.RunChain, Note: note}).Tune(ctx)
	if err != nil {
		return 0, err
	}
	// The report comes before the table, because the pipe of the table may be closed.
	if file != nil {
		if err := errors.Join(study.WriteJSON(file, found), file.Close()); err != nil {
			return 0, err
		}
	}
	return command.Done, e.Write(found.Text())
}

// measured returns the chain and the options of r.Job, which runs several times. It fails with the
// first mistake in the flags, or if an input can be read only once. note gets the notes on the job.
func measured(r *command.Reader, note func(string)) (jobs.Chain, mrlocal.Options, error) {
	if r.Job.Check != nil {
		r.Keep(r.Job.Check(r.Line))
	}
	o, _ := r.RunOptions() // r.Err has the error
	readAgain(r, o.Inputs)
	if r.Err != nil {
		return nil, o, r.Err
	}
	chain, err := r.Job.Build(r)
	if err != nil {
		return nil, o, err
	}
	for _, n := range r.Job.Settle(r, chain, &o) {
		note(n)
	}
	return chain, o, nil
}

// readAgain refuses inputs that can be read only once, such as standard input and pipes. r.Err has
// the error.
func readAgain(r *command.Reader, inputs []string) {
	for _, path := range inputs {
		// A glob or a missing file passes here. The run reports a missing one.
		info, err := os.Stat(path)
		if path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			r.Keep(errs.Optionf(errs.Quote(path), "can be read only once, but the job runs several times; name a file or directory"))
		}
	}
}

// profileHelp is the help text of mrlocal profile JOB below its usage.
const profileHelp = `Runs the job alone with 1 to --map-slots map slots on each tracker, and throws the results away. profile prints the times of the runs, and the profile of the fastest run as a workload file has it. A profile has the shares of the CPU, I/O and memory of a tracker that a task needs, by phase. The policy ras places tasks by it. I/O is measured as a share of --disk-bw. All runs use the policy fair, which lends no slots, so that as many maps run as there are map slots.`

// Profile returns mrlocal profile with a subcommand for each job. It measures what tasks need. The
// flag --profile is something else: it records profiles for pprof.
func Profile() command.Command {
	flags := measuringFlags(argv.ValueSpec("map-slots", "try up to `N` home map slots on each tracker", "its cores"))
	return command.ForEachJob(command.Command{Usage: "measure what the tasks of a job need, for workload files", Long: profileHelp},
		func(command.NamedJob) []argv.Spec { return flags }, profileJob)
}

// profileJob measures the job and prints its profile for workload files.
func profileJob(ctx context.Context, e command.Env, line argv.Line, j *command.NamedJob) (int, error) {
	note := func(text string) { fmt.Fprint(e.Stderr, argv.ErrorLine("", errors.New(text))) }
	r := j.Reader(line)
	chain, o, err := measured(r, note)
	if err != nil {
		return 0, err
	}
	defer r.Stream.Close()
	text, err := (&study.MeasuredJob{Chain: chain, Options: o, Run: process.RunChain, Note: note}).Profile(ctx)
	if err != nil {
		return 0, err
	}
	return command.Done, e.Write(text)
}
