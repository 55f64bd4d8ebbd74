package workloads

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/sim"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// simHelp is the help text of mrlocal sim below its usage.
const simHelp = `WORKLOAD is a YAML file of pools and jobs, or - for standard input; batch runs the same file for real. A flag replaces the value of the file. The same file, flags and --seed give the same bytes.

Exit codes: 0 done; 1 the runs of --compare differ; 2 wrong usage or input, nothing was started; 3 a job failed in the simulation (the others went on; table and report are complete); 128 plus the number of the signal when interrupted.`

// Sim returns mrlocal sim, which runs a workload file in virtual time. It has the flags of virtual
// time in place of those of the engine.
func Sim() command.Command {
	return command.Command{Usage: "run a workload file in virtual time", Args: "WORKLOAD", Long: simHelp, Run: runSim,
		Flags: workloadFlags(append(slices.Concat(command.VirtualFlags(), command.BufferFlags(), show.Flags()),
			seedsFlag(),
			argv.ToggleSpec("verbose", "", "show all figures and counters of each run, of all jobs together"),
			argv.ToggleSpec("compare", "", "with two policies: say how their decisions differ, and why, as mrlocal compare does; exit code 1 if they differ"),
			argv.ValueSpec("events", "write every fact and decision to `FILE`, one JSON object per line; with several policies, to FILE.POLICY; compressed if FILE ends in .gz or .zst", ""),
			argv.ValueSpec("report", "write the report to `FILE` as JSON; with several policies, as an array", "a table on standard output")), ""),
	}
}

// workloadFlags returns the flags of a command that runs a workload file: those of scheduling, then
// own, then those of gantts. ganttWhere is as in command.GanttFlags.
func workloadFlags(own []argv.Spec, ganttWhere string) []argv.Spec {
	flags := append([]argv.Spec{argv.ValueSpec("sched", "slot policies `NAME[,NAME]`, one run each, or all; see mrlocal policies", mrlocal.DefaultPolicy)},
		command.SchedulingFlags("the value in the file, otherwise ")...)
	return append(append(flags, own...), command.GanttFlags(ganttWhere)...)
}

// simulation has the options with which a workload file is simulated.
type simulation struct {
	command.Scheduling
	// base has the options that do not depend on the policy. Config, Policy and the sinks are not set.
	base sim.Options
}

// readSimulation reads the flags of scheduling and of virtual time. r.Err has the first mistake.
func readSimulation(r *command.Reader) simulation {
	return simulation{
		Scheduling: r.Scheduling(command.MostNodes, command.MostNodeSlots, 1),
		base:       command.ReadVirtual(&r.Reader),
	}
}

// options returns the options of one run of f under a policy. Each call makes a new policy, because
// a policy keeps the state of its run. The caller sets Events, Note and Watch. It fails if there
// are too many slots, or if the policy refuses its options.
func (s *simulation) options(f *workload.File, policyName string) (sim.Options, error) {
	p, err := s.NewPolicy(policyName)
	o := s.base
	o.Config, o.Policy = s.Config, p
	return o, err
}

// runSim simulates the file once for each policy, and prints the gantts and the table. If a job
// fails in a simulation, the exit code is 3.
func runSim(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	if line.Has("seeds") {
		return simSeeds(ctx, e, line)
	}
	r := command.NewReader(line)
	compare := line.Has("compare")
	s, names, picture := readSimulation(r), r.Policies(), r.Picture(compare)
	eventsPath, reportPath := r.Path("events"), r.Path("report")
	command.ReadBuffers(&r.Reader, &s.base)
	if compare {
		checkCompare(r, names, picture)
	}
	if r.Err != nil {
		return 0, r.Err
	}
	f, err := loadWorkload(e, line)
	if err != nil {
		return 0, err
	}
	if err := s.Complete(f); err != nil {
		return 0, err
	}
	// Open checks the paths and creates no file, so a run that is refused leaves none.
	files, err := show.Open(line, names, eventsPath, reportPath, process.Work{Inputs: []string{f.Name}, Stdout: e.Stdout})
	if err != nil {
		return 0, err
	}
	// If a file is standard output, tables and gantts must not mix with it.
	if files.OnStdout() {
		e.Stdout = e.Stderr
	}
	notes, code := show.NewNotes(e.Stderr), command.Done
	var reports []*report.Report
	var kept [2]bytes.Buffer // with --compare, the events of both runs
	for i, name := range names {
		o, err := s.options(f, name)
		if err != nil {
			return 0, err
		}
		o.Events, o.Note, o.Watch = files.Events(i), notes.Note, files.Watch(i, e.Page.Watch(name, picture.Watcher()))
		switch {
		// The comparison reads the events from memory, and --events writes them too.
		case compare && o.Events != nil:
			o.Events = io.MultiWriter(o.Events, &kept[i])
		case compare:
			o.Events = &kept[i]
		}
		done, err := sim.Run(ctx, f, o)
		if err = errors.Join(err, files.CloseEvents(i)); err != nil {
			return 0, err
		}
		// The report of a run with failed jobs is kept, because it names them.
		reports = append(reports, done)
		if notes.Failures(done) {
			code = command.Failed
		}
		if err := e.Write(picture.Of(name, len(names), show.Width(e.Stdout), true)); err != nil {
			return 0, err
		}
	}
	if compare {
		differs, err := CompareRuns(e, picture, explain.Recorded{Name: names[0], Events: bytes.NewReader(kept[0].Bytes())}, explain.Recorded{Name: names[1], Events: bytes.NewReader(kept[1].Bytes())})
		if err != nil {
			return 0, err
		}
		// The exit code of a failed job wins over that of a difference.
		if code == command.Done {
			code = differs
		}
		if err := e.Write([]byte("\n")); err != nil {
			return 0, err
		}
	}
	return code, printReports(e, files, reports, line.Has("verbose"))
}

// checkCompare refuses flags that contradict --compare, and turns the gantt of single runs off.
// --compare draws both gantts itself, with the letters that --gantt=GROUP chooses.
func checkCompare(r *command.Reader, names []string, picture *show.Picture) {
	switch {
	case len(names) != 2:
		r.Keep(errs.Optionf("--compare", "needs --sched with two policies"))
	case picture.On && picture.By == trace.ByDefault:
		r.Keep(errs.Optionf("--compare, --gantt", "--compare draws both gantts; leave out --gantt"))
	}
	picture.On = false
}

// simSeeds does the work of sim --seeds: it simulates the file with several seeds under each policy. It
// prints means with their intervals, and the differences between policies on the same seeds.
func simSeeds(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	// All other flags, such as those of pictures and events, show a single run.
	kept := append(command.SchedulingFlags(""), append(command.VirtualFlags(), append(command.BufferFlags(), seedsFlag(), argv.ValueSpec("sched", "", ""), argv.ValueSpec("report", "", ""))...)...)
	for _, f := range line.Flags {
		if argv.Named(f.Flag.Name, kept) == nil {
			r.Keep(errs.Optionf("--"+f.Flag.Name, "needs a single seed; leave out --seeds"))
		}
	}
	s := readSimulation(r)
	command.ReadBuffers(&r.Reader, &s.base)
	seeds := r.Count("seeds", 1, mostSwept)
	p, err := study.NewPlan(study.Options{Policies: r.Policies(), Seeds: seeds, First: r.Seed()})
	r.Keep(err)
	path := r.Path("report")
	name, err := workloadName(line)
	if r.Keep(err); r.Err != nil {
		return 0, r.Err
	}
	files, _, err := study.ReadFiles(name, e.Stdin)
	if err != nil {
		return 0, err
	}
	beside := process.Work{Inputs: []string{files.Name}, Stdout: e.Stdout}
	out, err := beside.Open("report", path)
	if err != nil {
		return 0, err
	}
	// A study keeps only figures. The reports are kept only for --report, because there may be very
	// many.
	var reports []*report.Report
	keep := func(r *report.Report) { reports = append(reports, r) }
	if out == nil {
		keep = nil
	}
	notes := show.NewNotes(e.Stderr)
	study, err := p.Study(ctx, runtime.GOMAXPROCS(0), nil, s.simulate(line, p, files), notes.Note, keep)
	if err != nil {
		return 0, err
	}
	if seeds > 1 && !study.Vary() {
		notes.Note(fmt.Sprintf("seeds: %d seeds change nothing: nothing in the workload is drawn at random, or nothing depends on it", seeds))
	}
	if out != nil {
		return exitCode(study.Failed()), errors.Join(report.WriteJSON(out, reports), out.Close())
	}
	return exitCode(study.Failed()), e.Write(study.Table())
}

// loadWorkload reads the workload file that the line names, or standard input for -.
func loadWorkload(e command.Env, line argv.Line) (*workload.File, error) {
	name, err := workloadName(line)
	if err != nil {
		return nil, err
	}
	return e.Workload(name)
}

// workloadName returns the name of the workload file in a line. It fails unless the line has
// exactly one word, which is not empty.
func workloadName(line argv.Line) (string, error) {
	if len(line.Words) == 0 {
		return "", errs.Optionf("", "name a WORKLOAD, a YAML file of pools and jobs")
	}
	if len(line.Words) > 1 {
		return "", errs.Optionf(errs.Quote(line.Words[1]), "one word too many; one WORKLOAD at a time")
	}
	// For an empty name, the error of the system would not show the cause.
	if line.Words[0] == "" {
		return "", errs.Optionf("WORKLOAD", "the name is empty")
	}
	return line.Words[0], nil
}

// printReports writes the file of --report. Without --report it writes a table to standard output,
// and if verbose is true the figures and counters of each run above it.
func printReports(e command.Env, files *show.Files, reports []*report.Report, verbose bool) error {
	if files.HasReport() {
		return files.Report(func(w io.Writer) error { return report.WriteJSON(w, reports) })
	}
	// A single write for the whole table keeps lines of standard error from appearing inside it.
	var b bytes.Buffer
	if verbose && report.WriteFigures(&b, reports...) == nil { // into memory
		b.WriteByte('\n')
	}
	if err := report.WriteTable(&b, reports); err != nil {
		return err
	}
	return e.Write(b.Bytes())
}

// CompareRuns compares two recorded runs and writes the result to standard output. The gantts have the
// letters and the width of p. It returns the exit code command.Differs if the decisions differ. mrlocal
// compare calls it too.
func CompareRuns(e command.Env, p *show.Picture, a, b explain.Recorded) (int, error) {
	var text bytes.Buffer // so that nothing is printed of a comparison that fails
	a.Policy, b.Policy = registry.ForReplay, registry.ForReplay
	differ, err := explain.Compare(&text, a, b, p.By, cmp.Or(p.Width, show.Width(e.Stdout)))
	if err != nil {
		return 0, err
	}
	code := command.Done
	if differ {
		code = command.Differs
	}
	return code, e.Write(text.Bytes())
}
