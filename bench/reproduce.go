package bench

import (
	"context"
	"fmt"
	"strings"

	"mrlocal/errs"
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
		e := &Experiment{Experiment: &f.Experiments[i], file: f, runs: shared}
		for t := range e.Runs {
			// Flags of the experiment apply to all of its runs.
			trials, err := expand(f, e.With, &e.Runs[t])
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
	first seed
}

// seed holds the runs of an experiment with one seed.
type seed struct {
	trials []trial
	done   []*done // by trial
}

// Run makes the runs of e, one after the other, and judges its figures by the first
// seed. The other seeds only count how often a figure comes out as well. Run fails
// where ctx ends, a run fails or a figure's expression is wrong.
func (e *Experiment) Run(ctx context.Context) (*Result, error) {
	r := &Result{Experiment: e}
	for n := range max(e.Seeds, 1) {
		s := seed{trials: e.trials}
		// t is a copy, so a seed does not stay in the trial.
		for _, t := range e.trials {
			e.setSeed(&t, n)
			d, err := e.runs.of(ctx, &t)
			if err != nil {
				return nil, err
			}
			s.done = append(s.done, d)
		}
		if err := r.judge(&s, n == 0); err != nil {
			return nil, err
		}
		// The charts and tables of runs show the first seed only, so the results of the others
		// are dropped.
		if n == 0 {
			r.first = s
		}
	}
	return r, nil
}

// setSeed gives a run its n-th seed, from 0. In an experiment without seeds the run
// keeps the seed of its flags.
func (e *Experiment) setSeed(t *trial, n int) {
	if e.Seeds > 0 {
		t.sim.Seed = uint64(n + 1)
	}
}

// judge judges all figures by the runs of one seed. The verdicts of the first seed
// are the result; those of other seeds are compared with them.
func (r *Result) judge(s *seed, first bool) error {
	for i := range r.Figures {
		f := &r.Figures[i]
		ours, err := evaluate(f.Ours, s.look)
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		// A mistake in a figure has the place of the figure in the file.
		l, err := judge(f, &ours)
		if err != nil {
			return r.file.Errorf(f.Pos, f.What, "%v", err)
		}
		if first {
			r.Lines = append(r.Lines, l)
		}
		// The first seed counts as one of the seeds, and agrees with itself.
		if r.Seeds > 0 {
			r.Lines[i].against(l.Verdict)
		}
	}
	return nil
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
	return all, nil
}
