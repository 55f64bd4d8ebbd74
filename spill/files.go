package spill

import (
	"errors"
	"os"
	"slices"
)

var errChecksum = errors.New("checksum does not match")

// spillFile is a temporary file by its name; it is open only while it is
// written or read, so that descriptors are bounded by what is under way.
type spillFile struct {
	path  string
	bytes int64

	// damaged makes the error of a file that cannot be read back.
	damaged func(path string, offset int64, err error) error
}

func (f *spillFile) corrupt(at int64, err error) error {
	return f.damaged(f.path, at, err)
}

func (f *spillFile) remove() error {
	if f.path == "" {
		return nil
	}
	err := os.Remove(f.path)
	f.path = ""
	return err
}

// openFiles keeps at most limit files open for reading, those used last.
type openFiles struct {
	limit int
	files []openFile // least recently used first
}

type openFile struct {
	of   *spillFile
	file *os.File
}

func (o *openFiles) get(f *spillFile) (*os.File, error) {
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
	if len(o.files) >= max(1, o.limit) {
		_ = o.files[0].file.Close() // was only read
		o.files = slices.Delete(o.files, 0, 1)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, f.corrupt(0, err)
	}
	o.files = append(o.files, openFile{f, file})
	return file, nil
}

func (o *openFiles) close() {
	for _, c := range o.files {
		_ = c.file.Close() // was only read
	}
	o.files = nil
}
