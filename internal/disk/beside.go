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
	var f *os.File
	err := hidden(path, func(name string) (err error) {
		f, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode|0o200)
		return err
	})
	if err == nil && statErr == nil { // the umask does not concern a file that is replaced
		if err = f.Chmod(mode); err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	return f, err
}

// DirBeside is Beside for a directory. It returns the path of the new directory.
func DirBeside(path string) (dir string, err error) {
	mode := NoMore(path, 0o777)
	err = hidden(path, func(name string) error {
		dir = name
		return os.Mkdir(name, mode)
	})
	return dir, err
}

// NoMore returns mode without the permissions that the file or directory at path does not have, if
// there is one. The owner keeps his.
func NoMore(path string, mode fs.FileMode) fs.FileMode {
	if old, err := os.Stat(path); err == nil {
		mode &= old.Mode().Perm() | 0o700
	}
	return mode
}

// hidden calls create with hidden names next to path until one is free.
func hidden(path string, create func(name string) error) error {
	for range 100 {
		name := fmt.Sprintf(".%s.mrlocal-%s", filepath.Base(path), rand.Text()[:10])
		if err := create(filepath.Join(filepath.Dir(path), name)); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fs.ErrExist
}
