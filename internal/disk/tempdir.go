package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"mrlocal/errs"
)

const (
	lockName     = "lock"
	namePrefix   = "mrlocal-"
	randomBytes  = 8
	nameAttempts = 100
)

// TempRoot makes the temporary files of one run: they are private, made at the first use, and removed
// at the end. Its methods may be called from any goroutine.
//
// A run that has to write makes a directory of its own in each directory that the user has named.
// Its name is `mrlocal-<pid>-<random>`, its mode is 0700, and it holds a file `lock`. The file
// stays locked (flock) as long as the process lives. A run that was killed leaves its directory
// behind, with the lock free; SweepTemp of a later run removes it. KeepTemp makes such a directory
// for a run that may go on after a kill: a file `journal` in it keeps SweepTemp away.
//
// Several directories are filled by their free space, and one that gets full is left for the
// others. A bound limits the bytes of all files together.
//
// A TempRoot creates nothing until the first Create, so data that fits in memory never leaves a
// trace on disk.
type TempRoot struct {
	dirs     []string
	maxBytes int64 // 0: no bound

	mu struct {
		sync.Mutex
		own    []*own // by index of dirs; nil: not made yet
		made   []int  // files, by index of dirs
		full   []bool // by index of dirs: a write has found no room
		used   int64  // bytes of all files
		closed bool
	}
}

// own is a directory that this run has made, with its lock.
type own struct {
	path string
	lock *File
}

// NewTempRoot makes a TempRoot over the given directories; none means the system's. All files
// together take at most maxBytes; 0: any number. It creates nothing.
func NewTempRoot(dirs []string, maxBytes int64) *TempRoot {
	if len(dirs) == 0 {
		dirs = []string{os.TempDir()}
	}
	r := &TempRoot{dirs: dirs, maxBytes: maxBytes}
	r.mu.own, r.mu.made, r.mu.full = make([]*own, len(dirs)), make([]int, len(dirs)), make([]bool, len(dirs))
	return r
}

// At returns a TempRoot with the bound of r over another directory. The two do not count together.
func (r *TempRoot) At(dir string) *TempRoot { return NewTempRoot([]string{dir}, r.maxBytes) }

// Check returns an options error for a directory that does not exist or is none. It does not
// try to write, because only a run that spills has to.
func (r *TempRoot) Check() error {
	for _, dir := range r.dirs {
		info, err := os.Stat(dir)
		var pathErr *fs.PathError
		switch {
		case errors.As(err, &pathErr):
			return errs.Optionf("temp directory "+dir, "%v; name another", pathErr.Err)
		case err != nil:
			return errs.Optionf("temp directory "+dir, "%v", err)
		case !info.IsDir():
			return errs.Optionf("temp directory "+dir, "not a directory; name another")
		}
	}
	return nil
}

// Create makes a new file, open for writing. Files are shared out among the directories in
// proportion to their free space; if one fails, another is taken. pattern is as for
// os.CreateTemp. The file stays until it is removed or the TempRoot is closed.
func (r *TempRoot) Create(pattern string) (*TempFile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return nil, fmt.Errorf("create temp file: %w", fs.ErrClosed)
	}
	var problems []error
	for _, i := range r.order() {
		f, err := r.createIn(i, pattern)
		if err == nil {
			return newFile(r, f, i), nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("create temp file: %w", errors.Join(problems...))
}

// Dir returns the run's own directory in the first of the directories, for what is no file of
// Create: working directories of other programs, for example. It is not counted, and goes with
// the TempRoot.
func (r *TempRoot) Dir() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return "", fmt.Errorf("make temp directory: %w", fs.ErrClosed)
	}
	if err := r.makeOwnIn(0); err != nil {
		return "", err
	}
	return r.mu.own[0].path, nil
}

// makeOwnIn gives the i-th directory the directory of the run, unless it has one. r.mu is held.
func (r *TempRoot) makeOwnIn(i int) (err error) {
	if r.mu.own[i] == nil {
		r.mu.own[i], err = makeOwn(r.dirs[i])
	}
	return err
}

// createIn makes a file in the i-th directory. r.mu is held.
func (r *TempRoot) createIn(i int, pattern string) (*File, error) {
	if err := r.makeOwnIn(i); err != nil {
		return nil, err
	}
	f, err := createTemp(r.mu.own[i].path, pattern)
	if err == nil {
		r.mu.made[i]++
	}
	return f, err
}

// makeOwn makes and locks a directory. It tries another name if the SweepTemp of another run
// removes the directory before it is locked.
func makeOwn(dir string) (*own, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for range nameAttempts {
		path := filepath.Join(dir, fmt.Sprintf("%s%d-%s", namePrefix, os.Getpid(), random()))
		if err := MakeDir(path, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		lock, err := lockOwn(path)
		if err != nil {
			return nil, errors.Join(err, RemoveAll(path))
		}
		if lock != nil {
			return &own{path: path, lock: lock}, nil
		}
	}
	return nil, fmt.Errorf("%s: no free name in %d attempts", dir, nameAttempts)
}

// lockOwn makes and locks the lock file. nil without an error means that a SweepTemp has taken
// the directory.
func lockOwn(path string) (*File, error) {
	name := filepath.Join(path, lockName)
	lock, err := OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err = TryLock(lock); {
	// Without locks the directory is still used; then no SweepTemp dares to remove it.
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		if same(lock, name) {
			return lock, nil
		}
		err = nil
	case errors.Is(err, ErrLocked):
		err = nil
	}
	return nil, errors.Join(err, lock.Close())
}

// same reports whether name is still the open file.
func same(f *File, name string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(name)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// Close removes everything that was created. Create fails from then on. Close may be called
// again.
func (r *TempRoot) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
	var problems []error
	for i, o := range r.mu.own {
		if o == nil {
			continue
		}
		r.mu.own[i] = nil
		// Arguments are evaluated in order: the lock is freed when the directory is gone.
		problems = append(problems, removeLocked(o.path), o.lock.Close())
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("remove temp files: %w", err)
	}
	return nil
}

// removeLocked empties the directory before it removes the lock. What is left after an
// error or a kill is then still known to be ours and unused.
func removeLocked(path string) error {
	entries, err := ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return RemoveAll(path) // which lists it once more
	}
	if err := removeAll(path, entries); err != nil {
		return err
	}
	return RemoveAll(path)
}

// removers is how many files are removed at once. A file system that notifies the disk of each
// free block waits for the disk, and so does each remover.
const removers = 4

// removeAll removes the entries of a directory except its lock.
func removeAll(path string, entries []fs.DirEntry) error {
	var next atomic.Int64
	var problems [removers]error
	var ended sync.WaitGroup
	for w := range min(removers, len(entries)) {
		ended.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)); i = next.Add(1) - 1 {
				if name := entries[i].Name(); name != lockName {
					problems[w] = errors.Join(problems[w], RemoveAll(filepath.Join(path, name)))
				}
			}
		})
	}
	ended.Wait()
	return errors.Join(problems[:]...)
}

func random() string {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}
