package main

import (
	"context"
	"errors"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/engineflags"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/cmd/mrlocal/internal/virtual"
	"mrlocal/errs"
	"mrlocal/internal/paths"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/workload"
)

const sweepHelp = `Runs WORKLOAD once for every combination of the values, under every policy of --sched. Runs are simulated; with --real they are real, as those of batch, and their results are thrown away. Values are a list (1,2,4) or a range (1..8 or 0..1/0.1).

--total-slots N keeps the sum of map and reduce slots at N. A share that is swept alone is swept twice, with the other share at 0 and at 1, as in Fig. 6 of the DHFS paper.

The table has one row for each run. Speedup is T0/T1 - 1. T1 is the makespan of the row. T0 is the makespan of the first policy in the same configuration or, with one policy only, of the first row.`

// sweepCommand runs a workload file over the product of lists of values.
func sweepCommand() command {
	return command{name: "sweep", usage: "run a workload file over slot configurations, shares and policies", args: "WORKLOAD", long: sweepHelp, run: runSweep, flags: sweepFlags()}
}

// sweepFlags are those of sim and of batch, of which four take lists.
func sweepFlags() []flagSpec {
	// These flags take lists and ranges here, and single values elsewhere.
	swept := map[string]flagSpec{
		"map-slots":     value("map-slots", "home map slots a tracker, `N`, a list or a range", "the file's"),
		"reduce-slots":  value("reduce-slots", "home reduce slots a tracker, `N`, a list or a range", "the file's"),
		"borrow-map":    value("borrow-map", "`SHARE` of the map slots that reduces may borrow, a list or a range", "1"),
		"borrow-reduce": value("borrow-reduce", "`SHARE` of the reduce slots that maps may borrow, a list or a range", "1"),
	}
	var flags []flagSpec
	// Both kinds of flags are known, so that a flag of the other kind gets a message of its own.
	for _, f := range workloadFlags(append(append(virtual.Flags(), engineflags.BandwidthFlags()...), engineflags.Flags()...), "") {
		if s, ok := swept[f.Name]; ok {
			f = s
		}
		// Many runs have no gantt.
		if f.Name != "gantt" && f.Name != "step" && f.Name != "width" {
			flags = append(flags, f)
		}
	}
	y := value("y", "what --svg draws: `makespan|speedup|utilisation|moves`", "speedup over shares, else makespan")
	y.Short = y.Name // so that the help shows -y
	return append(flags,
		toggle("real", "", "make real runs, as batch does; their results are thrown away"),
		value("total-slots", "`N` slots a tracker: the reduce slots are the rest beside the map slots", ""),
		value("csv", "write the figures to `FILE` as CSV", ""), pictures.HTMLFlag(),
		value("svg", "draw the figures into `FILE`, one line for each policy", ""),
		y,
	)
}

// sweep reads the flags that say what is swept.
func (r *reader) sweep() *measure.Plan {
	o := measure.SweepOptions{
		MapSlots: r.counts("map-slots"), ReduceSlots: r.counts("reduce-slots"), BorrowMap: argv.Value(&r.Reader, "borrow-map", argv.Shares), BorrowReduce: argv.Value(&r.Reader, "borrow-reduce", argv.Shares),
		TotalSlots: r.Count("total-slots", 2, 2*r.sweptSlots()), Policies: r.policies(),
	}
	if r.Err != nil {
		return nil
	}
	// The plan lays out the runs, and refuses settings that contradict each other.
	p, err := measure.NewPlan(o)
	r.Keep(err)
	return p
}

// counts reads a list or range of slots; nil if the flag was not given.
func (r *reader) counts(flag string) []int64 {
	return argv.Value(&r.Reader, flag, func(flag, text string) ([]int64, error) { return argv.Counts(flag, text, 1, r.sweptSlots()) })
}

// sweptSlots returns the bound of the slots of each tracker.
func (r *reader) sweptSlots() int {
	if r.Line.Has("real") {
		return mostSlots
	}
	return mostNodeSlots
}

// apply replaces flags by a configuration of a sweep.
func (s *scheduling) apply(c measure.Configuration) {
	// 0 slots and a negative share stand for what is not swept: the flag or file decides.
	if c.MapSlots > 0 {
		s.MapSlots = int(c.MapSlots)
	}
	if c.ReduceSlots > 0 {
		s.ReduceSlots = int(c.ReduceSlots)
	}
	if c.BorrowMap >= 0 {
		s.policy.BorrowMap = slots.PPM(c.BorrowMap)
	}
	if c.BorrowReduce >= 0 {
		s.policy.BorrowReduce = slots.PPM(c.BorrowReduce)
	}
}

// withoutSwept returns the line without the flags that a sweep reads as lists.
func withoutSwept(line argv.Line) argv.Line {
	var kept []argv.Setting
	for _, s := range line.Flags {
		switch s.Flag.Name {
		case "map-slots", "reduce-slots", "borrow-map", "borrow-reduce":
		default:
			kept = append(kept, s)
		}
	}
	// line is a copy, and its flags are a new slice: the caller's line stays whole.
	line.Flags = kept
	return line
}

// runSweep runs the plan and prints its table. A run that fails ends the sweep with the error of
// that run.
func runSweep(ctx context.Context, e env, line argv.Line) (int, error) {
	r := newReader(line)
	p := r.sweep()
	y := r.Choice("y", "", "makespan", "speedup", "utilisation", "moves")
	csvPath, svgPath, htmlPath := r.Path("csv"), r.Path("svg"), r.Path("html")
	// Everything is checked before the first run: a sweep may take hours.
	// prepare reads the other flags, and returns the function that makes one run.
	prepare := sweepSimulated
	if line.Has("real") {
		prepare = sweepReal
	}
	if r.Err != nil {
		return 0, r.Err
	}
	run, f, err := prepare(ctx, e, withoutSwept(line), p)
	if err != nil {
		return 0, err
	}
	// Both files are checked before the runs. A sweep of hours must not end at a wrong path.
	beside := process.Work{Inputs: []string{f.Name}, Stdout: e.stdout}
	csv, svg, err := openSweepSides(csvPath, svgPath, beside)
	if err != nil {
		return 0, err
	}
	web, err := pictures.HTML(htmlPath, beside)
	if err != nil {
		return 0, err
	}
	if csv.OnStdout() || svg.OnStdout() || web.OnStdout() { // alone
		e.stdout = e.stderr
	}
	// The table needs all rows, because a speedup compares with the first one.
	rows, err := p.Run(run)
	if err != nil {
		return 0, err
	}
	if err := write(e, p.Table(rows)); err != nil {
		return 0, err
	}
	// The table is on the screen already when a file cannot be written.
	// Errors of the two files are joined, so that one does not hide the other.
	if csv != nil {
		_, err = csv.Write(p.CSV(rows))
		err = errors.Join(err, csv.Close())
	}
	if svg != nil {
		err = errors.Join(err, p.Chart(f.Name, y, rows).WriteSVG(svg), svg.Close())
	}
	return exitDone, errors.Join(err, web.Write("Sweep of "+f.Name, p.CSV(rows), false, p.Chart(f.Name, y, rows).WriteSVG))
}

// runner makes one run of a sweep.
type runner = func(c measure.Configuration, policyName string) (*report.Report, error)

// sweepSimulated prepares runs in virtual time.
func sweepSimulated(ctx context.Context, e env, line argv.Line, _ *measure.Plan) (runner, *workload.File, error) {
	r := newReader(line)
	base := r.simulation()
	// A flag of the engine would have no effect on a simulation, so it is refused.
	if only := onlyOf(line, append(engineflags.Flags(), engineflags.BandwidthFlags()...)); only != "" {
		r.Keep(errs.Optionf("--"+only, "goes with --real"))
	}
	if r.Err != nil {
		return nil, nil, r.Err
	}
	f, err := loadWorkload(e, line)
	if err != nil {
		return nil, nil, err
	}
	if err := base.complete(f); err != nil {
		return nil, nil, err
	}
	// The notes are shared by all runs, so that a warning appears once.
	notes := show.NewNotes(e.stderr)
	return func(c measure.Configuration, policyName string) (*report.Report, error) {
		// A copy: each run starts from the flags, not from the run before.
		s := base
		s.apply(c)
		o, err := s.options(f, policyName)
		if err != nil {
			return nil, err
		}
		o.Note = notes.Note
		done, err := sim.Run(ctx, f, o)
		if err == nil {
			notes.Failures(done)
		}
		return done, err
	}, f, nil
}

// sweepReal prepares real runs, whose results are thrown away.
func sweepReal(ctx context.Context, e env, line argv.Line, p *measure.Plan) (runner, *workload.File, error) {
	r := newReader(line)
	b := r.batch()
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	// These are the flags of virtual time, without --seed, which real runs have too.
	for _, flag := range []string{"heartbeat", "cost"} {
		if line.Has(flag) {
			r.Keep(errs.Optionf("--"+flag, "is of simulated runs; it does not go with --real"))
		}
	}
	if r.Err != nil {
		return nil, nil, r.Err
	}
	if err := b.load(e, line); err != nil {
		return nil, nil, err
	}
	// No names: the results are thrown away, so no directory can be in the way.
	if err := b.checkRuns(p.Runs(), nil); err != nil {
		return nil, nil, err
	}
	// b is shared by all runs, which follow one another, and base restores it before each.
	base := b.scheduling
	return func(c measure.Configuration, policyName string) (*report.Report, error) {
		b.scheduling = base
		b.apply(c)
		// The suffix discard throws the results away. No event file is written.
		return b.run(ctx, e, newScreen(e, mode, nil), policyName, discard, nil)
	}, b.file, nil
}

// onlyOf returns the first flag of the line that is one of specs; "" if there is none.
func onlyOf(line argv.Line, specs []flagSpec) string {
	for _, s := range line.Flags {
		if flagNamed(s.Flag.Name, specs) != nil {
			return s.Flag.Name
		}
	}
	return ""
}

// openSweepSides checks the places of the CSV and the SVG. It creates neither: both come at
// the first write. nil stands for a file that was not asked for. w has the workload file,
// which neither may replace.
func openSweepSides(csvPath, svgPath string, w process.Work) (csv, svg *process.AuxFile, err error) {
	if csvPath != "" && svgPath != "" && paths.Locate(csvPath) == paths.Locate(svgPath) {
		return nil, nil, errs.Optionf("--csv, --svg", "%s: name two different files", csvPath)
	}
	if csv, err = w.Open("csv", csvPath); err != nil {
		return nil, nil, err
	}
	svg, err = w.Open("svg", svgPath)
	return csv, svg, err
}
