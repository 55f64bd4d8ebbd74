package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
)

// JournalName is the name of the file because of which SweepTemp does not remove a directory of
// temporary files. Package engine/journal writes it.
const JournalName = "journal"

// madeName is the name of a file next to the journal. It exists if mrlocal has made the directory
// above.
const madeName = "made"

// journalled reports whether the directory at path has a journal.
func journalled(path string) bool {
	_, err := os.Lstat(filepath.Join(path, JournalName))
	return err == nil
}

// KeptTemp is a directory of temporary files that a later run finds again. It lies in a directory
// that the user has named. Both are locked until Close.
type KeptTemp struct {
	Path  string // of the directory
	Found bool   // a killed run has left it, with its journal

	above     string // the directory that the user has named
	root      *TempRoot
	lock      *File // of Path
	aboveLock *File // of above
}

// KeepTemp finds the directory with a journal in dir, or makes a new one there. It makes dir too
// if dir is missing. Only one run at a time may keep files in dir. Errors that the user
// causes are options errors. Files count against the bound of r. The caller closes the result.
func KeepTemp(dir string, r *TempRoot) (*KeptTemp, error) {
	made := false
	if err := MakeDir(dir, 0o700); err == nil {
		made = true
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, refuse(dir, "%v", errs.Cause(err))
	}
	k := &KeptTemp{above: dir, root: r}
	if err := k.claim(made); err != nil {
		if k.Path != "" && !k.Found {
			_ = removeLocked(k.Path) // a SweepTemp removes the directory later if this fails
		}
		if made {
			_ = Remove(dir) // fails if something else is in it
		}
		return nil, errors.Join(err, k.unlock())
	}
	return k, nil
}

// claim locks the directory above, and then finds or makes the one in it. made reports that KeepTemp
// has just made the directory above.
func (k *KeptTemp) claim(made bool) (err error) {
	info, err := os.Stat(k.above)
	switch {
	case err != nil:
		return refuse(k.above, "%v", errs.Cause(err))
	case !info.IsDir():
		return refuse(k.above, "not a directory")
	case !ownedByUs(info):
		return refuse(k.above, "belongs to another user")
	}
	if k.aboveLock, err = lockDir(k.above); err != nil {
		return k.lockError(err)
	}
	// SweepTemp may remove a directory with a file madeName, so such files are listed before.
	literally := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	marks, _ := filepath.Glob(filepath.Join(literally.Replace(k.above), namePrefix+"*", madeName))
	made = made || len(marks) > 0 || leftNotes(k.above)
	// This removes directories of runs that were killed before they had a journal, or after they
	// had removed it.
	SweepTemp([]string{k.above})
	found, foreign, err := k.look()
	switch {
	case err != nil:
		return refuse(k.above, "%v", errs.Cause(err))
	case len(found) > 1:
		return refuse(k.above, "holds %d journals; remove %s or another one", len(found), found[0])
	case len(found) == 1:
		k.Path, k.Found = filepath.Join(k.above, found[0]), true
		if k.lock, err = openLock(filepath.Join(k.Path, lockName)); err == nil {
			err = TryLock(k.lock)
		} else if errors.Is(err, fs.ErrNotExist) {
			return refuse(k.above, "%s has no file %q any more; `mrlocal clean` with this directory removes the journal, to begin anew", found[0], lockName)
		}
		return k.lockError(err)
	case foreign != "":
		return refuse(k.above, "is not empty and has no journal: it holds %q; name a directory of its own", foreign)
	}
	o, err := makeOwn(k.above)
	if err != nil {
		return refuse(k.above, "%v", errs.Cause(err))
	}
	// There is no journal yet. If the run is killed now, a SweepTemp removes the directory.
	k.Path, k.lock = o.path, o.lock
	if made {
		mark, err := Create(filepath.Join(k.Path, madeName))
		if err != nil {
			return refuse(k.above, "%v", errs.Cause(err))
		}
		return mark.Close()
	}
	return nil
}

// look returns the names of the directories with a journal, and the name of a file that mrlocal has
// not made; "": there is none. Hidden files, and lost+found of a file system, do not count as such.
func (k *KeptTemp) look() (found []string, foreign string, err error) {
	entries, err := ReadDir(k.above)
	ours := ownName()
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir() && ours.MatchString(name):
			if journalled(filepath.Join(k.above, name)) {
				found = append(found, name)
			}
		case name == publishedName && !e.Type().IsRegular():
			return nil, "", fmt.Errorf("%q is not a regular file", name)
		case strings.HasPrefix(name, ".") || name == "lost+found":
		default:
			foreign = name
		}
	}
	return found, foreign, err
}

// lockError returns an options error for a lock that has failed with err. It returns nil for nil.
func (k *KeptTemp) lockError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrLocked):
		return refuse(k.above, "another process runs with it")
	case errors.Is(err, errors.ErrUnsupported):
		return refuse(k.above, "its file system has no locks; name another directory")
	}
	return refuse(k.above, "%v", errs.Cause(err))
}

// Create makes a new file in the directory, open for writing. The file does not move to another
// directory. pattern is as for os.CreateTemp.
func (k *KeptTemp) Create(pattern string) (*TempFile, error) {
	f, err := createTemp(k.Path, pattern)
	if err != nil {
		return nil, err
	}
	return newFile(k.root, f, stays), nil
}

// Close unlocks the directory. If remove is true, it first removes the directory. It then also
// removes the one above, if mrlocal has made that and nothing else is in it. Close may be called
// again.
func (k *KeptTemp) Close(remove bool) (err error) {
	if k.lock == nil {
		return nil
	}
	if remove {
		err = removeLeft(k.Path)
	}
	// As long as the locks are held, no other run counts the directory as a leftover. So they are
	// freed last.
	return errs.About("resume directory "+k.above, errors.Join(err, k.unlock()))
}

// unlock closes the lock files, which frees the locks.
func (k *KeptTemp) unlock() error {
	var problems []error
	for _, f := range []*File{k.lock, k.aboveLock} {
		if f != nil {
			problems = append(problems, f.Close())
		}
	}
	k.lock, k.aboveLock = nil, nil
	return errors.Join(problems...)
}

// refuse returns an options error about the directory that the user has named.
func refuse(dir, format string, args ...any) error {
	return errs.Optionf("resume directory "+dir, format, args...)
}

// publishedName is a hidden file in the directory that the user has named for KeepTemp. It has a line
// for each directory that a run was about to make or to publish as its result: a key by which a later
// run knows the directory again, and the path of the result in quotes. removeLeft moves the file to
// notesBeside.
const publishedName = ".mrlocal-published"

// notesBeside returns the name of the notes while dir, which KeepTemp has made, is being removed.
func notesBeside(dir string) string { return paths.Claim(dir) }

// leftNotes reports whether a run was killed as it removed dir, which KeepTemp had made: its notes lie next to dir.
func leftNotes(dir string) bool {
	info, err := os.Lstat(notesBeside(dir))
	return err == nil && info.Mode().IsRegular() && ownedByUs(info)
}

// Note notes key for the result at path, in dir, a directory of KeepTemp. A key has no spaces and line
// ends. The note survives a power cut. If dir is "", Note does nothing.
func Note(dir, key, path string) error {
	if dir == "" {
		return nil
	}
	f, err := openNotes(filepath.Join(dir, publishedName), os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %q\n", key, path)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return SyncPath(dir)
}

// Noted returns the keys that killed runs have noted in dir for the result at path. It returns none if
// dir is "", or if there is no file of notes.
func Noted(dir, path string) (keys []string) {
	if dir == "" {
		return nil
	}
	for _, name := range []string{filepath.Join(dir, publishedName), notesBeside(dir)} {
		f, err := openNotes(name, os.O_RDONLY)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(f) // the notes before an error count
		for line := range strings.SplitSeq(string(text), "\n") {
			if key, of, _ := strings.Cut(line, " "); of == strconv.Quote(path) {
				keys = append(keys, key)
			}
		}
		_ = f.Close()
	}
	return keys
}

// openNotes opens a file of notes. It follows no link, and takes nothing but a regular file
// of this user.
func openNotes(name string, flag int) (*File, error) {
	f, err := openNoLink(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !ownedByUs(info) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: errors.New("no regular file of this user")}, err, f.Close())
	}
	return f, nil
}

// NotePublished notes in dir, a directory of KeepTemp, that the directory at stage is about to get the
// name path.
func NotePublished(dir, stage, path string) error {
	info, err := os.Stat(stage)
	if err != nil {
		return err
	}
	return Note(dir, strconv.FormatUint(inode(info), 10), path)
}

// WasPublished reports whether a run that was killed has noted in dir that it publishes the directory
// that has the name path now. It reports false if dir is "", and on a system without inode numbers.
func WasPublished(dir, path string, now fs.FileInfo) bool {
	id := inode(now)
	return id != 0 && slices.Contains(Noted(dir, path), strconv.FormatUint(id, 10))
}

// Beside creates a file with a hidden name in the directory of path, for a result that Publish completes.
// Nobody may read the file who may not read the result: it has the permissions of the file at path, or else
// those that the umask gives. If there is a file at path, but nothing can be made next to it, the new file
// is in the system's directory of temporary files.
func Beside(path string) (*os.File, error) {
	old, statErr := os.Stat(path)
	mode := fs.FileMode(0o666)
	if statErr == nil {
		mode = old.Mode().Perm()
	}
	if statErr == nil && MayMakeIn(filepath.Dir(path)) != nil {
		return os.CreateTemp("", filepath.Base(path)+".mrlocal-")
	}
	f, err := os.OpenFile(hidden(path), os.O_CREATE|os.O_EXCL|os.O_RDWR, mode|0o200)
	if err == nil && statErr == nil { // the umask does not concern a file that is replaced
		if err = f.Chmod(mode); err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	return f, err
}

// DirBeside is Beside for a directory. It returns the path of the new directory.
func DirBeside(path string) (dir string, err error) {
	dir = hidden(path)
	return dir, os.Mkdir(dir, NoMore(path, 0o777))
}

// NoMore returns mode without the permissions that the file or directory at path does not have, if
// there is one. The owner keeps his.
func NoMore(path string, mode fs.FileMode) fs.FileMode {
	if old, err := os.Stat(path); err == nil {
		mode &= old.Mode().Perm() | 0o700
	}
	return mode
}

// hidden returns a hidden name next to path. With its 50 random bits, two programs practically never get the same one.
func hidden(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.mrlocal-%s", filepath.Base(path), rand.Text()[:10]))
}

// MakeParents makes the missing directories above path. It returns those that it has made, also with an error, the
// deepest one first.
func MakeParents(path string) (made []string, err error) {
	dir := filepath.Dir(path)
	if err = MakeDir(dir, 0o777); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if made, err = MakeParents(dir); err == nil {
			err = MakeDir(dir, 0o777)
		}
	}
	switch {
	case err == nil:
		made = append([]string{dir}, made...)
	case errors.Is(err, fs.ErrExist):
		err = nil
	}
	return made, err
}

// RemoveEmpty removes dirs, a result of MakeParents. Those that are not empty stay.
func RemoveEmpty(dirs []string) {
	for _, dir := range dirs {
		_ = Remove(dir)
	}
}

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
		if err != nil { // usually io.EOF
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
