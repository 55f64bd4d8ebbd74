package workloads

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots/explain"
	"mrlocal/trace"
	"mrlocal/workload"
)

const simHelp = `WORKLOAD is a YAML file of pools and jobs, or - for standard input; batch runs the same file for real. A flag replaces the value of the file. The same file, flags and --seed give the same bytes.

Exit codes: 0 done; 1 the runs of --compare differ; 2 wrong usage or input, nothing was started; 3 a job failed in the simulation (the others went on; table and report are complete); 128 + the signal's number when interrupted.`

// Sim runs a workload file in virtual time. Its flags are those of batch without the
// engine, and with the cost model.
func Sim() command.Command {
	return command.Command{Usage: "run a workload file in virtual time", Args: "WORKLOAD", Long: simHelp, Run: runSim,
		Flags: workloadFlags(append(slices.Concat(command.VirtualFlags(), command.BufferFlags(), pictures.Flags()),
			seedsFlag(),
			argv.ToggleSpec("verbose", "", "show all figures and counters of each run, of all jobs together"),
			argv.ToggleSpec("compare", "", "with two policies: say how their decisions differ, and why, as mrlocal compare does; exit code 1 if they differ"),
			argv.ValueSpec("events", "write every fact and decision to `FILE`, one JSON object a line; with several policies, to FILE.POLICY; compressed if FILE ends in .gz or .zst", ""),
			argv.ValueSpec("report", "write the report to `FILE` as JSON; with several policies, as an array", "a table on standard output")), ""),
	}
}

// workloadFlags returns the flags of all commands that run a workload file.
func workloadFlags(own []argv.Spec, ganttWhere string) []argv.Spec {
	flags := append([]argv.Spec{argv.ValueSpec("sched", "slot policies `NAME[,NAME]`, one run each, or all; see mrlocal policies", mrlocal.DefaultPolicy)},
		command.SchedulingFlags("the file's, else ")...)
	return append(append(flags, own...), command.GanttFlags(ganttWhere)...)
}

// simulation says how files are simulated.
type simulation struct {
	command.Scheduling
	// base has the options that are the same for all policies.
	base sim.Options
}

// readSimulation reads the flags of sim. It notes the first mistake in r.Err.
func readSimulation(r *command.Reader) simulation {
	return simulation{
		Scheduling: r.Scheduling(command.MostNodes, command.MostNodeSlots, 1),
		base:       command.ReadVirtual(&r.Reader),
	}
}

// options returns the options of one run of f under a policy. Each call makes a new policy,
// because a policy keeps the state of its run.
func (s *simulation) options(f *workload.File, policyName string) (sim.Options, error) {
	// The product may be too large although each flag is within its bounds.
	c := s.Config.Or(f.Config)
	// MaxSlots of 0 stands for twice the home slots, as in the engine.
	if slots := max(1, c.Trackers) * cmp.Or(c.MaxSlots, 2*(c.MapSlots+c.ReduceSlots)); slots > command.MostSimulatedSlots {
		return sim.Options{}, errs.Optionf("--trackers, --map-slots, --reduce-slots", "%d slots, the extra ones with them; at most %d", slots, command.MostSimulatedSlots)
	}
	// The caller adds the sinks: Events, Note and Watch.
	p, err := s.NewPolicy(policyName)
	o := s.base
	o.Config, o.Policy = s.Config, p
	return o, err
}

// runSim simulates the file once for each policy, and prints the gantts and the table. A failed
// job gives exit code 3.
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
	// No file is created yet. A run that is refused leaves none.
	files, err := pictures.Open(line, names, eventsPath, reportPath, process.Work{Inputs: []string{f.Name}, Stdout: e.Stdout})
	if err != nil {
		return 0, err
	}
	if files.OnStdout() { // alone
		e.Stdout = e.Stderr
	}
	notes, code := show.NewNotes(e.Stderr), command.Done
	var reports []*report.Report
	var kept [2]bytes.Buffer // for --compare
	for i, name := range names {
		o, err := s.options(f, name)
		if err != nil {
			return 0, err
		}
		o.Events, o.Note, o.Watch = files.Events(i), notes.Note, files.Watch(i, e.Page.Watch(name, picture.Watch))
		switch {
		// The comparison reads the events from memory. The event file gets the same bytes.
		case compare && o.Events != nil:
			o.Events = io.MultiWriter(o.Events, &kept[i])
		case compare:
			o.Events = &kept[i]
		}
		done, err := sim.Run(ctx, f, o)
		// If the reader of the events has closed its pipe, the run is complete all the same.
		if err = errors.Join(err, files.CloseEvents(i)); err != nil && !(command.Gone(err) && done != nil) {
			return 0, err
		}
		// A report is kept for failed jobs too: it says which ones failed.
		reports = append(reports, done)
		if notes.Failures(done) > 0 {
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
		// A failed job wins over a difference: exit code 3 before 1.
		if code == command.Done {
			code = differs
		}
		if err := e.Write([]byte("\n")); err != nil {
			return 0, err
		}
	}
	return code, printReports(e, files, reports, line.Has("verbose"))
}

// checkCompare checks what goes with --compare, which draws both gantts itself.
func checkCompare(r *command.Reader, names []string, picture *show.Picture) {
	switch {
	case len(names) != 2:
		r.Keep(errs.Optionf("--compare", "needs --sched with two policies"))
	case picture.On && picture.By == trace.ByDefault:
		r.Keep(errs.Optionf("--compare, --gantt", "--compare draws both gantts; leave out --gantt"))
	}
	picture.On = false
}

// simSeeds simulates the file with several seeds under each policy. It prints means with their
// intervals, and how the policies differ on the same seeds.
func simSeeds(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	// Pictures and events are those of one run.
	kept := append(command.SchedulingFlags(""), append(command.VirtualFlags(), append(command.BufferFlags(), seedsFlag(), argv.ValueSpec("sched", "", ""), argv.ValueSpec("report", "", ""))...)...)
	for _, f := range line.Flags {
		if argv.Named(f.Flag.Name, kept) == nil {
			r.Keep(errs.Optionf("--"+f.Flag.Name, "goes with one seed; leave out --seeds"))
		}
	}
	s := readSimulation(r)
	command.ReadBuffers(&r.Reader, &s.base)
	p, err := measure.NewPlan(measure.SweepOptions{Policies: r.Policies(), Seeds: r.Count("seeds", 1, mostSwept), First: r.Seed()})
	r.Keep(err)
	path := r.Path("report")
	name, err := workloadName(line)
	if r.Keep(err); r.Err != nil {
		return 0, r.Err
	}
	files, _, err := measure.ReadFiles(name, e.Stdin)
	if err != nil {
		return 0, err
	}
	beside := process.Work{Inputs: []string{files.Name}, Stdout: e.Stdout}
	out, err := beside.Open("report", path)
	if err != nil {
		return 0, err
	}
	code := command.Done
	var reports []*report.Report
	study, err := p.Study(ctx, nil, s.simulate(p, files), show.NewNotes(e.Stderr).Note, func(r *report.Report) {
		if len(show.Failures(r)) > 0 {
			code = command.Failed
		}
		if out != nil {
			reports = append(reports, r)
		}
	})
	if err != nil {
		return 0, err
	}
	if out != nil {
		return code, errors.Join(report.WriteJSON(out, reports), out.Close())
	}
	return code, e.Write(study.Table())
}

// loadWorkload reads the one workload file that a command line names; - is standard
// input.
func loadWorkload(e command.Env, line argv.Line) (*workload.File, error) {
	name, err := workloadName(line)
	if err != nil {
		return nil, err
	}
	return e.Workload(name)
}

// workloadName returns the WORKLOAD of a line.
func workloadName(line argv.Line) (string, error) {
	if len(line.Words) == 0 {
		return "", errs.Optionf("", "name a WORKLOAD, a YAML file of pools and jobs")
	}
	if len(line.Words) > 1 {
		return "", errs.Optionf(argv.Quote(line.Words[1]), "one word too many; one WORKLOAD at a time")
	}
	// The system's error for an empty name would name nothing.
	if line.Words[0] == "" {
		return "", errs.Optionf("WORKLOAD", "the name is empty")
	}
	return line.Words[0], nil
}

// printReports writes the report file, or the table to standard output, with the counters above it
// if verbose is set.
func printReports(e command.Env, files *pictures.Files, reports []*report.Report, verbose bool) error {
	if files.HasReport() {
		err := files.Report(func(w io.Writer) error { return report.WriteJSON(w, reports) })
		// A reader that has closed its pipe has what it wanted.
		if command.Gone(err) {
			err = nil
		}
		return err
	}
	// The whole table in one write, so that it is not torn by lines on standard error.
	var b bytes.Buffer
	if verbose && report.WriteFigures(&b, reports...) == nil { // into memory
		b.WriteByte('\n')
	}
	if err := report.WriteTable(&b, reports); err != nil {
		return err
	}
	return e.Write(b.Bytes())
}

// CompareRuns writes a comparison, of mrlocal compare too, with the letters and the width of p. The
// exit code says whether the runs differ.
func CompareRuns(e command.Env, p *show.Picture, a, b explain.Recorded) (int, error) {
	var text bytes.Buffer // a comparison that ends in an error is not printed
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
