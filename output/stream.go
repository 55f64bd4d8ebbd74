package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/disk"
)

// stdout is a place that somebody else has opened. If it is a regular file that ends at its
// offset, parts of known sizes are written in parallel.
// It is never closed here.
type stdout struct {
	w io.Writer

	mu struct {
		sync.Mutex
		reserved *regions
	}
}

// openStdout refuses a standard output that is redirected to an input, which would be read
// while it grows. That input and output may be the two ends of one pipe is not checked.
func openStdout(spec Spec) (place, error) {
	s := &stdout{w: spec.Stdout}
	if s.w == nil {
		s.w = io.Discard
	}
	f, info := s.regular()
	if f == nil {
		return s, nil
	}
	if name, same := sameAsInput(spec, info); same {
		return nil, errs.Optionf("standard output", "is the input %s; write the result elsewhere", quoteName(name))
	}
	return s, nil
}

// regular returns standard output if it is a regular file, and else nil.
func (s *stdout) regular() (*disk.File, fs.FileInfo) {
	f, ok := s.w.(*os.File)
	if !ok {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	return disk.Of(f), info
}

func (s *stdout) start() error {
	disk.GrowPipe(s.w)
	return nil
}

// sink passes parts on in order. The caller's writer need not be a file.
func (s *stdout) sink(bool) (*sink, error) { return &sink{w: s.w}, nil }

// regions reserves the room by moving the offset of the descriptor behind it. A process that
// shares the descriptor, and our own notes under 2>&1, then write behind the result.
func (s *stdout) regions(bytes []int64) (*regions, error) {
	f, _ := s.regular()
	if f == nil {
		return nil, nil
	}
	base, atEnd := disk.Offset(f)
	// Data behind the offset belongs to somebody else.
	if !atEnd {
		return nil, nil
	}
	r := newRegions(f, base, bytes)
	// Without room the parts are written in order, which fails later if at all.
	if err := f.Truncate(r.end()); err != nil {
		return nil, nil
	}
	if _, err := f.Seek(r.end(), io.SeekStart); err != nil {
		return nil, fmt.Errorf("standard output: %w", errs.Cause(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.reserved = r
	return r, nil
}

// sync makes a regular file durable. Other writers have nothing to sync.
func (s *stdout) sync() error {
	if f, _ := s.regular(); f != nil {
		if err := syncFile(f); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	return nil
}

// publish and settle have nothing to do: a stream has no name of ours.
func (s *stdout) publish(int) error { return nil }

func (s *stdout) settle() error { return nil }

// abort takes back the reserved room, which may have holes, unless somebody has written
// behind it.
func (s *stdout) abort() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.reserved
	if r == nil {
		return nil
	}
	s.mu.reserved = nil
	info, err := r.f.Stat()
	if err != nil || info.Size() != r.end() {
		return nil
	}
	if err := r.f.Truncate(r.base()); err != nil {
		return nil
	}
	_, _ = r.f.Seek(r.base(), io.SeekStart) // a failed run's output is not looked at
	return nil
}

// device is a place that is written directly: a character device, a FIFO, or a descriptor of
// the process.
// opening is taken before mu, and never by abort, which must not wait for a reader.
type device struct {
	path  string
	fifo  bool
	flags int

	opening sync.Mutex // held while open waits for a FIFO's reader
	mu      struct {
		sync.Mutex
		f       *disk.File
		aborted bool
	}
}

// readerPoll is how long open waits between two tries to find a reader of a FIFO.
const readerPoll = 10 * time.Millisecond

// start opens a device. A FIFO is opened at its first write, because opening waits for a
// reader. Neither the start nor the end of the run may wait for that.
func (d *device) start() error {
	if d.fifo {
		return nil
	}
	if _, err := d.open(); err != nil {
		return refuse(d.path, errs.Cause(err))
	}
	return nil
}

// open opens the device; a FIFO as soon as it has a reader.
// An abort ends the loop, since tryOpen then fails with ErrAborted.
func (d *device) open() (*disk.File, error) {
	d.opening.Lock()
	defer d.opening.Unlock()
	for {
		f, err := d.tryOpen()
		if f != nil || !d.fifo || !noReader(err) {
			return f, err
		}
		time.Sleep(readerPoll)
	}
}

// tryOpen opens the device, unless that was done or the device was aborted.
func (d *device) tryOpen() (*disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.aborted {
		return nil, ErrAborted
	}
	if d.mu.f != nil {
		return d.mu.f, nil
	}
	f, err := disk.OpenFile(d.path, os.O_WRONLY|nonBlocking|d.flags, 0)
	if err != nil {
		return nil, err
	}
	d.mu.f = f
	return f, nil
}

// Write writes to the device. abort closes the device, which ends a Write that waits.
func (d *device) Write(p []byte) (int, error) {
	f, err := d.open()
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	if errors.Is(err, os.ErrClosed) {
		err = ErrAborted
	}
	return n, err
}

// sink passes parts on in order, since nothing can be taken back.
func (d *device) sink(bool) (*sink, error) { return &sink{w: d}, nil }

// sync also opens a FIFO that got no bytes, so that its reader sees the end.
func (d *device) sync() error {
	f, err := d.open()
	if err != nil {
		return streamError(err)
	}
	return about(d.path, syncFile(f))
}

// publish has nothing to do: the bytes are out.
func (d *device) publish(int) error { return nil }

// settle closes the device, so that the reader of a FIFO sees the end.
func (d *device) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return about(d.path, d.mu.f.Close())
}

// abort opens a FIFO whose reader is waiting, so that the reader sees the end.
func (d *device) abort() error {
	if d.fifo {
		_, _ = d.tryOpen()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.aborted = true
	if d.mu.f != nil {
		_ = d.mu.f.Close() // may be closed already; the result is dropped
	}
	return nil
}

// maxLinks is how many symbolic links may lead to a descriptor.
const maxLinks = 40

// descriptor recognises names of our own descriptors. Standard output is the one that Spec
// has. Another descriptor is written at its end, so that what the shell has opened is
// neither emptied nor replaced.
func descriptor(spec Spec) (place, bool) {
	path, err := filepath.Abs(spec.File)
	if err != nil {
		return nil, false
	}
	for range maxLinks {
		dir := filepath.Dir(path)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if isDescriptorDir(dir) {
			break
		}
		link, err := os.Readlink(path)
		if err != nil {
			return nil, false
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(dir, link)
		}
		path = link
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir() || info.Mode()&fs.ModeSocket != 0:
		return nil, false
	case filepath.Base(path) == "1" && spec.Stdout != nil:
		p, err := openStdout(spec)
		return p, err == nil
	}
	return &device{path: path, flags: os.O_APPEND}, true
}

// isDescriptorDir recognises /proc/self/fd, to which /dev/fd is a link, in the forms that
// resolving it may give.
func isDescriptorDir(dir string) bool {
	self, err := filepath.EvalSymlinks("/proc/self/fd")
	return dir == "/dev/fd" || err == nil && dir == self
}
