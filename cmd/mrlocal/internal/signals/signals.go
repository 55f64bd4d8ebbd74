// Package signals ends the program as its user asks: the first signal ends a
// context, so that whatever runs cleans up, and some time later the process, because
// user code may never return.
//
// It owns the process's signal handling until stop is called. Neighbours: cmd/mrlocal
// hands in the process's end, and tells the cause in one line.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Interrupted is the cause that a context gets from a signal.
type Interrupted struct{ sig os.Signal }

func (i Interrupted) Error() string {
	switch i.sig {
	case syscall.SIGTERM:
		return "interrupted by SIGTERM"
	case syscall.SIGHUP:
		return "interrupted by SIGHUP"
	}
	return "interrupted by SIGINT"
}

// ExitCode is 128 and the signal's number.
func (i Interrupted) ExitCode() int {
	const base = 128
	if n, ok := i.sig.(syscall.Signal); ok {
		return base + int(n)
	}
	return base + int(syscall.SIGINT)
}

// graceTime is how long a run may take to clean up after a signal; then the
// process exits without it.
const graceTime = 1700 * time.Millisecond

// Watch returns a context that the first SIGINT, SIGTERM or SIGHUP cancels. SIGHUP
// stays ignored where it is (nohup). A reader that closes standard output is no
// signal but an error of the write (EPIPE), so SIGPIPE is ignored.
func Watch(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1) // the first counts, later ones are dropped
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(caught, signals...)
	over := make(chan struct{})
	go func() {
		select {
		case s := <-caught:
			cause := Interrupted{s}
			cancel(cause)
			select {
			case <-time.After(graceTime):
				exit(cause.ExitCode())
			case <-over:
			}
		case <-over:
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		close(over)
		cancel(nil)
	}
}
