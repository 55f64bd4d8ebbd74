//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLocked is the error of TryLock if another process, or another open file of this process, has
// the lock.
var ErrLocked = errors.New("locked by a running process")

// TryLock locks the open file until it is closed. It does not wait: it fails with ErrLocked if the
// file is locked, and with errors.ErrUnsupported if the file system has no locks. The lock belongs
// to the open file. Child processes do not inherit it, and the system frees it when the
// process ends.
func TryLock(f *File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		// Some network file systems have no locks.
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			return errors.ErrUnsupported
		default:
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// openLock opens a lock file. Somebody may have put a link or a FIFO there.
func openLock(name string) (*File, error) { return openNoLink(name, os.O_RDWR, 0) }

// openNoLink is OpenFile. It follows no link and does not wait at a FIFO.
func openNoLink(name string, flag int, mode fs.FileMode) (*File, error) {
	return OpenFile(name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
}

// deviceOf returns the number of the file system.
func deviceOf(info fs.FileInfo) (uint64, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}

// ownedByUs reports whether a file belongs to the effective user. So runs of root do not touch the
// files of other users.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// inode returns the inode number of a file; 0: it is not known.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// MayRead returns why the process may not read path, with its effective rights; nil: it may.
func MayRead(path string) error { return access(path, unix.R_OK) }

// MayWrite returns why the process may not write to the file at path; nil: it may.
func MayWrite(path string) error { return access(path, unix.W_OK) }

// MayMakeIn returns why the process can make nothing in the directory dir; nil: it can.
func MayMakeIn(dir string) error { return access(dir, unix.W_OK|unix.X_OK) }

// access follows links. It also fails where the file system is mounted for reading only.
func access(path string, mode uint32) error {
	path, release := Short(path)
	defer release()
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}
