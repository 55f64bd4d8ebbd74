package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mrlocal/errs"
	"mrlocal/internal/stats"
	"mrlocal/workload"
)

// Experiment is an experiment of a paper, ready to run.
type Experiment struct {
	*workload.Experiment

	// trials are the runs for one seed. runs is the store of all experiments of one list; it
	// keeps the results that several need.
	file   *workload.File
	trials []trial
	runs   *runs
}

// All lists the experiments of the files in bench/workloads, in the files' order. It
// fails where a file cannot be parsed, or names a flag or a policy that there is not.
func All() ([]*Experiment, error) {
	var all []*Experiment
	// Experiments of different files may have runs in common, so all share one store.
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

// Of lists the experiments of a workload file, which All need not list. It fails as All
// does, and if the file has none.
func Of(f *workload.File) ([]*Experiment, error) {
	if len(f.Experiments) == 0 {
		return nil, errs.Inputf(f.Name, "has no experiments; docs/workloads.md describes them")
	}
	return experiments(f, &runs{uses: map[string]int{}, done: map[string]*done{}})
}

// File returns the path of e's workload file below the repository.
func (e *Experiment) File() string { return e.file.Name }

// experiments returns the experiments of f, with runs that they share with others.
func experiments(f *workload.File, shared *runs) ([]*Experiment, error) {
	var all []*Experiment
	for i := range f.Experiments {
		if err := checkFigures(f, &f.Experiments[i]); err != nil {
			return nil, err
		}
		e := &Experiment{Experiment: &f.Experiments[i], file: f, runs: shared}
		for t := range e.Runs {
			// Flags of the experiment apply to all of its runs.
			trials, err := expand(f, e.With, &e.Runs[t], &workload.Trial{})
			if err != nil {
				return nil, err
			}
			e.trials = append(e.trials, trials...)
		}
		all = append(all, e)
		// Every run is announced before the first one is made. So a result can be dropped after
		// its last use.
		shared.expect(e)
	}
	return all, nil
}

// checkFigures checks the bands of an experiment, and that a figure is found by its words.
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

// Named returns the experiments with these names, or all where names is empty. An
// unknown name is wrong usage, answered with the nearest name.
func Named(all []*Experiment, names []string) ([]*Experiment, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	of := map[string]*Experiment{}
	for _, e := range all {
		// The nearest name is sought among all experiments of the list.
		known = append(known, e.Name)
		of[e.Name] = e
	}
	var some []*Experiment
	for _, name := range names {
		e, ok := of[name]
		if near := errs.Nearest(name, known); !ok && near != "" {
			return nil, errs.Optionf("experiment "+name, "unknown; did you mean %s?", near)
		}
		if !ok {
			return nil, errs.Optionf("experiment "+name, "unknown; there are %s", strings.Join(known, ", "))
		}
		some = append(some, e)
	}
	return some, nil
}

// Result is an experiment with the verdicts on its figures.
type Result struct {
	*Experiment
	Lines []Line
	seeds int // number of seeds that were run
	first seed
	reads [][]float64 // by reading and seed
}

// seed holds the runs of an experiment with one seed, and the metrics that its figures
// took from them.
type seed struct {
	trials []trial
	done   []*done               // by trial
	make   func(trial int) error // makes a run when it is needed; nil: all are made
	taken  map[string]value      // by metric and words
}

// Run makes the runs of e, one after the other, and judges its figures by all seeds of the
// file. A value of most above 0 bounds the number of runs. Run fails where ctx ends, a run
// fails or a figure's expression is wrong.
func (e *Experiment) Run(ctx context.Context, most int) (*Result, error) {
	r := &Result{Experiment: e, reads: make([][]float64, len(e.Readings))}
	seeds := max(e.Seeds, 1)
	if most > 0 {
		seeds = min(seeds, most)
	}
	r.seeds = seeds
	// taken has the metrics of each seed, worth the results of each figure by seed.
	var taken []map[string]value
	worth := make([][]relation, len(r.Figures))
	for n := range seeds {
		s := seed{trials: e.trials, taken: map[string]value{}}
		// t is a copy, so a seed does not stay in the trial.
		for _, t := range e.trials {
			e.setSeed(&t, n)
			d, err := e.runs.of(ctx, &t)
			if err != nil {
				return nil, err
			}
			s.done = append(s.done, d)
		}
		if err := r.evaluate(&s, worth); err != nil {
			return nil, err
		}
		taken = append(taken, s.taken)
		// The charts and tables of runs show the first seed only, so the results of the others
		// are dropped.
		if n == 0 {
			r.first = s
		}
	}
	return r, r.judge(worth, taken)
}

// setSeed gives a run its n-th seed, from 0. In an experiment without seeds the run
// keeps the seed of its flags.
func (e *Experiment) setSeed(t *trial, n int) {
	if e.Seeds > 0 {
		t.sim.Seed = uint64(n + 1)
	}
}

// evaluate appends the results of all figures by the runs of one seed to worth, and those
// of all readings to r.reads.
func (r *Result) evaluate(s *seed, worth [][]relation) error {
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Ours == "" {
			continue
		}
		ours, err := evaluate(f.Ours, s.look)
		// A mistake in a figure has the place of the figure in the file.
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		worth[i] = append(worth[i], ours)
	}
	for i := range r.Readings {
		f := &r.Readings[i]
		ours, err := evaluate(f.Ours, s.look)
		if err == nil && len(ours.signs) > 0 {
			err = errors.New("a reading is a number; what the paper says goes to figures")
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

// reading returns a reading with its unit, and its 95 % interval; "" with one seed.
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

// judge judges all figures by their results with all seeds.
func (r *Result) judge(worth [][]relation, taken []map[string]value) error {
	for i := range r.Figures {
		f := &r.Figures[i]
		mean, computed := relation{}, false
		if f.Ours != "" {
			var err error
			mean, err = evaluate(f.Ours, func(metric string, words []string) (value, error) {
				computed = computed || !slices.Contains(inputs(), metric)
				return meanOf(taken, key(metric, words)), nil
			})
			if err != nil {
				return r.file.Errorf(f.Pos, f.What, "%v", err)
			}
		}
		l, err := judge(f, worth[i], &mean, computed)
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		l.Experiment = r.Name
		l.explain(r.Seeds)
		r.Lines = append(r.Lines, l)
	}
	return nil
}

// key names a metric with its words.
func key(metric string, words []string) string { return metric + "[" + strings.Join(words, ",") + "]" }

// meanOf returns the mean of a metric over seeds, number by number. If the seeds have
// different counts of numbers, such as steps of runs, it returns those of the first seed.
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

// look returns a metric of all runs that the first word matches, such as fair-*. The
// other words are arguments of the metric.
func (s *seed) look(metric string, words []string) (all value, err error) {
	for i := range s.trials {
		t := &s.trials[i]
		// The runs keep the order of the file, and so do the numbers of the result.
		if !t.matches(words[0]) {
			continue
		}
		if s.make != nil && s.done[i] == nil {
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
		// Steps of a run have their own values of x. Otherwise x is the value of the swept flag.
		case v.x != nil:
			all.x = append(all.x, v.x...)
		case len(v.v) == 1:
			all.x = append(all.x, t.x)
		}
	}
	if len(all.v) == 0 {
		return value{}, fmt.Errorf("no run is called %s", words[0])
	}
	// Some numbers have no x, so the list as a whole has none.
	if len(all.x) != len(all.v) {
		all.x = nil
	}
	if s.taken != nil {
		s.taken[key(metric, words)] = all
	}
	return all, nil
}
