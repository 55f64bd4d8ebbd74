package workloads

import (
	"context"
	"fmt"
	"slices"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/report"
)

// sweepHelp is the help text of mrlocal sweep below its usage.
const sweepHelp = `Runs WORKLOAD once for every combination of the values, under every policy of --sched. Runs are simulated; with --real they are real, as those of batch, and their results are thrown away. Values are a list (1,2,4) or a range (1..8 or 0..1/0.1).

--total-slots N keeps the sum of map and reduce slots at N. A share that is swept alone is swept twice, with the other share at 0 and at 1, as in Fig. 6 of the DHFS paper.

--set PATH=RANGE sweeps any value of the file, as pools.adhoc.weight=1..8*2, jobs.*.map_time=10s,20s or cluster.trackers=5..20/5; the items of a list have their name or index. --seeds N makes N runs of each row, with other seeds. The table shows means with 95 % intervals, and differences between policies on the same seeds. Simulated runs use all cores.

--results FILE gets a row of CSV for each job of each run. If the file is there, its runs are not made again: a sweep that was interrupted goes on.

The table has one row for each run. Speedup is T0/T1 - 1. T1 is the makespan of the row. T0 is the makespan of the first policy in the same configuration or, with one policy only, of the first row.`

// Sweep returns mrlocal sweep, which runs a workload file once for each combination of listed values.
func Sweep() command.Command {
	return command.Command{Usage: "run a workload file over slot configurations, shares and policies", Args: "WORKLOAD", Long: sweepHelp, Run: runSweep, Flags: sweepFlags()}
}

// mostSwept is the largest --seeds of sim and sweep.
const mostSwept = 100_000

// seedsFlag returns --seeds, which sim and sweep take.
func seedsFlag() argv.Spec {
	return argv.ValueSpec("seeds", "make `N` runs with the seeds from --seed on; show means with 95 % intervals", "one run")
}

// sweepFlags returns the flags of sweep. It takes those of simulated and of real runs, and refuses
// the wrong ones later with a message that names --real. Four flags take lists.
func sweepFlags() []argv.Spec {
	swept := sweptFlags()
	var flags []argv.Spec
	for _, f := range workloadFlags(append(append(command.VirtualFlags(), command.BandwidthFlags()...), command.EngineFlags()...), "") {
		if s := argv.Named(f.Name, swept); s != nil {
			f = *s
		}
		// A sweep draws no gantts.
		if f.Name != "gantt" && f.Name != "step" && f.Name != "width" {
			flags = append(flags, f)
		}
	}
	flags = append(flags, argv.ToggleSpec("real", "", "make real runs, as batch does; their results are thrown away"),
		argv.ValueSpec("total-slots", "`N` slots per tracker: the reduce slots are those that are not map slots", ""), seedsFlag())
	return append(flags, sweepFileFlags()...)
}

// readSweep reads the flags that say what to sweep, and returns the plan. After a mistake it
// returns nil, and r.Err has the error.
func readSweep(r *command.Reader) *study.Plan {
	o := study.SweepOptions{
		MapSlots: counts(r, "map-slots"), ReduceSlots: counts(r, "reduce-slots"), BorrowMap: argv.Value(&r.Reader, "borrow-map", argv.Shares), BorrowReduce: argv.Value(&r.Reader, "borrow-reduce", argv.Shares),
		TotalSlots: r.Count("total-slots", 2, 2*sweptSlots(r)), Policies: r.Policies(),
		Sets: readSets(r), Seeds: r.Count("seeds", 1, mostSwept), First: r.Seed(),
	}
	// A study with --set alone has one seed. Plan takes 0 seeds for a sweep without a study.
	if isStudy(r) {
		o.Seeds = max(1, o.Seeds)
	}
	if r.Err != nil {
		return nil
	}
	p, err := study.NewPlan(o)
	if err != nil {
		// A range for a flag that cannot be swept may be why nothing is swept.
		rest := command.NewReader(withoutSwept(r.Line))
		readSimulation(rest)
		command.ReadEngine(&rest.Reader, &mrlocal.Options{})
		command.ReadBandwidths(&rest.Reader, &mrlocal.Options{})
		if rest.Err != nil {
			err = fmt.Errorf("%w; %w", rest.Err, err)
		}
	}
	r.Keep(err)
	return p
}

// readSets reads each --set. Two with the same path are a mistake.
func readSets(r *command.Reader) (all []study.Set) {
	for _, text := range r.Line.Values("set") {
		s, err := study.ParseSet(text)
		r.Keep(err)
		if slices.ContainsFunc(all, func(o study.Set) bool { return o.Path == s.Path }) {
			r.Keep(errs.Optionf("--set", "%s is given twice", errs.Quote(s.Path)))
		}
		all = append(all, s)
	}
	return all
}

// isStudy reports whether the sweep is a study.Study, which has seeds, values of the file, or
// files of its own.
func isStudy(r *command.Reader) bool {
	return r.Line.Has("set") || r.Line.Has("seeds") || r.Line.Has("results") || r.Line.Has("json")
}

// counts reads a list or a range of slots. It returns nil if the flag was not given.
func counts(r *command.Reader, flag string) []int64 {
	return argv.Value(&r.Reader, flag, func(flag, text string) ([]int64, error) { return argv.Counts(flag, text, 1, sweptSlots(r)) })
}

// sweptSlots returns the largest number of slots of one kind on a tracker. It is smaller for real runs.
func sweptSlots(r *command.Reader) int {
	if r.Line.Has("real") {
		return command.MostSlots
	}
	return command.MostNodeSlots
}

// apply sets the swept values of c in s. A setting that is not swept is -1, and keeps the value of
// its flag.
func apply(s *command.Scheduling, c study.Configuration) {
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

// withoutSwept returns a copy of the line without the flags that a sweep reads as lists. Readers of
// single values would refuse these lists.
func withoutSwept(line argv.Line) argv.Line {
	var kept []argv.Setting
	for _, s := range line.Flags {
		if argv.Named(s.Flag.Name, sweptFlags()) == nil {
			kept = append(kept, s)
		}
	}
	line.Flags = kept
	return line
}

// runSweep makes all runs of the plan, prints its table, and writes its files. The first run that
// fails ends the sweep with its error. A run with failed jobs is not such a run. It is noted, and the
// exit code says so.
func runSweep(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	p := readSweep(r)
	written := readSweepFiles(&r.Reader, isStudy(r))
	for _, flag := range []string{"set", "seeds", "results", "json"} {
		if line.Has("real") && line.Has(flag) {
			r.Keep(errs.Optionf("--"+flag, "cannot be combined with --real"))
		}
	}
	if r.Err != nil {
		return 0, r.Err
	}
	// sweepReal and sweepSimulated check everything before the first run, because a sweep may take
	// hours.
	if line.Has("real") {
		run, b, err := sweepReal(ctx, e, withoutSwept(line), p)
		if err != nil {
			return 0, err
		}
		defer b.close()
		failed, err := written.Table(p, b.file.Name, process.Work{Inputs: []string{b.file.Name}, Stdout: e.Stdout}, e.Stderr, func() ([]study.SweepRow, error) { return p.Run(run) })
		return exitCode(failed), err
	}
	simulate, files, jobs, err := sweepSimulated(e, withoutSwept(line), p)
	if err != nil {
		return 0, err
	}
	beside, note := process.Work{Inputs: []string{files.Name}, Stdout: e.Stdout}, show.NewNotes(e.Stderr).Note
	var failed bool
	if isStudy(r) {
		// The key has all flags that change a run without being a column of --results.
		except := append(append(sweptFlags(), sweepFileFlags()...), seedsFlag(), argv.ValueSpec("seed", "", ""), argv.ValueSpec("sched", "", ""))
		key := files.Key(append(line.Except(except), mrlocal.Version))
		failed, err = written.Study(ctx, p, files.Name, key, jobs, beside, e.Stderr, simulate, note)
	} else {
		failed, err = written.Table(p, files.Name, beside, e.Stderr, func() ([]study.SweepRow, error) { return p.Rows(ctx, simulate, note) })
	}
	return exitCode(failed), err
}

// exitCode returns the exit code of a sweep. failed reports whether jobs of a run did not succeed.
func exitCode(failed bool) int {
	if failed {
		return command.Failed
	}
	return command.Done
}

// runner makes one real run of a sweep.
type runner = func(c study.Configuration, policyName string) (*report.Report, error)

// sweepSimulated reads the flags and the workload file of a simulated sweep. It returns a function
// that makes one run, the file, and its number of jobs. It fails if a flag, the file or a value of
// --set is wrong.
func sweepSimulated(e command.Env, line argv.Line, p *study.Plan) (simulate study.Simulate, files *study.Files, jobs int, err error) {
	r := command.NewReader(line)
	base := readSimulation(r)
	// A flag of the engine has no effect on a simulation.
	if only := onlyOf(line, append(command.EngineFlags(), command.BandwidthFlags()...)); only != "" {
		r.Keep(errs.Optionf("--"+only, "needs --real"))
	}
	name, err := workloadName(line)
	r.Keep(err)
	if r.Err != nil {
		return nil, nil, 0, r.Err
	}
	files, f, err := study.ReadFiles(name, e.Stdin)
	if err == nil {
		err = files.Check(p)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	return base.simulate(p, files), files, len(f.Jobs), nil
}

// simulate returns a function that makes one simulated run of p. The notes name the jobs that did
// not succeed. Several goroutines may call it. It only reads s.
func (s *simulation) simulate(p *study.Plan, files *study.Files) study.Simulate {
	return func(ctx context.Context, t study.Trial) (*report.Report, []string, error) {
		f, err := files.Of(p, &t.Configuration)
		if err != nil {
			return nil, nil, err
		}
		run := *s // a copy for each run, because apply and Complete change it
		apply(&run.Scheduling, t.Configuration)
		if err := run.Complete(f); err != nil {
			return nil, nil, err
		}
		run.Seed = t.Seed
		// options makes a new policy, so runs on other goroutines do not share its state.
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

// sweepReal reads the flags and the workload file of a sweep of real runs. It returns a function
// that makes one run and throws its results away. The function must not be called by several
// goroutines at once. After the runs, the caller closes the batch.
func sweepReal(ctx context.Context, e command.Env, line argv.Line, p *study.Plan) (runner, *batch, error) {
	r := command.NewReader(line)
	b := readBatch(r)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	// These are the flags of virtual time, except --seed, which real runs have too.
	for _, flag := range []string{"heartbeat", "cost", "alone"} {
		if line.Has(flag) {
			r.Keep(errs.Optionf("--"+flag, "only for simulated runs; leave out --real"))
		}
	}
	if r.Err != nil {
		return nil, nil, r.Err
	}
	if err := b.load(e, line); err != nil {
		return nil, nil, err
	}
	if err := b.checkRuns(p.Runs(), nil); err != nil {
		return nil, nil, err
	}
	// All runs share b. Each starts from base, because apply changes b.Scheduling.
	base := b.Scheduling
	return func(c study.Configuration, policyName string) (*report.Report, error) {
		b.Scheduling = base
		apply(&b.Scheduling, c)
		s := e.Screen(mode, nil)
		done, err := b.run(ctx, e, s, policyName, discard, nil)
		// A run with failed jobs is a row, as in a simulated sweep.
		if done != nil && len(done.FailedJobs()) > 0 && ctx.Err() == nil {
			s.Note(fmt.Sprintf("sweep: %s: %v", p.Of(c, policyName), err))
			err = nil
		}
		return done, err
	}, b, nil
}

// onlyOf returns the name of the first flag of the line that is one of specs, or "" if there is none.
func onlyOf(line argv.Line, specs []argv.Spec) string {
	for _, s := range line.Flags {
		if argv.Named(s.Flag.Name, specs) != nil {
			return s.Flag.Name
		}
	}
	return ""
}
