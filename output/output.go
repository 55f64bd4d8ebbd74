// Package output writes the result of a job to where the user wants it, either whole or not at
// all.
//
// A Target is one of three kinds of places:
//
//   - A directory, on this machine or on HDFS, holds part files and `_SUCCESS`. Attempts write below
//     `_temporary`. One attempt of each task wins, and the parts move up when the job commits
//     (Hadoop 1.0.3, FileOutputCommitter).
//   - A file is written under a hidden name next to its own and renamed at the end.
//   - A stream (standard output, a device, a pipe) is written directly.
//
// Files and streams hold the parts one after the other. If the sizes of the parts are known
// (SetSizes), reduces write in parallel, each at its own place. Otherwise only the part whose turn
// it is writes through. The other parts wait in spools (Spool), first in memory and then in
// temporary files. With a jobs.Releaser, each whole part goes to the Releaser, in order.
//
// A result may be compressed (Compressor, packQueue). Attempts compress their own part files. A file or a
// stream is compressed block by block.
//
// Commit makes the data durable, renames it, makes the names durable, and then reports success.
// Abort may be called at any moment from any goroutine. It removes only what the Target has made.
//
// Memory: a Part copies or writes a []byte before its method returns.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
	"mrlocal/internal/paths"
	"mrlocal/jobs"
)

// Callers compare these errors with errors.Is.
var (
	// ErrClosedPipe says that the reader of standard output has closed the pipe, and that
	// Spec.PipeMayClose is set. The reader does not want the rest, so the job has succeeded.
	ErrClosedPipe = errors.New("output: the reader has closed the pipe")

	// ErrLost says that another attempt of the task has committed.
	ErrLost = errors.New("output: another attempt has committed")

	// ErrAborted says that the attempt or the whole result was aborted.
	ErrAborted = errors.New("output: aborted")
)

// Spec says where a result goes and what it must not overwrite. At most one of Dir and File is
// set. If neither is set, the result goes to Stdout. Error messages show names as the user gave
// them.
type Spec struct {
	Dir       string    // a directory of part files
	File      string    // one file with all parts
	Overwrite bool      // Commit may replace a Dir that mrlocal made, and a File that is an input
	Stdout    io.Writer // nil: the result is discarded

	PipeMayClose bool // a reader that closes the pipe of Stdout ends the result with ErrClosedPipe

	Compress Format
	HDFS     *hdfs.FS // of a Dir on HDFS; else it may be nil

	DirStyle // of Dir

	// Kept is the directory of disk.KeepTemp, of a run that goes on after a kill; "": none. A Dir is
	// then built next to its name, so that no kill leaves a part of it. If the killed run has published
	// Dir, Open lets this run replace it.
	Kept string

	// Open refuses a result that is one of the inputs or lies inside one.
	Inputs []string  // as the user named them, including globs
	Stdin  io.Reader // the input that is named "-"
	Found  Found     // the files and directories that Inputs stand for; nil: none
	Files  []string  // files that will be read; used if Overwrite replaces a directory
}

// DirStyle says which names and files a directory of part files has. The zero value is the
// style of Hadoop's newer interface.
type DirStyle struct {
	PlainNames bool // part-00000 for every kind of task, as in Hadoop's older interface
	OmitEmpty  bool // no part file for a task that has written nothing
	NoSuccess  bool // no _SUCCESS
}

// Found knows the files that will be read, and the directories in which they were found. It
// compares files by identity and not by name, so links do not hide them.
type Found interface {
	File(info fs.FileInfo) (name string, ok bool)
	Directory(info fs.FileInfo) (name string, ok bool)
}

// Parts describes the parts of a result. They are numbered from 0. The engine sets it before
// the first task runs.
type Parts struct {
	Count   int  // number of parts; 0: not known until Seal
	MapOnly bool // part files are named part-m-… rather than part-r-…

	// Spools hold parts in Memory, and in files of CreateTemp. If CreateTemp is nil, a part that
	// does not fit in memory fails.
	Memory     *membudget.Budget
	CreateTemp func() (*disk.TempFile, error)

	// Compressors is the number of blocks that are compressed at a time, for a result in order;
	// 0: one.
	Compressors int

	// Releaser gets every part, in order, and writes the result; nil: the parts are the result.
	Releaser jobs.Releaser

	// OnRelease gets the number of parts, counted from the first, that were passed on.
	// OnVerdict gets what the Releaser returned for a part. Both are called in the order of the
	// parts, by the goroutine that calls Part.Commit or Skip. They may call Skip.
	OnRelease func(parts int)
	OnVerdict func(part int, v jobs.Verdict)
}

// Target is the place of one result. Any goroutine may call its methods. Lock order: Target.mu
// before the locks of the place and of ordered.
type Target struct {
	place  place
	name   string // of the result, for error messages
	format Format // never BySuffix

	mu struct {
		sync.Mutex
		state   state
		parts   Parts
		total   int      // number of parts; -1: not known yet
		ordered *ordered // nil: no part was begun in order
		regions *regions // nil: the sizes of the parts are not known
	}
}

// state is how far a result or its place has come.
type state uint8

const (
	opened    state = iota // nothing is created yet
	started                // it may be written
	aborted                // it cannot be written any more, and what it has created is removed
	committed              // it is written, and has its name if it gets one
)

func (s state) String() string {
	return [...]string{"opened", "started", "aborted", "committed"}[s]
}

// Next returns the states that may follow s, for checked builds.
func (s state) Next() []state {
	return [...][]state{{started, aborted}, {aborted, committed}, nil, nil}[s]
}

// place is a directory, a file or a stream. Its methods are called in this order. Only abort
// may be called at any moment.
type place interface {
	start() error                     // creates the pending file or directory
	sink(mapOnly bool) (*sink, error) // returns the writer for parts in order
	sync() error                      // makes the pending data durable
	publish(parts int) error          // gives the result its name, all or nothing; it must be quick
	settle() error                    // makes the name durable, or removes the result
	abort() error                     // removes the pending file or directory, unless publish has succeeded; idempotent
}

// Open checks everything about spec that can be checked before the run. It returns options
// errors (package errs) that say what is wrong with the place. It creates nothing.
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

// choose returns the place that spec names, after checks.
func choose(spec Spec) (place, error) {
	switch {
	case hdfs.Is(spec.Dir):
		return openRemote(spec)
	case hdfs.Is(spec.File):
		return nil, wrong(spec.File, "HDFS takes directories of parts only: set %s", errs.Field("Options.OutputDir"))
	case spec.Dir != "":
		return openDirectory(spec)
	case spec.File != "":
		return openFile(spec)
	}
	return openStdout(spec)
}

// Start creates the pending file or directory. The caller calls it before any work, because it
// may still refuse the place.
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

// Expect sets the description of the parts. The caller calls it before the first Part or
// Attempt. The Target keeps p. It calls the callbacks of p without holding t.mu.
func (t *Target) Expect(p Parts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.parts = p
	if p.Count > 0 {
		t.mu.total = p.Count
	}
}

// Seal sets the number of parts, if Expect could not.
func (t *Target) Seal(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.total = total
	if o := t.mu.ordered; o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.mu.total = total
	}
}

// SetSizes sets the size of each part in bytes. It reports whether the parts will be written in
// parallel, each at its own place. Otherwise the Target ignores the sizes: a Releaser may
// change the text, and the length of compressed text is not known. The caller calls SetSizes
// before the first Part.
func (t *Target) SetSizes(bytes []int64) (parallel bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != started {
		return false, ErrAborted
	}
	p, ok := t.place.(interface {
		regions(bytes []int64) (*regions, error) // nil: not possible for this file
	})
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

// Attempt begins the part file of attempt n of a task. It fails if the place is not a
// directory.
func (t *Target) Attempt(task, n int) (Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.place.(*committer)
	if !ok {
		return nil, errors.New("output: part files need a directory")
	}
	if t.mu.state != started {
		return nil, ErrAborted
	}
	a, err := c.attempt(task, n, t.mu.parts.MapOnly)
	if err != nil || !t.compresses() {
		return t.part(a, err)
	}
	return t.part(a.packed(t.format, t.mu.parts.Memory))
}

// part returns the Part of an attempt at p.
func (t *Target) part(p Part, err error) (Part, error) {
	if err != nil {
		return nil, err
	}
	return &targetPart{Part: p, name: t.name}, nil
}

// compresses reports whether the result is compressed.
func (t *Target) compresses() bool { return t.format != None }

// Part begins attempt n at part i of a result that holds all parts in order. In a directory,
// such a result is a single part file.
func (t *Target) Part(i, n int) (Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != started {
		return nil, ErrAborted
	}
	// With known sizes each part has its own place, and none waits for another.
	if t.mu.regions != nil {
		return t.part(t.mu.regions.part(i))
	}
	o, err := t.inOrder()
	if err != nil {
		return nil, err
	}
	a, err := o.attempt(i)
	if err != nil {
		return nil, fmt.Errorf("output part %d attempt %d: %w", i, n, err)
	}
	return t.part(a, nil)
}

// inOrder returns the queue of parts. The first call makes it and opens the sink, which creates
// the single part file of a directory. The caller holds t.mu.
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
	o := &ordered{name: t.name, sink: s, parts: t.mu.parts}
	o.mu.queue, o.mu.total = make(map[int]*turn), t.mu.total
	o.mu.idle.L = &o.mu
	t.mu.ordered = o
	return o, nil
}

// byTask reports whether each task writes a part file of its own (Attempt).
func (t *Target) byTask() bool {
	_, ok := t.place.(*committer)
	return ok
}

// Skip says that part i of a result with a Releaser is not needed. The result leaves it out,
// also if an attempt at it runs or has committed. A part that was passed on stays.
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

// Released returns the number of parts, counted from the first, that were passed on. It returns
// 0 if parts are not passed on in order.
func (t *Target) Released() int {
	o := t.queue()
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.turn
}

// Err returns the error that makes the whole result impossible, for example that the disk is
// full or the reader of the pipe has gone. Retrying attempts is then useless. It returns nil if
// there is no such error.
func (t *Target) Err() error {
	if o := t.queue(); o != nil {
		return o.fatal()
	}
	return nil
}

// queue returns the queue of parts, or nil if there is none yet.
func (t *Target) queue() *ordered {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.ordered
}

// Commit makes the result visible under its name, whole and durable. Every part must have been
// committed. After an error everything that was pending is removed. A result that cannot be
// made durable is removed too. If it has replaced a file, it stays, and the error says so.
func (t *Target) Commit() error {
	// This passes on the last parts, which takes as long as the reader of a pipe takes.
	if err := t.finish(); err != nil {
		return errors.Join(err, t.Abort())
	}
	t.mu.Lock()
	if t.mu.state != started {
		t.mu.Unlock()
		return errors.Join(ErrAborted, t.Abort())
	}
	// publish runs under t.mu, so an Abort comes either before or after it.
	if err := t.place.publish(t.mu.total); err != nil {
		t.mu.Unlock()
		return errors.Join(err, t.Abort())
	}
	// From here on Abort does nothing, so settle needs no lock.
	invariant.Move(&t.mu.state, committed)
	t.mu.Unlock()
	return t.place.settle()
}

// finish passes on the last parts and makes the data durable. It does not hold t.mu meanwhile,
// so that Abort can interrupt it.
func (t *Target) finish() error {
	t.mu.Lock()
	st, total := t.mu.state, t.mu.total
	o, r := t.mu.ordered, t.mu.regions
	// If there is no part, a Releaser may still write its end. The compressed form of an empty
	// text also has bytes.
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

// Abort removes everything that is pending. It does not wait for writers: their next call
// fails. It may be called again, also by several goroutines at once; each call returns when
// everything is removed. After a successful Commit it does nothing.
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
	// The place goes first: closing a device ends a write that holds up the queue.
	err := t.place.abort()
	if o != nil {
		o.abort()
	}
	return errs.About("output: remove what is pending", err)
}

// openDirectory checks Spec.Dir and returns its place. It creates nothing.
func openDirectory(spec Spec) (place, error) {
	path, info, err := paths.Resolve(spec.Dir)
	switch base := filepath.Base(spec.Dir); {
	case errors.Is(err, fs.ErrNotExist) && base != "." && base != "..":
		path = paths.Locate(spec.Dir) // the directories above it are made, too
	case err != nil:
		return nil, unresolved(spec.Dir, err)
	case info != nil && !info.IsDir():
		return nil, wrong(spec.Dir, "exists and is not a directory")
	}
	// checkPlace comes before checkReplace, so that the error names a wrong parent first.
	if err = checkPlace(spec, spec.Dir, path, info); err == nil && info != nil {
		err = checkReplace(spec, path, info)
	}
	if err != nil {
		return nil, err
	}
	d := &localStage{name: spec.Dir, path: path, replaces: info != nil, kept: spec.Kept}
	return newCommitter(spec, stage{d, d.make, d.clear, d.publish, d.settle, d.drop}), nil
}

// checkReplace refuses a directory that exists, unless the user allows Overwrite and a rename
// can replace it.
func checkReplace(spec Spec, path string, info fs.FileInfo) error {
	// The lock is checked first. A locked directory is being written, so its run was not
	// interrupted.
	if disk.Locked(path) {
		return errTaken(spec.Dir)
	}
	if !spec.Overwrite && !disk.WasPublished(spec.Kept, path, info) {
		// A killed run leaves `_temporary`; publish would have removed it.
		if isUnfinished(path) {
			return wrong(spec.Dir, "exists already, left by a run that was interrupted; set %s to replace it", errs.Field("Options.Overwrite"))
		}
		return errExists(spec.Dir)
	}
	if err := replaceable(path); err != nil {
		return err
	}
	// A rename cannot replace a mount point. Without this check it would fail after all work
	// was done.
	if parent, err := os.Stat(filepath.Dir(path)); err == nil && disk.IsMount(info, parent) {
		return wrong(spec.Dir, "is a mount point and cannot be replaced; give another name")
	}
	if name, inside := paths.Inside(info, spec.Files); inside {
		return wrong(spec.Dir, "holds the input %s and would be replaced; give another name", quoteName(name))
	}
	return nil
}

// checkPlace refuses a result if the directory above it that exists is not writable. It also
// refuses a result that is one of the inputs or lies inside one. info is nil if the result does
// not exist yet.
func checkPlace(spec Spec, name, path string, info fs.FileInfo) error {
	parent := filepath.Dir(path)
	parentInfo, err := os.Stat(parent)
	for errors.Is(err, fs.ErrNotExist) && parent != filepath.Dir(parent) {
		parent = filepath.Dir(parent)
		parentInfo, err = os.Stat(parent)
	}
	switch {
	case err != nil:
		return refuseParent(name, parent, err)
	case !parentInfo.IsDir():
		return wrong(name, "its parent %s is not a directory", quoteName(parent))
	}
	// A file that is there can be written in place.
	if err := disk.MayMakeIn(parent); err != nil && (spec.File == "" || info == nil) {
		return refuseParent(name, parent, err)
	}
	// A result inside an input would be found and read as input, and grow without end.
	roots := paths.Expand(spec.Inputs)
	// Found knows the files that the plan reads. roots are the inputs as the user named them. A
	// directory among the inputs is only in roots.
	if info != nil && !(spec.File != "" && spec.Overwrite) {
		if in, same := sameAsInput(spec, info); same {
			return wrong(name, "is the input %s; give another name", quoteName(in))
		}
		if in, same := paths.Same(info, roots); same {
			return wrong(name, "is the input %s; give another name", quoteName(in))
		}
	}
	in, inside := paths.Enclosing(parent, roots)
	// Globs and links lead to directories that are not in roots.
	for _, above := range paths.Above(parent) {
		if !inside && spec.Found != nil {
			in, inside = spec.Found.Directory(above)
		}
	}
	if inside {
		return wrong(name, "lies inside the input %s; give a name outside", quoteName(in))
	}
	return nil
}

// unresolved returns the error for an output that paths.Resolve refuses with err.
func unresolved(name string, err error) error {
	if parent, ok := errors.AsType[*paths.ParentError](err); ok {
		return refuseParent(name, parent.Dir, parent.Err)
	}
	return refuse(name, err)
}

// refuseParent returns the options error for a parent directory that cannot be used.
func refuseParent(name, parent string, err error) error {
	cause := errs.Cause(err)
	if errors.Is(cause, fs.ErrNotExist) {
		return wrong(name, "the directory %s does not exist; make it first", quoteName(parent))
	}
	return wrong(name, "the directory %s cannot be written to: %v", quoteName(parent), cause)
}

// sameAsInput returns the name of the input file that is the same file as info.
func sameAsInput(spec Spec, info fs.FileInfo) (string, bool) {
	// Standard input may be redirected from the output file.
	if f, ok := spec.Stdin.(*os.File); ok && slices.Contains(spec.Inputs, "-") {
		if in, err := f.Stat(); err == nil && os.SameFile(info, in) {
			return "(standard input)", true
		}
	}
	if spec.Found == nil {
		return "", false
	}
	return spec.Found.File(info)
}
