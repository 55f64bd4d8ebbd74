//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tempdir

import (
	"errors"
	"io/fs"
	"os"
)

// ErrLocked says that another process has the lock.
var ErrLocked = errors.New("locked by a running process")

// TryLock cannot lock here; Sweep then removes nothing.
func TryLock(*os.File) error { return errors.ErrUnsupported }

func openLock(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDWR, 0) }

func ownedByUs(fs.FileInfo) bool { return false }
