//go:build faults

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// String returns the name of the kind.
func (op Op) String() string {
	return [ops]string{"change", "open", "read", "write", "sync", "close", "rename", "unlink", "mkdir"}[op]
}

// Fault describes the calls that fail.
type Fault struct {
	Op   Op    // kind of calls; Change: calls of several kinds, counted together
	N    int64 // number of the first call that fails, from 1; 0: none fails
	Once bool  // only call N fails; false: all calls from it on
	Half bool  // a write that fails has written half of its bytes
	Kill bool  // the process is killed in place of a call that fails
}

// Event is a sync or a rename that has succeeded.
type Event struct {
	Op       Op
	Path     string // of the file as it was opened, or the old name
	To       string // the new name
	Exchange bool   // Path and To have changed their places
	File     *os.File
}

// injector counts the calls of the process and decides which ones fail. Only a build for tests
// has one.
type injector struct {
	mu     sync.Mutex
	fault  Fault
	counts [ops]int64
	failed int64
	watch  func(Event)
}

var all = &injector{}

// Inject sets the counts to 0, and makes the calls of f fail from now on. If watch is not nil, it is
// called after each sync and rename that has succeeded, before that call returns. Only one goroutine
// at a time calls it.
func Inject(f Fault, watch func(Event)) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.fault = f
	all.counts = [ops]int64{}
	all.failed = 0
	all.watch = watch
}

// Counts returns the number of calls of a kind since Inject, and the number of calls of any kind
// that have failed.
func Counts(op Op) (calls, failed int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.counts[op], all.failed
}

// Fail counts a call and returns the error with which it fails; nil: it does not fail. The error is
// EMFILE for Open, ENOSPC for Write and Mkdir, and else EIO.
func Fail(op Op) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.counts[op]++
	changes := op != Read && op != Close
	if changes {
		all.counts[Change]++
	}
	n, f := all.counts[all.fault.Op], all.fault
	if f.N == 0 || f.Op != op && (f.Op != Change || !changes) || n < f.N || f.Once && n > f.N {
		return nil
	}
	if f.Kill {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
		select {}
	}
	all.failed++
	switch op {
	case Open:
		return syscall.EMFILE
	case Write, Mkdir:
		return syscall.ENOSPC
	}
	return syscall.EIO
}

// notify calls the watcher of Inject, one call at a time.
func notify(e Event) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.watch != nil {
		all.watch(e)
	}
}

// failed is Fail for a call on a path. The error has the path.
func failed(op Op, path string) error {
	if err := Fail(op); err != nil {
		return &fs.PathError{Op: op.String(), Path: path, Err: err}
	}
	return nil
}

// injected makes a call on a path, unless Inject says that it fails.
func injected[T any](op Op, path string, call func() (T, error)) (result T, err error) {
	if err := failed(op, path); err != nil {
		return result, err
	}
	return call()
}

// changed is injected for a call that returns only an error. The watcher gets e if the call has succeeded.
func changed(e Event, call func() error) error {
	_, err := injected(e.Op, e.Path, func() (struct{}, error) { return struct{}{}, call() })
	if err == nil && (e.Op == Sync || e.Op == Rename) {
		notify(e)
	}
	return err
}

// File is an open file whose calls are counted.
type File struct{ *os.File }

// Of returns f as a File, so that its calls are counted; nil for nil.
func Of(f *os.File) *File {
	if f == nil {
		return nil
	}
	return &File{f}
}

func opened(f *os.File, err error) (*File, error) { return Of(f), err }

// OpenFile is os.OpenFile, and fails if Inject says so. So do the other functions.
func OpenFile(name string, flag int, mode fs.FileMode) (*File, error) {
	return injected(Open, name, func() (*File, error) { return opened(os.OpenFile(name, flag, mode)) })
}

// OpenRead is os.Open, by OpenFile.
func OpenRead(name string) (*File, error) { return OpenFile(name, os.O_RDONLY, 0) }

// Create is os.Create, by OpenFile.
func Create(name string) (*File, error) {
	return OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// createTemp is os.CreateTemp.
func createTemp(dir, pattern string) (*File, error) {
	return injected(Open, dir, func() (*File, error) { return opened(os.CreateTemp(dir, pattern)) })
}

// ReadDir is os.ReadDir.
func ReadDir(name string) ([]fs.DirEntry, error) {
	return injected(Read, name, func() ([]fs.DirEntry, error) { return os.ReadDir(name) })
}

// MakeDir is os.Mkdir.
func MakeDir(name string, mode fs.FileMode) error {
	return changed(Event{Op: Mkdir, Path: name}, func() error { return os.Mkdir(name, mode) })
}

// Move is os.Rename.
func Move(from, to string) error {
	return changed(Event{Op: Rename, Path: from, To: to}, func() error { return os.Rename(from, to) })
}

// Exchange swaps two names in one step, if the file system can.
func Exchange(a, b string) error {
	return changed(Event{Op: Rename, Path: a, To: b, Exchange: true}, func() error { return exchange(a, b) })
}

// Remove is os.Remove.
func Remove(name string) error {
	return changed(Event{Op: Unlink, Path: name}, func() error { return os.Remove(name) })
}

// RemoveAll is os.RemoveAll. The removal of each file and directory is a call. It removes what it can,
// and returns all errors.
func RemoveAll(name string) error {
	var problems []error
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		entries, err := os.ReadDir(name)
		problems = append(problems, err)
		for _, e := range entries {
			problems = append(problems, RemoveAll(filepath.Join(name, e.Name())))
		}
	}
	if err := Remove(name); !errors.Is(err, fs.ErrNotExist) {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (f *File) Read(p []byte) (int, error) {
	return injected(Read, f.Name(), func() (int, error) { return f.File.Read(p) })
}

func (f *File) ReadAt(p []byte, at int64) (int, error) {
	return injected(Read, f.Name(), func() (int, error) { return f.File.ReadAt(p, at) })
}

func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	return injected(Read, f.Name(), func() ([]fs.DirEntry, error) { return f.File.ReadDir(n) })
}

// half returns the part of p that a failing write still writes (Fault.Half).
func half(p []byte) []byte {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.fault.Half {
		return p[:len(p)/2]
	}
	return nil
}

// Write writes half of p if the fault hits, as a full disk does.
func (f *File) Write(p []byte) (int, error) { return f.write(p, f.File.Write) }

func (f *File) WriteAt(p []byte, at int64) (int, error) {
	return f.write(p, func(p []byte) (int, error) { return f.File.WriteAt(p, at) })
}

func (f *File) write(p []byte, call func(p []byte) (int, error)) (int, error) {
	err := failed(Write, f.Name())
	if err == nil {
		return call(p)
	}
	n, _ := call(half(p))
	return n, err
}

// ReadFrom copies through Read and Write, so that both are counted.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, struct{ io.Reader }{r})
}

// WriteTo copies through Read and Write, so that both are counted.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{f})
}

func (f *File) Truncate(size int64) error {
	return changed(Event{Op: Write, Path: f.Name()}, func() error { return f.File.Truncate(size) })
}

// Sync is os.File.Sync.
func (f *File) Sync() error {
	return changed(Event{Op: Sync, Path: f.Name(), File: f.File}, f.File.Sync)
}

// Close closes the file in any case, as the system does.
func (f *File) Close() error {
	err := f.File.Close()
	if err == nil {
		err = failed(Close, f.Name())
	}
	return err
}
