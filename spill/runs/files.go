package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mrlocal/internal/disk"
	"mrlocal/internal/tempdir"
	"mrlocal/spill/record"
)

// errChecksum says that bytes on disk are not those that were written.
var errChecksum = errors.New("checksum does not match")

// CorruptError says that a map output, or a file of a merge, cannot be read
// back: a block fails its check, or the file is too short or gone. The map that
// made Output has to run again. Output is nil for a file of the merge itself.
type CorruptError struct {
	Output *MapOutput
	Path   string
	Offset int64
	Err    error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("spilled data %s at byte %d: %v", e.Path, e.Offset, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// tempFile is a temporary file of segments, known by its name. It is open only
// while it is written or read, so that the number of descriptors depends on
// what is under way and not on how many files there are.
// bytes counts whole segments only, so a failed segment is written over by the next.
type tempFile struct {
	temp  *tempdir.File // nil: not made yet, or an earlier run has made it
	path  string        // of a file that an earlier run has made
	bytes int64         // of whole segments
	kept  bool          // a later run may read it: remove leaves it
	owner *MapOutput    // nil: a merge
}

// corrupt returns the error of a file that cannot be read back at offset at.
func (f *tempFile) corrupt(at int64, err error) error {
	return &CorruptError{Output: f.owner, Path: f.name(), Offset: at, Err: err}
}

// appendSegment writes one segment behind those that the file has; the first
// one makes the file. write adds the records and ends each partition. stats,
// where it is not nil, is counted up by partition. After an error the file
// holds the segments of before.
func (f *tempFile) appendSegment(w *Writer, createTemp func() (*tempdir.File, error), stats []record.PartStat, write func(w *Writer) error) (s segment, err error) {
	// The file is closed again after each segment.
	file, err := f.openToAppend(createTemp)
	if err != nil {
		return s, fmt.Errorf("spill: %w", err)
	}
	w.begin(file, f.bytes, stats)
	end := int64(0)
	if err = write(w); err == nil {
		s, end, err = w.end()
	}
	// An error of closing may be the late report of a failed write.
	if err := errors.Join(err, file.Close()); err != nil {
		return s, err
	}
	f.bytes = end
	return s, nil
}

// openToAppend opens the file behind its last whole segment, or makes it. The caller
// closes it.
func (f *tempFile) openToAppend(createTemp func() (*tempdir.File, error)) (_ *tempdir.File, err error) {
	switch {
	case f.temp != nil:
		return f.temp, f.temp.Append(f.bytes)
	case f.path != "":
		return nil, errors.New("a file of an earlier run takes no more segments")
	case createTemp == nil:
		return nil, errors.New("there is no temporary directory")
	}
	f.temp, err = createTemp()
	return f.temp, err
}

// name returns the path of the file; "": it was not made.
func (f *tempFile) name() string {
	if f.temp != nil {
		return f.temp.Name()
	}
	return f.path
}

// open opens the file for reading.
func (f *tempFile) open() (*disk.File, error) {
	if f.temp != nil {
		return f.temp.Open()
	}
	return disk.OpenRead(f.path)
}

// remove deletes the file, if it was made and is not kept. It may be called again.
func (f *tempFile) remove() error {
	if f.temp == nil || f.kept {
		return nil
	}
	err := f.temp.Remove()
	f.temp = nil
	return err
}

// openFiles keeps at most limit files open for reading: those that were used
// last.
// One merge owns it, so it needs no lock.
type openFiles struct {
	limit int
	files []openFile // least recently used first
}

// openFile is a file that is open for reading.
type openFile struct {
	of   *tempFile
	file *disk.File
}

// get returns f, open. The descriptor is valid until the next get. A file that
// is gone is a CorruptError; too few descriptors, for example, are not.
func (o *openFiles) get(f *tempFile) (*disk.File, error) {
	// A cursor mostly reads the file that it has read last.
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
	file, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.corrupt(0, err)
	}
	if err != nil {
		return nil, err
	}
	o.files = append(o.files, openFile{f, file})
	return file, nil
}

// close closes all files. They may be opened again.
func (o *openFiles) close() {
	for _, c := range o.files {
		_ = c.file.Close() // was only read
	}
	o.files = nil
}
