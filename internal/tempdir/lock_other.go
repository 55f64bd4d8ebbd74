//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tempdir

import (
	"errors"
	"io/fs"
	"os"

	"mrlocal/internal/disk"
)

// ErrLocked says that another process has the lock.
var ErrLocked = errors.New("locked by a running process")

// TryLock cannot lock here; Sweep then removes nothing.
func TryLock(*disk.File) error { return errors.ErrUnsupported }

func openLock(name string) (*disk.File, error) { return disk.OpenFile(name, os.O_RDWR, 0) }

func deviceOf(fs.FileInfo) (uint64, bool) { return 0, false }

func ownedByUs(fs.FileInfo) bool { return false }
