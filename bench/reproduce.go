package bench

import (
	"context"
	"errors"
	"fmt"
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
	shared := &runs{uses: map[string]int{}, done: map[string]*done{}}
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
	all, err := experiments(f, &runs{uses: map[string]int{}, done: map[string]*done{}})
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
	done   []*done               // by trial
	make   func(trial int) error // makes the run of a trial when it is needed; nil: all runs are made
	taken  map[string]value      // metrics by key; nil: they are not kept
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
		s := seed{trials: e.trials, taken: map[string]value{}}
		// t is a copy of the trial, so setSeed does not change e.trials.
		for _, t := range e.trials {
			e.setSeed(&t, n)
			d, err := e.runs.of(ctx, &t)
			if err != nil {
				return nil, err
			}
			s.done = append(s.done, d)
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
		if s.make != nil && s.done[i] == nil { // only Isolate makes runs this late
			if err := s.make(i); err != nil {
				return value{}, err
			}
		}
		v, err := s.done[i].metric(metric, words[1:])
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
	if s.taken != nil {
		s.taken[key(metric, words)] = all
	}
	return all, nil
}
