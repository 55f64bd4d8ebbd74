//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// closeBeforeRename says that an open file cannot be renamed.
const closeBeforeRename = runtime.GOOS == "windows"

// writable knows nothing here: creating the file will show it.
func writable(string) error { return nil }

func fileWritable(string) error { return nil }

func exchange(string, string) error { return errors.ErrUnsupported }

func isMount(fs.FileInfo, fs.FileInfo) bool { return false }

func keepOwner(*os.File, fs.FileInfo) {}

func syncUnsupported(err error) bool {
	return runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

func isUsage(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrInvalid) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

const nonBlocking = 0

func noReader(error) bool { return false }

func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }

func duplicate(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

func growPipe(*os.File, int) {}

func startWriteback(*os.File, int64, int64) {}

func atOffset(*os.File) (offset int64, atEnd bool) { return 0, false }
