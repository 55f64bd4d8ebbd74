package output

import (
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
	if err != nil {
		return nil, err
	}
	return fileSink(f), nil
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
	d, err := disk.OpenRead(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return fmt.Errorf("output: sync: %w", err)
	}
	defer d.Close()
	return disk.SyncFile(d)
}
