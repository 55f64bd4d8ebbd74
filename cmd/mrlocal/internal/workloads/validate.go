package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/runjob"
	"mrlocal/internal/errs"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/workload"
)

// validateHelp and profileHelp are the help texts of mrlocal validate and mrlocal profile.
const (
	validateHelp = `Makes --runs real runs of the file under each policy, in turn, and throws their results away. It simulates each of these runs with the times that mrlocal profile has measured. The table shows the makespans and the time of each job, with 95 % intervals over the runs. The error is simulated divided by real, minus 1. A line below it says whether real and simulated runs put the policies into the same order. Numbers of tasks and bytes are those of the real inputs; times come from the profile alone. Between the runs a speed probe does a fixed amount of work on one core and on all cores, as it did for the profile. Times are scaled by its ratios. A run is made again if the probe changes by more than 25 % from before it to after it.

WORKLOAD has a section "measured", or --measured names a file that has one. A job takes the times of the job of its name, or of a job that differs only in its inputs.

Exit codes: 0 done; 2 wrong usage or input, nothing was started; 3 a job failed; 128 plus the number of the signal when interrupted.`

	profileHelp = `With a JOB, profile runs the job alone with 1 to --map-slots map slots on each tracker, and throws the results away. It prints the profile of the fastest run, for the policy ras: mrlocal profile JOB --help.

With a WORKLOAD, profile runs each job of the file alone. It tries blocks of half, once, twice and four times their size, and other numbers of reduces. It also tries 1, 2, ... slots of each kind, up to twice the cores. It throws the results away, and writes the file with a section "measured" at its end. The section has the times of tasks as functions of bytes, their spread, and how much slower they are while others run. sim --cost measured simulates such a file, and validate compares this with real runs. Inputs must exist; if other jobs of the file write them, run mrlocal batch first.

Exit codes: 0 done; 2 wrong usage or input, nothing was started; 3 a job failed; 128 plus the number of the signal when interrupted.`
)

// Validate returns mrlocal validate, which compares simulated runs with real ones on this machine.
func Validate() command.Command {
	flags := append([]argv.Spec{
		argv.ValueSpec("sched", "slot policies `NAME[,NAME]`, or all; see mrlocal policies", mrlocal.DefaultPolicy),
		argv.ValueSpec("runs", "make `N` real runs under each policy", "3"),
		argv.ValueSpec("measured", "take what was measured from `FILE`, which mrlocal profile has written", "WORKLOAD"),
		argv.ValueSpec("report", "write the comparison to `FILE` as JSON", "a table on standard output"),
	}, append(command.SchedulingFlags("the value in the file, otherwise "), command.EngineFlags()...)...)
	return command.Command{Usage: "run a workload file for real and simulated, and compare", Args: "WORKLOAD", Long: validateHelp, Run: runValidate, Flags: flags}
}

// runValidate makes the real and the simulated runs, and prints their comparison.
func runValidate(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	b, names := readBatch(r), r.Policies()
	runs := cmp.Or(r.Count("runs", 1, study.MostRuns), 3)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	reportPath, measuredPath := r.Path("report"), r.Path("measured")
	if r.Err != nil {
		return 0, r.Err
	}
	if err := b.load(e, line.Words); err != nil {
		return 0, err
	}
	defer b.close()
	if err := b.checkRuns(runs*len(names), nil); err != nil {
		return 0, err
	}
	measured, err := study.Load(b.file, measuredPath)
	if err != nil {
		return 0, err
	}
	beside := process.Work{Inputs: []string{b.file.Name, cmp.Or(measuredPath, b.file.Name)}, Stdout: e.Stdout}
	file, err := beside.Open("report", reportPath)
	if err != nil {
		return 0, err
	}
	// If the report is standard output, the table must not mix with it.
	if file.OnStdout() {
		e.Stdout = e.Stderr
	}
	real := func(name string) (*report.Report, error) {
		return b.run(ctx, e, e.Screen(mode, nil), name, discard, nil)
	}
	simulated := func(name string, measured *workload.Measured, real *report.Report, seed uint64) (*report.Report, error) {
		s := simulation{Scheduling: b.Scheduling, base: sim.Options{Cost: "measured", Measured: measured, Sizes: study.Sizes(real)}}
		o, err := s.options(b.file, name)
		if err != nil {
			return nil, err
		}
		// By default, the slots of a real run depend on the cores of the machine, and those of a
		// simulation do not. So the simulation gets the slots of the real run.
		c := &real.Config
		o.Trackers = c.Trackers
		o.MapSlots = c.MapSlots
		o.ReduceSlots = c.ReduceSlots
		o.MaxSlots = c.MaxSlots
		o.Seed = seed
		o.NoPin = !c.Pin
		return sim.Run(ctx, b.file, o)
	}
	c := study.Validator{
		File: b.file, Policies: names, Rounds: runs, Measured: measured, Real: real, Simulated: simulated, Probe: study.SpeedProbe(),
		Note: noteUnless(e, mode == "none"),
	}
	v, err := c.Compare()
	if err != nil {
		return 0, err
	}
	if file != nil {
		err = errors.Join(study.WriteJSON(file, v), file.Close())
	}
	return command.Done, errors.Join(err, e.Write(v.Text()))
}

// noteUnless returns a function that prints a line on standard error. If quiet is true, the
// function prints nothing.
func noteUnless(e command.Env, quiet bool) func(string) {
	return func(text string) {
		if !quiet {
			fmt.Fprint(e.Stderr, argv.ErrorLine("", errors.New(text)))
		}
	}
}

// Profile returns mrlocal profile, which measures one job, or each job of a workload file. The
// subcommands with the names of jobs are those of package runjob.
func Profile() command.Command {
	c := runjob.Profile()
	c.Args = "JOB [FLAGS] [PATH…] | WORKLOAD"
	c.Long = profileHelp
	c.Flags = profileWorkloadFlags()
	c.Run = profileWorkload
	return c
}

// profileWorkloadFlags returns the flags of profile with a WORKLOAD.
func profileWorkloadFlags() []argv.Spec {
	out := argv.ValueSpec("output-file", "write the file, with what was measured, to `FILE`", "standard output")
	out.Short = "o"
	return append([]argv.Spec{out, argv.ValueSpec("runs", "make each run `N` times; the medians count", "5")}, command.EngineFlags()...)
}

// profileWorkload measures each job of a workload file, and writes the file with a section "measured".
func profileWorkload(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	b := readBatch(r)
	path := r.Path("output-file")
	runs := r.Count("runs", 1, study.MostRuns)
	quiet := r.Choice("progress", "auto", "plain", "json", "none") == "none"
	if r.Err != nil {
		return 0, r.Err
	}
	// The file is read twice: here, and by Profile, which copies its text.
	if len(line.Words) > 0 && line.Words[0] == "-" {
		return 0, errs.Optionf("WORKLOAD", "-: profile copies the text of the file; name a file")
	}
	// Any number of runs above 1 serves for checkRuns, which looks for standard input as an input.
	if err := errors.Join(b.load(e, line.Words), b.checkRuns(2, nil)); err != nil {
		return 0, err
	}
	defer b.close()
	beside := process.Work{Inputs: []string{b.file.Name}, Stdout: e.Stdout}
	file, err := beside.Open("output-file", cmp.Or(path, "-"))
	if err != nil {
		return 0, err
	}
	// The profiler replaces slots and policy, so of the file it needs only the jobs.
	_, submissions := b.file.Lower(b.Config)
	p := study.Profiler{File: b.file, Rounds: cmp.Or(runs, 5), Work: b.work(submissions, e.Stdin, discard), Engine: b.engine, RunBatch: process.RunBatch, Note: noteUnless(e, quiet)}
	text, err := p.Profile(ctx)
	if err != nil {
		return 0, b.reader.named(err)
	}
	_, err = io.WriteString(file, text)
	return command.Done, errors.Join(err, file.Close())
}
