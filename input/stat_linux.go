package input

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// statPath follows links. It costs no os.FileInfo, which for 100,000 files is
// 30 MB of garbage.
func statPath(path string) (stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return stat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
	}
	return stat{
		mode:  fileMode(st.Mode),
		bytes: st.Size,
		id:    identity{dev: uint64(st.Dev), ino: st.Ino, mtimeNanos: st.Mtim.Nano()},
	}, nil
}

// fileMode keeps only the type.
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
