package disk

import (
	"errors"
	"io/fs"
	"os"
)

// Stat is os.Stat of a path of any length.
func Stat(path string) (os.FileInfo, error) { return onShort(path, os.Stat) }

// Lstat is os.Lstat of a path of any length.
func Lstat(path string) (os.FileInfo, error) { return onShort(path, os.Lstat) }

// ReadFile is os.ReadFile of a path of any length.
func ReadFile(path string) ([]byte, error) { return onShort(path, os.ReadFile) }

// OpenInput is os.Open of a path of any length.
func OpenInput(path string) (*os.File, error) { return onShort(path, os.Open) }

// onShort calls f with a path of any length. Its error names path.
func onShort[T any](path string, f func(string) (T, error)) (T, error) {
	short, release := Short(path)
	defer release()
	v, err := f(short)
	var e *fs.PathError
	if errors.As(err, &e) {
		e.Path = path
	}
	return v, err
}
