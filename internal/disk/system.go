//go:build !faults

package disk

import (
	"io/fs"
	"os"
)

// File is an open file.
type File = os.File

// Of returns f as a File.
func Of(f *os.File) *File { return f }

// Fail returns the injected error of a call of that kind; in this build always nil. Code that makes
// system calls without a File calls it before each.
func Fail(Op) error { return nil }

// OpenFile is os.OpenFile.
func OpenFile(name string, flag int, mode fs.FileMode) (*File, error) {
	return os.OpenFile(name, flag, mode)
}

// OpenRead is os.Open.
func OpenRead(name string) (*File, error) { return os.Open(name) }

// Create is os.Create.
func Create(name string) (*File, error) { return os.Create(name) }

// createTemp is os.CreateTemp.
func createTemp(dir, pattern string) (*File, error) { return os.CreateTemp(dir, pattern) }

// ReadDir is os.ReadDir.
func ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// MakeDir is os.Mkdir.
func MakeDir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }

// Move is os.Rename.
func Move(from, to string) error { return os.Rename(from, to) }

// Exchange swaps two names in one step, if the file system can.
func Exchange(a, b string) error { return exchange(a, b) }

// Remove is os.Remove.
func Remove(name string) error { return os.Remove(name) }

// RemoveAll is os.RemoveAll.
func RemoveAll(name string) error { return os.RemoveAll(name) }
