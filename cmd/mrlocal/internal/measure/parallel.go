package measure

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"mrlocal/errs"
	"mrlocal/report"
)

// Trial is one run of a sweep.
type Trial struct {
	Configuration
	Policy string
	Seed   uint64
}

// trial returns run i: seeds change fastest, then policies.
func (p *Plan) trial(i int) Trial {
	seeds, policies := max(1, p.seeds), len(p.policies)
	return Trial{p.runs[i/seeds/policies], p.policies[i/seeds%policies], p.first + uint64(i%seeds)}
}

// Simulate makes one run of a sweep. Several calls go on at once.
type Simulate = func(ctx context.Context, t Trial) (r *report.Report, notes []string, err error)

// finished is a run that has ended.
type finished struct {
	run    int
	report *report.Report
	notes  []string
	err    error
}

// each makes all runs for which wanted holds, on all cores. It calls take with each report, in
// the order of the runs and not of their ends. The first error in that order ends it. At most a
// few runs are ahead of the one that take waits for.
func (p *Plan) each(ctx context.Context, wanted func(run int) bool, simulate Simulate, take func(f finished) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	workers := runtime.GOMAXPROCS(0)
	// The queue of runs bounds how many reports wait for their turn.
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
	stop()
	group.Wait() // room in ends for all that are under way, so nobody waits for a reader
	return err
}

// inOrder hands runs to take as they would follow one another.
func (p *Plan) inOrder(ctx context.Context, wanted func(run int) bool, ends <-chan finished, room <-chan struct{}, take func(f finished) error) error {
	early := map[int]finished{}
	for run := range p.Runs() {
		if !wanted(run) {
			continue
		}
		for {
			f, ok := early[run]
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
			<-room
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

// in adds to an error which run of the sweep it comes from.
func (p *Plan) in(c Configuration, policyName string, err error) error {
	var u *errs.Error
	if errors.As(err, &u) {
		what := policyName
		if settings := p.settings(&c); settings != "" {
			what += ", " + settings
		}
		return errs.Optionf(what+": "+u.Object, "%s", u.Cause)
	}
	return err
}
