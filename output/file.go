package output

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/paths"
)

// pendingFile is a place that is one regular file. The file is written under a hidden name
// next to its own, and renamed at the end. The open file is locked, so that other runs do not
// remove it as a leftover.
//
// If a rename would lose something of the file that is there, the result is copied into that file at the
// end, as GNU sort writes it. That is not atomic.
type pendingFile struct {
	name     string      // as the user gave it
	path     string      // absolute, without links
	replaces fs.FileInfo // the file that the result replaces; nil: none
	inPlace  bool        // the result is copied into that file

	mu struct {
		sync.Mutex
		f     *disk.File // under its hidden name until state is committed
		state state
	}
}

// start implements place. It makes the pending file and locks it, so that other runs see that
// it is in use. It also removes the pending files of killed runs. If the result replaces a file
// that others cannot read, the pending file is as private from the beginning.
func (p *pendingFile) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The owner must be able to write during the run. sync sets the mode of the old file.
	mode := fs.FileMode(0o666)
	if p.replaces != nil {
		mode &= p.replaces.Mode().Perm()
	}
	beside := p.path
	if dir := filepath.Dir(p.path); p.inPlace && disk.MayMakeIn(dir) != nil {
		mode &= 0o600 // who may not read the directory must not read its files elsewhere
		// Files of one name in several directories must not share a pending file.
		beside = filepath.Join(os.TempDir(), fmt.Sprintf("%s-%08x", filepath.Base(p.path), crc32.ChecksumIEEE([]byte(dir))))
	}
	return claim(p.name, beside, func(pending string) error {
		// O_EXCL ensures that the file is new.
		f, err := disk.OpenFile(pending, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode|0o200)
		if err != nil {
			return err
		}
		if err := lockMade(f, pending); err != nil {
			return errors.Join(err, f.Close())
		}
		p.mu.f = f
		invariant.Move(&p.mu.state, started)
		return nil
	})
}

// file returns the pending file, or ErrAborted. The caller uses the file without the lock. If
// abort closes it meanwhile, the next write fails.
func (p *pendingFile) file() (*disk.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.state != started {
		return nil, ErrAborted
	}
	return p.mu.f, nil
}

// sink implements place: all parts are written to the one file, in order.
func (p *pendingFile) sink(bool) (*sink, error) {
	f, err := p.file()
	return fileSink(f), err
}

// regions gives the file its whole length, so that parts can be written
// in parallel. If the file system has no room, regions or a later write fails.
func (p *pendingFile) regions(bytes []int64) (*regions, error) {
	f, err := p.file()
	if err != nil {
		return nil, err
	}
	r := newRegions(f, 0, bytes)
	return r, about(p.name, f.Truncate(r.end()))
}

// sync implements place. It makes the content durable before publish makes it visible. After a
// crash the name must not stand for half a result. If the new file cannot have the owner and the mode of
// the old one, the result is copied into the old one. The owner is set first, because only he may set the mode.
func (p *pendingFile) sync() error {
	f, err := p.file()
	if err != nil {
		return err
	}
	if p.replaces != nil && !p.inPlace {
		p.inPlace = disk.KeepOwner(f, p.replaces) != nil || f.Chmod(p.replaces.Mode().Perm()) != nil
	}
	if err := disk.SyncFile(f); err != nil {
		return about(p.name, err)
	}
	return about(p.name, disk.Flush(f))
}

// publish implements place: it gives the file its name. The rename is atomic: other processes
// see the old file or the whole new one. Afterwards abort does nothing.
func (p *pendingFile) publish(int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.state != started {
		return ErrAborted
	}
	// The check in openFile may be hours old.
	if info, err := os.Lstat(p.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("output %s: is not a regular file any more", quoteName(p.name))
	}
	if p.inPlace {
		return p.copyOver()
	}
	// Windows does not rename open files.
	if closeBeforeRename {
		if err := p.mu.f.Close(); err != nil {
			return about(p.name, err)
		}
	}
	err := disk.Move(p.mu.f.Name(), p.path)
	switch {
	// The file is a mount point, as some are in containers.
	case errors.Is(err, syscall.EBUSY) && !closeBeforeRename:
		p.inPlace = true
		return p.copyOver()
	case err != nil:
		return about(p.name, err)
	}
	invariant.Move(&p.mu.state, committed)
	return nil
}

// copyOver copies the result into the file that is there, and removes the pending file. sync has made the
// pending file durable, and copyOver first does so with its name: a power cut during the copy leaves the
// whole result there. If the copy fails, the pending file stays, because it has the only whole result. The caller
// holds p.mu.
func (p *pendingFile) copyOver() error {
	from := p.mu.f
	if err := syncDir(filepath.Dir(from.Name())); err != nil {
		return about(p.name, err)
	}
	err := disk.CopyOver(p.path, from)
	invariant.Move(&p.mu.state, committed)
	if err != nil {
		return fmt.Errorf("output %s: was not written to its end, the whole result is %s: %w", quoteName(p.name), quoteName(from.Name()), errs.Cause(err))
	}
	return disk.Remove(from.Name())
}

// settle implements place. It makes the name durable, and closes the file, which unlocks it. If
// the name cannot be made durable, settle removes a new file. A file that the rename has
// replaced cannot be restored; then the result stays, and the error says so.
func (p *pendingFile) settle() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inPlace {
		return errs.Cause(p.mu.f.Close())
	}
	var ours fs.FileInfo
	if !closeBeforeRename {
		ours, _ = p.mu.f.Stat() // does not fail for an open file
	}
	err := errs.Cause(syncDir(filepath.Dir(p.path)))
	if !closeBeforeRename {
		err = errors.Join(err, errs.Cause(p.mu.f.Close()))
	}
	switch {
	case err == nil:
		return nil
	case p.replaces != nil:
		return fmt.Errorf("output %s: has replaced the file that was there, but could not be made durable: %w", quoteName(p.name), err)
	}
	// Another program may have put its own file there since the rename. That file stays.
	if now, statErr := os.Lstat(p.path); statErr == nil && (ours == nil || os.SameFile(now, ours)) {
		err = errors.Join(err, disk.Remove(p.path))
	}
	return fmt.Errorf("output %s: was removed, because it could not be made durable: %w", quoteName(p.name), err)
}

// abort implements place. It removes the pending file. After the rename it does nothing. It may
// be called several times.
func (p *pendingFile) abort() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.state >= aborted {
		return nil
	}
	if invariant.Move(&p.mu.state, aborted); p.mu.f == nil {
		return nil
	}
	_ = p.mu.f.Close() // the content is discarded
	if err := disk.Remove(p.mu.f.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// about puts the name of the output before err. It returns nil for nil.
func about(name string, err error) error {
	return errs.About("output "+quoteName(name), errs.Cause(err))
}

// sink receives the parts in order and writes them to a file or a stream. A plain file can drop what
// a failed attempt has written. A stream and a compressed file cannot. sink has no lock:
// ordered.passing guards it.
type sink struct {
	w      io.Writer
	file   *disk.File // nil: the sink is a stream, or compresses
	offset int64      // bytes of text that were written, before compression
	disk   disk.Writeback
	pack   *packQueue // compresses the text; nil: the text is written as it is

	mayClose bool // a closed pipe is ErrClosedPipe (Spec.PipeMayClose)
}

// fileSink returns the sink of an empty file.
func fileSink(f *disk.File) *sink { return &sink{w: f, file: f} }

// Write writes p and counts it. A short write is an error, also if the writer reports none.
func (s *sink) Write(p []byte) (int, error) {
	if s.pack != nil {
		n, err := s.pack.Write(p)
		s.offset += int64(n)
		return n, err
	}
	n, err := s.w.Write(p)
	s.advance(int64(n))
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if s.mayClose && errors.Is(err, syscall.EPIPE) {
		return n, fmt.Errorf("%w: %w", ErrClosedPipe, err)
	}
	return n, writeError(err)
}

// advance counts bytes that were written, and starts write-back to the disk.
func (s *sink) advance(bytes int64) {
	s.offset += bytes
	if s.file != nil {
		s.disk.Wrote(s.file, s.offset)
	}
}

// rewind drops everything behind offset. It returns false for a stream, which it leaves as it is.
func (s *sink) rewind(offset int64) (bool, error) {
	if s.file == nil {
		return false, nil
	}
	if s.offset == offset {
		return true, nil
	}
	// Truncate does not move the offset of the open file, where the next write begins.
	err := s.file.Truncate(offset)
	if err == nil {
		_, err = s.file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return false, fmt.Errorf("output: take back a failed attempt: %w", errs.Cause(err))
	}
	s.offset, s.disk.From = offset, min(s.disk.From, offset)
	return true, nil
}

// writeError says that err came from writing. It returns nil for nil, and ErrAborted for the error of a
// file that an abort has closed.
func writeError(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrAborted):
		return err
	case errors.Is(err, os.ErrClosed):
		return ErrAborted
	}
	return fmt.Errorf("write: %w", errs.Cause(err))
}

// openFile checks Spec.File and returns its place: a regular file, a device, a FIFO or a
// descriptor. It creates and opens nothing. It follows links, so the result replaces the file
// behind a link, not the link.
func openFile(spec Spec) (place, error) {
	if strings.HasSuffix(spec.File, string(filepath.Separator)) {
		return nil, wrong(spec.File, "names a directory; name a file")
	}
	if p, ok := descriptor(spec); ok {
		return p, nil
	}
	path, info, err := paths.Resolve(spec.File)
	switch {
	case err != nil:
		return nil, unresolved(spec.File, err)
	case info == nil:
	case info.IsDir():
		return nil, wrong(spec.File, "is a directory; name a file")
	case info.Mode()&fs.ModeSocket != 0:
		return nil, wrong(spec.File, "is a socket")
	default:
		if err := disk.MayWrite(path); err != nil {
			return nil, refuse(spec.File, err)
		}
		if info.Mode().IsRegular() {
			break
		}
		fifo := info.Mode()&fs.ModeNamedPipe != 0
		if in, same := sameAsInput(spec, info); fifo && same {
			return nil, wrong(spec.File, "is the input %s; give another name", quoteName(in))
		}
		return &device{path: path, fifo: fifo}, nil
	}
	if err := checkPlace(spec, spec.File, path, info); err != nil {
		return nil, err
	}
	return &pendingFile{name: spec.File, path: path, replaces: info, inPlace: info != nil && disk.LosesByRename(path, info)}, nil
}

// syncDir makes the names in a directory durable, after a rename in it. A directory that may be
// written but not read cannot be opened; syncDir then does nothing.
func syncDir(path string) error {
	err := syncAny(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return errs.About("output: sync", err)
}

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
	s := &stdout{w: cmp.Or(spec.Stdout, io.Discard), mayClose: spec.PipeMayClose}
	if f, info := s.regular(); f != nil {
		if name, same := sameAsInput(spec, info); same {
			return nil, errs.Optionf("standard output", "is the input %s; write the result elsewhere", quoteName(name))
		}
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
	_, err := d.open()
	return refuse(d.path, errs.Cause(err))
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
