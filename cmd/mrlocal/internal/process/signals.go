// Package process holds what the command does to its own process: signals,
// GOMAXPROCS, the memory limit, the pace of the garbage collector and profiles.
// A library must never do this to the process of its host. The package also
// writes the auxiliary files: events, reports, tables and charts.
//
// The first signal ends a context, so that the run cleans up. If that takes too
// long, the process ends without it: user code may never return. The package
// owns the signal handling of the process until stop is called.
//
// Profile records a run for --profile. The engine labels the samples with slot,
// job, kind and phase.
//
//	cpu.pprof     CPU time: go tool pprof -tagfocus slot=s0 DIR/cpu.pprof; -tags lists the labels
//	heap.pprof    the heap at the end of the run
//	allocs.pprof  all allocations
//	trace.out     go tool trace DIR/trace.out
//
// A file gets its name when it is complete, also if the run failed or was
// interrupted. Large buffers are not on the heap, since internal/membudget maps
// them.
//
// An AuxFile is checked before the work starts and created at the first write, so
// a command that is refused leaves no file. No auxiliary file can destroy an input
// or an output of the command. Results are not written here but by package output.
package process

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ sig os.Signal }

// Error names the signal, as a user knows it.
func (i Interrupted) Error() string {
	switch i.sig {
	case syscall.SIGTERM:
		return "interrupted by SIGTERM"
	case syscall.SIGHUP:
		return "interrupted by SIGHUP"
	case syscall.SIGQUIT:
		return "interrupted by SIGQUIT"
	}
	return "interrupted by SIGINT"
}

// ExitCode returns 128 plus the number of the signal.
func (i Interrupted) ExitCode() int {
	const base = 128
	if n, ok := i.sig.(syscall.Signal); ok {
		return base + int(n)
	}
	return base + int(syscall.SIGINT)
}

// graceTime bounds the cleaning up after a signal. Then the process exits.
const graceTime = 1700 * time.Millisecond

// Watch returns a context that the first SIGINT, SIGTERM, SIGQUIT or SIGHUP cancels.
// SIGQUIT prints no stacks, because files would be left behind; SIGABRT still does.
// If the parent process ignores SIGHUP (nohup), it stays ignored. Watch ignores
// SIGPIPE: a write to a closed pipe then returns EPIPE, which the output treats
// as success.
func Watch(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1) // only the first signal counts
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
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
