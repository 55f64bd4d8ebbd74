package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mrlocal/errs"
	"mrlocal/internal/disk"
	"mrlocal/internal/invariant"
	"mrlocal/output/compress"
)

// pendingFile is a place that is one regular file. It is written under a hidden name beside
// its own and renamed at the end.
// The open file is the lock that keeps other runs from sweeping it.
type pendingFile struct {
	name     string      // as the user gave it
	path     string      // absolute, no link
	replaces fs.FileInfo // nil: a new file

	mu struct {
		sync.Mutex
		f     *disk.File // nil: not made yet
		state fileState
	}
}

// fileState is how far a pending file is.
type fileState uint8

const (
	filePending fileState = iota // under its hidden name, or not made yet
	fileRenamed                  // it has its name, and stays
	fileAborted                  // it is removed
)

func (s fileState) String() string { return [...]string{"pending", "renamed", "aborted"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s fileState) Next() []fileState {
	return [...][]fileState{{fileRenamed, fileAborted}, nil, nil}[s]
}

// start makes the pending file and locks it, so that other runs see that it is in use. It
// removes those of runs that were killed. A file that replaces a private one is private from
// the beginning.
// O_EXCL makes sure that the file is new.
func (p *pendingFile) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The owner can always write, or the run could not. sync sets the mode that was there.
	mode := fs.FileMode(0o666)
	if p.replaces != nil {
		mode &= p.replaces.Mode().Perm()
	}
	return claim(p.name, p.path, func(pending string) error {
		f, err := disk.OpenFile(pending, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode|0o200)
		if err != nil {
			return err
		}
		if err := lockMade(f, pending); err != nil {
			return errors.Join(err, f.Close())
		}
		p.mu.f = f
		return nil
	})
}

// file returns the pending file, or ErrAborted.
// The caller uses it without the lock. An abort then closes it, and the next write
// fails.
func (p *pendingFile) file() (*disk.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.f == nil || p.mu.state == fileAborted {
		return nil, ErrAborted
	}
	return p.mu.f, nil
}

// sink implements place: parts that come in order go to the one file.
func (p *pendingFile) sink(bool) (*sink, error) {
	f, err := p.file()
	if err != nil {
		return nil, err
	}
	return fileSink(f), nil
}

// regions implements regioned. The file gets its whole length at once, so that parts can be
// written in parallel. A file system without room fails here or in a write.
func (p *pendingFile) regions(bytes []int64) (*regions, error) {
	f, err := p.file()
	if err != nil {
		return nil, err
	}
	r := newRegions(f, 0, bytes)
	return r, about(p.name, f.Truncate(r.end()))
}

// sync makes the content durable, before publish makes it visible: after a crash the name
// must never stand for half a result.
// The owner is set before the mode, because a change of owner may clear bits of the
// mode.
func (p *pendingFile) sync() error {
	f, err := p.file()
	if err != nil {
		return err
	}
	if p.replaces != nil {
		keepOwner(f, p.replaces)
		if err := f.Chmod(p.replaces.Mode().Perm()); err != nil {
			return about(p.name, err)
		}
	}
	if err := syncFile(f); err != nil {
		return about(p.name, err)
	}
	return about(p.name, flush(f))
}

// publish gives the file its name. The rename is atomic: others see the old file or the
// whole new one.
// From here on abort does nothing.
func (p *pendingFile) publish(int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.state == fileAborted {
		return ErrAborted
	}
	// The check at the start may be hours old.
	if info, err := os.Lstat(p.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("output %s: is not a regular file any more", quoteName(p.name))
	}
	// Windows does not rename an open file.
	if closeBeforeRename {
		if err := p.mu.f.Close(); err != nil {
			return about(p.name, err)
		}
	}
	if err := disk.Move(p.mu.f.Name(), p.path); err != nil {
		return about(p.name, err)
	}
	invariant.Move(&p.mu.state, fileRenamed)
	return nil
}

// settle makes the name durable. If that fails the result is in doubt: a new file is
// removed. The file that a rename has replaced cannot come back, and the error says so.
// It closes the file and so unlocks it.
func (p *pendingFile) settle() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ours fs.FileInfo
	if !closeBeforeRename {
		ours, _ = p.mu.f.Stat() // fails for no open file
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
	// Another program may have put its own file there since the rename.
	if now, statErr := os.Lstat(p.path); statErr == nil && (ours == nil || os.SameFile(now, ours)) {
		err = errors.Join(err, disk.Remove(p.path))
	}
	return fmt.Errorf("output %s: was removed, because it could not be made durable: %w", quoteName(p.name), err)
}

// abort removes the pending file. After the rename there is nothing to take back. It may be
// called several times.
func (p *pendingFile) abort() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.state != filePending {
		return nil
	}
	invariant.Move(&p.mu.state, fileAborted)
	if p.mu.f == nil {
		return nil
	}
	_ = p.mu.f.Close() // its content is dropped
	if err := disk.Remove(p.mu.f.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// about puts the name of the output before err; nil stays nil.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("output %s: %w", quoteName(name), errs.Cause(err))
}

// sink is where parts go in order: a file, which can take back what an attempt wrote before
// it failed, or a stream, which cannot.
// It has no lock: ordered.passing guards it.
type sink struct {
	w      io.Writer
	file   *disk.File // nil: a stream
	offset int64      // bytes passed on, of text
	disk   disk.Writeback
	pack   *compress.Queue // nil: the text is written as it is
}

// fileSink returns the sink of a file that is empty and stands at its start.
func fileSink(f *disk.File) *sink { return &sink{w: f, file: f} }

// Write passes p on and counts it. A short write is an error even if the writer reports
// none.
func (s *sink) Write(p []byte) (int, error) {
	if s.pack != nil {
		n, err := s.pack.Write(p)
		s.offset += int64(n)
		return n, packError(err)
	}
	n, err := s.w.Write(p)
	s.advance(int64(n))
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, streamError(err)
}

// advance counts bytes that were written.
func (s *sink) advance(bytes int64) {
	s.offset += bytes
	if s.file != nil {
		s.disk.Wrote(s.file, s.offset)
	}
}

// rewind takes back everything behind offset. It reports false for a stream.
// offset counts the bytes of this result.
func (s *sink) rewind(offset int64) (bool, error) {
	if s.file == nil {
		return false, nil
	}
	if s.offset == offset {
		if s.pack != nil {
			s.pack.Mark()
		}
		return true, nil
	}
	if s.pack != nil {
		if err := s.pack.Rewind(offset, s.file); err != nil {
			return false, err
		}
		s.offset = offset
		return true, nil
	}
	// Both are needed: the next write starts at the offset of the open file.
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

// streamError says of an error that it came from writing, and makes that of a pipe whose
// reader has gone an ErrClosedPipe.
// The reader of a closed pipe wants no more, which is no failure of the job.
func streamError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrAborted):
		return err
	case readerGone(err), errors.Is(err, io.ErrClosedPipe):
		return fmt.Errorf("%w: %w", ErrClosedPipe, err)
	}
	return fmt.Errorf("write: %w", errs.Cause(err))
}

// openFile checks Spec.File and finds out what kind of place it is.
// Nothing is created or opened here. Links are followed, so the file behind a link is
// replaced and not the link.
func openFile(spec Spec) (place, error) {
	if strings.HasSuffix(spec.File, string(filepath.Separator)) {
		return nil, wrong(spec.File, "names a directory; give a file, or use Options.OutputDir for a directory of parts")
	}
	if p, ok := descriptor(spec); ok {
		return p, nil
	}
	path, info, err := resolve(spec.File)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
	case info.IsDir():
		return nil, wrong(spec.File, "is a directory; use Options.OutputDir for a directory of parts")
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
	return &pendingFile{name: spec.File, path: path, replaces: info}, nil
}

// flush returns the error that a close of f would return. Some file systems send data only
// at a close, and find then that it has no room. f stays open, and so it stays locked.
func flush(f *disk.File) error {
	twin, err := disk.Duplicate(f)
	if err != nil {
		return nil // no descriptor is left, or the system has no duplicates: the close itself will report it
	}
	return twin.Close()
}

// syncFile makes the data of a file durable. It is no error that a file cannot be synced, as
// a pipe, a device and files of some mounted file systems.
func syncFile(f *disk.File) error {
	if err := f.Sync(); err != nil && !syncUnsupported(err) {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// syncDir makes the names in a directory durable. A directory that may be written to but not
// read cannot be opened, and so it is not synced.
// It is called for the directory that holds a name, after a rename.
func syncDir(path string) error {
	d, err := disk.OpenRead(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return fmt.Errorf("output: sync: %w", err)
	}
	defer d.Close()
	return syncFile(d)
}
