package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/membudget"
)

// regions are the parts of a file whose sizes are known. Part i lies from byte starts[i] to
// starts[i+1]. Lock order: regions.mu before region.mu.
type regions struct {
	f      *disk.File
	starts []int64

	mu struct {
		sync.Mutex
		done    []bool    // by part: an attempt has committed
		latest  []*region // by part: its latest attempt
		aborted bool
	}
}

// newRegions places parts of these sizes one after the other, from offset base of f.
func newRegions(f *disk.File, base int64, bytes []int64) *regions {
	r := &regions{f: f, starts: make([]int64, 1, len(bytes)+1)}
	r.starts[0] = base
	for _, n := range bytes {
		base += n
		r.starts = append(r.starts, base)
	}
	r.mu.done, r.mu.latest = make([]bool, len(bytes)), make([]*region, len(bytes))
	return r
}

// end returns the offset in the file at which the parts end.
func (r *regions) end() int64 { return r.starts[len(r.starts)-1] }

// part begins an attempt at part i. It first aborts the attempt before, if that one is still
// running, because two attempts must not write to one place. It returns ErrLost if the part has
// committed.
func (r *regions) part(i int) (*region, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case i < 0 || i >= len(r.mu.done):
		return nil, fmt.Errorf("output part %d: there are only %d parts", i, len(r.mu.done))
	case r.mu.done[i]:
		return nil, fmt.Errorf("output part %d: %w", i, ErrLost)
	}
	if before := r.mu.latest[i]; before != nil {
		before.Abort()
	}
	w := &region{of: r, part: i, offset: r.starts[i], disk: disk.Writeback{From: r.starts[i]}}
	r.mu.latest[i] = w
	return w, nil
}

// finish fails if a part was not committed.
func (r *regions) finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.mu.done, false); i >= 0 {
		return fmt.Errorf("output part %d: was not written", i)
	}
	return nil
}

// abort prevents that any part commits. It does not wait for attempts: they may still write,
// because the file is removed.
func (r *regions) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.aborted = true
}

// region is one attempt at a part. It implements Part. Write holds mu, so that an aborted attempt writes
// nothing after Abort has returned. Regions do not overlap, so different regions need no common lock.
type region struct {
	of     *regions
	part   int
	offset int64 // in the file, of the next byte
	disk   disk.Writeback

	mu struct {
		sync.Mutex
		ended bool // Commit or Abort was called
	}
}

// Write implements Part. It fails if p does not fit in the part.
func (w *region) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return 0, ErrAborted
	}
	if end := w.of.starts[w.part+1]; int64(len(p)) > end-w.offset {
		return 0, fmt.Errorf("output part %d: has more than the %d bytes that were announced", w.part, end-w.of.starts[w.part])
	}
	// All parts share the file offset, so each write names its place.
	n, err := w.of.f.WriteAt(p, w.offset)
	w.offset += int64(n)
	w.disk.Wrote(w.of.f, w.offset)
	return n, errs.About("write", errs.Cause(err))
}

// Commit implements Part. It fails if the part has fewer bytes than announced, because the file would
// have a hole.
func (w *region) Commit() error {
	if w.end() {
		return ErrAborted
	}
	if start, end := w.of.starts[w.part], w.of.starts[w.part+1]; w.offset != end {
		return fmt.Errorf("output part %d: has %d bytes, and %d were announced", w.part, w.offset-start, end-start)
	}
	r := w.of
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mu.aborted:
		return ErrAborted
	case r.mu.done[w.part]:
		return ErrLost
	case r.mu.latest[w.part] != w: // a later attempt has taken the place
		return ErrAborted
	}
	r.mu.done[w.part] = true
	return nil
}

// Abort implements Part. It waits for a Write that is under way.
func (w *region) Abort() { w.end() }

// end ends the attempt. It reports whether the attempt had ended before.
func (w *region) end() (before bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, w.mu.ended = w.mu.ended, true
	return before
}

// Sink takes the parts of a job's output: a Target, Spools or Discard. Any goroutine may call its
// methods.
type Sink interface {
	// Part begins the part that an attempt of a task writes.
	Part(task, attempt int) (Part, error)
	// Sizes sets the bytes of every part. The caller calls it before the first Part, and only if it
	// knows the sizes by then.
	Sizes(bytes []int64) error
}

// Part is the output of one attempt at a part: a part file, a region of a file, a place in the queue,
// or a spool. Each Write goes there at once, so a writer of records has to gather them first. A
// Write has copied or written its bytes when it returns. Only one goroutine may use a Part; any
// goroutine may call Abort, also during a Write. Later calls then return ErrAborted.
type Part interface {
	io.Writer
	// Commit ends the part: its attempt has succeeded. The first attempt at a part that commits
	// wins, and Commit returns ErrLost for the others. A part that does not win is dropped.
	Commit() error
	// Abort drops what the attempt has written. After Commit it does nothing.
	Abort()
}

// Besides is a Part whose attempt may have further files.
type Besides interface {
	// Beside makes a further file of the attempt, for example NAME-r-00003 next to part-r-00003. It
	// commits and aborts with the part. The caller checks the errors of the writer before Commit.
	Beside(name string) (io.Writer, error)
}

// targetPart is a Part of a Target. Its errors have the name of the result, and are sticky.
type targetPart struct {
	Part
	name string // of the result
	err  error  // after a successful Commit: ErrAborted
}

// Write implements Part. After an error every call returns that error.
func (p *targetPart) Write(data []byte) (int, error) {
	if p.err == nil && len(data) > 0 {
		_, err := p.Part.Write(data)
		p.err = named(p.name, err)
	}
	if p.err != nil {
		return 0, p.err
	}
	return len(data), nil
}

// Commit implements Part.
func (p *targetPart) Commit() error {
	err := p.err
	if err == nil {
		err = named(p.name, p.Part.Commit())
		p.err = cmp.Or(err, ErrAborted)
	}
	if err != nil {
		p.Abort()
	}
	return err
}

// Beside implements Besides. It fails if the place of the part has no further files.
func (p *targetPart) Beside(name string) (io.Writer, error) {
	b, ok := p.Part.(Besides)
	if !ok {
		return nil, named(p.name, errors.New("output: named outputs need a directory of part files"))
	}
	w, err := b.Beside(name)
	return w, named(p.name, err)
}

// namedError is an error of writing, with the name of the result before it.
type namedError struct {
	name string
	err  error
}

func (e *namedError) Error() string { return e.name + ": " + e.err.Error() }

func (e *namedError) Unwrap() error { return e.err }

// named puts the name of the result before an error of writing, but only once. ErrAborted and
// ErrClosedPipe stay as they are.
func named(name string, err error) error {
	if err == nil || errors.Is(err, ErrAborted) || errors.Is(err, ErrClosedPipe) || errs.Is[*namedError](err) {
		return err
	}
	return &namedError{name, err}
}

// packedPart compresses a part file on the thread of its attempt.
type packedPart struct {
	*fileAttempt
	format Format
	lease  *membudget.Lease // of the encoders, as far as there is memory: the floor of the attempt covers one

	mu struct {
		sync.Mutex
		files []*Compressor // of the part file, and of the files of named outputs
	}
}

// packed returns a Part that compresses the files of a.
func (a *fileAttempt) packed(c Format, memory *membudget.Budget) (Part, error) {
	p := &packedPart{fileAttempt: a, format: c}
	p.lease, _ = memory.TryReserve(0) // 0 bytes are always granted
	_, err := p.add(a.part)
	if err != nil {
		a.Abort()
	}
	return p, err
}

// add begins to compress a file.
func (p *packedPart) add(w io.Writer) (*Compressor, error) {
	c, err := NewCompressor(p.format, w)
	if err != nil {
		return nil, err
	}
	p.lease.Grow(EncoderBytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.files = append(p.mu.files, c)
	return c, nil
}

// Write implements Part.
func (p *packedPart) Write(text []byte) (int, error) { return p.mu.files[0].Write(text) }

// Beside implements Besides.
func (p *packedPart) Beside(name string) (io.Writer, error) {
	w, err := p.fileAttempt.Beside(name)
	if err != nil {
		return nil, err
	}
	return p.add(w)
}

// Commit ends the compressed text of all files of the attempt, and then commits them.
func (p *packedPart) Commit() error {
	defer p.lease.Close()
	p.mu.Lock()
	files := slices.Clone(p.mu.files)
	p.mu.Unlock()
	for _, c := range files {
		if p.of.style.OmitEmpty && !c.some {
			continue // the end of an empty text would not be empty
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return p.fileAttempt.Commit()
}

// Abort implements Part.
func (p *packedPart) Abort() {
	p.lease.Close()
	p.fileAttempt.Abort()
}
