//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"
)

// closeBeforeRename says that an open file cannot be renamed.
const closeBeforeRename = runtime.GOOS == "windows"

// isUsage reports whether err is caused by the path that the user named.
func isUsage(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrInvalid) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// nonBlocking is 0: opening a FIFO waits for its reader.
const nonBlocking = 0

// noReader returns false, because opening a FIFO waits.
func noReader(error) bool { return false }
