package output

import "errors"

// Part is what one attempt at a part writes: a part file, a region of a file, or
// a place in the queue. Each Write goes there at once, so a writer of records
// has to gather them first. One goroutine uses a Part; only Abort may be called from
// others. Errors are sticky, and Commit returns them.
type Part struct {
	w      partWriter
	target *Target
	bytes  int64 // written
	err    error
	ended  bool
}

// partWriter takes the bytes of a Part. commit gets how many there were. abort may
// be called from any goroutine, also during write, and makes later calls fail.
// ErrLost from commit means that another attempt was first. write gets at least one
// byte.
type partWriter interface {
	write(p []byte) error
	commit(bytes int64) error
	abort()
}

// newPart makes the Part of an attempt.
func (t *Target) newPart(w partWriter) *Part { return &Part{w: w, target: t} }

// Write appends data. It copies it, or writes it before it returns.
func (p *Part) Write(data []byte) (int, error) {
	switch {
	case p.err != nil:
		return 0, p.err
	case p.ended:
		p.err = ErrAborted
	case len(data) > 0:
		p.err = named(p.target.name, p.w.write(data))
	}
	if p.err != nil {
		return 0, p.err
	}
	p.bytes += int64(len(data))
	return len(data), nil
}

// namedError is an error of writing behind the name of the result.
type namedError struct {
	name string
	err  error
}

func (e *namedError) Error() string { return e.name + ": " + e.err.Error() }

func (e *namedError) Unwrap() error { return e.err }

// named puts the name of the result before an error of writing, once.
// The two errors that callers look for stay as they are.
func named(name string, err error) error {
	if err == nil {
		return nil // before done, which goes to the heap
	}
	var done *namedError
	if errors.Is(err, ErrAborted) || errors.Is(err, ErrClosedPipe) || errors.As(err, &done) {
		return err
	}
	return &namedError{name, err}
}

// Commit ends the part: its attempt has succeeded. Of several attempts the first
// one wins, and the others get ErrLost.
func (p *Part) Commit() error {
	if p.err != nil {
		p.Abort()
		return p.err
	}
	if p.ended {
		return ErrAborted
	}
	p.ended = true
	if err := p.w.commit(p.bytes); err != nil {
		p.err = err
		p.w.abort()
	}
	return p.err
}

// Abort gives the attempt up. It may be called from any goroutine and at any
// time, also after Commit, when it does nothing.
func (p *Part) Abort() { p.w.abort() }
