package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"mrlocal/jobs"
)

// CatchPanic runs work and returns its error. A panic in mrlocal's own code becomes an
// error and does not end the process, so that the run can still remove its files.
func CatchPanic(work func() error) (err error) {
	defer recovered(&err, defect)
	return work()
}

// ErrEnded is the error of user code that has ended its goroutine, as t.Fatal of package testing does.
var ErrEnded error = &Error{What: "user code", Cause: errors.New("has ended its goroutine by runtime.Goexit")}

// RunToEnd runs work as CatchPanic does, and calls end with its error. If user code ends the goroutine, it calls
// end with ErrEnded.
func RunToEnd(work func() error, end func(err error)) {
	err := ErrEnded
	defer func() { end(err) }()
	defer recovered(&err, defect)
	err = work()
}

// thrown returns the error that this package or an Emitter has thrown as a panic; nil: p is another panic, or none.
func thrown(p any) error {
	if user, is := p.(*Error); is { // from a constructor (Job), or user code that user code calls
		return user
	}
	if p == any(jobs.ErrKilled) {
		return jobs.ErrKilled
	}
	return nil
}

// recovered makes a panic the error of the function that defers it. It calls fault for the error of a panic that was
// not thrown.
func recovered(err *error, fault func(p any) error) {
	p := recover()
	if t := thrown(p); t != nil {
		*err = t
	} else if p != nil {
		*err = fault(p)
	}
}

// defect returns the error of a panic in mrlocal's own code.
func defect(p any) error { return &Defect{fault: p, Stack: debug.Stack()} }

// Apart is CatchPanic on a goroutine of its own, for which it waits. So user code in work cannot end
// the goroutine of the caller.
func Apart(work func() error) error { return ApartUntil(context.Background(), work) }

// ApartUntil is Apart, but waits until ctx ends at most. It then returns the cause of ctx, and work goes
// on: user code in it may hang. So the caller must not take back what work uses.
func ApartUntil(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go RunToEnd(work, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Defect is a defect of mrlocal. Another attempt would fail with it too.
type Defect struct {
	fault any
	Stack []byte // of the goroutine
}

func (e *Defect) Error() string { return fmt.Sprintf("internal error: %v", e.fault) }
