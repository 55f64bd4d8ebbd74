package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// mostSwept is the largest --seeds of sim and sweep.
const mostSwept = 100_000

// sweepCommand has the options of mrlocal sweep. The settings of its runs take the texts of the line when
// run knows whether the runs are real.
type sweepCommand struct {
	Env
	real         bool
	total, seeds int
	sets         []study.Swept
	shown        shown
	files        sweepFiles
}

// makeSweep returns mrlocal sweep, which runs a workload file once for each combination of listed values.
func makeSweep(e Env) *flags.Command {
	c := &sweepCommand{Env: e}
	simulated := newSimulation()
	all := simulated.settings()
	for _, s := range newBatch().settings() {
		if setting.Named(all, s.Name) == nil {
			all = append(all, s)
		}
	}
	for i := range all {
		all[i].Value = setting.Value{Bare: all[i].Toggle(), Words: all[i].Value.Words, Set: func(string) error { return nil }}
	}
	return &flags.Command{Usage: "run a workload file over slot configurations, shares and policies", Args: "WORKLOAD", Long: helpText("sweep"), Run: c.run, Settings: append(all, c.own()...),
		Examples: []string{"mrlocal sweep two.yaml --borrow-map 0..1/0.5 --sched pi-dhfs", "mrlocal sweep two.yaml --total-slots 4 --map-slots 1..3 --svg curve.svg"}}
}

// own returns the flags that are not those of a run.
func (c *sweepCommand) own() []setting.Setting {
	return append([]setting.Setting{
		setting.Of("real", "", "make real runs, as batch does; their results are thrown away", "", setting.Toggle(&c.real)),
		setting.Of("total-slots", "", "`N` slots per tracker: the reduce slots are those that are not map slots", "", setting.Count(&c.total, 2, 2*setup.Simulated().Slots)),
		setting.Of("set", "", "sweep a value of the file, `PATH=RANGE`: a list, FROM..TO, FROM..TO/STEP or FROM..TO*FACTOR; may be repeated", "", setting.Func(c.readSet)),
		seedsSetting(&c.seeds), c.shown.Progress(),
	}, c.files.settings()...)
}

// readSet adds the value of --set to c.sets. Two with the same path are a mistake.
func (c *sweepCommand) readSet(text string) error {
	s, err := study.ParseSet(text)
	if err == nil && slices.ContainsFunc(c.sets, func(o study.Swept) bool { return o.Name == s.Name }) {
		err = fmt.Errorf("%s is given twice", errs.Quote(s.Name))
	}
	c.sets = append(c.sets, s)
	return err
}

// plan sets the flags of the line in s, and returns the plan of those with several values. all has the settings
// of a run, which point into s. key has the flags that change a run and are not columns of --results.
func (c *sweepCommand) plan(line *flags.Line, s *Scheduling, all []setting.Setting) (p *study.Plan, key []string, err error) {
	given := map[string][]string{}
	for _, g := range line.Given {
		x := setting.Named(all, g.Name)
		values, err := []string{g.Text}, error(nil)
		switch {
		case x == nil && setting.Named(c.own(), g.Name) != nil:
			continue
		case x == nil && c.real:
			return nil, nil, errs.Optionf("--"+g.Name, "only for simulated runs; leave out --real")
		case x == nil:
			return nil, nil, errs.Optionf("--"+g.Name, "needs --real")
		case x.Single() && x.Name != "seed": // --seeds changes the seed
			values, err = study.Values(g.Text, x.Metavar() == "SHARE")
		}
		for _, v := range values { // each run sets its own value again
			err = cmp.Or(err, x.Value.Set(v))
		}
		if err != nil {
			return nil, nil, errs.Optionf("--"+g.Name, "%w", err)
		}
		given[g.Name] = values
	}
	o := study.Options{TotalSlots: c.total, Policies: s.Names, Seeds: c.seeds, First: s.Seed}
	for i := range all {
		switch values, x := given[all[i].Name], &all[i]; {
		case len(values) > 1 || len(values) > 0 && study.Alone(x.Name):
			o.Swept = append(o.Swept, study.Swept{Name: x.Name, Values: values, Share: x.Metavar() == "SHARE"})
		case len(values) > 0 && x.Name != "seed" && x.Name != "sched":
			key = append(key, "--"+x.Name+"="+values[0])
		}
	}
	o.Swept = append(o.Swept, c.sets...)
	// These files make a sweep of a single configuration.
	if c.files.results != "" || c.files.json != "" {
		o.Seeds = max(1, o.Seeds)
	}
	p, err = study.NewPlan(o)
	return p, key, err
}

// setSwept sets the flags of a run in its settings.
func setSwept(all []setting.Setting, values []workload.Change) error {
	for _, v := range values {
		if err := setting.Named(all, v.Path).Value.Set(v.Value); err != nil {
			return errs.Optionf("--"+v.Path, "%w", err)
		}
	}
	return nil
}

// run makes all runs of the plan, prints its table, and writes its files. The first run that
// fails ends the sweep with its error. A run with failed jobs is not such a run. It is noted, and the
// exit code says so.
func (c *sweepCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	for _, flag := range []string{"set", "seeds", "results"} {
		if c.real && line.Has(flag) {
			return 0, errs.Optionf("--"+flag, "cannot be combined with --real")
		}
	}
	// Both check everything before the first run, because a sweep may take hours.
	prepare := c.simulated
	if c.real {
		prepare = c.realRuns
	}
	s, cleanUp, err := prepare(line)
	if err != nil {
		return 0, err
	}
	defer cleanUp()
	failed, err := c.files.write(ctx, s, work{Inputs: []string{s.name}, Stdout: c.Stdout}, c.Env, notes(c.Stderr))
	return exitCode(failed), err
}

// exitCode returns the exit code of a sweep. failed reports whether jobs of a run did not succeed.
func exitCode(failed bool) int {
	if failed {
		return Failed
	}
	return Done
}

// simulated reads the flags and the workload file of a simulated sweep. It fails if a flag, the file
// or a value of --set is wrong.
func (c *sweepCommand) simulated(line *flags.Line) (*sweep, func(), error) {
	if line.Has("progress") {
		return nil, nil, errs.Optionf("--progress", "needs --real")
	}
	s := newSimulation()
	p, key, err := c.plan(line, &s.Scheduling, s.settings())
	if err != nil {
		return nil, nil, err
	}
	name, err := workloadName(line.Words)
	if err != nil {
		return nil, nil, err
	}
	files, f, err := study.ReadFiles(name, c.Stdin)
	if err == nil {
		err = files.Check(p)
	}
	if err != nil {
		return nil, nil, err
	}
	return &sweep{p, files.Name, files.Key(append(key, mrlocal.Version)), len(f.Jobs), runtime.GOMAXPROCS(0), s.simulate(p, files)}, func() {}, nil
}

// simulate returns a function that makes one simulated run of p. The notes
// name the jobs that did not succeed. Several goroutines may call it. It only reads s.
func (s *simulation) simulate(p *study.Plan, files *study.Files) study.Simulate {
	return func(ctx context.Context, t study.Trial) (done *report.Report, notes []string, err error) {
		f, err := files.Of(p, t)
		if err != nil {
			return nil, nil, err
		}
		run := *s
		if err := setSwept(run.settings(), p.Flags(t)); err != nil {
			return nil, nil, err
		}
		run.Seed = t.Seed
		// options makes a new policy, so runs on other goroutines do not share its state.
		o, err := run.options(f, t.Policy)
		if err != nil {
			return nil, nil, err
		}
		o.Note = func(text string) { notes = append(notes, text) }
		if done, err = sim.Run(ctx, f, o); err == nil {
			notes = append(notes, term.Failures(done)...)
		}
		return done, notes, err
	}
}

// realRuns reads the flags and the workload file of a sweep of real runs, whose results are thrown away.
// They are made one at a time. The caller calls the function that it returns after the runs.
func (c *sweepCommand) realRuns(line *flags.Line) (*sweep, func(), error) {
	b := newBatch()
	p, _, err := c.plan(line, &b.Scheduling, b.settings())
	if err != nil {
		return nil, nil, err
	}
	if n := 0; c.total > 0 {
		if err := setting.Count(&n, 2, mrlocal.Bounds().Slots).Set(strconv.Itoa(c.total)); err != nil {
			return nil, nil, errs.Optionf("--total-slots", "%w", err)
		}
	}
	if err := b.load(c.Env, line.Words); err != nil {
		return nil, nil, err
	}
	if err := b.checkRuns(p.Runs(), nil); err != nil {
		return nil, nil, err
	}
	scheduling, options := b.Scheduling, b.engine
	run := func(ctx context.Context, t study.Trial) (done *report.Report, _ []string, err error) {
		b.Scheduling, b.engine = scheduling, options
		if err := setSwept(b.settings(), p.Flags(t)); err != nil {
			return nil, nil, err
		}
		b.Complete(b.file)
		s := c.shown.Screen(c.Env, nil)
		done, err = b.run(ctx, c.Env, s, t.Policy, discard, nil)
		// A run with failed jobs is a row, as in a simulated sweep.
		if done != nil && len(done.FailedJobs()) > 0 && ctx.Err() == nil {
			s.Note(fmt.Sprintf("sweep: %s: %v", p.Of(t), err))
			err = nil
		}
		return done, nil, err
	}
	return &sweep{plan: p, name: b.file.Name, workers: 1, simulate: run}, b.close, nil
}

// sweepFiles has the paths of the files that a sweep writes next to its table, which goes to standard
// output; "": not this one.
type sweepFiles struct {
	results, json, csv, html, svg, heat string
	title                               string // of the pictures; "": the name of the workload file
	y                                   string // the metric of the chart; "": the default
}

// settings returns the flags of these files.
func (s *sweepFiles) settings() []setting.Setting {
	return []setting.Setting{
		setting.Of("results", "", "append a row of CSV for each job of each run to `FILE`, and go on with what it has", "", setting.Text(&s.results)),
		setting.Of("json", "", "write means, intervals and differences to `FILE` as JSON", "", setting.Text(&s.json)),
		setting.Of("csv", "", "write the figures to `FILE` as CSV", "", setting.Text(&s.csv)), htmlSetting(&s.html),
		setting.Of("svg", "", "draw the figures into `FILE`, one line for each policy", "", setting.Text(&s.svg)),
		setting.Of("heat", "", "draw a heat map over two swept settings into `FILE`, a panel for each policy", "", setting.Text(&s.heat)),
		setting.Of("title", "", "`TEXT` above --svg, --heat and --html", "the name of the file", setting.Text(&s.title)),
		setting.Of("y", "", "what --svg and --heat draw: `makespan|speedup|utilisation|moves`, mean-job, missed, tardiness or any figure of --csv", "speedup over shares, else makespan", setting.Choice(&s.y, study.Ys()...)).Letter("y"),
	}
}

// open checks the paths of all files before the first run, so that a long sweep does not fail at its end. It
// creates no file. files has an entry for each flag, which is nil if the flag is missing.
func (s *sweepFiles) open(w work) (files map[string]*auxFile, err error) {
	files = map[string]*auxFile{}
	for _, f := range [][2]string{{"csv", s.csv}, {"svg", s.svg}, {"heat", s.heat}, {"json", s.json}, {"results", s.results}, {"html", s.html}} {
		if files[f[0]], err = w.Open(f[0], f[1]); err != nil {
			return nil, err
		}
	}
	if path := s.results; path == "-" || device(path) {
		return nil, errs.Optionf("--results", "%s: is not a file that a sweep can go on with", path)
	}
	return files, nil
}

// sweep is a sweep whose flags are read and whose runs can begin.
type sweep struct {
	plan     *study.Plan
	name     string // of the workload file, for titles
	key      string // of Files.Key; only for --results
	jobs     int    // of each run
	workers  int    // runs that are made at once
	simulate study.Simulate
}

// write makes the runs of a sweep and writes its table to e.Stdout, and the files. If a file is standard
// output, the table goes to e.Stderr. note gets the notes of the runs. failed reports whether jobs of a run
// did not succeed, in the runs that the file of --results had too.
func (s *sweepFiles) write(ctx context.Context, o *sweep, w work, e Env, note func(string)) (failed bool, err error) {
	files, err := s.open(w)
	if swept := o.plan.Swept(); err == nil && s.heat != "" && len(swept) != 2 {
		err = errs.Optionf("--heat", "needs two swept settings, and there are %d: %s", len(swept), strings.Join(swept, ", "))
	}
	if err != nil {
		return false, err
	}
	var results *study.Results
	if path := s.results; path != "" {
		if results, err = o.plan.OpenResults(path, o.key, o.jobs); err != nil {
			return false, err
		}
	}
	done, err := o.plan.Study(ctx, o.workers, results, o.simulate, note, nil)
	if err = errors.Join(err, results.Close()); err != nil {
		return false, err
	}
	for _, f := range files {
		if f.OnStdout() {
			e.Stdout = e.Stderr
		}
	}
	// The table comes first, so that a file that cannot be written does not hide it. All files are tried.
	if err := e.Print(done.Table()); err != nil {
		return false, err
	}
	heading := cmp.Or(s.title, filepath.Base(o.name))
	csv, charts := done.CSV(), []func(io.Writer) error{done.Chart(heading, s.y).WriteSVG}
	if len(o.plan.Swept()) == 2 {
		charts = append(charts, done.Heat(heading, s.y).WriteSVG)
	}
	save := func(flag string, write func(io.Writer) error) {
		if out := files[flag]; out != nil {
			err = errors.Join(err, write(out), out.Close())
		}
	}
	save("csv", func(w io.Writer) error { _, err := w.Write(csv); return err })
	save("svg", charts[0])
	save("heat", charts[len(charts)-1])
	save("json", func(w io.Writer) error { return done.WriteJSON(w, o.name) })
	return done.Failed(), errors.Join(err, files["html"].saveTable(cmp.Or(s.title, "Sweep of "+o.name), csv, false, charts))
}
