// Package guard runs user code so that a panic, or the end of its goroutine, becomes an error. It wraps
// the constructors of a job, Releasers, and the readers and writers of the options. An Error has the
// stack, for the user. A panic in mrlocal's own code is a Defect.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
)

// Error is a failure of user code: an error that it has returned, or a panic.
type Error struct {
	What  string // the function that failed: "map", "reduce", …
	Cause error
	Stack []byte // of the goroutine that has panicked; nil: f has returned the error
}

func (e *Error) Error() string { return e.What + ": " + e.Cause.Error() }
func (e *Error) Unwrap() error { return e.Cause }

// Named puts the name of the job before an error of user code that has run outside of an attempt.
func Named(name string, err error) error {
	if name == "" || !errs.Is[*Error](err) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Run runs user code. It returns a *Error if f fails, and one with the stack if f panics. what names
// the code in messages. If an Emitter has ended f because the attempt is killed, Run returns
// jobs.ErrKilled.
func Run(what string, f func() error) (err error) {
	defer recovered(&err, func(p any) error {
		if mistake, is := p.(jobs.Mistake); is {
			return &Error{What: what, Cause: mistake}
		}
		cause, isErr := p.(error)
		if !isErr {
			cause = fmt.Errorf("%v", p)
		}
		return &Error{What: what, Cause: fmt.Errorf("panic: %w", cause), Stack: debug.Stack()}
	})
	if err := f(); err != nil {
		return &Error{What: what, Cause: err}
	}
	return nil
}

// Failed returns a function that makes a *Error of one that user code has returned.
func Failed(what string) func(error) error {
	return func(err error) error { return &Error{What: what, Cause: err} }
}

// Own is Run for our own code that calls user code: it returns an error of f as it is.
func Own(what string, f func() error) (err error) {
	if panicked := Run(what, func() error { err = f(); return nil }); panicked != nil {
		return panicked
	}
	return err
}

// Begun is jobs.Chain.Begun, with guarded constructors (Job). It also fails if Begin panics.
func Begun(chain jobs.Chain, files int) (begun jobs.Job, err error) {
	if panicked := Run("begin", func() error { begun, err = chain.Begun(files); return nil }); panicked != nil {
		return begun, panicked
	}
	return Job(begun), err
}

// Job returns the job with guarded constructors. A constructor that panics, or returns nil,
// panics with a *Error that names it. A job without a name gets one, because messages about the
// job begin with it.
func Job(j jobs.Job) jobs.Job {
	if invariant.Enabled {
		j = jobs.Checked(j)
	}
	j.Name = cmp.Or(j.Name, "job")
	j.NewMapper = guardNew("new mapper", j.NewMapper)
	j.NewReducer = guardNew("new reducer", j.NewReducer)
	if create := j.NewCombiner; create != nil {
		j.NewCombiner = guardNew("new combiner", func() jobs.Reducer { return jobs.CombinerOf(create) })
	}
	j.NewFolder = guardNew("new folder", j.NewFolder)
	j.NewReleaser = guardNew("new releaser", j.NewReleaser)
	return j
}

// Releaser returns the Releaser with guarded methods.
func Releaser(r jobs.Releaser) jobs.Releaser { return guardedReleaser{r} }

type guardedReleaser struct{ jobs.Releaser }

func (g guardedReleaser) Release(split io.Reader, w io.Writer) (verdict jobs.Verdict, err error) {
	err = Own("release", func() (err error) {
		if verdict, err = g.Releaser.Release(split, w); err == nil && verdict > jobs.EndJob {
			err = fmt.Errorf("the verdict %d: must be Continue, EndFile or EndJob", verdict)
		}
		return err
	})
	return verdict, err
}

// Finish also fails if the Releaser cannot count its records, while the result may still be withdrawn.
func (g guardedReleaser) Finish(w io.Writer) error {
	if err := Own("finish", func() error { return g.Releaser.Finish(w) }); err != nil {
		return err
	}
	_, err := Records(g.Releaser)
	return err
}

// Records returns how many records the Releaser has released; 0: it does not count them. It fails if
// the Releaser panics.
func Records(r jobs.Releaser) (records int64, err error) {
	if counter, ok := r.(jobs.RecordCounter); ok {
		err = Run("records", func() error { records = counter.Records(); return nil })
	}
	return records, err
}

// Reader returns the reader with a guarded Read, which also fails if r claims to have read less
// than 0 bytes, or more than it may. It returns nil and files as they are, because package input
// treats files in its own way.
func Reader(r io.Reader) io.Reader {
	if _, file := r.(*os.File); file || r == nil {
		return r
	}
	return guardedReader{r}
}

type guardedReader struct{ io.Reader }

func (g guardedReader) Read(p []byte) (n int, err error) {
	err = Own("read", func() (err error) {
		n, err = g.Reader.Read(p)
		return err
	})
	if n < 0 || n > len(p) {
		return 0, &Error{What: "read", Cause: fmt.Errorf("returned %d bytes for a buffer of %d bytes", n, len(p))}
	}
	return n, err
}

// guardNew guards one constructor.
func guardNew[T any](what string, create func() T) func() T {
	if create == nil {
		return nil // nil stays nil: it means that the job has no reducer, combiner and so on
	}
	return func() (made T) {
		err := Run(what, func() error {
			if made = create(); any(made) == nil {
				return errors.New("returned nil")
			}
			return nil
		})
		if err != nil {
			panic(err)
		}
		return made
	}
}

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

// What follows calls the functions and writers of engine.Options. They are user code: they may fail,
// panic, end their goroutine, or not return. Package feed guards Options.Stdin.

// LeaveWithin is how long a call may go on when the context of the run has ended. The run then
// leaves it behind.
const LeaveWithin = 150 * time.Millisecond

// Calls calls functions of the user, one at a time, each on a goroutine of its own (Apart).
// Any goroutine may use it.
type Calls struct {
	ctx   context.Context // of the run
	turn  chan struct{}   // holds a token while a call goes on
	hangs atomic.Bool     // a call was left behind, so there are no more
}

// NewCalls returns the Calls of a run with this context.
func NewCalls(ctx context.Context) *Calls {
	return &Calls{ctx: ctx, turn: make(chan struct{}, 1)}
}

// Call calls f and returns its error. A panic in f, and the end of its goroutine, are errors too. what
// names f in messages. If f hangs when the context of the run ends, Call leaves it behind. So f must
// not use memory that the caller uses again after an error.
func (u *Calls) Call(what string, f func() error) error {
	until, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer context.AfterFunc(u.ctx, func() {
		select {
		case <-time.After(LeaveWithin):
			u.hangs.Store(true)
			cancel(fmt.Errorf("%s: has not returned: %w", what, context.Cause(u.ctx)))
		case <-until.Done():
		}
	})()
	if u.hangs.Load() {
		return fmt.Errorf("%s: an earlier call has not returned", what)
	}
	select {
	case u.turn <- struct{}{}:
	case <-until.Done():
		return context.Cause(until)
	}
	return ApartUntil(until, func() error {
		defer func() { <-u.turn }()
		return Own(what, f)
	})
}

// Text returns a function that calls note with its text in one line. The text is lost if note panics or hangs. Text
// returns nil for nil.
func (u *Calls) Text(what string, note func(string)) func(string) {
	if note == nil {
		return nil
	}
	return func(text string) {
		text = errs.OneLine(text)
		_ = u.Call(what, func() error { note(text); return nil })
	}
}

// Writer returns a writer that calls w. Its caller must not use the bytes of a Write again if the
// Write has failed.
func (u *Calls) Writer(what string, w io.Writer) io.Writer { return calledWriter{u, what, w} }

type calledWriter struct {
	calls *Calls
	what  string
	w     io.Writer
}

func (c calledWriter) Write(p []byte) (int, error) {
	n := new(int) // a Write that was left behind may still set it
	if err := c.calls.Call(c.what, func() (err error) { *n, err = c.w.Write(p); return err }); err != nil {
		return 0, err
	}
	return written(c.what, *n, p)
}

// Writer returns Options.Stdout with a guarded Write. The caller waits for a Write also when the
// run has ended, because the bytes lie in the memory of an attempt. Writer returns nil and files as
// they are, because package output treats files in its own way.
func Writer(w io.Writer) io.Writer {
	if _, file := w.(*os.File); file || w == nil {
		return w
	}
	return resultWriter{w}
}

type resultWriter struct{ w io.Writer }

func (r resultWriter) Write(p []byte) (n int, err error) {
	const what = "Options.Stdout"
	err = Apart(func() error {
		return Own(what, func() (err error) { n, err = r.w.Write(p); return err })
	})
	if err != nil {
		return min(max(n, 0), len(p)), err
	}
	return written(what, n, p)
}

// written returns n, the result of a Write of p without an error. It fails if n cannot be.
func written(what string, n int, p []byte) (int, error) {
	if n < 0 || n > len(p) {
		return 0, &Error{What: what, Cause: fmt.Errorf("returned %d for a write of %d bytes", n, len(p))}
	}
	return n, nil
}
