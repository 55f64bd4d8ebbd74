package input

import "golang.org/x/sys/unix"

// rawFile is a descriptor.
type rawFile int

// openRegular opens a file that was regular when it was planned.
func openRegular(path string) (rawFile, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|nonBlocking, 0)
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
