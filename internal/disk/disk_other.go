//go:build !linux

package disk

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
)

func exchange(string, string) error { return errors.ErrUnsupported }

// freeBytes returns false: the free space is not known here.
func freeBytes(string) (bytes int64, ok bool) { return 0, false }

// GrowPipe does nothing here: pipes are only slower.
func GrowPipe(io.Writer) {}

// startWriteback does nothing here: only the sync at the end takes longer.
func startWriteback(*File, int64, int64) {}

func dropPages(*File, int64, int64) {}

// Duplicate is not supported here. The close itself reports its errors.
func Duplicate(*File) (*File, error) { return nil, errors.ErrUnsupported }

// Offset returns false, so standard output is written in order.
func Offset(*File) (offset int64, atEnd bool) { return 0, false }

// IsMount returns false: a rename that is not possible reports the error.
func IsMount(fs.FileInfo, fs.FileInfo) bool { return false }

// KeepOwner does nothing: the file belongs to the user of the run.
func KeepOwner(*File, fs.FileInfo) error { return nil }

// LosesByRename reports whether a new file in place of the file at path would lose something. Only special
// bits of its mode are known here, and that the directory lets the process make no file.
func LosesByRename(path string, info fs.FileInfo) bool {
	return info.Mode()&specialBits != 0 || MayMakeIn(filepath.Dir(path)) != nil
}

// syncUnsupported reports whether err says that a file cannot be synced. On Windows it returns
// true for every error, because a directory cannot be synced.
func syncUnsupported(err error) bool {
	return runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// Short returns path. System calls fail for a path that is too long.
func Short(path string) (short string, release func()) { return path, func() {} }
