package output

import (
	"fmt"
	"sync"

	"mrlocal/errs"
	"mrlocal/internal/disk"
)

// regioned is a place whose parts can be written in parallel.
type regioned interface {
	regions(bytes []int64) (*regions, error) // nil: not here and now
}

// regions are the parts of a file whose sizes are known: part i lies from starts[i] to
// starts[i+1].
// Lock order: regions.mu before region.mu.
type regions struct {
	f      *disk.File
	starts []int64

	mu struct {
		sync.Mutex
		done    []bool
		latest  []*region // attempt at each part
		aborted bool
	}
}

// newRegions places parts of so many bytes one after the other, from offset base of f.
func newRegions(f *disk.File, base int64, bytes []int64) *regions {
	r := &regions{f: f, starts: make([]int64, 1, len(bytes)+1)}
	// One more start than parts: the last one is the end.
	r.starts[0] = base
	for _, n := range bytes {
		base += n
		r.starts = append(r.starts, base)
	}
	r.mu.done, r.mu.latest = make([]bool, len(bytes)), make([]*region, len(bytes))
	return r
}

// base and end bound the parts in the file, in bytes.
func (r *regions) base() int64 { return r.starts[0] }
func (r *regions) end() int64  { return r.starts[len(r.starts)-1] }

// part begins an attempt at a part. It ends the attempt before, if that one is still
// running, because two must not write to one place.
func (r *regions) part(i int) (*region, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case i < 0 || i >= len(r.mu.done):
		return nil, fmt.Errorf("output part %d: there are %d", i, len(r.mu.done))
	case r.mu.done[i]:
		return nil, fmt.Errorf("output part %d: %w", i, ErrLost)
	}
	if before := r.mu.latest[i]; before != nil {
		before.abort()
	}
	r.mu.latest[i] = &region{of: r, part: i, offset: r.starts[i], disk: disk.Writeback{From: r.starts[i]}}
	return r.mu.latest[i], nil
}

// finish fails if a part was not committed.
func (r *regions) finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, done := range r.mu.done {
		if !done {
			return fmt.Errorf("output part %d: was not written", i)
		}
	}
	return nil
}

// abort lets no part be committed any more. Attempts that still write do no harm: the
// file is removed.
// It does not wait for attempts.
func (r *regions) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.aborted = true
}

// region is one attempt at a part. Its lock is held during a write, so that an attempt that
// was given up writes nothing after abort has returned.
// offset counts from the start of the file. No lock of other regions is needed, because
// regions do not overlap.
type region struct {
	of     *regions
	part   int
	offset int64
	disk   disk.Writeback

	mu struct {
		sync.Mutex
		ended bool
	}
}

// write appends to the part. It fails rather than write into the next part.
func (w *region) write(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return ErrAborted
	}
	if end := w.of.starts[w.part+1]; int64(len(p)) > end-w.offset {
		return fmt.Errorf("output part %d: is larger than the %d bytes it was said to have", w.part, end-w.of.starts[w.part])
	}
	// Parts share the file and its offset, so that each write names its place.
	n, err := w.of.f.WriteAt(p, w.offset)
	w.offset += int64(n)
	w.disk.Wrote(w.of.f, w.offset)
	if err != nil {
		return fmt.Errorf("write: %w", errs.Cause(err))
	}
	return nil
}

// commit makes the part count. Of several attempts the first one wins.
// end gives its lock back before r.mu is taken, which keeps the lock order.
func (w *region) commit(int64) error {
	if err := w.end(); err != nil {
		return err
	}
	r := w.of
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mu.aborted:
		return ErrAborted
	case r.mu.done[w.part]:
		return ErrLost
	}
	r.mu.done[w.part] = true
	return nil
}

// end closes the region, which must be full.
// A part of another size than announced would leave a hole.
func (w *region) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return ErrAborted
	}
	w.mu.ended = true
	start, end := w.of.starts[w.part], w.of.starts[w.part+1]
	if w.offset != end {
		return fmt.Errorf("output part %d: has %d bytes where %d were expected", w.part, w.offset-start, end-start)
	}
	return nil
}

// abort gives the attempt up. It waits for a write that is under way.
func (w *region) abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.ended = true
}
