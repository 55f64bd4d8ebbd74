package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/paths"
)

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
