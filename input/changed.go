package input

import (
	"errors"
	"fmt"
	"os"
)

// ErrChanged is the cause of errors about an input that has changed since the run began: it
// was replaced, truncated or written to.
var ErrChanged = errors.New("changed while it was being read")

// unchanged returns an error that wraps ErrChanged if h is not the planned file any more. If the
// file was empty, it compares only the size: in /proc inode number and time mean nothing. A Text does
// not change.
func (f *File) unchanged(h *handle) error {
	if f.kind == ofText {
		return nil
	}
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

// endedAt returns the error of a file that has ended at offset, before its planned end.
func (f *File) endedAt(offset int64) error {
	return fmt.Errorf("%s: %w: it has no byte at offset %d and had %d bytes when the run began", shown(f.Path), ErrChanged, offset, f.Bytes)
}

// Shorter returns the error of a file that has ended after read bytes, but had more when it was
// opened: bytes. It returns nil if the file has not ended early, or if its file system makes sizes
// up.
func Shorter(f *os.File, read, bytes int64) error {
	if read >= bytes || rawFileOf(f).sizeIsMadeUp() {
		return nil
	}
	return fmt.Errorf("%w: it has no byte at offset %d and had %d bytes when it was opened", ErrChanged, read, bytes)
}
