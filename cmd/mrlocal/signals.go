package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interrupted is the cause a context gets from a signal.
type interrupted struct{ sig os.Signal }

func (i interrupted) Error() string {
	switch i.sig {
	case syscall.SIGTERM:
		return "interrupted by SIGTERM"
	case syscall.SIGHUP:
		return "interrupted by SIGHUP"
	}
	return "interrupted by SIGINT"
}

func (i interrupted) number() int {
	if n, ok := i.sig.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}

// graceTime is how long a run may take to clean up after a signal; then the
// process exits without it. User code may never return.
const graceTime = 1700 * time.Millisecond

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels. SIGHUP stays ignored where it is (nohup). A reader that closes
// standard output is no signal but an error of the write (EPIPE), so SIGPIPE
// is ignored.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
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
			cause := interrupted{s}
			cancel(cause)
			select {
			case <-time.After(graceTime):
				os.Exit(exitInterrupt + cause.number())
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
