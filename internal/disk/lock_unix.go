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

// ErrLocked says that another process, or another open file of this one, has
// the lock.
var ErrLocked = errors.New("locked by a running process")

// TryLock locks the open file until it is closed. It fails at once with ErrLocked if the
// file is locked, and with errors.ErrUnsupported where there are no locks. The lock belongs
// to the open file: child processes do not inherit it, and the system frees it when the
// process dies.
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

// openLock opens what should be a lock file. It follows no link and does not wait at a FIFO
// that somebody has put there.
func openLock(name string) (*File, error) {
	return OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// deviceOf returns the number of the file system.
func deviceOf(info fs.FileInfo) (uint64, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}

// ownedByUs keeps the runs of root from touching what other users have left.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
