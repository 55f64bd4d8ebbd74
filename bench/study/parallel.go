package study

import (
	"context"
	"errors"
	"runtime"

	"mrlocal/internal/errs"
	"mrlocal/internal/inorder"
	"mrlocal/slots/report"
)

// Trial is one run of a sweep before it is made.
type Trial struct {
	Configuration
	Policy string
	Seed   uint64
}

// trial returns run i of the plan, from 0. From run to run, the seed changes fastest, then the policy,
// then the configuration.
func (p *Plan) trial(i int) Trial {
	seeds, policies := max(1, p.seeds), len(p.policies)
	return Trial{p.runs[i/seeds/policies], p.policies[i/seeds%policies], p.first + uint64(i%seeds)}
}

// Simulate makes one run of a sweep and returns its report and its notes. Several goroutines call it at
// once.
type Simulate = func(ctx context.Context, t Trial) (r *report.Report, notes []string, err error)

// finished is a run that has ended. run is its number in the plan.
type finished struct {
	run    int
	report *report.Report
	notes  []string
	err    error
}

// each makes all runs for which wanted returns true, on all cores. It calls take for each run, in the
// order of the plan, on the goroutine of the caller. It returns the first error in this order, of a run
// or of take, and starts no further run then. It returns after all runs have ended.
func (p *Plan) each(ctx context.Context, wanted func(run int) bool, simulate Simulate, take func(f finished) error) error {
	runs := func(yield func(*finished) bool) {
		for run := range p.Runs() {
			if wanted(run) && !yield(&finished{run: run}) {
				return
			}
		}
	}
	simulated := func(ctx context.Context, f *finished) {
		t := p.trial(f.run)
		f.report, f.notes, f.err = simulate(ctx, t)
		f.err = p.in(t.Configuration, t.Policy, f.err)
	}
	workers := runtime.GOMAXPROCS(0)
	return inorder.Each(ctx, workers, 4*workers, runs, simulated, func(f *finished) error {
		if f.err != nil {
			return f.err
		}
		return take(*f)
	})
}

// in adds the policy and the settings of a run to a usage error. It returns any other error, and
// nil, as it is.
func (p *Plan) in(c Configuration, policyName string, err error) error {
	var u *errs.Error
	if errors.As(err, &u) && errs.IsUsage(err) {
		return errs.Optionf(p.Of(c, policyName)+": "+u.Object, "%s", u.Cause)
	}
	return err
}

// Of names a run by its policy and its settings, as in "fair, map-slots 2".
func (p *Plan) Of(c Configuration, policyName string) string {
	if settings := p.settings(&c); settings != "" {
		return policyName + ", " + settings
	}
	return policyName
}
