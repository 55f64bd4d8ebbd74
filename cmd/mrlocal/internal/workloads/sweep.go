package workloads

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/workload"
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
// the wrong ones later with a message that names --real. Those of study.Flags take lists.
func sweepFlags() []argv.Spec {
	var flags []argv.Spec
	for _, f := range workloadFlags(append(append(command.VirtualFlags(), command.BandwidthFlags()...), command.EngineFlags()...), "") {
		if swept(f.Name) {
			f.Help += ", a list or a range"
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

// swept reports whether a flag takes lists in a sweep.
func swept(flag string) bool {
	return slices.ContainsFunc(study.Flags(), func(f study.Flag) bool { return f.Name == flag })
}

// readSweep reads the flags that say what to sweep, and returns the plan. It reads each value of a list as
// scheduling does. After a mistake it returns nil, and r.Err has the error.
func readSweep(r *command.Reader) *study.Plan {
	real := r.Line.Has("real")
	scheduling, most := schedulingOf(real), command.MostNodeSlots
	if real {
		most = command.MostSlots
	}
	o := study.Options{Flags: map[string][]string{}, TotalSlots: r.Count("total-slots", 2, 2*most), Policies: r.Policies(), Sets: readSets(r), Seeds: r.Count("seeds", 1, mostSwept), First: r.Seed()}
	for _, f := range study.Flags() {
		text, given := r.Line.Value(f.Name)
		if !given {
			continue
		}
		values, err := study.Values(f.Name, text)
		if f.Share && strings.Contains(text, "..") && !strings.ContainsAny(text, "/*") {
			err = errs.Optionf("--"+f.Name, "%s: a range without a step; write 0..1/0.1", text)
		}
		r.Keep(err)
		for _, v := range values {
			_, err := scheduling(argv.Line{}, []workload.Change{{Path: f.Name, Value: v}})
			r.Keep(err)
		}
		o.Flags[f.Name] = values
	}
	// These files make a sweep of a single configuration.
	if r.Line.Has("results") || r.Line.Has("json") {
		o.Seeds = max(1, o.Seeds)
	}
	if r.Err != nil {
		return nil
	}
	p, err := study.NewPlan(o)
	if err != nil {
		// A range for a flag that cannot be swept may be why nothing is swept.
		rest := command.NewReader(withoutLists(r.Line))
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

// withoutLists returns a copy of the line without the flags that take lists. Readers of single values
// would refuse the lists.
func withoutLists(line argv.Line) argv.Line {
	line.Flags = slices.DeleteFunc(slices.Clone(line.Flags), func(s argv.Setting) bool { return swept(s.Flag.Name) })
	return line
}

// schedulingOf returns a function that reads the flags of scheduling of a line, with the values of a run in
// place of its lists. A real run has a smaller bound of trackers and slots.
func schedulingOf(real bool) func(argv.Line, []workload.Change) (command.Scheduling, error) {
	trackers, most := command.MostNodes, command.MostNodeSlots
	if real {
		trackers, most = command.MostTrackers, command.MostSlots
	}
	return func(line argv.Line, values []workload.Change) (command.Scheduling, error) {
		line.Flags = slices.Clip(line.Flags)
		for _, v := range values { // the last value of a flag counts
			line.Flags = append(line.Flags, argv.Setting{Flag: &argv.Flag{Name: v.Path, Value: true}, Value: v.Value})
		}
		r := command.NewReader(line)
		s := r.Scheduling(trackers, most, 1)
		return s, r.Err
	}
}

// runSweep makes all runs of the plan, prints its table, and writes its files. The first run that
// fails ends the sweep with its error. A run with failed jobs is not such a run. It is noted, and the
// exit code says so.
func runSweep(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	p := readSweep(r)
	written := readSweepFiles(&r.Reader)
	for _, flag := range []string{"set", "seeds", "results"} {
		if line.Has("real") && line.Has(flag) {
			r.Keep(errs.Optionf("--"+flag, "cannot be combined with --real"))
		}
	}
	if r.Err != nil {
		return 0, r.Err
	}
	// sweepReal and sweepSimulated check everything before the first run, because a sweep may take
	// hours.
	prepare := sweepSimulated
	if line.Has("real") {
		prepare = sweepReal
	}
	s, cleanUp, err := prepare(e, line, p)
	if err != nil {
		return 0, err
	}
	defer cleanUp()
	failed, err := written.write(ctx, s, process.Work{Inputs: []string{s.name}, Stdout: e.Stdout}, e.Stderr, show.NewNotes(e.Stderr).Note)
	return exitCode(failed), err
}

// exitCode returns the exit code of a sweep. failed reports whether jobs of a run did not succeed.
func exitCode(failed bool) int {
	if failed {
		return command.Failed
	}
	return command.Done
}

// sweepSimulated reads the flags and the workload file of a simulated sweep. It fails if a flag, the file
// or a value of --set is wrong.
func sweepSimulated(e command.Env, line argv.Line, p *study.Plan) (*sweep, func(), error) {
	r := command.NewReader(withoutLists(line))
	base := readSimulation(r)
	// A flag of the engine has no effect on a simulation.
	real := append(command.EngineFlags(), command.BandwidthFlags()...)
	if i := slices.IndexFunc(line.Flags, func(s argv.Setting) bool { return argv.Named(s.Flag.Name, real) != nil }); i >= 0 {
		r.Keep(errs.Optionf("--"+line.Flags[i].Flag.Name, "needs --real"))
	}
	name, err := workloadName(line.Words)
	if r.Keep(err); r.Err != nil {
		return nil, nil, r.Err
	}
	files, f, err := study.ReadFiles(name, e.Stdin)
	if err == nil {
		err = files.Check(p)
	}
	if err != nil {
		return nil, nil, err
	}
	// The key has all flags that change a run without being a column of --results.
	except := append(sweepFileFlags(), seedsFlag(), argv.ValueSpec("seed", "", ""), argv.ValueSpec("sched", "", ""))
	key := files.Key(append(withoutLists(line).Except(except), mrlocal.Version))
	return &sweep{p, files.Name, key, len(f.Jobs), runtime.GOMAXPROCS(0), base.simulate(line, p, files)}, func() {}, nil
}

// simulate returns a function that makes one simulated run of p, with the flags of the line. The notes
// name the jobs that did not succeed. Several goroutines may call it. It only reads s.
func (s *simulation) simulate(line argv.Line, p *study.Plan, files *study.Files) study.Simulate {
	scheduling := schedulingOf(false)
	return func(ctx context.Context, t study.Trial) (done *report.Report, notes []string, err error) {
		f, err := files.Of(p, t)
		if err != nil {
			return nil, nil, err
		}
		run := *s // a copy for each run, because Complete changes it
		if flags := p.Flags(t); len(flags) > 0 {
			if run.Scheduling, err = scheduling(line, flags); err != nil {
				return nil, nil, err
			}
		}
		run.Complete(f)
		run.Seed = t.Seed
		// options makes a new policy, so runs on other goroutines do not share its state.
		o, err := run.options(f, t.Policy)
		if err != nil {
			return nil, nil, err
		}
		o.Note = func(text string) { notes = append(notes, text) }
		if done, err = sim.Run(ctx, f, o); err == nil {
			notes = append(notes, show.Failures(done)...)
		}
		return done, notes, err
	}
}

// sweepReal reads the flags and the workload file of a sweep of real runs, whose results are thrown away.
// They are made one at a time. The caller calls the function that it returns after the runs.
func sweepReal(e command.Env, line argv.Line, p *study.Plan) (*sweep, func(), error) {
	plain := withoutLists(line)
	r := command.NewReader(plain)
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
	if err := b.load(e, plain.Words); err != nil {
		return nil, nil, err
	}
	if err := b.checkRuns(p.Runs(), nil); err != nil {
		return nil, nil, err
	}
	scheduling := schedulingOf(true)
	run := func(ctx context.Context, t study.Trial) (done *report.Report, _ []string, err error) {
		if b.Scheduling, err = scheduling(line, p.Flags(t)); err != nil {
			return nil, nil, err
		}
		b.Complete(b.file)
		s := e.Screen(mode, nil)
		done, err = b.run(ctx, e, s, t.Policy, discard, nil)
		// A run with failed jobs is a row, as in a simulated sweep.
		if done != nil && len(done.FailedJobs()) > 0 && ctx.Err() == nil {
			s.Note(fmt.Sprintf("sweep: %s: %v", p.Of(t), err))
			err = nil
		}
		return done, nil, err
	}
	return &sweep{plan: p, name: b.file.Name, workers: 1, simulate: run}, b.close, nil
}
