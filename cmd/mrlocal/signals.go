package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ sig syscall.Signal }

// Error returns a message with the name of the signal.
func (i Interrupted) Error() string {
	names := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT"}
	return "interrupted by " + cmp.Or(names[i.sig], "SIGINT")
}

// ExitCode returns 128 plus the number of the signal.
func (i Interrupted) ExitCode() int { return 128 + int(i.sig) }

// graceTime is the time that a run has to clean up after a signal before the process exits.
const graceTime = 1700 * time.Millisecond

// sayTime is how long the message about a signal may take when the process exits.
const sayTime = 100 * time.Millisecond

// watch returns a context that the first SIGINT, SIGTERM, SIGQUIT or SIGHUP cancels. Its cause is an
// Interrupted. If stop is not called within graceTime after the signal, Watch calls say with that
// cause, and then exit. It calls exit also if say hangs. stop ends the watch and must be called once.
//
// SIGQUIT prints no stacks, because the process would then end without removing its temporary files.
// SIGABRT still prints them. If the parent process ignores SIGHUP, as nohup does, it stays ignored.
// Watch ignores SIGPIPE, so that a write to a closed pipe returns EPIPE, which counts as success.
func watch(parent context.Context, say func(cause error), exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1) // only the first signal counts
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(caught, signals...)
	over := make(chan struct{}) // closed by stop
	go func() {
		select {
		case s := <-caught:
			cause := Interrupted{s.(syscall.Signal)}
			cancel(cause)
			// Now the run cleans up, and main calls stop.
			select {
			case <-time.After(graceTime):
				said := make(chan struct{})
				go func() { say(cause); close(said) }()
				select {
				case <-said:
				case <-time.After(sayTime):
				}
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
