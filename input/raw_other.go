//go:build !linux

package input

import (
	"io"
	"os"
)

// rawFile is an open file.
type rawFile struct{ *os.File }

func openRegular(path string) (rawFile, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	return rawFile{f}, cause(err)
}

func (f rawFile) read(buf []byte) (int, error) { return ended(f.Read(buf)) }

func (f rawFile) pread(buf []byte, at int64) (int, error) { return ended(f.ReadAt(buf, at)) }

// ended reports the end of a file as system calls do: no bytes, no error.
func ended(n int, err error) (int, error) {
	if err == io.EOF {
		err = nil
	}
	return n, cause(err)
}

func rawFileOf(f *os.File) rawFile { return rawFile{f} }

// sizeIsMadeUp returns false: only Linux has such file systems.
func (f rawFile) sizeIsMadeUp() bool { return false }

func (f rawFile) close() error { return cause(f.Close()) }

func (f rawFile) stat() (stat, error) {
	fi, err := f.Stat()
	if err != nil {
		return stat{}, cause(err)
	}
	return statOf(fi), nil
}

// near opens each file by its path.
type near struct{}

func (*near) open(path, _ string) (rawFile, error) { return openRegular(path) }
func (*near) close()                               {}
