package output

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// closeBeforeRename says that an open file cannot be renamed.
const closeBeforeRename = false

// isUsage reports whether err is caused by the path that the user named.
func isUsage(err error) bool {
	return slices.ContainsFunc([]error{
		unix.ENOENT, unix.ENOTDIR, unix.EISDIR, unix.EACCES, unix.EPERM, unix.EROFS, unix.ENAMETOOLONG, unix.ELOOP,
		unix.EINVAL, unix.ENXIO, unix.ENODEV, unix.ETXTBSY, unix.EEXIST,
	}, func(e error) bool { return errors.Is(err, e) })
}

// nonBlocking is a flag of open. A FIFO is then opened without waiting; ENXIO says that it has
// no reader. The flag also lets Close end a write that waits.
const nonBlocking = unix.O_NONBLOCK

// noReader reports whether opening a FIFO failed because it has no reader.
func noReader(err error) bool { return errors.Is(err, unix.ENXIO) }
