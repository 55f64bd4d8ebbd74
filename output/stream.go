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

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
)

// stdout is a place that the caller has opened, mostly standard output. It is never closed
// here. If it is a regular file that ends at its offset, parts of known sizes are written in
// parallel.
type stdout struct {
	w        io.Writer
	mayClose bool // Spec.PipeMayClose

	mu struct {
		sync.Mutex
		reserved *regions // nil: the parts are written in order
	}
}

// openStdout refuses a standard output that is redirected to an input, because the run would
// read what it writes. It does not check whether input and output are the two ends of one pipe.
func openStdout(spec Spec) (place, error) {
	s := &stdout{w: spec.Stdout, mayClose: spec.PipeMayClose}
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

// regular returns standard output if it is a regular file, and nil otherwise.
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

// sink implements place. The writer need not be a file, so nothing can be dropped from it.
func (s *stdout) sink(bool) (*sink, error) { return &sink{w: s.w, mayClose: s.mayClose}, nil }

// regions makes the file longer and moves the offset of the descriptor
// behind the parts. A process that shares the descriptor then writes behind the result. Our
// own notes under 2>&1 do too.
func (s *stdout) regions(bytes []int64) (*regions, error) {
	f, _ := s.regular()
	if f == nil {
		return nil, nil
	}
	base, atEnd := disk.Offset(f)
	// Data behind the offset belongs to another program.
	if !atEnd {
		return nil, nil
	}
	r := newRegions(f, base, bytes)
	// If there is no room, the parts are written in order instead.
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
		if err := disk.SyncFile(f); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	return nil
}

// publish and settle do nothing, because a stream has no name to give.
func (s *stdout) publish(int) error { return nil }

func (s *stdout) settle() error { return nil }

// abort removes the reserved room, which may have holes, unless another process has written
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
	if err != nil || info.Size() != r.end() || r.f.Truncate(r.starts[0]) != nil {
		return nil
	}
	_, _ = r.f.Seek(r.starts[0], io.SeekStart) // an error does not matter, because the run has failed
	return nil
}

// device is a place that is written directly: a character device, a FIFO, or a descriptor of
// the process. opening is taken before mu. abort never takes opening, because it must not wait
// for a reader.
type device struct {
	path  string
	fifo  bool // is opened at its first write
	flags int  // added to those of open

	opening sync.Mutex // held while open waits for a FIFO's reader
	mu      struct {
		sync.Mutex
		f     *disk.File // open once state is started
		state state
	}
}

// readerPoll is the time between two attempts of open to open a FIFO that has no reader yet.
const readerPoll = 10 * time.Millisecond

// start implements place. It opens a device. It does not open a FIFO, because that waits for a
// reader. A run must not wait for one at its start or at its end.
func (d *device) start() error {
	if d.fifo {
		return nil
	}
	if _, err := d.open(); err != nil {
		return refuse(d.path, errs.Cause(err))
	}
	return nil
}

// open opens the device. It waits until a FIFO has a reader. abort ends the loop: tryOpen then
// returns ErrAborted.
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

// tryOpen returns the device, and opens it if it is not open yet. It returns ErrAborted after
// abort.
func (d *device) tryOpen() (*disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.mu.state {
	case started:
		return d.mu.f, nil
	case aborted:
		return nil, ErrAborted
	}
	f, err := disk.OpenFile(d.path, os.O_WRONLY|nonBlocking|d.flags, 0)
	if err != nil {
		return nil, err
	}
	d.mu.f = f
	invariant.Move(&d.mu.state, started)
	return f, nil
}

// Write writes to the device. abort closes the device, which ends a Write that waits; it then
// returns ErrAborted.
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

// sink implements place. Nothing can be dropped from a device.
func (d *device) sink(bool) (*sink, error) { return &sink{w: d}, nil }

// sync implements place. It also opens a FIFO to which nothing was written, so that its reader
// sees the end.
func (d *device) sync() error {
	f, err := d.open()
	if err != nil {
		return writeError(err)
	}
	return about(d.path, disk.SyncFile(f))
}

// publish does nothing: the bytes are written already.
func (d *device) publish(int) error { return nil }

// settle closes the device, so that the reader of a FIFO sees the end.
func (d *device) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return about(d.path, d.mu.f.Close())
}

// abort implements place. It opens a FIFO whose reader is waiting and closes it, so that the
// reader sees the end.
func (d *device) abort() error {
	if d.fifo {
		_, _ = d.tryOpen()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	invariant.Reach(&d.mu.state, aborted)
	if d.mu.f != nil {
		_ = d.mu.f.Close() // may be closed already; the result is discarded
	}
	return nil
}

// maxLinks is the most symbolic links that descriptor follows.
const maxLinks = 40

// NamesStdout reports whether a result in the file of that name goes to Spec.Stdout, as for /dev/stdout.
func NamesStdout(file string) bool {
	path, ok := descriptorPath(file)
	return ok && filepath.Base(path) == "1"
}

// descriptor returns the place of a name such as /dev/stdout, which stands for a descriptor of
// this process. Descriptor 1 is Spec.Stdout. Other descriptors are opened for append, so that a
// file that the shell has opened is neither emptied nor replaced.
func descriptor(spec Spec) (place, bool) {
	path, ok := descriptorPath(spec.File)
	switch {
	case !ok:
		return nil, false
	case filepath.Base(path) == "1" && spec.Stdout != nil:
		p, err := openStdout(spec)
		return p, err == nil
	}
	return &device{path: path, flags: os.O_APPEND}, true
}

// descriptorPath follows the links of a name to that of a descriptor of this process, if it is one.
func descriptorPath(name string) (path string, ok bool) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	self, selfErr := filepath.EvalSymlinks("/proc/self/fd")
	for range maxLinks {
		dir := filepath.Dir(path)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if dir == "/dev/fd" || selfErr == nil && dir == self { // one links to the other
			break
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", false
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(dir, link)
		}
		path = link
	}
	info, err := os.Stat(path)
	return path, err == nil && !info.IsDir() && info.Mode()&fs.ModeSocket == 0
}
