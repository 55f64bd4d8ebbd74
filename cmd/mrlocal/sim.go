package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"mrlocal/bench/study"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/sim"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// simCommand has the options of mrlocal sim.
type simCommand struct {
	Env
	simulation
	seeds            int
	verbose, compare bool
	picture          term.Picture
	page             pageOptions
	out              outputs
}

// makeSim returns mrlocal sim, which runs a workload file in virtual time.
func makeSim(e Env) *flags.Command {
	c := &simCommand{Env: e, simulation: newSimulation()}
	return &flags.Command{Usage: "run a workload file in virtual time", Args: "WORKLOAD", Long: helpText("sim"), Run: c.run,
		Examples: []string{"mrlocal sim bench/workloads/table1-5.yaml --sched all", "mrlocal sim two.yaml --sched fair,pi-dhfs --gantt --compare"}, Settings: slices.Concat(
			c.studied(), c.picture.Settings(""), c.page.RunSettings(), c.out.Settings("policies", "a table on standard output")[:1], c.out.Pictures(),
			setting.In("INPUT AND OUTPUT", []setting.Setting{setting.Of("verbose", "", "show all figures and counters of each run, of all jobs together", "", setting.Toggle(&c.verbose))}),
			[]setting.Setting{
				setting.Of("compare", "", "with two policies: say how their decisions differ, and why, as mrlocal compare does; exit code 1 if they differ", "", setting.Toggle(&c.compare)),
			})}
}

// studied returns the flags that --seeds allows. All others show a single run.
func (c *simCommand) studied() []setting.Setting {
	return slices.Concat(c.settings(), []setting.Setting{seedsSetting(&c.seeds)},
		c.out.Settings("policies", "a table on standard output")[1:2])
}

// seedsSetting returns --seeds, which sim and sweep take.
func seedsSetting(p *int) setting.Setting {
	return setting.Of("seeds", "", "make `N` runs with the seeds from --seed on; show means with 95 % intervals", "one run", setting.Count(p, 1, mostSwept))
}

// run simulates the file once for each policy, and prints the gantts and the table. If a job fails in a
// simulation, the exit code is 3.
func (c *simCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	name, err := workloadName(line.Words)
	if err != nil {
		return 0, err
	}
	if c.seeds > 0 {
		return c.runSeeds(ctx, line, name)
	}
	if err := cmp.Or(c.picture.Check(c.compare), c.checkCompare()); err != nil {
		return 0, err
	}
	return c.page.Run(ctx, c.Stderr, func(p *page) (int, error) { return c.runAll(ctx, name, p) })
}

// checkCompare refuses flags that contradict --compare, and turns the gantt of single runs off.
// --compare draws both gantts itself, with the letters that --gantt=GROUP chooses.
func (c *simCommand) checkCompare() error {
	switch {
	case !c.compare:
		return nil
	case len(c.Names) != 2:
		return errs.Optionf("--compare", "needs --sched with two policies")
	case c.picture.On && c.picture.By == trace.ByDefault:
		return errs.Optionf("--compare, --gantt", "--compare draws both gantts; leave out --gantt")
	}
	c.picture.On = false
	return nil
}

// runAll makes the runs. p is the page of --ui, or nil.
func (c *simCommand) runAll(ctx context.Context, name string, p *page) (int, error) {
	f, err := c.Workload(name)
	if err != nil {
		return 0, err
	}
	// Open checks the paths and creates no file, so a run that is refused leaves none.
	files, err := c.out.Open(c.Names, work{Inputs: []string{f.Name}, Stdout: c.Stdout})
	if err != nil {
		return 0, err
	}
	// If a file is standard output, tables and gantts must not mix with it.
	if files.toStdout {
		c.Stdout = c.Stderr
	}
	note, code := notes(c.Stderr), Done
	var reports []*report.Report
	var kept [2]bytes.Buffer // with --compare, the events of both runs
	for i, name := range c.Names {
		o, err := c.options(f, name)
		if err != nil {
			return 0, err
		}
		o.Events, o.Note = files.Events(i), note
		o.Watch = files.Watch(i, p.Watch(name, c.picture.Watcher()))
		switch {
		// The comparison reads the events from memory, and --events writes them too.
		case c.compare && o.Events != nil:
			o.Events = io.MultiWriter(o.Events, &kept[i])
		case c.compare:
			o.Events = &kept[i]
		}
		done, err := sim.Run(ctx, f, o)
		if err = errors.Join(err, files.CloseEvents(i)); err != nil {
			return 0, err
		}
		// The report of a run with failed jobs is kept, because it names them.
		reports = append(reports, done)
		for _, text := range term.Failures(done) {
			note(text)
			code = Failed
		}
		if err := c.Write(c.picture.Of(name, len(c.Names), c.Stdout, c.Getenv)); err != nil {
			return 0, err
		}
	}
	if c.compare {
		differs, err := compareRuns(c.Env, &c.picture, explain.Recorded{Name: c.Names[0], Events: bytes.NewReader(kept[0].Bytes())}, explain.Recorded{Name: c.Names[1], Events: bytes.NewReader(kept[1].Bytes())})
		if err != nil {
			return 0, err
		}
		// The exit code of a failed job wins over that of a difference.
		if code == Done {
			code = differs
		}
		if err := c.Write([]byte("\n")); err != nil {
			return 0, err
		}
	}
	return code, printReports(c.Env, files, reports, c.verbose)
}

// runSeeds does the work of sim --seeds: it simulates the file with several seeds under each policy. It
// prints means with their intervals, and the differences between policies on the same seeds.
func (c *simCommand) runSeeds(ctx context.Context, line *flags.Line, name string) (int, error) {
	for _, g := range line.Given {
		if setting.Named(c.studied(), g.Name) == nil {
			return 0, errs.Optionf("--"+g.Name, "needs a single seed; leave out --seeds")
		}
	}
	p, err := study.NewPlan(study.Options{Policies: c.Names, Seeds: c.seeds, First: c.Seed})
	if err != nil {
		return 0, err
	}
	files, _, err := study.ReadFiles(name, c.Stdin)
	if err != nil {
		return 0, err
	}
	out, err := (&work{Inputs: []string{files.Name}, Stdout: c.Stdout}).Open("report", c.out.Report)
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
	note := notes(c.Stderr)
	study, err := p.Study(ctx, runtime.GOMAXPROCS(0), nil, c.simulate(p, files), note, keep)
	if err != nil {
		return 0, err
	}
	if c.seeds > 1 && !study.Vary() {
		note(fmt.Sprintf("seeds: %d seeds change nothing: nothing in the workload is drawn at random, or nothing depends on it", c.seeds))
	}
	if out != nil {
		return exitCode(study.Failed()), errors.Join(report.WriteJSON(out, reports), out.Close())
	}
	return exitCode(study.Failed()), c.Print(study.Table())
}

// simulation has the options with which a workload file is simulated.
type simulation struct {
	Scheduling
	virtual sim.Options // without Config, Policy and the sinks
}

// newSimulation returns the options before they are set.
func newSimulation() simulation { return simulation{Scheduling: newScheduling()} }

// settings returns the flags of scheduling and of virtual time.
func (s *simulation) settings() []setting.Setting {
	return append(s.Settings(setup.Simulated(), true), s.virtual.Fields()...)
}

// options returns the options of one run of f under a policy. Each call makes a new policy, because
// a policy keeps the state of its run. The caller sets Events, Note and Watch. It fails if the policy
// refuses its options.
func (s *simulation) options(f *workload.File, policyName string) (sim.Options, error) {
	o := s.virtual
	o.Config = s.Config
	return sim.Settings{Options: o, Policies: s.PolicyOptions}.For(f, policyName)
}

// workloadName returns the name of the workload file among the words of a line. It fails unless there is
// exactly one word, which is not empty.
func workloadName(words []string) (string, error) {
	switch {
	case len(words) == 0:
		return "", errs.Optionf("", "name a WORKLOAD, a YAML file of pools and jobs")
	case len(words) > 1:
		return "", errs.Optionf(errs.Quote(words[1]), "one word too many; one WORKLOAD at a time")
	case words[0] == "": // the error of the system would not show the cause
		return "", errs.Optionf("WORKLOAD", "the name is empty")
	}
	return words[0], nil
}

// printReports writes the file of --report. Without --report it writes a table to standard output,
// and if verbose is true the figures and counters of each run above it.
func printReports(e Env, files *files, reports []*report.Report, verbose bool) error {
	if out := files.report; out != nil {
		return errors.Join(report.WriteJSON(out, reports), out.Close())
	}
	text := report.Table(reports, e.width())
	if verbose {
		text = report.Figures(reports...) + "\n" + text
	}
	return e.Print([]byte(text))
}

// compareRuns compares two recorded runs and writes the result to standard output. The gantts have the
// letters and the width of p. It returns the exit code Differs if the decisions differ. mrlocal
// compare calls it too.
func compareRuns(e Env, p *term.Picture, a, b explain.Recorded) (int, error) {
	var text bytes.Buffer // so that nothing is printed of a comparison that fails
	a.Policy, b.Policy = registry.ForReplay, registry.ForReplay
	differ, err := explain.Compare(&text, a, b, p.Options(e.Stdout, e.Getenv))
	if err != nil {
		return 0, err
	}
	code := Done
	if differ {
		code = Differs
	}
	return code, e.Write(text.Bytes())
}
