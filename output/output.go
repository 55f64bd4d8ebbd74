// Package output writes the result of a job to where the user wants it, either whole or not at
// all.
//
// A Target is one of three kinds of places:
//
//   - A directory, here or on HDFS, holds part files and `_SUCCESS`. Attempts write below `_temporary`, one attempt
//     of each task wins, and the parts move up when the job commits (Hadoop 1.0.3,
//     FileOutputCommitter).
//   - A file is written under a hidden name beside its own and renamed at the end.
//   - A stream (standard output, a device, a pipe) is written directly.
//
// Files and streams hold the parts one after the other. If the sizes of the parts are known
// (SetSizes), reduces write in parallel, each at its own place. Otherwise one part at a time
// writes through, in order, and the other parts wait in spools (output/spool), in memory and then in temporary
// files. With a jobs.Releaser, each part is handed to the Releaser as a whole, in order.
//
// A result may be compressed. Part files are compressed by the attempts that write them, a file
// or stream block by block (output/compress).
//
// Commit writes the data, makes it durable, moves the names, makes the directory durable, and
// then reports success. Abort may be called at any moment from any goroutine. It removes what is
// pending, and nothing that the Target did not make.
//
// Memory: a []byte given to a Part is copied or written before the call returns. Neighbours:
// package engine calls; membudget and disk give spools their room; internal/paths finds out
// whether a result would overwrite an input.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"mrlocal/hdfs"
	"mrlocal/internal/disk"
	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output/compress"
)

// These are compared with errors.Is.
var (
	// ErrClosedPipe says that the reader of a stream has gone. It does not want the rest, so
	// the job has succeeded.
	ErrClosedPipe = errors.New("output: the reader has closed the pipe")

	// ErrLost says that another attempt of the task has committed.
	ErrLost = errors.New("output: another attempt has committed")

	// ErrAborted says that the attempt or the whole result was given up.
	ErrAborted = errors.New("output: aborted")
)

// Spec says where a result goes and what it must not overwrite. At most one of Dir and File is
// set; without both the result goes to Stdout.
// Names stay as the user gave them, because messages show them.
type Spec struct {
	Dir       string    // a directory of part files
	File      string    // one file with all parts
	Overwrite bool      // Dir may exist, if mrlocal made it, and File may be an input; Commit replaces it
	Stdout    io.Writer // nil: the result is thrown away
	Compress  compress.Format
	HDFS      hdfs.Options // how a Dir on HDFS is reached

	DirStyle // of Dir

	// A result is refused if it would be one of the inputs, or lie inside one.
	Inputs []string  // as the user named them, globs too
	Stdin  io.Reader // what is read for "-"
	Found  Found     // what was found under Inputs; nil: nothing
	Files  []string  // that will be read; they only matter if Overwrite replaces a directory
}

// DirStyle says what a directory of part files looks like. The zero value is that of
// Hadoop's newer interface.
type DirStyle struct {
	PlainNames bool // part-00000 for every kind of task, as in Hadoop's older interface
	OmitEmpty  bool // no part file for a task that has written nothing
	NoSuccess  bool // no _SUCCESS
}

// Found knows the files that will be read, and the directories in which they were found.
// Files are compared by identity and not by name, so links do not hide them.
type Found interface {
	File(info fs.FileInfo) (name string, ok bool)
	Directory(info fs.FileInfo) (name string, ok bool)
}

// Parts says which parts will come. They are numbered from 0.
// The engine fills it before the first task runs.
type Parts struct {
	Count   int  // 0: not known until Seal
	MapOnly bool // part-m-… rather than part-r-…

	// What spools wait in. Without Memory they go to files at once. Without CreateTemp a part
	// that does not fit in memory fails.
	Memory     *membudget.Budget
	CreateTemp func() (*disk.TempFile, error)

	// Compressors is how many blocks of a result in order are compressed at a time; 0: one.
	Compressors int

	// Releaser, when set, gets every part, in order, and writes the result.
	Releaser jobs.Releaser

	// OnRelease gets how many parts, counted from the first, were passed on for good; OnVerdict
	// gets what the Releaser returned for a part. Both are called in the order of the parts, on
	// the goroutine of some Part.Commit or Skip, and may call Skip.
	OnRelease func(parts int)
	OnVerdict func(part int, v jobs.Verdict)
}

// Target is the place of one result. Its methods may be called from any goroutine.
// Lock order: Target.mu before the locks of the place and of ordered.
type Target struct {
	place  place
	name   string          // as errors have it
	format compress.Format // never BySuffix

	mu struct {
		sync.Mutex
		state   state
		parts   Parts
		total   int      // number of parts; -1: not known yet
		ordered *ordered // nil: parts are not written in order, or none has begun
		regions *regions // nil: the sizes of the parts are not known
	}
}

// state is how far a Target is.
type state uint8

const (
	opened    state = iota // it has created nothing
	started                // it takes parts
	aborted                // everything that it has created goes
	committed              // the result has its name
)

func (s state) String() string {
	return [...]string{"opened", "started", "aborted", "committed"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s state) Next() []state {
	return [...][]state{{started, aborted}, {aborted, committed}, nil, nil}[s]
}

// place is a directory, a file or a stream. The methods are called in the order in which they
// are listed, but for abort.
type place interface {
	start() error                     // creates what is pending
	sink(mapOnly bool) (*sink, error) // where parts go that come in order
	sync() error                      // makes the pending data durable
	publish(parts int) error          // gives it its name, all or nothing; it must be quick
	settle() error                    // makes the name durable, or takes the result away again
	abort() error                     // removes what is pending, at any moment before publish has succeeded; idempotent
}

// attempted is a place in which each attempt writes a part file of its own.
type attempted interface {
	attempt(task, n int, mapOnly bool) (partWriter, error)
}

// Open checks everything that can be known beforehand. Its errors are options errors
// (package errs) that say what is wrong with the place. Nothing is created before Start.
func Open(spec Spec) (*Target, error) {
	format, err := spec.Compress.Of(spec.File)
	if err != nil {
		return nil, err
	}
	spec.Compress = format
	p, err := choose(spec)
	if err != nil {
		return nil, err
	}
	t := &Target{place: p, format: format, name: cmp.Or(spec.Dir, spec.File, "standard output")}
	t.mu.total = -1
	return t, nil
}

// choose makes the place that spec names, and checks it.
func choose(spec Spec) (place, error) {
	switch {
	case hdfs.Is(spec.Dir):
		return openRemote(spec)
	case hdfs.Is(spec.File):
		return nil, wrong(spec.File, "HDFS takes directories of parts only: set Options.OutputDir")
	case spec.Dir != "":
		return openDirectory(spec)
	case spec.File != "":
		return openFile(spec)
	}
	return openStdout(spec)
}

// Start creates what the parts are written to. It is called before any work, because the
// place may still be refused here.
func (t *Target) Start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != opened {
		return ErrAborted
	}
	if err := t.place.start(); err != nil {
		return errors.Join(err, t.place.abort())
	}
	invariant.Move(&t.mu.state, started)
	return nil
}

// Expect says which parts will come. It is called before the first Part or Attempt.
// p is kept. Its callbacks are called without t.mu.
func (t *Target) Expect(p Parts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.parts = p
	if p.Count > 0 {
		t.mu.total = p.Count
	}
}

// Seal says how many parts there are, if Expect could not.
func (t *Target) Seal(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.total = total
	if t.mu.ordered != nil {
		t.mu.ordered.seal(total)
	}
}

// SetSizes says how many bytes each part has. It reports whether the parts will be written
// in parallel, each at its own place; if not, the sizes are ignored. It is called before the
// first Part.
// A Releaser may change the text, and how long compressed text will be is not known.
func (t *Target) SetSizes(bytes []int64) (parallel bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != started {
		return false, ErrAborted
	}
	p, ok := t.place.(regioned)
	if !ok || t.mu.ordered != nil || t.mu.parts.Releaser != nil || t.compresses() {
		return false, nil
	}
	r, err := p.regions(bytes)
	if err != nil || r == nil {
		return false, err
	}
	t.mu.regions, t.mu.total = r, len(bytes)
	return true, nil
}

// Attempt begins a part file in a directory, for attempt n of a task.
func (t *Target) Attempt(task, n int) (*Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.place.(attempted)
	if !ok {
		return nil, errors.New("output: part files need a directory")
	}
	if t.mu.state != started {
		return nil, ErrAborted
	}
	w, err := d.attempt(task, n, t.mu.parts.MapOnly)
	switch {
	case err != nil:
		return nil, err
	case !t.compresses():
		return t.newPart(w), nil
	}
	packed, err := newPackedPart(w, t.format, t.mu.parts.Memory)
	if err != nil {
		w.abort()
		return nil, err
	}
	return t.newPart(packed), nil
}

// compresses reports whether the result is compressed.
func (t *Target) compresses() bool { return t.format != compress.None }

// Part begins part i, for attempt n, of a result that holds all parts in order. In a
// directory that is a single part file.
func (t *Target) Part(i, n int) (*Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != started {
		return nil, ErrAborted
	}
	// Sizes are known: each part has a place of its own, and none waits for another.
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

// inOrder returns the queue of parts and makes it at its first use. t.mu is held.
// It opens the sink, which creates the single part file of a directory.
func (t *Target) inOrder() (*ordered, error) {
	if t.mu.ordered != nil {
		return t.mu.ordered, nil
	}
	s, err := t.place.sink(t.mu.parts.MapOnly)
	if err != nil {
		return nil, err
	}
	if t.compresses() {
		s = s.packed(t.format, t.mu.parts)
	}
	t.mu.ordered = newOrdered(t.name, s, t.mu.parts, t.mu.total)
	return t.mu.ordered, nil
}

// byTask reports whether each task writes a part file of its own (Attempt).
func (t *Target) byTask() bool {
	_, ok := t.place.(attempted)
	return ok
}

// Skip says that part i of a result with a Releaser is not needed. Its place stays empty,
// whether an attempt at it is running, has committed or has not begun. A part that was
// passed on already stays.
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

// Released returns how many parts, counted from the first, were passed on for good, where
// parts are passed on in order.
func (t *Target) Released() int {
	if o := t.queue(); o != nil {
		return o.released()
	}
	return 0
}

// Err returns what makes the whole result impossible: the output disk is full, or the reader
// of the pipe has gone. No attempt need be tried again then.
func (t *Target) Err() error {
	if o := t.queue(); o != nil {
		return o.fatal()
	}
	return nil
}

// queue returns the queue of parts; nil: there is none yet.
func (t *Target) queue() *ordered {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.ordered
}

// Commit makes the result visible under its name, whole and durable. Every part must have
// been committed. After an error everything that was pending is gone, and so is a result that
// cannot be made durable. If that result has replaced a file, it stays and the error says so.
// publish runs under t.mu, so an Abort comes either before or after it.
func (t *Target) Commit() error {
	// Parts may still be passed on here, for as long as the reader of a pipe takes.
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
	// From here on Abort does nothing, so settle may go on without the lock.
	invariant.Move(&t.mu.state, committed)
	t.mu.Unlock()
	return t.place.settle()
}

// finish passes on the parts that are left and makes the data durable.
// t.mu is not held while parts are passed on, so that Abort can interrupt.
func (t *Target) finish() error {
	t.mu.Lock()
	st, total := t.mu.state, t.mu.total
	o, r := t.mu.ordered, t.mu.regions
	// A Releaser writes its own end, and an empty text that is compressed is not empty.
	if st == started && o == nil && (t.mu.parts.Releaser != nil || t.compresses() && total == 0 && !t.byTask()) {
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
	case total > 0 && !t.byTask():
		return fmt.Errorf("output: commit: none of %d parts was written", total)
	}
	return t.place.sync()
}

// Abort gives up the result and removes everything that is pending. It does not wait for
// writers: their next call fails. It may be called again, also by several goroutines at
// once; each call returns when all is gone. Once the result was committed it does nothing.
func (t *Target) Abort() error {
	t.mu.Lock()
	if t.mu.state == committed {
		t.mu.Unlock()
		return nil
	}
	invariant.Reach(&t.mu.state, aborted)
	o, r := t.mu.ordered, t.mu.regions
	t.mu.Unlock()
	if r != nil {
		r.abort()
	}
	// The place goes first: closing a device ends a write that holds the queue up.
	err := t.place.abort()
	if o != nil {
		o.abort()
	}
	if err != nil {
		return fmt.Errorf("output: remove what is pending: %w", err)
	}
	return nil
}
