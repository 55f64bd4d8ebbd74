package runjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/jobs"
)

const tuneHelp = `Runs the job alone, first with 1 to --map-slots map slots on each tracker, then with 1 to --reduce-slots reduce slots. The results are thrown away. tune prints Avg_k, the mean time of a task while k tasks run at a time, and the flags that follow from Dynamic Split's guideline: fewer slots m are better than n if Gain_m = (Avg_n - Avg_m)·P/n is above Lose_m = (P/m - P/n)·Avg_m, so the best k has the least Avg_k/k. Each row is compared with the best number; its Gain and Lose belong to the fewer slots of the two.

All runs use the policy fair, which lends no slots, and have the same P tasks. The first run is not counted.`

// defaultRounds is the number of runs with each number of slots.
const defaultRounds = 3

// Tune has a subcommand for each job, as run has.
func Tune() command.Command {
	flags := tuneFlags()
	return command.ForEachJob(command.Command{Usage: "find the best numbers of slots for a job, by Dynamic Split's guideline", Long: tuneHelp},
		func(command.NamedJob) []argv.Spec { return flags }, tuneJob)
}

// tuneFlags are measuringFlags with those that tune reads differently.
func tuneFlags() []argv.Spec {
	rounds := argv.ValueSpec("rounds", "make `N` runs with each number of slots and take the median", fmt.Sprint(defaultRounds))
	return append([]argv.Spec{rounds}, measuringFlags(
		argv.ValueSpec("map-slots", "try up to `N` home map slots on each tracker", "its cores, at least 2"),
		argv.ValueSpec("reduce-slots", "try up to `N` home reduce slots on each tracker", "its cores, at least 2"),
		argv.ValueSpec("report", "write the measurements to `FILE` as JSON", ""),
		argv.ValueSpec("progress", "print a line for each run on standard error: `auto|plain|none`", "auto"),
	)...)
}

// measuringFlags are the flags of a run without those of results, policies and
// displays. A flag among others replaces the one of its name.
func measuringFlags(others ...argv.Spec) []argv.Spec {
	// These flags make no sense in runs whose results are thrown away, and which fix the policy.
	leave := []string{"output", "overwrite", "output-file", "sched", "max-slots", "events", "report", "progress", "profile", "fault"}
	for _, f := range append(command.PolicyFlags(), command.GanttFlags("")...) {
		leave = append(leave, f.Name)
	}
	var flags []argv.Spec
	for _, f := range command.RunFlags("") { // without -o: there is no output to name
		// A flag of the command replaces the one of run with the same name, at the same place of
		// the help.
		same := func(o argv.Spec) bool { return o.Name == f.Name }
		// A flag that is read differently here keeps its place in the help.
		if i := slices.IndexFunc(others, same); i >= 0 {
			flags = append(flags, others[i])
		} else if !slices.Contains(leave, f.Name) {
			flags = append(flags, f)
		}
	}
	return flags
}

// tuneJob measures the job and prints the tables of slot counts.
func tuneJob(ctx context.Context, e command.Env, line argv.Line, name string, build func(*command.Reader) (jobs.Chain, error)) (int, error) {
	r := command.NewReader(line)
	rounds := cmp.Or(r.Count("rounds", 1, command.MostAttempts), defaultRounds)
	quiet := r.Choice("progress", "auto", "plain", "none") == "none"
	reportPath := r.Path("report")
	// With --progress none the notes are dropped too: the table is all that is asked for.
	note := func(text string) {
		if !quiet {
			fmt.Fprint(e.Stderr, argv.ErrorLine("", errors.New(text)))
		}
	}
	chain, o, err := measured(r, name, build, note)
	if err != nil {
		return 0, err
	}
	// The report is checked before the runs, which may take minutes.
	beside := process.Work{Inputs: o.Inputs, Stdout: e.Stdout}
	file, err := beside.Open("report", reportPath)
	if err != nil {
		return 0, err
	}
	// The JSON has standard output for itself, so the table moves to standard error.
	if file.OnStdout() { // alone
		e.Stdout = e.Stderr
	}
	found, err := (&measure.MeasuredJob{Chain: chain, Options: o, Rounds: rounds, Note: note}).Tune(ctx)
	if err != nil {
		return 0, err
	}
	// The measurements are written before the table, which a closed pipe may stop.
	if file != nil {
		if err := errors.Join(found.WriteJSON(file), file.Close()); err != nil {
			return 0, err
		}
	}
	return command.Done, e.Write(found.Text())
}

// measured reads the job and the options, for commands that run a job several
// times. Notes go to note.
func measured(r *command.Reader, name string, build func(*command.Reader) (jobs.Chain, error), note func(string)) (jobs.Chain, mrlocal.Options, error) {
	if name == "grep" { // as run does
		r.Keep(command.MissingPattern(r.Line))
	}
	o, err := command.RunOptions(r.Line, "")
	r.Keep(err)
	readAgain(r, o.Inputs)
	if r.Err != nil {
		return nil, o, r.Err
	}
	chain, err := build(r)
	if err == nil {
		err = command.CheckReduces(name, chain, o)
	}
	if err != nil {
		return nil, o, err
	}
	command.ApplyStreaming(r.Stream, &o)
	for _, n := range command.GrepNotes(r.Line, name, chain, &o) {
		note(n)
	}
	return chain, o, nil
}

// readAgain refuses inputs that can be read only once, such as pipes.
func readAgain(r *command.Reader, inputs []string) {
	for _, path := range inputs {
		// A glob or a missing file passes here; the run has a message for both.
		info, err := os.Stat(path)
		if path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			r.Keep(errs.Optionf(argv.Quote(path), "can be read only once, but the job runs several times; name a file or directory"))
		}
	}
}

const profileHelp = `Runs the job alone with 1 to --map-slots map slots on each tracker, and throws the results away. profile prints the times of the runs, and the profile of the fastest run as a workload file has it: the shares of the CPU, I/O and memory of a tracker that a task needs, by phase. The policy ras places tasks by it. I/O is measured as a share of --disk-bw. All runs use the policy fair, which lends no slots, so that as many maps run as there are map slots.`

// Profile has a subcommand for each job. It is not --profile, which records
// where the time of a run went.
func Profile() command.Command {
	// All jobs share the flags of profile; --report and --progress are not among them.
	flags := measuringFlags(argv.ValueSpec("map-slots", "try up to `N` home map slots on each tracker", "its cores"))
	return command.ForEachJob(command.Command{Usage: "measure what the tasks of a job need, for workload files", Long: profileHelp},
		func(command.NamedJob) []argv.Spec { return flags }, profileJob)
}

// profileJob measures the job and prints its profile.
func profileJob(ctx context.Context, e command.Env, line argv.Line, name string, build func(*command.Reader) (jobs.Chain, error)) (int, error) {
	note := func(text string) { fmt.Fprint(e.Stderr, argv.ErrorLine("", errors.New(text))) }
	chain, o, err := measured(command.NewReader(line), name, build, note)
	if err != nil {
		return 0, err
	}
	text, err := (&measure.MeasuredJob{Chain: chain, Options: o, Note: note}).Profile(ctx)
	if err != nil {
		return 0, err
	}
	return command.Done, e.Write(text)
}
