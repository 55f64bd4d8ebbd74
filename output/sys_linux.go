package output

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"mrlocal/internal/disk"
)

// closeBeforeRename says that an open file cannot be renamed.
const closeBeforeRename = false

// isMount reports whether a directory lies on another file system than its parent, so that a
// rename cannot replace it. It returns false if the system has no device numbers.
func isMount(dir, parent fs.FileInfo) bool {
	a, okA := dir.Sys().(*syscall.Stat_t)
	b, okB := parent.Sys().(*syscall.Stat_t)
	return okA && okB && a.Dev != b.Dev
}

// keepOwner gives f the owner of the file that it replaces, if the system allows that.
func keepOwner(f *disk.File, of fs.FileInfo) {
	if st, ok := of.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// syncUnsupported reports whether err says that a file cannot be synced, for example a pipe.
func syncUnsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EROFS)
}

// isUsage reports whether err is caused by the path that the user named.
func isUsage(err error) bool {
	for _, e := range []error{
		unix.ENOENT, unix.ENOTDIR, unix.EISDIR, unix.EACCES, unix.EPERM, unix.EROFS, unix.ENAMETOOLONG, unix.ELOOP,
		unix.EINVAL, unix.ENXIO, unix.ENODEV, unix.ETXTBSY, unix.EEXIST,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// nonBlocking is a flag of open. A FIFO is then opened without waiting; ENXIO says that it has
// no reader. The flag also lets Close end a write that waits.
const nonBlocking = unix.O_NONBLOCK

// noReader reports whether opening a FIFO failed because it has no reader.
func noReader(err error) bool { return errors.Is(err, unix.ENXIO) }

// readerGone reports whether a write failed because the reader of the pipe has closed it.
func readerGone(err error) bool { return errors.Is(err, unix.EPIPE) }
