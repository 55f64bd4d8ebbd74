package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

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
