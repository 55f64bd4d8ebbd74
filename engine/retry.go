package engine

import (
	"context"
	"fmt"
	"time"

	"mrlocal/internal/guard"
)

// attemptFunc is one attempt at some work. number counts the attempts, from 0. Work that takes long calls alive.
type attemptFunc func(ctx context.Context, number int, alive func()) error

// retry returns a function that calls a try with the numbers 0, 1 and so on until it succeeds, as often as
// a task may fail (Options.Attempts). Each call takes place apart, so that it may end its goroutine. A call
// that is not alive for timeout fails, and is left behind. retry notes each failure but the last one. It
// calls the try no more if ctx has ended, or if an error is permanent.
func retry(ctx context.Context, attempts int, timeout time.Duration, note func(string)) func(attemptFunc) error {
	return func(once attemptFunc) (err error) {
		for n := range attempts {
			err = whileAlive(ctx, max(timeout, guard.LeaveWithin), func(ctx context.Context, alive func()) error { return once(ctx, n, alive) })
			if err == nil || permanent(err) || ctx.Err() != nil || n+1 == attempts {
				break
			}
			note(fmt.Sprintf("a sample of the input has failed, and is tried again: %v", err))
		}
		return err
	}
}

// whileAlive calls work apart, until ctx ends or work has not called alive for timeout. It then ends the
// context of work and leaves it behind.
func whileAlive(ctx context.Context, timeout time.Duration, work func(ctx context.Context, alive func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(timeout, func() {
		cancel(&guard.Error{What: "map of a sample", Cause: fmt.Errorf("no progress for %v", timeout)})
	})
	defer timer.Stop()
	return guard.ApartUntil(ctx, func() error { return work(ctx, func() { timer.Reset(timeout) }) })
}
