package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"mrlocal/bench/study"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/workload"
)

// validateHelp and profileFileHelp are the help texts of mrlocal validate and mrlocal profile.
const (
	validateHelp = `Makes --runs real runs of the file under each policy, in turn, and throws their results away. It simulates each of these runs with the times that mrlocal profile has measured. The table shows the makespans and the time of each job, with 95 % intervals over the runs. The error is simulated divided by real, minus 1. A line below it says whether real and simulated runs put the policies into the same order. Numbers of tasks and bytes are those of the real inputs; times come from the profile alone. Between the runs a speed probe does a fixed amount of work on one core and on all cores, as it did for the profile. Times are scaled by its ratios. A run is made again if the probe changes by more than 25 % from before it to after it.

WORKLOAD has a section "measured", or --measured names a file that has one. A job takes the times of the job of its name, or of a job that differs only in its inputs.

Exit codes: 0 done; 2 wrong usage or input, nothing was started; 3 a job failed; 128 plus the number of the signal when interrupted.`

	profileFileHelp = `With a JOB, profile runs the job alone with 1 to --map-slots map slots on each tracker, and throws the results away. It prints the profile of the fastest run, for the policy ras: mrlocal profile JOB --help.

With a WORKLOAD, profile runs each job of the file alone. It tries blocks of half, once, twice and four times their size, and other numbers of reduces. It also tries 1, 2, ... slots of each kind, up to twice the cores. It throws the results away, and writes the file with a section "measured" at its end. The section has the times of tasks as functions of bytes, their spread, and how much slower they are while others run. sim --cost measured simulates such a file, and validate compares this with real runs. Inputs must exist; if other jobs of the file write them, run mrlocal batch first.

Exit codes: 0 done; 2 wrong usage or input, nothing was started; 3 a job failed; 128 plus the number of the signal when interrupted.`
)

// validateCommand has the options of mrlocal validate.
type validateCommand struct {
	Env
	*batch
	shown          shown
	runs           int
	measured, path string // --measured and --report; "": none
}

// makeValidate returns mrlocal validate, which compares simulated runs with real ones on this machine.
func makeValidate(e Env) *flags.Command {
	c := &validateCommand{Env: e, batch: newBatch(), runs: 3}
	return &flags.Command{Usage: "run a workload file for real and simulated, and compare", Args: "WORKLOAD", Long: validateHelp, Run: c.run,
		Examples: []string{"mrlocal validate measured.yaml --sched fair,pi-dhfs --runs 5"},
		Settings: append(setting.Without(c.settings(), "seed", "shuffle-bw", "parallel-copies", "copy-bw", "disk-bw"), c.shown.Progress(),
			setting.Of("runs", "", "make `N` real runs under each policy", "3", setting.Count(&c.runs, 1, study.MostRuns)),
			setting.Of("measured", "", "take what was measured from `FILE`, which mrlocal profile has written", "WORKLOAD", setting.Text(&c.measured)),
			setting.Of("report", "", "write the comparison to `FILE` as JSON", "a table on standard output", setting.Text(&c.path)))}
}

// run makes the real and the simulated runs, and prints their comparison.
func (c *validateCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if err := c.load(c.Env, line.Words); err != nil {
		return 0, err
	}
	defer c.close()
	if err := c.checkRuns(c.runs*len(c.Names), nil); err != nil {
		return 0, err
	}
	measured, err := study.Load(c.file, c.measured)
	if err != nil {
		return 0, err
	}
	file, err := c.openReport(work{Inputs: []string{c.file.Name, cmp.Or(c.measured, c.file.Name)}, Stdout: c.Stdout}, c.path)
	if err != nil {
		return 0, err
	}
	v := study.Validator{File: c.file, Policies: c.Names, Rounds: c.runs, Measured: measured, Probe: study.SpeedProbe(), Note: noteOf(c.Env, c.shown.Mode == "none"),
		Real: func(name string) (*report.Report, error) {
			return c.batch.run(ctx, c.Env, c.shown.Screen(c.Env, nil), name, discard, nil)
		},
		Simulated: func(name string, measured *workload.Measured, real *report.Report, seed uint64) (*report.Report, error) {
			s := simulation{c.Scheduling, sim.Options{Cost: "measured", Measured: measured, Sizes: study.Sizes(real)}}
			o, err := s.options(c.file, name)
			if err != nil {
				return nil, err
			}
			// By default, the slots of a real run depend on the cores of the machine, and those of a
			// simulation do not. So the simulation gets the slots of the real run.
			r := &real.Config
			o.MapSlots, o.ReduceSlots = r.MapSlots, r.ReduceSlots
			o.Trackers, o.MaxSlots = r.Trackers, r.MaxSlots
			o.Seed, o.NoPin = seed, !r.Pin
			return sim.Run(ctx, c.file, o)
		}}
	found, err := v.Compare()
	if err != nil {
		return 0, err
	}
	return Done, c.printResult(file, found)
}

// profileCommand has the options of mrlocal profile with a WORKLOAD.
type profileCommand struct {
	Env
	*batch
	shown shown
	runs  int
	path  string // of --output-file
}

// makeProfile returns mrlocal profile, which measures one job, or each job of a workload file. The
// subcommands with the names of jobs measure that job.
func makeProfile(e Env) *flags.Command {
	c := &profileCommand{Env: e, batch: newBatch(), runs: 5}
	made := makeProfileJobs(e)
	made.Args, made.Long, made.Run = "JOB [FLAGS] [PATH…] | WORKLOAD", profileFileHelp, c.run
	made.Examples = []string{"mrlocal profile wordcount wiki/", "mrlocal profile two.yaml -o measured.yaml"}
	made.Settings = append(setting.Without(c.engine.Fields(), "parallel-copies", "copy-bw", "disk-bw"), c.shown.Progress(), outputFile(&c.path, "write the file, with what was measured,"),
		setting.Of("runs", "", "make each run `N` times; the medians count", "5", setting.Count(&c.runs, 1, study.MostRuns)))
	return made
}

// run measures each job of a workload file, and writes the file with a section "measured".
func (c *profileCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	// The file is read twice: here, and by Profile, which copies its text.
	if len(line.Words) > 0 && line.Words[0] == "-" {
		return 0, errs.Optionf("WORKLOAD", "-: profile copies the text of the file; name a file")
	}
	// Any number of runs above 1 serves for checkRuns, which looks for standard input as an input.
	if err := errors.Join(c.load(c.Env, line.Words), c.checkRuns(2, nil)); err != nil {
		return 0, err
	}
	defer c.close()
	file, err := (&work{Inputs: []string{c.file.Name}, Stdout: c.Stdout}).Open("output-file", cmp.Or(c.path, "-"))
	if err != nil {
		return 0, err
	}
	// The profiler replaces slots and policy, so of the file it needs only the jobs.
	_, submissions := c.file.Lower(c.Config)
	p := study.Profiler{File: c.file, Rounds: c.runs, Work: c.work(submissions, c.Stdin, discard), Engine: c.engine, RunBatch: runBatch, Note: noteOf(c.Env, c.shown.Mode == "none")}
	text, err := p.Profile(ctx)
	if err != nil {
		return 0, c.reader.named(err)
	}
	_, err = io.WriteString(file, text)
	return Done, errors.Join(err, file.Close())
}
