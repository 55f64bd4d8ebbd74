package main

import (
	"context"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/engineflags"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/cmd/mrlocal/internal/virtual"
	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/workload"
)

const sweepHelp = `Runs WORKLOAD once for every combination of the values, under every policy of --sched. Runs are simulated; with --real they are real, as those of batch, and their results are thrown away. Values are a list (1,2,4) or a range (1..8 or 0..1/0.1).

--total-slots N keeps the sum of map and reduce slots at N. A share that is swept alone is swept twice, with the other share at 0 and at 1, as in Fig. 6 of the DHFS paper.

--set PATH=RANGE sweeps any value of the file, as pools.adhoc.weight=1..8*2, jobs.*.map_time=10s,20s or cluster.trackers=5..20/5; the items of a list have their name or index. --seeds N makes N runs of each row, with other seeds: the table shows means with 95 % intervals, and differences between policies on the same seeds. Simulated runs use all cores.

--results FILE gets a row of CSV for each job of each run. If the file is there, its runs are not made again: a sweep that was interrupted goes on.

The table has one row for each run. Speedup is T0/T1 - 1. T1 is the makespan of the row. T0 is the makespan of the first policy in the same configuration or, with one policy only, of the first row.`

// sweepCommand runs a workload file over the product of lists of values.
func sweepCommand() command {
	return command{name: "sweep", usage: "run a workload file over slot configurations, shares and policies", args: "WORKLOAD", long: sweepHelp, run: runSweep, flags: sweepFlags()}
}

// mostSwept bounds --seeds of sim and sweep.
const mostSwept = 100_000

// seedsFlag is --seeds.
func seedsFlag() flagSpec {
	return value("seeds", "make `N` runs with the seeds from --seed on; show means with 95 % intervals", "one run")
}

// sweepFlags are those of sim and of batch, of which four take lists.
func sweepFlags() []flagSpec {
	swept := measure.SweptFlags()
	var flags []flagSpec
	// Both kinds of flags are known, so that a flag of the other kind gets a message of its own.
	for _, f := range workloadFlags(append(append(virtual.Flags(), engineflags.BandwidthFlags()...), engineflags.Flags()...), "") {
		if s := flagNamed(f.Name, swept); s != nil {
			f = *s
		}
		// Many runs have no gantt.
		if f.Name != "gantt" && f.Name != "step" && f.Name != "width" {
			flags = append(flags, f)
		}
	}
	flags = append(flags, toggle("real", "", "make real runs, as batch does; their results are thrown away"),
		value("total-slots", "`N` slots a tracker: the reduce slots are the rest beside the map slots", ""), seedsFlag())
	return append(flags, measure.SideFlags()...)
}

// sweep reads the flags that say what is swept.
func (r *reader) sweep() *measure.Plan {
	o := measure.SweepOptions{
		MapSlots: r.counts("map-slots"), ReduceSlots: r.counts("reduce-slots"), BorrowMap: argv.Value(&r.Reader, "borrow-map", argv.Shares), BorrowReduce: argv.Value(&r.Reader, "borrow-reduce", argv.Shares),
		TotalSlots: r.Count("total-slots", 2, 2*r.sweptSlots()), Policies: r.policies(),
		Sets: r.Sweeps("set"), Seeds: r.Count("seeds", 1, mostSwept), First: r.Seed(),
	}
	if r.study() {
		o.Seeds = max(1, o.Seeds)
	}
	if r.Err != nil {
		return nil
	}
	// The plan lays out the runs, and refuses settings that contradict each other.
	p, err := measure.NewPlan(o)
	r.Keep(err)
	return p
}

// study reports whether runs are summed up by package measure's Study.
func (r *reader) study() bool {
	return r.Line.Has("set") || r.Line.Has("seeds") || r.Line.Has("results") || r.Line.Has("json")
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
		if flagNamed(s.Flag.Name, measure.SweptFlags()) == nil {
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
	sides := measure.ReadSides(&r.Reader, r.study())
	for _, flag := range []string{"set", "seeds", "results", "json"} {
		if line.Has("real") && line.Has(flag) {
			r.Keep(errs.Optionf("--"+flag, "goes without --real"))
		}
	}
	if r.Err != nil {
		return 0, r.Err
	}
	// Everything is checked before the first run: a sweep may take hours.
	if line.Has("real") {
		run, f, err := sweepReal(ctx, e, withoutSwept(line), p)
		if err == nil {
			err = sides.Table(p, f.Name, process.Work{Inputs: []string{f.Name}, Stdout: e.stdout}, e.stderr, func() ([]measure.SweepRow, error) { return p.Run(run) })
		}
		return exitDone, err
	}
	simulate, files, jobs, err := sweepSimulated(e, withoutSwept(line), p)
	if err != nil {
		return 0, err
	}
	beside, note := process.Work{Inputs: []string{files.Name}, Stdout: e.stdout}, show.NewNotes(e.stderr).Note
	if r.study() {
		except := append(append(measure.SweptFlags(), measure.SideFlags()...), seedsFlag(), value("seed", "", ""), value("sched", "", ""))
		key := files.Key(append(line.Except(except), mrlocal.Version))
		return exitDone, sides.Study(ctx, p, files.Name, key, jobs, beside, e.stderr, simulate, note)
	}
	return exitDone, sides.Table(p, files.Name, beside, e.stderr, func() ([]measure.SweepRow, error) { return p.Rows(ctx, simulate, note) })
}

// runner makes one run of a sweep.
type runner = func(c measure.Configuration, policyName string) (*report.Report, error)

// sweepSimulated prepares runs in virtual time of a file with so many jobs.
func sweepSimulated(e env, line argv.Line, p *measure.Plan) (simulate measure.Simulate, files *measure.Files, jobs int, err error) {
	r := newReader(line)
	base := r.simulation()
	// A flag of the engine would have no effect on a simulation, so it is refused.
	if only := onlyOf(line, append(engineflags.Flags(), engineflags.BandwidthFlags()...)); only != "" {
		r.Keep(errs.Optionf("--"+only, "goes with --real"))
	}
	name, err := workloadName(line)
	r.Keep(err)
	if r.Err != nil {
		return nil, nil, 0, r.Err
	}
	files, f, err := measure.ReadFiles(name, e.stdin)
	if err == nil {
		err = files.Check(p)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	return base.simulate(p, files), files, len(f.Jobs), nil
}

// simulate returns a function that makes runs in virtual time, from several goroutines.
func (s *simulation) simulate(p *measure.Plan, files *measure.Files) measure.Simulate {
	return func(ctx context.Context, t measure.Trial) (*report.Report, []string, error) {
		f, err := files.Of(p, &t.Configuration)
		if err != nil {
			return nil, nil, err
		}
		run := *s // each run starts from the flags, not from the run before
		run.apply(t.Configuration)
		if err := run.complete(f); err != nil {
			return nil, nil, err
		}
		run.Seed = t.Seed
		o, err := run.options(f, t.Policy)
		if err != nil {
			return nil, nil, err
		}
		var notes []string
		o.Note = func(text string) { notes = append(notes, text) }
		done, err := sim.Run(ctx, f, o)
		if err == nil {
			notes = append(notes, show.Failures(done)...)
		}
		return done, notes, err
	}
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
