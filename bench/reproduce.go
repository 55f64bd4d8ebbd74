// Package bench measures whole runs, and reproduces the experiments of the papers.
//
// Its benchmarks run the real engine under the policies (`go test -bench . ./bench`).
// BenchmarkMachine measures the limits of the hardware, for comparison. Each benchmark makes its
// inputs from a seed, in a temporary directory that it removes.
//
// The scripts next to it compare mrlocal with its peers (peers.sh), measure time against input and
// cores (scaling.sh), and check the memory bound (memory.sh). loops.sh runs the micro-benchmarks of
// all hot loops, which are in the packages of these loops. expected.tsv has the current ratios on
// small data, with which .ci/run compares. paste.sh puts the tables of the scripts into
// docs/performance.md and docs/loops.md.
//
// The package embeds the papers' workload files (Workloads, LoadWorkload). It runs their experiments
// in the simulator and compares the results with the papers' figures. An experiment is a section of
// a workload file. It has the runs as flags of mrlocal sim, the paper's figures, and an expression for
// each figure. It also states bands that are narrower than the usual ones, assumptions, and fitted
// constants. All returns the experiments. Experiment.Run makes all runs and judges the figures.
// Result.Text is for a terminal, CSV and JSON have all figures. The same file always gives the same
// bytes. A test makes docs/reproduction.md with its charts.
package bench

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/stats"
	"mrlocal/workload"
)

// Experiment is an experiment of a paper that is checked and can run.
type Experiment struct {
	*workload.Experiment

	file   *workload.File
	trials []trial // the runs for one seed; nil: not prepared
	runs   *runs   // results that several experiments of a list need
}

// All returns the experiments of all embedded workload files, in the order of Workloads. It fails if
// a file is not valid. Prepare finds other mistakes, such as an unknown policy. The experiments share the
// results of equal runs, so they must run one after the other.
func All() ([]*Experiment, error) {
	var all []*Experiment
	shared := newRuns()
	for _, name := range Workloads() {
		f, err := LoadWorkload(name)
		if err != nil {
			return nil, err
		}
		of, err := experiments(f, shared)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// Of returns the experiments of a workload file, which need not be an embedded one, prepared. It fails as All
// and Prepare do, and if the file has no experiments.
func Of(f *workload.File) ([]*Experiment, error) {
	if len(f.Experiments) == 0 {
		return nil, errs.Inputf(f.Name, "has no experiments; docs/workloads.md describes them")
	}
	all, err := experiments(f, newRuns())
	if err != nil {
		return nil, err
	}
	return all, Prepare(all)
}

// File returns the name of e's workload file. For an embedded file it is the path in the repository.
func (e *Experiment) File() string { return e.file.Name }

// experiments returns the experiments of f. shared keeps the results of their runs.
func experiments(f *workload.File, shared *runs) ([]*Experiment, error) {
	var all []*Experiment
	for i := range f.Experiments {
		if err := checkFigures(f, &f.Experiments[i]); err != nil {
			return nil, err
		}
		all = append(all, &Experiment{Experiment: &f.Experiments[i], file: f, runs: shared})
	}
	return all, nil
}

// Prepare finds mistakes in the runs of experiments before the first run, which may take minutes: for example an
// unknown flag or policy. Experiments that share results are prepared before one of them runs. Each result is then
// kept until its last use.
func Prepare(some []*Experiment) error {
	for _, e := range some {
		if e.trials != nil {
			continue
		}
		changed := map[string]*workload.File{}
		for t := range e.Runs {
			trials, err := expand(e.file, e.With, &e.Runs[t], &workload.Trial{}, changed)
			if err != nil {
				return err
			}
			e.trials = append(e.trials, trials...)
		}
		e.runs.expect(e)
	}
	return nil
}

// checkFigures checks the bands of an experiment's figures, and that no two figures have the same
// words.
func checkFigures(f *workload.File, e *workload.Experiment) error {
	seen := map[string]bool{}
	for i := range e.Figures {
		g := &e.Figures[i]
		if err := check(g); err != nil {
			return f.Errorf(g.Pos, g.What, "%v", err)
		}
		if seen[g.What] {
			return f.Errorf(g.Pos, g.What, "two figures of %s have these words", e.Name)
		}
		seen[g.What] = true
	}
	return nil
}

// Named returns the experiments with these names, in the order of names; all, if names is empty. It
// fails with errs.BadOptions for an unknown name.
func Named(all []*Experiment, names []string) ([]*Experiment, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	of := map[string]*Experiment{}
	for _, e := range all {
		known = append(known, e.Name)
		of[e.Name] = e
	}
	var some []*Experiment
	for _, name := range names {
		if of[name] == nil {
			return nil, errs.Optionf("experiment "+name, "unknown%s", errs.Suggest(name, known))
		}
		some = append(some, of[name])
	}
	return some, nil
}

// Result is an experiment with the verdicts on its figures.
type Result struct {
	*Experiment
	Lines []Line      // by figure
	seeds int         // number of seeds that were run
	first seed        // the runs of the first seed, for tables and charts
	reads [][]float64 // values of readings, by reading and seed
}

// seed has the runs of an experiment with one seed, and the metrics that expressions have read of
// them.
type seed struct {
	trials []trial
	done   []*done                             // by trial; nil: it is not needed so far
	of     func(t *trial) (d *done, err error) // returns the result of a trial
	taken  map[string]value                    // metrics by key
}

// seed returns the runs of trials with the seed of number n, which makes a run when it is needed. made has the results.
func (e *Experiment) seed(ctx context.Context, n int, trials []trial, made *runs) seed {
	s := seed{trials: slices.Clone(trials), done: make([]*done, len(trials)), taken: map[string]value{}}
	s.of = func(t *trial) (*done, error) { return made.of(ctx, t) }
	for i := range s.trials {
		e.setSeed(&s.trials[i], n)
	}
	return s
}

// run returns the result of trial i.
func (s *seed) run(i int) (d *done, err error) {
	if s.done[i] == nil {
		s.done[i], err = s.of(&s.trials[i])
	}
	return s.done[i], err
}

// Run makes the runs of e, one after the other, and judges its figures by all seeds of the file. If
// most is above 0, it uses only the first most seeds. Run fails if ctx ends, a run fails, or an
// expression is wrong. The Result belongs to the caller.
func (e *Experiment) Run(ctx context.Context, most int) (*Result, error) {
	if err := Prepare([]*Experiment{e}); err != nil {
		return nil, err
	}
	r := &Result{Experiment: e, reads: make([][]float64, len(e.Readings))}
	seeds := max(e.Seeds, 1)
	if most > 0 {
		seeds = min(seeds, most)
	}
	r.seeds = seeds
	var taken []map[string]value // metrics by seed
	results := make([][]relation, len(r.Figures))
	for n := range seeds {
		s := e.seed(ctx, n, e.trials, e.runs)
		for i := range s.trials { // also those that no expression reads, for the table
			if _, err := s.run(i); err != nil {
				return nil, err
			}
		}
		if err := r.evaluate(&s, results); err != nil {
			return nil, err
		}
		taken = append(taken, s.taken)
		// Only the first seed is in charts and tables of runs. Dropping the others saves memory.
		if n == 0 {
			r.first = s
		}
	}
	return r, r.judge(results, taken)
}

// setSeed sets the seed of a run to n+1. In an experiment without seeds, the run keeps the seed of
// its flags.
func (e *Experiment) setSeed(t *trial, n int) {
	if e.Seeds > 0 {
		t.sim.Seed = uint64(n + 1)
	}
}

// evaluate computes all figures and readings from the runs of one seed. It appends the results to
// results, by figure, and to r.reads, by reading.
func (r *Result) evaluate(s *seed, results [][]relation) error {
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Ours == "" {
			continue
		}
		ours, err := evaluate(f.Ours, s.look)
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		results[i] = append(results[i], ours)
	}
	for i := range r.Readings {
		f := &r.Readings[i]
		ours, err := evaluate(f.Ours, s.look)
		if err == nil && len(ours.signs) > 0 {
			err = errors.New("a reading is a number; a comparison belongs to figures")
		}
		var n float64
		if err == nil {
			n, err = ours.sides[0].one()
		}
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		r.reads[i] = append(r.reads[i], n)
	}
	return nil
}

// reading returns the mean of reading i over the seeds, with its unit. within is its 95 % interval;
// "": there is only one seed.
func (r *Result) reading(i int) (ours, within string) {
	in, unit := stats.IntervalOf(r.reads[i]), r.Readings[i].Unit
	by := 1.0
	if unit == "%" {
		by = 100
	}
	if unit != "" {
		unit = " " + unit
	}
	if len(r.reads[i]) > 1 {
		within = short(in.Low*by) + " to " + short(in.High*by)
	}
	return short(in.Mean*by) + unit, within
}

// judge appends a Line for each figure to r.Lines. results has the results by figure and seed, and
// taken the metrics by seed.
func (r *Result) judge(results [][]relation, taken []map[string]value) error {
	for i := range r.Figures {
		f := &r.Figures[i]
		mean, computed := relation{}, false
		if f.Ours != "" {
			var err error
			// This evaluates the expression once more, now with the means over the seeds. It also finds
			// out whether any metric comes from a run, and not from the workload file.
			mean, err = evaluate(f.Ours, func(metric string, words []string) (value, error) {
				computed = computed || !slices.Contains(inputs(), metric)
				return meanOf(taken, key(metric, words)), nil
			})
			if err == nil && !computed && f.Check == "" {
				err = errors.New("nothing here comes from a run, so it is not a result; say check: input")
			}
			if err != nil {
				return r.file.Errorf(f.Pos, f.What, "%v", err)
			}
		}
		l, err := judge(f, results[i], &mean)
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		l.Experiment = r.Name
		l.explain(r.Seeds)
		r.Lines = append(r.Lines, l)
	}
	return nil
}

// key returns the key of a metric in seed.taken: its text in an expression.
func key(metric string, words []string) string { return metric + "[" + strings.Join(words, ",") + "]" }

// meanOf returns the mean of a metric over seeds, number by number. If the seeds have different
// counts of numbers, such as steps of a run, it returns the numbers of the first seed.
func meanOf(taken []map[string]value, key string) value {
	first := taken[0][key]
	mean := value{v: make([]float64, len(first.v)), x: first.x}
	for _, of := range taken {
		v := of[key].v
		if len(v) != len(first.v) {
			return first
		}
		for i := range v {
			mean.v[i] += v[i] / float64(len(taken))
		}
	}
	return mean
}

// look returns the numbers of a metric for all runs whose names match the first word, such as fair-*.
// The other words are arguments of the metric. It is a lookup.
func (s *seed) look(metric string, words []string) (all value, err error) {
	for i := range s.trials {
		t := &s.trials[i]
		if !t.matches(words[0]) {
			continue
		}
		d, err := s.run(i)
		if err != nil {
			return value{}, err
		}
		v, err := d.metric(metric, words[1:])
		if err != nil {
			return value{}, err
		}
		all.v = append(all.v, v.v...)
		switch {
		// Steps of a run have their own x. Otherwise x is the value of the swept flag.
		case v.x != nil:
			all.x = append(all.x, v.x...)
		case len(v.v) == 1:
			all.x = append(all.x, t.x)
		}
	}
	if len(all.v) == 0 {
		return value{}, fmt.Errorf("no run is called %s", words[0])
	}
	// If some numbers have no x, x means nothing for the others either.
	if len(all.x) != len(all.v) {
		all.x = nil
	}
	s.taken[key(metric, words)] = all
	return all, nil
}

// embedded has the workload files of the papers, and some for one machine. They are embedded, so that
// mrlocal reproduce needs no files on disk. Comments in them name the source of each number.
// fitted.tsv lists the fitted constants. A line has the paper's key, the constant, its value, the
// experiment, and the start of the figure's words; * stands for all figures.
//
//go:embed workloads/*.yaml workloads/fitted.tsv
var embedded embed.FS

// fittedConstant is a line of fitted.tsv.
type fittedConstant struct{ paper, constant, value, experiment, figure string }

// fittedConstants returns the lines of fitted.tsv, without comments and headings.
func fittedConstants() (all []fittedConstant) {
	text, _ := embedded.ReadFile("workloads/fitted.tsv") // never fails: the file is embedded
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) == 5 && cells[0] != "paper" {
			all = append(all, fittedConstant{cells[0], cells[1], cells[2], cells[3], cells[4]})
		}
	}
	return all
}

// Workloads returns the names of the embedded workload files, such as fig5.yaml, in alphabetical
// order.
func Workloads() (names []string) {
	all, _ := fs.Glob(embedded, "workloads/*.yaml") // never fails: the pattern is valid
	for _, name := range all {
		names = append(names, path.Base(name))
	}
	return names
}

// WorkloadText returns the text of an embedded workload file. It fails if Workloads does not list
// the name. The caller owns the text.
func WorkloadText(name string) ([]byte, error) { return embedded.ReadFile("workloads/" + name) }

// LoadWorkload parses an embedded workload file, anew on each call. It fails if Workloads does not
// list the name. The caller owns the result. Errors name the file by its path in the repository.
func LoadWorkload(name string) (*workload.File, error) {
	text, err := WorkloadText(name)
	if err != nil {
		return nil, err
	}
	return workload.Parse("bench/workloads/"+name, text)
}

// List returns a table for errs.Fit with a line for each experiment: name, title, paper.
func List(all []*Experiment) []byte {
	var b bytes.Buffer
	for _, x := range all {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	return b.Bytes()
}

// Files returns the texts of the workload files of the experiments, each file once.
func Files(all []*Experiment) ([]byte, error) {
	var b bytes.Buffer
	seen := map[string]bool{} // several experiments may share a file
	for _, x := range all {
		if name := filepath.Base(x.File()); !seen[name] {
			seen[name] = true
			text, err := WorkloadText(name)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	return b.Bytes(), nil
}

// Written returns results as csv or json. As text it returns the counts of verdicts.
func Written(results []*Result, format string) ([]byte, error) {
	switch format {
	case "csv":
		return CSV(results), nil
	case "json":
		return JSON(results)
	}
	return []byte(Summary(results)), nil
}
