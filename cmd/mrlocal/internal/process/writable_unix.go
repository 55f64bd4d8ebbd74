//go:build unix

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// writable asks the system whether path may be written.
func writable(path string) error { return unix.Access(path, unix.W_OK) }

// create creates or truncates a file. It opens a pipe or device for blocking writes. A write
// may wait in the poller of the runtime, as on /dev/stdout that is opened once more. Such a
// write may never learn that the reader has gone.
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
