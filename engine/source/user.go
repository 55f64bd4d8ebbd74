package source

import (
	"fmt"
	"runtime/debug"
)

// UserError is a failure of user code: an error it returned, or a panic.
type UserError struct {
	What  string // "map", "reduce", …
	Cause error
	Stack []byte
}

func (e *UserError) Error() string { return e.What + ": " + e.Cause.Error() }
func (e *UserError) Unwrap() error { return e.Cause }

// Guard runs user code. It returns a *UserError with the stack, for an error of f
// and for a panic. what names the code in messages.
func Guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			cause, isErr := p.(error)
			if isErr {
				cause = fmt.Errorf("panic: %w", cause)
			} else {
				cause = fmt.Errorf("panic: %v", p)
			}
			err = &UserError{What: what, Cause: cause, Stack: debug.Stack()}
		}
	}()
	if err := f(); err != nil {
		return &UserError{What: what, Cause: err, Stack: debug.Stack()}
	}
	return nil
}
