package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step. It fails with EINVAL on file systems that cannot do this.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// freeBytes returns the bytes that this user may still write to the file system of path; false: the
// number is not known.
func freeBytes(path string) (bytes int64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// startWriteback asks the system to begin writing a part of f to the disk. It does not wait. A later
// sync reports the errors.
func startWriteback(f *File, offset, bytes int64) {
	withFD(f, func(fd int) { _ = unix.SyncFileRange(fd, offset, bytes, unix.SYNC_FILE_RANGE_WRITE) })
}

// dropPages waits until a part of f is on the disk, and frees its pages in memory.
func dropPages(f *File, offset, bytes int64) {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	withFD(f, func(fd int) {
		if unix.SyncFileRange(fd, offset, bytes, wait) == nil {
			_ = unix.Fadvise(fd, offset, bytes, unix.FADV_DONTNEED)
		}
	})
}

// withFD calls do with the descriptor of f, unless f is closed.
func withFD(f *File, do func(fd int)) {
	c, err := f.SyscallConn() // unlike Fd, it is safe if another goroutine closes f
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { do(int(fd)) })
}

// pipeBytes is the largest buffer of a pipe that Linux allows every user. A new pipe has 64 KiB.
const pipeBytes = 1 << 20

// GrowPipe enlarges the buffer of w if w is a pipe, so that its reader gets more bytes each time it
// wakes up. If that fails, the pipe is only slower.
func GrowPipe(w io.Writer) {
	f, ok := w.(*os.File)
	if !ok {
		return
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	withFD(Of(f), func(fd int) {
		if now, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil && now < pipeBytes {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeBytes)
		}
	})
}

// Duplicate returns a new descriptor of an open file. If the file is closed meanwhile, Duplicate
// fails. It never duplicates another file that has got the number of f.
func Duplicate(f *File) (*File, error) {
	twin, err := 0, fs.ErrClosed
	withFD(f, func(fd int) { twin, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	return Of(os.NewFile(uintptr(twin), f.Name())), nil
}

// Offset returns the offset of a regular file, and whether the file ends there. It returns
// false for a file in append mode.
func Offset(f *File) (offset int64, atEnd bool) {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_APPEND != 0 {
		return 0, false
	}
	offset, err = unix.Seek(int(f.Fd()), 0, unix.SEEK_CUR)
	info, statErr := f.Stat()
	return offset, err == nil && statErr == nil && info.Size() == offset
}

// FileType returns the type of a file, without its permissions. mode is that of stat.
func FileType(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}

// Uninterrupted makes a system call, and repeats it if a signal has interrupted it.
func Uninterrupted[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); err != unix.EINTR {
			return result, err
		}
	}
}

// IsMount reports whether a directory lies on another file system than its parent, so that a
// rename cannot replace it. It returns false if the system has no device numbers.
func IsMount(dir, parent fs.FileInfo) bool {
	a, okA := dir.Sys().(*syscall.Stat_t)
	b, okB := parent.Sys().(*syscall.Stat_t)
	return okA && okB && a.Dev != b.Dev
}

// KeepOwner gives f the owner of the file that it replaces. It fails if the system does not allow that.
func KeepOwner(f *File, of fs.FileInfo) error {
	if st, ok := of.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(st.Uid), int(st.Gid))
	}
	return nil
}

// LosesByRename reports whether a new file in place of the file at path would lose something: other names
// of the file, its owner, special bits of its mode, its access control list or other attributes. It also
// returns true if the directory lets the process make no file, or not replace this one.
func LosesByRename(path string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if st.Nlink > 1 || info.Mode()&specialBits != 0 || MayMakeIn(filepath.Dir(path)) != nil {
		return true
	}
	if user := uint32(os.Geteuid()); user != 0 {
		groups, _ := os.Getgroups()
		if st.Uid != user || int(st.Gid) != os.Getegid() && !slices.Contains(groups, int(st.Gid)) {
			return true
		}
	}
	// The system gives a new file its label of SELinux.
	names := make([]byte, 64<<10) // no list is longer
	n, err := unix.Listxattr(path, names)
	return err == nil && strings.ReplaceAll(string(names[:n]), "security.selinux\x00", "") != ""
}

// syncUnsupported reports whether err says that a file cannot be synced, for example a pipe.
func syncUnsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EROFS)
}

// Short returns a path of the same file that a system call accepts: shorter than 4096 bytes. For a longer path it
// opens the directories of its first parts. The caller calls release after the last use of the result. If a
// directory cannot be opened, Short returns path, so that the system call reports an error.
func Short(path string) (short string, release func()) {
	if len(path) < unix.PathMax {
		return path, func() {}
	}
	at, rest := unix.AT_FDCWD, path
	release = func() {
		if at >= 0 {
			_ = unix.Close(at)
		}
	}
	// The directory that replaces the first parts has a shorter name than this.
	const nameBytes = 64
	for len(rest) >= unix.PathMax-nameBytes {
		end := strings.LastIndexByte(rest[:unix.PathMax-nameBytes], '/')
		if end <= 0 {
			return path, release
		}
		next, err := unix.Openat(at, rest[:end], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		release()
		if at = next; err != nil {
			at = -1
			return path, release
		}
		rest = strings.TrimLeft(rest[end:], "/")
	}
	return "/proc/self/fd/" + strconv.Itoa(at) + "/" + rest, release
}
