package input

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// rawFile is a file descriptor.
type rawFile int

// openRegular opens a file that was regular by the plan.
func openRegular(path string) (rawFile, error) { return openAt(unix.AT_FDCWD, path) }

func openAt(dir int, name string) (rawFile, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|nonBlocking, 0)
		if err != unix.EINTR {
			return rawFile(fd), err
		}
	}
}

func (f rawFile) read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), buf)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f rawFile) pread(buf []byte, at int64) (int, error) {
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

func (f rawFile) close() error { return unix.Close(int(f)) }

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

// open opens path. next is the path that will be opened after it.
func (d *near) open(path, next string) (rawFile, error) {
	i := strings.LastIndexByte(path, '/') + 1
	if i <= 1 {
		return openRegular(path)
	}
	prefix := path[:i]
	if prefix != d.prefix {
		d.close()
		if !strings.HasPrefix(next, prefix) || strings.IndexByte(next[i:], '/') >= 0 {
			return openRegular(path)
		}
		fd, err := unix.Open(prefix, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return openRegular(path)
		}
		d.prefix, d.fd = prefix, fd
	}
	return openAt(d.fd, path[i:])
}

func (d *near) close() {
	if d.prefix != "" {
		_ = unix.Close(d.fd)
		d.prefix = ""
	}
}
