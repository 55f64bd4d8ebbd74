package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/engineflags"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/cmd/mrlocal/internal/virtual"
	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots/explain"
	"mrlocal/trace"
	"mrlocal/workload"
)

const simHelp = `WORKLOAD is a YAML file of pools and jobs, or - for standard input; batch runs the same file for real. A flag replaces the value of the file. The same file, flags and --seed give the same bytes.

Exit codes: 0 done; 1 the runs of --compare differ; 2 wrong usage or input, nothing was started; 3 a job failed in the simulation (the others went on; table and report are complete); 128 + the signal's number when interrupted.`

// simCommand runs a workload file in virtual time. Its flags are those of batch without the
// engine, and with the cost model.
func simCommand() command {
	return command{name: "sim", usage: "run a workload file in virtual time", args: "WORKLOAD", long: simHelp, run: runSim,
		flags: workloadFlags(append(slices.Concat(virtual.Flags(), virtual.BufferFlags(), pictures.Flags()),
			seedsFlag(),
			toggle("verbose", "", "show the counters of each run, of all jobs together"),
			toggle("compare", "", "with two policies: tell how their decisions differ, and why, as mrlocal compare does; exit code 1 if they differ"),
			value("events", "write every fact and decision to `FILE`, one JSON object a line; with several policies, to FILE.POLICY; compressed if FILE ends in .gz or .zst", ""),
			value("report", "write the report to `FILE` as JSON; with several policies, as an array", "a table on standard output")), ""),
	}
}

// workloadFlags returns the flags of all commands that run a workload file.
func workloadFlags(own []flagSpec, ganttWhere string) []flagSpec {
	flags := append([]flagSpec{value("sched", "slot policies `NAME[,NAME]`, one run each, or all; see mrlocal policies", defaultPolicy)},
		schedulingFlags("the file's, else ")...)
	return append(append(flags, own...), ganttFlags(ganttWhere)...)
}

// simulation says how files are simulated.
type simulation struct {
	scheduling
	// base has the options that are the same for all policies.
	base sim.Options
}

// simulation reads the flags of sim. It notes the first mistake in r.Err.
func (r *reader) simulation() simulation {
	return simulation{
		scheduling: r.scheduling(mostNodes, mostNodeSlots, 1),
		base:       virtual.Read(&r.Reader),
	}
}

// options returns the options of one run of f under a policy. Each call makes a new policy,
// because a policy keeps the state of its run.
func (s *simulation) options(f *workload.File, policyName string) (sim.Options, error) {
	// The product may be too large although each flag is within its bounds.
	c := s.Config.Or(f.Config)
	// MaxSlots of 0 stands for twice the home slots, as in the engine.
	if slots := max(1, c.Trackers) * cmp.Or(c.MaxSlots, 2*(c.MapSlots+c.ReduceSlots)); slots > mostSimulatedSlots {
		return sim.Options{}, errs.Optionf("--trackers, --map-slots, --reduce-slots", "%d slots, the extra ones with them; at most %d", slots, mostSimulatedSlots)
	}
	// The caller adds the sinks: Events, Note and Watch.
	p, err := s.newPolicy(policyName)
	o := s.base
	o.Config, o.Policy = s.Config, p
	return o, err
}

// runSim simulates the file once for each policy, and prints the gantts and the table. A failed
// job gives exit code 3.
func runSim(ctx context.Context, e env, line argv.Line) (int, error) {
	if line.Has("seeds") {
		return simSeeds(ctx, e, line)
	}
	r := newReader(line)
	compare := line.Has("compare")
	s, names, picture := r.simulation(), r.policies(), r.picture(compare)
	eventsPath, reportPath := r.Path("events"), r.Path("report")
	virtual.ReadBuffers(&r.Reader, &s.base, engineflags.LeastBufferBytes)
	if compare {
		r.checkCompare(names, picture)
	}
	if r.Err != nil {
		return 0, r.Err
	}
	f, err := loadWorkload(e, line)
	if err != nil {
		return 0, err
	}
	if err := s.complete(f); err != nil {
		return 0, err
	}
	// No file is created yet. A run that is refused leaves none.
	files, err := pictures.Open(line, names, eventsPath, reportPath, process.Work{Inputs: []string{f.Name}, Stdout: e.stdout})
	if err != nil {
		return 0, err
	}
	if files.OnStdout() { // alone
		e.stdout = e.stderr
	}
	notes, code := show.NewNotes(e.stderr), exitDone
	var reports []*report.Report
	var recorded [2]bytes.Buffer // for --compare
	for i, name := range names {
		o, err := s.options(f, name)
		if err != nil {
			return 0, err
		}
		o.Events, o.Note, o.Watch = files.Events(i), notes.Note, files.Watch(i, e.page.Watch(name, picture.Watch))
		switch {
		// The comparison reads the events from memory. The event file gets the same bytes.
		case compare && o.Events != nil:
			o.Events = io.MultiWriter(o.Events, &recorded[i])
		case compare:
			o.Events = &recorded[i]
		}
		done, err := sim.Run(ctx, f, o)
		// If the reader of the events has closed its pipe, the run is complete all the same.
		if err = errors.Join(err, files.CloseEvents(i)); err != nil && !(gone(err) && done != nil) {
			return 0, err
		}
		// A report is kept for failed jobs too: it says which ones failed.
		reports = append(reports, done)
		if notes.Failures(done) > 0 {
			code = exitFailed
		}
		if err := write(e, picture.Of(name, len(names), show.Width(e.stdout), true)); err != nil {
			return 0, err
		}
	}
	if compare {
		differs, err := compareRuns(e, picture, explain.Recorded{Name: names[0], Events: bytes.NewReader(recorded[0].Bytes())}, explain.Recorded{Name: names[1], Events: bytes.NewReader(recorded[1].Bytes())})
		if err != nil {
			return 0, err
		}
		// A failed job wins over a difference: exit code 3 before 1.
		if code == exitDone {
			code = differs
		}
		if err := write(e, []byte("\n")); err != nil {
			return 0, err
		}
	}
	return code, tell(e, files, reports, line.Has("verbose"))
}

// checkCompare checks what goes with --compare, which draws both gantts itself.
func (r *reader) checkCompare(names []string, picture *show.Picture) {
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
func simSeeds(ctx context.Context, e env, line argv.Line) (int, error) {
	r := newReader(line)
	// Pictures and events are those of one run.
	kept := append(schedulingFlags(""), append(virtual.Flags(), append(virtual.BufferFlags(), seedsFlag(), value("sched", "", ""), value("report", "", ""))...)...)
	for _, f := range line.Flags {
		if flagNamed(f.Flag.Name, kept) == nil {
			r.Keep(errs.Optionf("--"+f.Flag.Name, "goes with one seed; leave out --seeds"))
		}
	}
	s := r.simulation()
	virtual.ReadBuffers(&r.Reader, &s.base, engineflags.LeastBufferBytes)
	p, err := measure.NewPlan(measure.SweepOptions{Policies: r.policies(), Seeds: r.Count("seeds", 1, mostSwept), First: r.Seed()})
	r.Keep(err)
	path := r.Path("report")
	name, err := workloadName(line)
	if r.Keep(err); r.Err != nil {
		return 0, r.Err
	}
	files, _, err := measure.ReadFiles(name, e.stdin)
	if err != nil {
		return 0, err
	}
	beside := process.Work{Inputs: []string{files.Name}, Stdout: e.stdout}
	out, err := beside.Open("report", path)
	if err != nil {
		return 0, err
	}
	code := exitDone
	var reports []*report.Report
	study, err := p.Study(ctx, nil, s.simulate(p, files), show.NewNotes(e.stderr).Note, func(r *report.Report) {
		if len(show.Failures(r)) > 0 {
			code = exitFailed
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
	return code, write(e, study.Table())
}

// loadWorkload reads the one workload file that a command line names; - is standard
// input.
func loadWorkload(e env, line argv.Line) (*workload.File, error) {
	name, err := workloadName(line)
	if err != nil {
		return nil, err
	}
	return readWorkload(e, name)
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

// readWorkload reads a workload file, or standard input if the name is -.
func readWorkload(e env, name string) (*workload.File, error) {
	// The name of standard input appears in the errors of the parser.
	if name == "-" {
		return workload.Read("standard input", e.stdin)
	}
	return workload.Load(name)
}

// tell writes the report file, or the table to standard output, with the counters above it
// if verbose is set.
func tell(e env, files *pictures.Files, reports []*report.Report, verbose bool) error {
	if files.HasReport() {
		err := files.Report(func(w io.Writer) error { return report.WriteJSON(w, reports) })
		// A reader that has closed its pipe has what it wanted.
		if gone(err) {
			err = nil
		}
		return err
	}
	// The whole table in one write, so that it is not torn by lines on standard error.
	var b bytes.Buffer
	if verbose && report.WriteCounters(&b, reports...) == nil { // into memory
		b.WriteByte('\n')
	}
	if err := report.WriteTable(&b, reports); err != nil {
		return err
	}
	return write(e, b.Bytes())
}
