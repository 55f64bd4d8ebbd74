package run

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

var errChecksum = errors.New("checksum does not match")

// File is a temporary file by its name; it is open only while it is
// written or read, so that descriptors are bounded by what is under way.
type File struct {
	Path  string
	Bytes int64

	// damaged makes the error of a file that cannot be read back.
	Damaged func(path string, offset int64, err error) error
}

func (f *File) Corrupt(at int64, err error) error {
	return f.Damaged(f.Path, at, err)
}

func (f *File) Remove() error {
	if f.Path == "" {
		return nil
	}
	err := os.Remove(f.Path)
	f.Path = ""
	return err
}

// OpenFiles keeps at most limit files open for reading, those used last.
type OpenFiles struct {
	Limit int
	files []openFile // least recently used first
}

type openFile struct {
	of   *File
	file *os.File
}

func (o *OpenFiles) Get(f *File) (*os.File, error) {
	last := len(o.files) - 1
	if last >= 0 && o.files[last].of == f {
		return o.files[last].file, nil
	}
	for i, c := range o.files {
		if c.of == f {
			o.files = append(slices.Delete(o.files, i, i+1), c)
			return c.file, nil
		}
	}
	if len(o.files) >= max(1, o.Limit) {
		_ = o.files[0].file.Close() // was only read
		o.files = slices.Delete(o.files, 0, 1)
	}
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.Corrupt(0, err)
	}
	if err != nil {
		return nil, err // too few descriptors, say: the file itself is whole
	}
	o.files = append(o.files, openFile{f, file})
	return file, nil
}

func (o *OpenFiles) Close() {
	for _, c := range o.files {
		_ = c.file.Close() // was only read
	}
	o.files = nil
}
