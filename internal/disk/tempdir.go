package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
)

const (
	lockName     = "lock"
	namePrefix   = "mrlocal-"
	nameAttempts = 100
)

// TempRoot makes the temporary files of one run. Other users cannot read them. They are made when
// they are needed, and removed at the end. The methods may be called from any goroutine.
//
// A run that has to write makes a directory of its own in each directory that the user has named.
// Its name is `mrlocal-<pid>-<random>`, its mode is 0700, and it has a file `lock`. The file
// stays locked (flock) as long as the process lives. A run that was killed leaves its directory
// behind, with the lock free. SweepTemp of a later run removes it. KeepTemp makes such a directory
// for a run that may go on after a kill. It has a file `journal`, and SweepTemp does not remove it.
//
// With several directories, files go to each in proportion to its free space. If one gets full, its
// files move to the others. A bound limits the bytes of all files together.
//
// A TempRoot makes nothing before the first Create, so a run whose data fits in memory never writes
// to disk.
type TempRoot struct {
	dirs     []string // that the user has named
	maxBytes int64    // bound of all files together; 0: none

	mu struct {
		sync.Mutex
		own    []*own // by index of dirs; nil: not made yet
		made   []int  // number of files made, by index of dirs
		full   []bool // by index of dirs: a write has failed for lack of room
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
	r.mu.own = make([]*own, len(dirs))
	r.mu.made = make([]int, len(dirs))
	r.mu.full = make([]bool, len(dirs))
	return r
}

// At returns a TempRoot over another directory. It has the same bound as r, but counts only its own
// files.
func (r *TempRoot) At(dir string) *TempRoot { return NewTempRoot([]string{dir}, r.maxBytes) }

// Check returns an options error for a directory that does not exist or is not a directory. It does
// not try to write there, because only a run that spills writes.
func (r *TempRoot) Check() error {
	for i, dir := range r.dirs {
		info, err := os.Stat(dir)
		var pathErr *fs.PathError
		switch {
		case dir == "":
			return errs.Fieldf("Options.TempDirs["+strconv.Itoa(i)+"]", "is empty; name a directory")
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

// Create makes a new file, open for writing. It chooses the directory by the free space. If it cannot
// make a file there, it tries the others. pattern is as for os.CreateTemp. The file exists until it
// is removed or the TempRoot is closed.
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

// Spool copies a named pipe, or stdin if path is -, to a new file. It copies no regular file. It returns the path of
// the new file, or "" if there is nothing to copy, as for a path that is missing.
func (r *TempRoot) Spool(path string, stdin io.Reader) (copied string, err error) {
	from, info := stdin, fs.FileInfo(nil)
	if file, ok := stdin.(*os.File); ok && path == "-" {
		info, _ = file.Stat()
	} else if path != "-" {
		if info, err = Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return "", nil
		}
		pipe, err := OpenInput(path)
		if err != nil {
			return "", err
		}
		defer pipe.Close()
		from = pipe
	}
	if info != nil && info.Mode().IsRegular() {
		return "", nil
	}
	return r.Keep(from)
}

// Keep copies from to a new file, and returns its path.
func (r *TempRoot) Keep(from io.Reader) (path string, err error) {
	f, err := r.Create("input-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	return f.Name(), errors.Join(err, f.Close())
}

// Dir returns the run's own directory in the first of the directories. The caller may make other
// files there, such as working directories of other programs. They do not count against the bound.
// Close removes them too.
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

// makeOwnIn makes the run's own directory in directory i, unless there is one. r.mu is held.
func (r *TempRoot) makeOwnIn(i int) (err error) {
	if r.mu.own[i] == nil {
		r.mu.own[i], err = makeOwn(r.dirs[i])
	}
	return err
}

// createIn makes a file in directory i. r.mu is held.
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

// makeOwn makes and locks a run's own directory in dir. It tries another name if the SweepTemp of
// another run removes the directory before it is locked.
func makeOwn(dir string) (*own, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for range nameAttempts {
		path := filepath.Join(dir, fmt.Sprintf("%s%d-%s", namePrefix, os.Getpid(), paths.Random()))
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

// lockOwn makes and locks the lock file. It returns nil without an error if a SweepTemp has removed
// or locked the directory.
func lockOwn(path string) (*File, error) {
	name := filepath.Join(path, lockName)
	lock, err := OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err = TryLock(lock); {
	// If the file system has no locks, the directory is used all the same. SweepTemp removes no
	// directory that it cannot lock.
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

// same reports whether the file at name is still the open one.
func same(f *File, name string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(name)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// Close removes all files and directories of the TempRoot. Create fails from then on. Close may be
// called again.
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
		// Go evaluates arguments in order: the lock is freed after the directory is removed.
		problems = append(problems, removeLocked(o.path), o.lock.Close())
	}
	return errs.About("remove temp files", errors.Join(problems...))
}

// removeLocked removes a directory, its lock file last. So if it fails or the process is killed, the
// directory still has its lock file, and a later SweepTemp can remove it.
func removeLocked(path string) error {
	entries, err := ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return RemoveAll(path) // this may succeed all the same
	}
	var group errgroup.Group
	group.SetLimit(removers)
	for _, e := range entries {
		if e.Name() != lockName {
			group.Go(func() error { return RemoveAll(filepath.Join(path, e.Name())) })
		}
	}
	// After an error the other entries are removed all the same.
	if err := group.Wait(); err != nil {
		return err
	}
	return RemoveAll(path)
}

// removers is the number of goroutines that remove files. Removing may wait for the disk, if the
// file system reports free blocks to it.
const removers = 4
