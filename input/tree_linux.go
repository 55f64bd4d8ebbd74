package input

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mrlocal/internal/disk"
)

// statPath returns the attributes of the file at path, and follows links. It
// makes no os.FileInfo, which would be 30 MB of garbage for 100,000 files.
func statPath(path string) (stat, error) {
	st, err := statAt(unix.AT_FDCWD, path)
	if err != nil {
		return stat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return st, nil
}

// statAt follows links. A relative name counts from the open directory dir.
func statAt(dir int, name string) (stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(dir, name, &st, 0)
		if err == nil {
			return statOf(&st), nil
		}
		if err != unix.EINTR {
			return stat{}, err
		}
	}
}

// statOf keeps only what the walk needs, because there is one for each file of a plan.
func statOf(st *unix.Stat_t) stat {
	return stat{
		mode:  fileMode(st.Mode),
		bytes: st.Size, ctimeNanos: st.Ctim.Nano(),
		id:    identity{dev: uint64(st.Dev), ino: st.Ino, mtimeNanos: st.Mtim.Nano()},
		owner: int32(st.Uid), ownerReads: st.Mode&unix.S_IRUSR != 0,
	}
}

// ctimeNanos returns when the content or the attributes of a file last changed.
func ctimeNanos(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

// fileMode returns only the type.
func fileMode(mode uint32) fs.FileMode {
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

// directory is an open directory. Looking up names relative to it costs a third
// of walking down their paths.
type directory int

// openDirectory opens a directory to list it. On file systems such as NFS a signal can
// interrupt the call, so it is repeated.
func openDirectory(path string) (directory, error) {
	if err := disk.Fail(disk.Open); err != nil {
		return 0, err
	}
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return directory(fd), err
		}
	}
}

func (d directory) close() error { return unix.Close(int(d)) }

// id returns the identity of the directory itself.
func (d directory) id() (identity, error) {
	st, err := rawFile(d).stat()
	return st.id, err
}

// stat returns the attributes of the file of that name, and follows links.
func (d directory) stat(name string) (stat, error) { return statAt(int(d), name) }

// readable reports whether the process may read the file of that name.
func (d directory) readable(name string) bool {
	return unix.Faccessat(int(d), name, unix.R_OK, unix.AT_EACCESS) == nil
}

// These are places in a linux_dirent64.
const (
	direntLength = 16 // two bytes
	direntType   = 18
	direntName   = 19
)

// The type in a linux_dirent64 is that of the mode in stat, so many bits to the right.
const direntShift = 12

// ReadNames calls visit with the names in a directory, in any order, and their types; it follows
// no links. A type is fs.ModeIrregular where only the attributes of the file have it. name is valid
// during the call; buf is scratch memory.
func ReadNames(path string, buf []byte, visit func(name []byte, mode fs.FileMode)) error {
	d, err := openDirectory(path)
	if err != nil {
		return err
	}
	return errors.Join(d.each(buf, visit), d.close())
}

// each calls visit with the names in the directory, as ReadNames does.
func (d directory) each(buf []byte, visit func(name []byte, mode fs.FileMode)) error {
	if err := disk.Fail(disk.Read); err != nil {
		return err
	}
	for {
		n, err := unix.ReadDirent(int(d), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > direntName; {
			// The kernel pads each entry; the name ends at its first NUL.
			length := binary.NativeEndian.Uint16(rest[direntLength:])
			name := rest[direntName:length]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if string(name) != "." && string(name) != ".." {
				visit(name, fileMode(uint32(rest[direntType])<<direntShift))
			}
			rest = rest[length:]
		}
	}
}

// rawFile is a file descriptor.
type rawFile int

// openRegular opens a file that was regular by the plan.
func openRegular(path string) (rawFile, error) { return openAt(unix.AT_FDCWD, path) }

// openAt does not block: if the name has become a FIFO meanwhile, stat says so afterwards.
func openAt(dir int, name string) (rawFile, error) {
	if err := disk.Fail(disk.Open); err != nil {
		return 0, err
	}
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|nonBlocking, 0)
		if err != unix.EINTR {
			return rawFile(fd), err
		}
	}
}

// read is one system call, repeated if a signal has interrupted it. Injected faults come
// first.
func (f rawFile) read(buf []byte) (int, error) {
	if err := disk.Fail(disk.Read); err != nil {
		return 0, err
	}
	for {
		n, err := unix.Read(int(f), buf)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// pread leaves the place of the descriptor as it is, so that readers may share it.
func (f rawFile) pread(buf []byte, at int64) (int, error) {
	if err := disk.Fail(disk.Read); err != nil {
		return 0, err
	}
	for {
		n, err := unix.Pread(int(f), buf, at)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func rawFileOf(f *os.File) rawFile { return rawFile(f.Fd()) }

// sizeIsMadeUp reports whether f lies in sysfs or configfs, where each file has
// the size of a page.
func (f rawFile) sizeIsMadeUp() bool {
	const configfsMagic = 0x62656570
	var st unix.Statfs_t
	if unix.Fstatfs(int(f), &st) != nil {
		return false
	}
	return st.Type == unix.SYSFS_MAGIC || st.Type == configfsMagic
}

// close closes the descriptor in any case, also if an injected fault is returned.
func (f rawFile) close() error {
	// The injected fault comes after the call, so that it leaks no descriptor.
	err := unix.Close(int(f))
	if err == nil {
		err = disk.Fail(disk.Close)
	}
	return err
}

// stat returns the attributes of the open file. A signal may interrupt the call, which is then
// made again.
func (f rawFile) stat() (stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(int(f), &st)
		if err == nil {
			return statOf(&st), nil
		}
		if err != unix.EINTR {
			return stat{}, err
		}
	}
}

// near opens files relative to their directory, as long as they lie in the same
// one. Walking down the path each time would cost a tenth of what a small file
// costs.
type near struct {
	prefix string // of the paths of its files; "": none is open
	fd     int
}

// pauseMillis is how long a writer is silent before that counts as a pause. A person
// does not notice it, and few blocks are short because of it.
const pauseMillis = 10

// pauses reports whether nothing comes from a pipe for a while. A closed pipe does not
// pause: its end can be read.
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

// nearStat takes attributes relative to a directory, as long as paths lie in the
// same one.
type nearStat struct{ near }

// stat returns the attributes of path, and follows links.
func (d *nearStat) stat(path string) (stat, error) {
	i := strings.LastIndexByte(path, '/') + 1
	if i <= 1 || !d.enter(path[:i]) {
		return statPath(path)
	}
	return statAt(d.fd, path[i:])
}

// open opens path. next is the path that will be opened after it.
func (d *near) open(path, next string) (rawFile, error) {
	i := strings.LastIndexByte(path, '/') + 1
	// If the directory has no other file to come, opening it would only cost.
	last := !strings.HasPrefix(next, path[:i]) || strings.IndexByte(next[i:], '/') >= 0
	if i <= 1 || path[:i] != d.prefix && last || !d.enter(path[:i]) {
		return openRegular(path)
	}
	return openAt(d.fd, path[i:])
}

// enter opens the directory that ends with a slash, unless it is open already.
func (d *near) enter(prefix string) bool {
	if prefix == d.prefix {
		return true
	}
	d.close()
	fd, err := unix.Open(prefix, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		d.prefix, d.fd = prefix, fd
	}
	return err == nil
}

func (d *near) close() {
	if d.prefix != "" {
		_ = unix.Close(d.fd)
		d.prefix = ""
	}
}
