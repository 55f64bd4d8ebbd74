package workloads

import (
	"context"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
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

// Sweep runs a workload file over the product of lists of values.
func Sweep() command.Command {
	return command.Command{Usage: "run a workload file over slot configurations, shares and policies", Args: "WORKLOAD", Long: sweepHelp, Run: runSweep, Flags: sweepFlags()}
}

// mostSwept bounds --seeds of sim and sweep.
const mostSwept = 100_000

// seedsFlag is --seeds.
func seedsFlag() argv.Spec {
	return argv.ValueSpec("seeds", "make `N` runs with the seeds from --seed on; show means with 95 % intervals", "one run")
}

// sweepFlags are those of sim and of batch, of which four take lists.
func sweepFlags() []argv.Spec {
	swept := measure.SweptFlags()
	var flags []argv.Spec
	// Both kinds of flags are known, so that a flag of the other kind gets a message of its own.
	for _, f := range workloadFlags(append(append(command.VirtualFlags(), command.BandwidthFlags()...), command.EngineFlags()...), "") {
		if s := argv.Named(f.Name, swept); s != nil {
			f = *s
		}
		// Many runs have no gantt.
		if f.Name != "gantt" && f.Name != "step" && f.Name != "width" {
			flags = append(flags, f)
		}
	}
	flags = append(flags, argv.ToggleSpec("real", "", "make real runs, as batch does; their results are thrown away"),
		argv.ValueSpec("total-slots", "`N` slots a tracker: the reduce slots are the rest beside the map slots", ""), seedsFlag())
	return append(flags, measure.SweepFileFlags()...)
}

// readSweep reads the flags that say what is swept.
func readSweep(r *command.Reader) *measure.Plan {
	o := measure.SweepOptions{
		MapSlots: counts(r, "map-slots"), ReduceSlots: counts(r, "reduce-slots"), BorrowMap: argv.Value(&r.Reader, "borrow-map", argv.Shares), BorrowReduce: argv.Value(&r.Reader, "borrow-reduce", argv.Shares),
		TotalSlots: r.Count("total-slots", 2, 2*sweptSlots(r)), Policies: r.Policies(),
		Sets: r.Sweeps("set"), Seeds: r.Count("seeds", 1, mostSwept), First: r.Seed(),
	}
	if isStudy(r) {
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

// isStudy reports whether runs are summed up by package measure's Study.
func isStudy(r *command.Reader) bool {
	return r.Line.Has("set") || r.Line.Has("seeds") || r.Line.Has("results") || r.Line.Has("json")
}

// counts reads a list or range of slots; nil if the flag was not given.
func counts(r *command.Reader, flag string) []int64 {
	return argv.Value(&r.Reader, flag, func(flag, text string) ([]int64, error) { return argv.Counts(flag, text, 1, sweptSlots(r)) })
}

// sweptSlots returns the bound of the slots of each tracker.
func sweptSlots(r *command.Reader) int {
	if r.Line.Has("real") {
		return command.MostSlots
	}
	return command.MostNodeSlots
}

// apply replaces flags by a configuration of a sweep.
func apply(s *command.Scheduling, c measure.Configuration) {
	// 0 slots and a negative share stand for what is not swept: the flag or file decides.
	if c.MapSlots > 0 {
		s.MapSlots = int(c.MapSlots)
	}
	if c.ReduceSlots > 0 {
		s.ReduceSlots = int(c.ReduceSlots)
	}
	if c.BorrowMap >= 0 {
		s.PolicyOptions.BorrowMap = slots.PPM(c.BorrowMap)
	}
	if c.BorrowReduce >= 0 {
		s.PolicyOptions.BorrowReduce = slots.PPM(c.BorrowReduce)
	}
}

// withoutSwept returns the line without the flags that a sweep reads as lists.
func withoutSwept(line argv.Line) argv.Line {
	var kept []argv.Setting
	for _, s := range line.Flags {
		if argv.Named(s.Flag.Name, measure.SweptFlags()) == nil {
			kept = append(kept, s)
		}
	}
	// line is a copy, and its flags are a new slice: the caller's line stays whole.
	line.Flags = kept
	return line
}

// runSweep runs the plan and prints its table. A run that fails ends the sweep with the error of
// that run.
func runSweep(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	p := readSweep(r)
	sweepFiles := measure.ReadSweepFiles(&r.Reader, isStudy(r))
	for _, flag := range []string{"set", "seeds", "results", "json"} {
		if line.Has("real") && line.Has(flag) {
			r.Keep(errs.Optionf("--"+flag, "cannot be combined with --real"))
		}
	}
	if r.Err != nil {
		return 0, r.Err
	}
	// Everything is checked before the first run: a sweep may take hours.
	if line.Has("real") {
		run, f, err := sweepReal(ctx, e, withoutSwept(line), p)
		if err == nil {
			err = sweepFiles.Table(p, f.Name, process.Work{Inputs: []string{f.Name}, Stdout: e.Stdout}, e.Stderr, func() ([]measure.SweepRow, error) { return p.Run(run) })
		}
		return command.Done, err
	}
	simulate, files, jobs, err := sweepSimulated(e, withoutSwept(line), p)
	if err != nil {
		return 0, err
	}
	beside, note := process.Work{Inputs: []string{files.Name}, Stdout: e.Stdout}, show.NewNotes(e.Stderr).Note
	if isStudy(r) {
		except := append(append(measure.SweptFlags(), measure.SweepFileFlags()...), seedsFlag(), argv.ValueSpec("seed", "", ""), argv.ValueSpec("sched", "", ""))
		key := files.Key(append(line.Except(except), mrlocal.Version))
		return command.Done, sweepFiles.Study(ctx, p, files.Name, key, jobs, beside, e.Stderr, simulate, note)
	}
	return command.Done, sweepFiles.Table(p, files.Name, beside, e.Stderr, func() ([]measure.SweepRow, error) { return p.Rows(ctx, simulate, note) })
}

// runner makes one run of a sweep.
type runner = func(c measure.Configuration, policyName string) (*report.Report, error)

// sweepSimulated prepares runs in virtual time of a file with so many jobs.
func sweepSimulated(e command.Env, line argv.Line, p *measure.Plan) (simulate measure.Simulate, files *measure.Files, jobs int, err error) {
	r := command.NewReader(line)
	base := readSimulation(r)
	// A flag of the engine would have no effect on a simulation, so it is refused.
	if only := onlyOf(line, append(command.EngineFlags(), command.BandwidthFlags()...)); only != "" {
		r.Keep(errs.Optionf("--"+only, "goes with --real"))
	}
	name, err := workloadName(line)
	r.Keep(err)
	if r.Err != nil {
		return nil, nil, 0, r.Err
	}
	files, f, err := measure.ReadFiles(name, e.Stdin)
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
		apply(&run.Scheduling, t.Configuration)
		if err := run.Complete(f); err != nil {
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
func sweepReal(ctx context.Context, e command.Env, line argv.Line, p *measure.Plan) (runner, *workload.File, error) {
	r := command.NewReader(line)
	b := readBatch(r)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	// These are the flags of virtual time, without --seed, which real runs have too.
	for _, flag := range []string{"heartbeat", "cost", "alone"} {
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
	base := b.Scheduling
	return func(c measure.Configuration, policyName string) (*report.Report, error) {
		b.Scheduling = base
		apply(&b.Scheduling, c)
		// The suffix discard throws the results away. No event file is written.
		return b.run(ctx, e, e.Screen(mode, nil), policyName, discard, nil)
	}, b.file, nil
}

// onlyOf returns the first flag of the line that is one of specs; "" if there is none.
func onlyOf(line argv.Line, specs []argv.Spec) string {
	for _, s := range line.Flags {
		if argv.Named(s.Flag.Name, specs) != nil {
			return s.Flag.Name
		}
	}
	return ""
}
