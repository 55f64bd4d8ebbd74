//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// closeBeforeRename: an open file cannot be renamed on some systems.
const closeBeforeRename = runtime.GOOS == "windows"

// writable and fileWritable are found out by trying here.
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

func growPipe(*os.File, int) {}

func startWriteback(*os.File, int64, int64) {}

func atOffset(*os.File) (offset int64, atEnd bool) { return 0, false }
