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

// isMount says no: a rename that cannot be done fails by itself.
func isMount(fs.FileInfo, fs.FileInfo) bool { return false }

// keepOwner does nothing: the file belongs to the user of the run.
func keepOwner(*disk.File, fs.FileInfo) {}

// syncUnsupported is as on Linux. On Windows a directory cannot be synced.
func syncUnsupported(err error) bool {
	return runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// isUsage reports whether the path that the user named causes err.
func isUsage(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrInvalid) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// nonBlocking is 0: opening a FIFO waits for its reader.
const nonBlocking = 0

// noReader says no, because opening waits.
func noReader(error) bool { return false }

// readerGone reports whether the reader of a pipe has closed it.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
