// Package errs holds the error type of all packages of mrlocal. An error of
// this type has a kind, and errors.Is finds the kind:
//
//	if errors.Is(err, errs.BadInput) { ... }
//
// The kind tells a caller what to do next: correct the options, correct the
// input, look at the job, or nothing. Package mrlocal exports the same names
// to users of the module, and the command derives its exit code from the
// kind.
//
// Nearest finds the name that a misspelt word most likely means, for "did you mean".
// OneLine makes any text fit for a message of one line, and Cause an error of package os.
//
// The package imports nothing of the module, so that every layer may use it.
package errs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Kind is a class of errors. A Kind is an error itself, so that errors.Is can
// look for it.
type Kind string

const (
	BadOptions  Kind = "bad options" // an option or the definition of a job is wrong
	BadInput    Kind = "bad input"   // an input is missing or malformed
	JobFailed   Kind = "job failed"  // work was started and did not succeed
	Interrupted Kind = "interrupted" // the context of the run ended first
)

// Error returns the kind in words.
func (k Kind) Error() string { return string(k) }

// Error is an error of a known kind.
type Error struct {
	Kind   Kind
	Object string // what is wrong: a field of Options, or a path; empty if the cause says it all
	Cause  error  // why, and what to do about it unless that is plain
}

// Error returns "object: cause", or the cause alone if there is no object.
func (e *Error) Error() string {
	if e.Object == "" {
		return e.Cause.Error()
	}
	return e.Object + ": " + e.Cause.Error()
}

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Optionf returns an error of kind BadOptions. The cause is formatted as by
// fmt.Errorf, so %w works.
func Optionf(object, format string, args ...any) error {
	return &Error{BadOptions, object, fmt.Errorf(format, args...)}
}

// Inputf returns an error of kind BadInput. The cause is formatted as by
// fmt.Errorf, so %w works.
func Inputf(object, format string, args ...any) error {
	return &Error{BadInput, object, fmt.Errorf(format, args...)}
}

// IsUsage reports whether err is of kind BadOptions or BadInput: the call must be
// corrected, and to repeat it is of no use.
func IsUsage(err error) bool {
	return errors.Is(err, BadOptions) || errors.Is(err, BadInput)
}

// Cause returns err without the operation and the paths that package os adds, for
// messages that name the path already.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
