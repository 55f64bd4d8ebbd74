// Package usage marks errors that mean "wrong usage or input, and nothing was
// started": the command line turns them into exit code 2, everything else
// that fails into 3. It is a leaf that every layer may use.
package usage

import (
	"errors"
	"fmt"
)

// Error is wrong usage or input: Object is what is wrong (a path, a flag and
// its value), Cause why, with what to do where that is not plain.
type Error struct {
	Object string
	Cause  string
}

func (e *Error) Error() string {
	if e.Object == "" {
		return e.Cause
	}
	return e.Object + ": " + e.Cause
}

// Errorf makes an *Error; the cause is formatted as by fmt.Sprintf.
func Errorf(object, format string, args ...any) error {
	return &Error{Object: object, Cause: fmt.Sprintf(format, args...)}
}

// Is reports whether err is, or wraps, an *Error.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
