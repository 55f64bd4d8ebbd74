package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/engineflags"
	"mrlocal/cmd/mrlocal/internal/predict"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/sim"
)

// validateCommand compares the simulator with this machine.
func validateCommand() command {
	flags := append([]flagSpec{
		value("sched", "slot policies `NAME[,NAME]`, or all; see mrlocal policies", defaultPolicy),
		value("runs", "make `N` real runs under each policy", "3"),
		value("measured", "take what was measured from `FILE`, which mrlocal profile has written", "WORKLOAD"),
		value("report", "write the comparison to `FILE` as JSON", "a table on standard output"),
	}, append(schedulingFlags("the file's, else "), engineflags.Flags()...)...)
	return command{name: "validate", usage: "run a workload file for real and simulated, and compare", args: "WORKLOAD", long: predict.ValidateHelp, run: runValidate, flags: flags}
}

// runValidate makes the runs and prints the comparison.
func runValidate(ctx context.Context, e env, line argv.Line) (int, error) {
	r := newReader(line)
	b, names := r.batch(), r.policies()
	runs := cmp.Or(r.Count("runs", 1, predict.MostRuns), 3)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	reportPath, measuredPath := r.Path("report"), r.Path("measured")
	if r.Err != nil {
		return 0, r.Err
	}
	if err := b.load(e, line); err != nil {
		return 0, err
	}
	if err := b.checkRuns(runs*len(names), nil); err != nil {
		return 0, err
	}
	measured, err := predict.Load(b.file, measuredPath)
	if err != nil {
		return 0, err
	}
	beside := process.Work{Inputs: []string{b.file.Name, cmp.Or(measuredPath, b.file.Name)}, Stdout: e.stdout}
	file, err := beside.Open("report", reportPath)
	if err != nil {
		return 0, err
	}
	if file.OnStdout() { // alone
		e.stdout = e.stderr
	}
	real := func(name string) (*report.Report, error) {
		return b.run(ctx, e, newScreen(e, mode, nil), name, discard, nil)
	}
	simulated := func(name string, real *report.Report, seed uint64) (*report.Report, error) {
		s := simulation{scheduling: b.scheduling, base: sim.Options{Cost: "measured", Measured: measured, Sizes: predict.Sizes(real)}}
		o, err := s.options(b.file, name)
		if err != nil {
			return nil, err
		}
		// The slots of a real run depend on the cores, those of a simulation do not.
		c := &real.Config
		o.Trackers, o.MapSlots, o.ReduceSlots, o.MaxSlots, o.Seed = c.Trackers, c.MapSlots, c.ReduceSlots, c.MaxSlots, seed
		return sim.Run(ctx, b.file, o)
	}
	v, err := predict.Compare(b.file, names, runs, real, simulated)
	if err != nil {
		return 0, err
	}
	if file != nil {
		err = errors.Join(v.WriteJSON(file), file.Close())
	}
	return exitDone, errors.Join(err, write(e, v.Text()))
}

// profileWorkloadFlags are those of profile with a WORKLOAD.
func profileWorkloadFlags() []flagSpec {
	out := value("output-file", "write the file, with what was measured, to `FILE`", "standard output")
	out.Short = "o"
	return append([]flagSpec{out}, engineflags.Flags()...)
}

// profileWorkload measures each job of a workload file.
func profileWorkload(ctx context.Context, e env, line argv.Line) (int, error) {
	r := newReader(line)
	b, path := r.batch(), r.Path("output-file")
	quiet := r.Choice("progress", "auto", "plain", "json", "none") == "none"
	if r.Err != nil {
		return 0, r.Err
	}
	if len(line.Words) > 0 && line.Words[0] == "-" {
		return 0, errs.Optionf("WORKLOAD", "-: what was measured is written behind the text of a file; name one")
	}
	if err := errors.Join(b.load(e, line), b.checkRuns(2, nil)); err != nil {
		return 0, err
	}
	beside := process.Work{Inputs: []string{b.file.Name}, Stdout: e.stdout}
	file, err := beside.Open("output-file", cmp.Or(path, "-"))
	if err != nil {
		return 0, err
	}
	_, submissions := b.file.Lower(b.Config)
	p := predict.Profiler{File: b.file, Work: b.work(submissions, e.stdin, discard), Engine: b.engine, Note: func(text string) {
		if !quiet {
			fmt.Fprint(e.stderr, argv.ErrorLine("", errors.New(text)))
		}
	}}
	text, err := p.Profile(ctx)
	if err != nil {
		return 0, b.reader.named(err)
	}
	_, err = io.WriteString(file, text)
	return exitDone, errors.Join(err, file.Close())
}
