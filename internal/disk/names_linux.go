package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

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

// OpenDirectory opens a directory to list it. On file systems such as NFS a signal can interrupt the
// call, so it is repeated.
func OpenDirectory(path string) (fd int, err error) {
	if err := Fail(Open); err != nil {
		return 0, err
	}
	path, release := Short(path)
	defer release()
	return Uninterrupted(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
}

// Uninterrupted makes a system call, and repeats it if a signal has interrupted it.
func Uninterrupted[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); err != unix.EINTR {
			return result, err
		}
	}
}

// ReadNames calls visit with the names in a directory, in any order, and their types. It follows no
// links. A type is fs.ModeIrregular if the file system does not store it in the directory. name is
// borrowed during the call. buf is scratch memory for some directory entries.
func ReadNames(path string, buf []byte, visit func(name []byte, mode fs.FileMode)) error {
	fd, err := OpenDirectory(path)
	if err != nil {
		return err
	}
	return errors.Join(EachName(fd, buf, visit), unix.Close(fd))
}

// Offsets of fields in a linux_dirent64.
const (
	direntLength = 16 // of the entry, two bytes
	direntType   = 18
	direntName   = 19
)

// direntShift is the number of bits by which the type in a linux_dirent64 is shifted against the
// mode in stat.
const direntShift = 12

// EachName calls visit with the names in an open directory, as ReadNames does.
func EachName(fd int, buf []byte, visit func(name []byte, mode fs.FileMode)) error {
	if err := Fail(Read); err != nil {
		return err
	}
	for {
		n, err := Uninterrupted(func() (int, error) { return unix.ReadDirent(fd, buf) })
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
				visit(name, FileType(uint32(rest[direntType])<<direntShift))
			}
			rest = rest[length:]
		}
	}
}
