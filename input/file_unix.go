//go:build unix

package input

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// identityOf returns the identity behind fi.
func identityOf(fi os.FileInfo) identity {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{mtimeNanos: fi.ModTime().UnixNano()}
	}
	return identity{dev: uint64(st.Dev), ino: uint64(st.Ino), mtimeNanos: fi.ModTime().UnixNano()}
}

// readable returns an error if the process may not read path. It checks the effective user and
// groups.
func readable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

// nonBlocking is the flag with which open does not wait if the file has become a FIFO.
const nonBlocking = syscall.O_NONBLOCK
