package measure

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"mrlocal/internal/errs"
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
// or of take, and starts no further run then. It returns after all its goroutines have ended.
//
// One goroutine sends the numbers of runs to the workers, and each worker makes one run at a time.
func (p *Plan) each(ctx context.Context, wanted func(run int) bool, simulate Simulate, take func(f finished) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	workers := runtime.GOMAXPROCS(0)
	// A run takes a place in room before it starts, and leaves the place when take gets it. So at most
	// 4*workers runs are started and not taken. ends has room for all of them, so a worker never waits.
	todo, ends := make(chan int), make(chan finished, 4*workers)
	room := make(chan struct{}, 4*workers)
	var group sync.WaitGroup
	group.Add(1 + workers)
	go func() {
		defer group.Done()
		defer close(todo)
		for run := range p.Runs() {
			if !wanted(run) {
				continue
			}
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case todo <- run:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range workers {
		go func() {
			defer group.Done()
			for run := range todo {
				t := p.trial(run)
				r, notes, err := simulate(ctx, t)
				ends <- finished{run, r, notes, p.in(t.Configuration, t.Policy, err)}
			}
		}()
	}
	err := p.inOrder(ctx, wanted, ends, room, take)
	// After an error, stop ends the runs that are being made, and no further one starts.
	stop()
	group.Wait()
	return err
}

// inOrder receives runs from ends in any order and passes them to take in the order of the plan. It
// frees a place in room for each. It returns the first error, or the cause of ctx.
func (p *Plan) inOrder(ctx context.Context, wanted func(run int) bool, ends <-chan finished, room <-chan struct{}, take func(f finished) error) error {
	early := map[int]finished{} // runs that ended before an earlier one
	for run := range p.Runs() {
		if !wanted(run) {
			continue
		}
		for {
			f, ok := early[run]
			// Until this run has ended, other runs that end are kept in early.
			if !ok {
				select {
				case f = <-ends:
					early[f.run] = f
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				continue
			}
			delete(early, run)
			<-room // another run may start
			if f.err != nil {
				return f.err
			}
			if err := take(f); err != nil {
				return err
			}
			break
		}
	}
	return nil
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
