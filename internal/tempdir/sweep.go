package tempdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// sweepEntries are read at once: /tmp may be large.
const sweepEntries = 4096

// Sweep removes what killed runs of this user left in the given directories
// (the system's, without any): directories of our own naming whose lock is
// free. It leaves alone whatever it is not sure of, and what it cannot remove,
// and counts what it removed.
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

// candidates lists the directories in dir whose names we could have given.
func candidates(dir string, ours *regexp.Regexp) (names []string) {
	d, err := os.Open(dir)
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

// sweepOne removes one leftover while it holds its lock. A directory without a
// lock file is one whose owner was killed before it made one, or has just been
// made: it goes only if it is empty, and its owner then takes another name.
func sweepOne(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return false
	}
	name := filepath.Join(path, lockName)
	lock, err := openLock(name)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(path) == nil
	} else if err != nil {
		return false
	}
	defer lock.Close()
	if TryLock(lock) != nil || !same(lock, name) {
		return false
	}
	return removeLocked(path) == nil
}

// RemoveUnlocked removes a regular file of this user that a killed run left,
// if its lock (TryLock) is free.
func RemoveUnlocked(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !ownedByUs(info) {
		return false
	}
	f, err := openLock(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if TryLock(f) != nil || !same(f, path) {
		return false
	}
	return os.Remove(path) == nil
}
