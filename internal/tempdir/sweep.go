package tempdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"mrlocal/internal/disk"
)

// sweepEntries are read at once, because /tmp may be large.
const sweepEntries = 4096

// Sweep removes what killed runs of this user have left in the given directories (none means
// the system's): directories with our kind of name whose lock is free. It leaves a directory
// with a journal (Keep), whatever it is not sure of, and what it cannot remove. It returns how
// many directories it has removed.
func Sweep(dirs []string) (removed int) {
	if len(dirs) == 0 {
		dirs = []string{os.TempDir()}
	}
	ours := regexp.MustCompile(`^` + namePrefix + `[0-9]+-[0-9a-f]{16}$`)
	for _, dir := range dirs {
		for _, name := range candidates(dir, ours) {
			if sweepOne(filepath.Join(dir, name)) {
				removed++
			}
		}
	}
	return removed
}

// candidates lists the directories in dir with our kind of name.
func candidates(dir string, ours *regexp.Regexp) (names []string) {
	d, err := disk.OpenRead(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(sweepEntries)
		for _, e := range entries {
			if e.IsDir() && ours.MatchString(e.Name()) {
				names = append(names, e.Name())
			}
		}
		if err != nil || errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names
		}
	}
}

// sweepOne removes one directory while it holds the lock of it. A directory without a lock
// file was just made, or its owner was killed before it made one. It is removed only if it
// is empty; an owner that lives then takes another name.
func sweepOne(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return false
	}
	name := filepath.Join(path, lockName)
	lock, err := openLock(name)
	if errors.Is(err, fs.ErrNotExist) {
		return disk.Remove(path) == nil
	} else if err != nil {
		return false
	}
	defer lock.Close()
	if TryLock(lock) != nil || !same(lock, name) || journalled(path) {
		return false
	}
	return removeLocked(path) == nil
}

// RemoveUnlocked calls remove for a file or directory of this user that a killed run has
// left, if its lock (TryLock, LockDir) is free. It holds the lock meanwhile, and reports
// whether remove has succeeded.
func RemoveUnlocked(path string, remove func(path string) error) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() || !ownedByUs(info) {
		return false
	}
	open := openLock
	if info.IsDir() {
		open = disk.OpenRead
	}
	f, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if TryLock(f) != nil || !same(f, path) {
		return false
	}
	return remove(path) == nil
}

// LockDir locks a directory until the file that it returns is closed.
func LockDir(path string) (*disk.File, error) {
	d, err := disk.OpenRead(path)
	if err != nil {
		return nil, err
	}
	if err := TryLock(d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Locked reports whether a directory is locked.
func Locked(path string) bool {
	d, err := LockDir(path)
	if err == nil {
		_ = d.Close()
	}
	return errors.Is(err, ErrLocked)
}
