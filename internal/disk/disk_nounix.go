//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package disk

import (
	"errors"
	"io/fs"
	"os"
)

// ErrLocked is the error of TryLock if another process has the lock.
var ErrLocked = errors.New("locked by a running process")

// TryLock fails: there are no locks here. So SweepTemp removes nothing.
func TryLock(*File) error { return errors.ErrUnsupported }

func openLock(name string) (*File, error) { return OpenFile(name, os.O_RDWR, 0) }

func openNoLink(name string, flag int, mode fs.FileMode) (*File, error) {
	return OpenFile(name, flag, mode)
}

func deviceOf(fs.FileInfo) (uint64, bool) { return 0, false }

func inode(fs.FileInfo) uint64 { return 0 }

func ownedByUs(fs.FileInfo) bool { return false }

// MayRead returns why path cannot be read, by opening it; nil: it can.
func MayRead(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// MayWrite knows nothing here: opening the file will show it.
func MayWrite(string) error { return nil }

// MayMakeIn knows nothing here: making the file will show it.
func MayMakeIn(string) error { return nil }
