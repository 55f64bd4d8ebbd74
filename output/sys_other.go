//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"

	"mrlocal/internal/disk"
)

// closeBeforeRename says that an open file cannot be renamed.
const closeBeforeRename = runtime.GOOS == "windows"

// isMount returns false: a rename that is not possible reports the error.
func isMount(fs.FileInfo, fs.FileInfo) bool { return false }

// keepOwner does nothing: the file belongs to the user of the run.
func keepOwner(*disk.File, fs.FileInfo) {}

// syncUnsupported reports whether err says that a file cannot be synced. On Windows it returns
// true for every error, because a directory cannot be synced.
func syncUnsupported(err error) bool {
	return runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// isUsage reports whether err is caused by the path that the user named.
func isUsage(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrInvalid) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// nonBlocking is 0: opening a FIFO waits for its reader.
const nonBlocking = 0

// noReader returns false, because opening a FIFO waits.
func noReader(error) bool { return false }

// readerGone reports whether a write failed because the reader of the pipe has closed it.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
