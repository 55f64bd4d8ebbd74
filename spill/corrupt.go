package spill

import "fmt"

// CorruptError says that a map output, or a file of a merge, cannot be read
// back: a block fails its check, or the file is short or gone. The map that
// made Output has to run again; nil: it was a file of the merge itself.
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

// damaged is for the files of o, or of a merge.
func damaged(o *MapOutput) func(path string, offset int64, err error) error {
	return func(path string, offset int64, err error) error {
		return &CorruptError{Output: o, Path: path, Offset: offset, Err: err}
	}
}
