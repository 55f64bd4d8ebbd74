//go:build !linux

package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
)

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
