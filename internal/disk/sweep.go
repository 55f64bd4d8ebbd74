package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// sweepEntries is the number of entries that are read at once. /tmp may have very many.
const sweepEntries = 4096

// SweepTemp removes the directories that killed runs of this user have left in the given directories;
// no dirs means the system's. These have a name of makeOwn, and their lock is free. It does not
// remove a directory with a journal (KeepTemp). It returns how many directories it has removed.
func SweepTemp(dirs []string) (removed int) {
	for _, path := range leftovers(dirs) {
		if sweepOne(path) {
			removed++
		}
	}
	return removed
}

// Leftover is a file or directory that a killed run has left.
type Leftover struct {
	Path  string
	Bytes int64 // of all files in it
	Err   error // why it could not be removed
}

// CleanTemp finds the directories that SweepTemp would remove, and also those with a journal. It
// removes them unless dry is true.
func CleanTemp(dirs []string, dry bool) (found []Leftover) {
	for _, path := range leftovers(dirs) {
		lock, free := lockLeft(path)
		if !free {
			lock, free = lockAbove(path)
		}
		if !free {
			continue
		}
		l := Leftover{Path: path, Bytes: BytesBelow(path)}
		if !dry {
			l.Err = removeLeft(path)
		}
		if lock != nil {
			_ = lock.Close()
		}
		found = append(found, l)
	}
	return found
}

// removeLeft removes a directory of a run, whose lock the caller holds. It also removes the one above,
// if KeepTemp has made that and nothing else is in it.
func removeLeft(path string) error {
	above, mark := filepath.Dir(path), filepath.Join(path, madeName)
	notes, beside := filepath.Join(above, publishedName), notesBeside(above)
	_, err := os.Lstat(mark)
	made := err == nil || leftNotes(above)
	// By the notes the next run finds the result of a run that was killed. So the notes are removed last,
	// after the directory above. If there are none, the mark moves in their place. It tells the next run
	// to remove the directory above.
	if made && Move(notes, beside) != nil {
		_ = Move(mark, beside)
	}
	// The journal goes first. If the process is killed after that, SweepTemp removes the rest.
	if err := Remove(filepath.Join(path, JournalName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := removeLocked(path); err != nil {
		return err
	}
	_ = Remove(notes) // of a directory that the user has made, or they could not be moved
	if made {
		_ = Remove(above) // fails if something else is in it
		_ = Remove(beside)
	}
	return nil
}

// BytesBelow returns the bytes of a file, or of all files in a directory.
func BytesBelow(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // files that cannot be read do not count
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// leftovers returns the paths of the directories in dirs with a name of makeOwn; no dirs means the
// system's.
func leftovers(dirs []string) (paths []string) {
	if len(dirs) == 0 {
		dirs = []string{os.TempDir()}
	}
	for _, dir := range dirs {
		for _, name := range candidates(dir) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// ownName matches the names of makeOwn. Only directories with such a name are ever removed.
func ownName() *regexp.Regexp {
	return regexp.MustCompile(`^` + namePrefix + `[0-9]+-[0-9a-f]{16}$`)
}

// candidates returns the names of the directories in dir that have a name of makeOwn, sorted.
func candidates(dir string) (names []string) {
	ours := ownName()
	d, err := OpenRead(dir)
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

// sweepOne removes one directory, if its lock is free and it has no journal. It holds the lock
// meanwhile.
func sweepOne(path string) bool {
	lock, free := lockLeft(path)
	if lock != nil {
		defer lock.Close()
	}
	switch {
	case !free || journalled(path):
		return false
	case lock == nil:
		return Remove(path) == nil // fails if the directory is not empty
	}
	return removeLocked(path) == nil
}

// lockLeft reports whether a directory is left from a killed run of this user. It locks the directory
// until the caller closes the file. A directory without a lock file was just made, or its run was
// killed before it made the file. lockLeft returns true and a nil lock for it if it is empty. If its
// run is alive and the directory is removed, makeOwn takes another name.
func lockLeft(path string) (lock *File, free bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return nil, false
	}
	name := filepath.Join(path, lockName)
	lock, err = openLock(name)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := ReadDir(path)
		return nil, err == nil && len(entries) == 0
	} else if err != nil {
		return nil, false
	}
	// Between opening and locking, another SweepTemp may have removed the file.
	if TryLock(lock) != nil || !same(lock, name) {
		_ = lock.Close()
		return nil, false
	}
	return lock, true
}

// lockAbove is lockLeft for a directory with a journal whose lock file is missing. It locks the
// directory above: a run with a journal locks that too. It returns false if the directory has files
// that KeepTemp and package journal do not make.
func lockAbove(path string) (lock *File, free bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) || !journalled(path) {
		return nil, false
	}
	entries, err := ReadDir(path)
	kept := regexp.MustCompile(`^(` + JournalName + `|` + JournalName + `\.new|` + madeName + `|map-[0-9]+)$`)
	for _, e := range entries {
		if !e.Type().IsRegular() || !kept.MatchString(e.Name()) { // lockName does not match either
			return nil, false
		}
	}
	if err != nil {
		return nil, false
	}
	lock, err = lockDir(filepath.Dir(path))
	return lock, err == nil
}

// RemoveUnlocked calls remove for a file or directory of this user that a killed run has
// left, if its lock (TryLock) is free. It holds the lock meanwhile. It reports
// whether remove has succeeded.
func RemoveUnlocked(path string, remove func(path string) error) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() || !ownedByUs(info) {
		return false
	}
	open := openLock
	if info.IsDir() {
		open = OpenRead
	}
	f, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return TryLock(f) == nil && same(f, path) && remove(path) == nil
}

// lockDir locks a directory until the caller closes the result. It fails as TryLock does.
func lockDir(path string) (*File, error) {
	d, err := OpenRead(path)
	if err != nil {
		return nil, err
	}
	if err := TryLock(d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Locked reports whether a running process has locked a directory.
func Locked(path string) bool {
	d, err := lockDir(path)
	if err == nil {
		_ = d.Close()
	}
	return errors.Is(err, ErrLocked)
}
