//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// create creates or truncates a file. It opens a pipe or device, such as /dev/stdout, in blocking mode.
// Otherwise a write may wait in the poller of the runtime for ever after the reader has closed the
// pipe.
func create(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return os.Create(path)
	}
	for {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case unix.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
