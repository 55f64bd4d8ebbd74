package input

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mrlocal/internal/disk"
)

// statPath returns the attributes of the file at path, and follows links. It
// makes no os.FileInfo: that would be 30 MB of garbage for 100,000 files.
func statPath(path string) (stat, error) {
	short, release := disk.Short(path)
	defer release()
	st, err := statAt(unix.AT_FDCWD, short)
	if err != nil {
		return stat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return st, nil
}

// statAt returns the attributes of the file of that name, and follows links. A relative name counts
// from the open directory dir.
func statAt(dir int, name string) (stat, error) {
	return disk.Uninterrupted(func() (stat, error) {
		var st unix.Stat_t
		err := unix.Fstatat(dir, name, &st, 0)
		return statOf(&st), err
	})
}

// statOf returns the attributes of st that the walk needs.
func statOf(st *unix.Stat_t) stat {
	return stat{
		mode:  disk.FileType(st.Mode),
		bytes: st.Size, ctimeNanos: st.Ctim.Nano(),
		id:    identity{dev: uint64(st.Dev), ino: st.Ino, mtimeNanos: st.Mtim.Nano()},
		owner: int32(st.Uid), ownerReads: st.Mode&unix.S_IRUSR != 0,
	}
}

// ctimeNanos returns the time of the last change of content or attributes; 0: it is not known.
func ctimeNanos(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

// statIn returns the attributes of the file of that name in an open directory, and follows links. Looking up names
// relative to it costs a third of walking down their paths.
func statIn(dir *disk.File, name string) (stat, error) { return statAt(int(dir.Fd()), name) }

// readableIn reports whether the process may read the file of that name in an open directory.
func readableIn(dir *disk.File, name string) bool {
	return unix.Faccessat(int(dir.Fd()), name, unix.R_OK, unix.AT_EACCESS) == nil
}

// rawFile is the descriptor of an open file. Its methods return bare errors of the system, and
// 0 bytes without an error at the end of the file.
type rawFile int

// openRegular opens the file at path for reading. The file was regular when it was planned.
func openRegular(path string) (rawFile, error) {
	path, release := disk.Short(path)
	defer release()
	return openAt(unix.AT_FDCWD, path)
}

// openAt opens the file of that name for reading. A relative name counts from the open directory
// dir. It does not block if the file has become a FIFO: the caller notices that by its attributes.
func openAt(dir int, name string) (rawFile, error) {
	if err := disk.Fail(disk.Open); err != nil {
		return 0, err
	}
	fd, err := disk.Uninterrupted(func() (int, error) { return unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|nonBlocking, 0) })
	return rawFile(fd), err
}

// read reads on where the last read ended, with one system call. It repeats the call if a signal
// has interrupted it.
func (f rawFile) read(buf []byte) (int, error) {
	if err := disk.Fail(disk.Read); err != nil {
		return 0, err
	}
	n, err := disk.Uninterrupted(func() (int, error) { return unix.Read(int(f), buf) })
	return max(n, 0), err
}

// pread reads at offset at, with one system call. It does not move the place of the descriptor, so
// several readers may share one.
func (f rawFile) pread(buf []byte, at int64) (int, error) {
	if err := disk.Fail(disk.Read); err != nil {
		return 0, err
	}
	n, err := disk.Uninterrupted(func() (int, error) { return unix.Pread(int(f), buf, at) })
	return max(n, 0), err
}

// rawFileOf returns the descriptor of f. f must stay open meanwhile.
func rawFileOf(f *os.File) rawFile { return rawFile(f.Fd()) }

// sizeIsMadeUp reports whether f lies in sysfs or configfs, where each file has
// the size of a page.
func (f rawFile) sizeIsMadeUp() bool {
	const configfsMagic = 0x62656570
	var st unix.Statfs_t
	return unix.Fstatfs(int(f), &st) == nil && (st.Type == unix.SYSFS_MAGIC || st.Type == configfsMagic)
}

// close closes the descriptor. An injected fault comes after that, so that it leaks no descriptor.
func (f rawFile) close() error {
	err := unix.Close(int(f))
	if err == nil {
		err = disk.Fail(disk.Close)
	}
	return err
}

// stat returns the attributes of the open file.
func (f rawFile) stat() (stat, error) {
	return disk.Uninterrupted(func() (stat, error) {
		var st unix.Stat_t
		err := unix.Fstat(int(f), &st)
		return statOf(&st), err
	})
}

// openDir is an open directory, relative to which its files are opened. Looking up the whole path
// of each small file would take a tenth of the time that the file takes.
type openDir struct {
	prefix string // of the paths of its files, with the last slash; "": no directory is open
	fd     int
}

// pauseMillis is how long a writer must be silent for a pause, in milliseconds. A person does not
// notice the delay, and it makes few blocks short.
const pauseMillis = 10

// pauses waits up to pauseMillis, and reports whether nothing has come from the pipe meanwhile. A
// pipe whose writer has closed it does not pause: its end can be read.
func pauses(pipe *os.File) bool {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	// Control keeps the descriptor from being closed meanwhile.
	quiet := false
	err = conn.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, pauseMillis)
		quiet = n == 0 && err == nil
	})
	return quiet && err == nil
}

// stat returns the attributes of path, and follows links. It opens the directory of path first, if
// another one is open.
func (d *openDir) stat(path string) (stat, error) {
	i := strings.LastIndexByte(path, '/') + 1
	if i <= 1 || !d.enter(path[:i]) {
		return statPath(path)
	}
	return statAt(d.fd, path[i:])
}

// open opens path for reading. next is the path that will be opened after it. If next lies in the
// same directory, open opens the directory first.
func (d *openDir) open(path, next string) (rawFile, error) {
	i := strings.LastIndexByte(path, '/') + 1
	// If no other file of the directory follows, opening the directory is not worth it.
	last := !strings.HasPrefix(next, path[:i]) || strings.IndexByte(next[i:], '/') >= 0
	if i <= 1 || path[:i] != d.prefix && last || !d.enter(path[:i]) {
		return openRegular(path)
	}
	return openAt(d.fd, path[i:])
}

// enter opens the directory prefix, which ends with a slash, unless it is open already. It reports
// whether it is open.
func (d *openDir) enter(prefix string) bool {
	if prefix == d.prefix {
		return true
	}
	d.close()
	short, release := disk.Short(prefix)
	defer release()
	fd, err := unix.Open(short, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		d.prefix, d.fd = prefix, fd
	}
	return err == nil
}

func (d *openDir) close() {
	if d.prefix != "" {
		_ = unix.Close(d.fd)
		d.prefix = ""
	}
}
