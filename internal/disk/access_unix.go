//go:build unix

package disk

import "golang.org/x/sys/unix"

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
