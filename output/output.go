// Package output writes a job's result where the user wants it, whole or not
// at all.
//
// A Target is one of three places. A directory holds part files and `_SUCCESS`:
// attempts write below `_temporary`, one attempt a task wins, and the parts
// move up when the job commits (Hadoop's FileOutputCommitter, SPEC 2.5). A
// file is written beside its name and renamed. A stream (standard output, a
// device, a pipe) is written as it stands.
//
// Files and streams hold the parts one after the other. Where their sizes are
// known (SetSizes) reduces write in parallel, each at its own place. Else the
// part whose turn it is writes through and the others wait in a Spool, in
// memory and then in a temporary file. With a jobs.Releaser each part is
// handed to it whole, in order.
//
// Order of events at Commit: data written, data synced, names moved, the
// directory synced, then success. Abort may come at any moment and from any
// goroutine, removes what is pending, and nothing that the Target did not make.
//
// Memory: every []byte given to a Part is copied or written before the call
// returns. Neighbours: package engine calls; membudget and tempdir lend spools
// their room.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

var (
	// ErrClosedPipe says that the reader of a stream has gone: nobody wants
	// the rest, which is success.
	ErrClosedPipe = errors.New("output: the reader has closed the pipe")

	// ErrLost says that another attempt of the task has committed.
	ErrLost = errors.New("output: another attempt has committed")

	// ErrAborted says that the attempt, or the whole output, was given up.
	ErrAborted = errors.New("output: aborted")
)

// Spec says where a result goes and what it must not touch.
type Spec struct {
	Dir       string    // a directory of part files
	File      string    // one merged file; at most one of Dir and File
	Overwrite bool      // Dir may exist, if mrlocal made it, and is replaced at Commit
	Stdout    io.Writer // without Dir and File; nil: the result is thrown away

	// Inputs are the paths as the user named them (globs too), and Stdin what is
	// read for "-". Found knows what was found there; nil: nothing was. Files are
	// the files that will be read; they only matter where Overwrite replaces a
	// directory. A result that would be one of all those, or lie inside one, is
	// refused.
	Inputs []string
	Stdin  io.Reader
	Found  Found
	Files  []string
}

// Found knows the files that will be read, and the directories that they were
// found in.
type Found interface {
	File(info fs.FileInfo) (name string, ok bool)
	Directory(info fs.FileInfo) (name string, ok bool)
}

// Parts says what parts will come. They are numbered from 0.
type Parts struct {
	Count   int  // 0: unknown until Seal
	MapOnly bool // part-m-… rather than part-r-…

	// What spools wait in. Without Memory they go to files at once; without
	// CreateTemp, what does not fit in memory fails the attempt.
	Memory     *membudget.Budget
	CreateTemp func() (*os.File, error)

	// Releaser, when set, is given every part, in order, and writes the
	// result.
	Releaser jobs.Releaser

	// OnRelease hears how many parts, counted from the first, have been passed
	// on for good; OnVerdict what the Releaser said after a part. Both are
	// called in order, on the goroutine of some Part.Commit or Skip, and may
	// call Skip.
	OnRelease func(parts int)
	OnVerdict func(part int, v jobs.Verdict)
}

// Target is where one result goes. Its methods may be called from any
// goroutine.
type Target struct {
	place   place
	name    string // as errors have it
	buffers bufferList

	mu struct {
		sync.Mutex
		state   state
		parts   Parts
		total   int // parts; -1: not known yet
		ordered *ordered
		regions *regions
	}
}

type state uint8

const (
	opened state = iota
	started
	aborted
	committed
)

// place is a directory, a file or a stream. start creates what is pending;
// sync makes its data durable; publish gives it its final name, all or
// nothing, and must be quick; settle makes the name durable. abort removes
// what is pending, at any moment before publish succeeded, and is idempotent.
type place interface {
	start() error
	sink(mapOnly bool) (*sink, error) // for parts in order
	sync() error
	publish(parts int) error
	settle() error
	abort() error
}

// Open checks everything that can be known beforehand; its errors are wrong
// usage (package usage). Nothing is created before Start.
func Open(spec Spec) (*Target, error) {
	p, err := choose(spec)
	if err != nil {
		return nil, err
	}
	t := &Target{place: p, name: cmp.Or(spec.Dir, spec.File, "standard output")}
	t.mu.total = -1
	return t, nil
}

func choose(spec Spec) (place, error) {
	switch {
	case spec.Dir != "":
		return openDirectory(spec)
	case spec.File != "":
		return openFile(spec)
	}
	return openStdout(spec)
}

// Start creates what the parts are written to. Call it before any work: what
// is refused here is still wrong usage.
func (t *Target) Start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != opened {
		return ErrAborted
	}
	if err := t.place.start(); err != nil {
		return errors.Join(err, t.place.abort())
	}
	t.mu.state = started
	return nil
}

// Expect says what parts will come. It precedes the first Part or Attempt.
func (t *Target) Expect(p Parts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.parts = p
	if p.Count > 0 {
		t.mu.total = p.Count
	}
}

// Seal says how many parts there are, where Expect could not.
func (t *Target) Seal(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.total = total
	if t.mu.ordered != nil {
		t.mu.ordered.seal(total)
	}
}

// SetSizes says how many bytes each part has. It reports whether the parts
// will be written in parallel, each at its own place; if not, sizes are
// ignored. It precedes the first Part.
func (t *Target) SetSizes(bytes []int64) (parallel bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != started {
		return false, ErrAborted
	}
	p, ok := t.place.(regioned)
	if !ok || t.mu.ordered != nil || t.mu.parts.Releaser != nil {
		return false, nil
	}
	r, err := p.regions(bytes)
	if err != nil || r == nil {
		return false, err
	}
	t.mu.regions, t.mu.total = r, len(bytes)
	return true, nil
}

// Attempt is a part file of its own, of a directory, written by attempt n.
func (t *Target) Attempt(task, n int) (*Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.place.(*directory)
	if !ok {
		return nil, errors.New("output: part files need a directory")
	}
	if t.mu.state != started {
		return nil, ErrAborted
	}
	w, err := d.attempt(task, n, t.mu.parts.MapOnly)
	if err != nil {
		return nil, err
	}
	return t.newPart(w), nil
}

// Part is part i, written by attempt n, of a result that holds all parts in
// order; in a directory that is a single part file.
func (t *Target) Part(i, n int) (*Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != started {
		return nil, ErrAborted
	}
	if t.mu.regions != nil {
		w, err := t.mu.regions.part(i)
		if err != nil {
			return nil, err
		}
		return t.newPart(w), nil
	}
	o, err := t.inOrder()
	if err != nil {
		return nil, err
	}
	w, err := o.attempt(i)
	if err != nil {
		return nil, fmt.Errorf("output part %d attempt %d: %w", i, n, err)
	}
	return t.newPart(w), nil
}

// inOrder is the queue of parts, made at first use. t.mu is held.
func (t *Target) inOrder() (*ordered, error) {
	if t.mu.ordered != nil {
		return t.mu.ordered, nil
	}
	s, err := t.place.sink(t.mu.parts.MapOnly)
	if err != nil {
		return nil, err
	}
	t.mu.ordered = newOrdered(s, t.mu.parts, t.mu.total)
	return t.mu.ordered, nil
}

// ByTask reports whether reduces and mappers write part files of their own
// (Attempt) rather than parts of one file (Part).
func (t *Target) ByTask() bool {
	_, ok := t.place.(*directory)
	return ok
}

// Skip says that part i, of a result with a Releaser, is not wanted: its place
// stays empty, whether an attempt at it still runs, has committed or never
// began. One that has been passed on stays.
func (t *Target) Skip(i int) error {
	t.mu.Lock()
	if t.mu.state != started {
		t.mu.Unlock()
		return ErrAborted
	}
	o, err := t.inOrder()
	t.mu.Unlock()
	if err != nil {
		return err
	}
	return o.skip(i)
}

// Released is how many parts, counted from the first, have been passed on for
// good, where parts are passed on in order.
func (t *Target) Released() int {
	t.mu.Lock()
	o := t.mu.ordered
	t.mu.Unlock()
	if o == nil {
		return 0
	}
	return o.released()
}

// Err is what makes the whole result impossible, whatever attempt is tried
// again: the output disk is full, the reader of the pipe has gone.
func (t *Target) Err() error {
	t.mu.Lock()
	o := t.mu.ordered
	t.mu.Unlock()
	if o == nil {
		return nil
	}
	return o.fatal()
}

// Commit makes the result visible under its name, whole and durable. Every
// part must have been committed. On an error everything pending is gone.
func (t *Target) Commit() error {
	if err := t.finish(); err != nil {
		return errors.Join(err, t.Abort())
	}
	t.mu.Lock()
	if t.mu.state != started {
		t.mu.Unlock()
		return errors.Join(ErrAborted, t.Abort())
	}
	if err := t.place.publish(t.mu.total); err != nil {
		t.mu.Unlock()
		return errors.Join(err, t.Abort())
	}
	t.mu.state = committed
	t.mu.Unlock()
	return t.place.settle()
}

// finish passes on what is left and makes the data durable.
func (t *Target) finish() error {
	t.mu.Lock()
	st, total := t.mu.state, t.mu.total
	o, r := t.mu.ordered, t.mu.regions
	if st == started && t.mu.parts.Releaser != nil && o == nil {
		var err error
		if o, err = t.inOrder(); err != nil {
			t.mu.Unlock()
			return err
		}
	}
	t.mu.Unlock()
	switch {
	case st != started:
		return ErrAborted
	case total < 0:
		return errors.New("output: commit: the number of parts is not known")
	case r != nil:
		if err := r.finish(); err != nil {
			return err
		}
	case o != nil:
		if err := o.finish(total); err != nil {
			return err
		}
	case total > 0 && !t.ByTask():
		return fmt.Errorf("output: commit: none of %d parts was written", total)
	}
	return t.place.sync()
}

// Abort gives the result up and removes everything pending. It does not wait
// for writers: their next call fails. It is idempotent, and does nothing once
// the result has been committed. Whoever calls it while another does returns
// when all is gone, too.
func (t *Target) Abort() error {
	t.mu.Lock()
	if t.mu.state == committed {
		t.mu.Unlock()
		return nil
	}
	t.mu.state = aborted
	o, r := t.mu.ordered, t.mu.regions
	t.mu.Unlock()
	if r != nil {
		r.abort()
	}
	err := t.place.abort()
	if o != nil {
		o.abort()
	}
	if err != nil {
		return fmt.Errorf("output: remove what is pending: %w", err)
	}
	return nil
}

// Committed reports whether the result stands under its name.
func (t *Target) Committed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.state == committed
}
