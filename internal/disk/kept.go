package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mrlocal/internal/errs"
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
func (k *KeptTemp) Close(remove bool) error {
	if k.lock == nil {
		return nil
	}
	var problems []error
	if remove {
		problems = append(problems, removeLeft(k.Path))
	}
	// As long as the locks are held, no other run counts the directory as a leftover. So they are
	// freed last.
	problems = append(problems, k.unlock())
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("resume directory %s: %w", k.above, err)
	}
	return nil
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
