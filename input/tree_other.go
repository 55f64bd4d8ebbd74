//go:build !linux

package input

import (
	"io"
	"os"
	"path/filepath"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// statPath returns the attributes of the file at path, and follows links.
func statPath(path string) (stat, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return stat{}, err
	}
	return statOf(fi), nil
}

func statOf(fi os.FileInfo) stat {
	return stat{mode: fi.Mode().Type(), bytes: fi.Size(), id: identityOf(fi), owner: -1}
}

// ctimeNanos returns 0: the time of the last change is not known here.
func ctimeNanos(os.FileInfo) int64 { return 0 }

// statIn returns the attributes of the file of that name in an open directory, and follows links.
func statIn(dir *disk.File, name string) (stat, error) {
	st, err := statPath(filepath.Join(dir.Name(), name))
	return st, errs.Cause(err)
}

// readableIn reports whether the process may read the file of that name in an open directory.
func readableIn(dir *disk.File, name string) bool {
	return disk.MayRead(filepath.Join(dir.Name(), name)) == nil
}

// rawFile is an open file.
type rawFile struct{ *os.File }

func openRegular(path string) (rawFile, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	return rawFile{f}, errs.Cause(err)
}

func (f rawFile) read(buf []byte) (int, error) { return ended(f.Read(buf)) }

func (f rawFile) pread(buf []byte, at int64) (int, error) { return ended(f.ReadAt(buf, at)) }

// ended reports the end of a file as system calls do: no bytes and no error.
func ended(n int, err error) (int, error) {
	if err == io.EOF {
		err = nil
	}
	return n, errs.Cause(err)
}

func rawFileOf(f *os.File) rawFile { return rawFile{f} }

// sizeIsMadeUp returns false: only Linux has such file systems.
func (f rawFile) sizeIsMadeUp() bool { return false }

func (f rawFile) close() error { return errs.Cause(f.Close()) }

func (f rawFile) stat() (stat, error) {
	fi, err := f.Stat()
	if err != nil {
		return stat{}, errs.Cause(err)
	}
	return statOf(fi), nil
}

// pauses returns false: pauses are not noticed here, so blocks are full.
func pauses(*os.File) bool { return false }

func (*openDir) stat(path string) (stat, error) { return statPath(path) }

// openDir opens each file by its path.
type openDir struct{}

func (*openDir) open(path, _ string) (rawFile, error) { return openRegular(path) }
func (*openDir) close()                               {}
