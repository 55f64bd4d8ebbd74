package output

import (
	"fmt"
	"slices"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
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
	if err != nil {
		err = fmt.Errorf("write: %w", errs.Cause(err))
	}
	return n, err
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
