package guard

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"mrlocal/internal/errs"
)

// This file calls the functions and writers of engine.Options. They are user code: they may fail,
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
