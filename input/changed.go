package input

import (
	"errors"
	"fmt"
	"os"
)

// ErrChanged is the cause of errors about an input that is not what it was when
// the run began: it was replaced, truncated or written to.
var ErrChanged = errors.New("changed while it was being read")

// unchanged compares h with the plan. A file that was empty may be one of
// /proc, where inode number and time mean nothing.
func (f *File) unchanged(h *handle) error {
	st, err := h.stat()
	if err != nil {
		return err
	}
	switch {
	case st.bytes != f.Bytes:
		return fmt.Errorf("%s: %w: it had %d bytes and has %d", shown(f.Path), ErrChanged, f.Bytes, st.bytes)
	case f.Bytes == 0:
		return nil
	case st.id != f.id:
		return fmt.Errorf("%s: %w", shown(f.Path), ErrChanged)
	}
	return nil
}

// endedAt is the error of a file that has no byte at offset, although it is
// longer by the plan.
func (f *File) endedAt(offset int64) error {
	return fmt.Errorf("%s: %w: it has no byte at offset %d and had %d bytes when the run began", shown(f.Path), ErrChanged, offset, f.Bytes)
}

// Shorter returns the error of a file that has ended after read bytes although it had bytes when it
// was opened; nil if it is no error.
func Shorter(f *os.File, read, bytes int64) error {
	if read >= bytes || rawFileOf(f).sizeIsMadeUp() {
		return nil
	}
	return fmt.Errorf("%w: it has no byte at offset %d and had %d bytes when it was opened", ErrChanged, read, bytes)
}
