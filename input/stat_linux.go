package input

import (
	"bytes"
	"encoding/binary"
	"io/fs"

	"golang.org/x/sys/unix"
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

func statOf(st *unix.Stat_t) stat {
	return stat{
		mode:  fileMode(st.Mode),
		bytes: st.Size,
		id:    identity{dev: uint64(st.Dev), ino: st.Ino, mtimeNanos: st.Mtim.Nano()},
		owner: int32(st.Uid), ownerReads: st.Mode&unix.S_IRUSR != 0,
	}
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
	}
	return fs.ModeIrregular
}

// directory is an open directory. Looking up names relative to it costs a third
// of walking down their paths.
type directory int

func openDirectory(path string) (directory, error) {
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

// each calls visit with the names in the directory, in any order. isDir is true
// if the name is known to be a directory, and not a link to one. buf is scratch
// memory.
func (d directory) each(buf []byte, visit func(name []byte, isDir bool)) error {
	for {
		n, err := unix.ReadDirent(int(d), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > direntName; {
			length := binary.NativeEndian.Uint16(rest[direntLength:])
			name := rest[direntName:length]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if string(name) != "." && string(name) != ".." {
				visit(name, rest[direntType] == unix.DT_DIR)
			}
			rest = rest[length:]
		}
	}
}
