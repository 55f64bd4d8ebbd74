package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// CopyOver copies all of from over the text of the file at path, and makes it durable. The file keeps its
// old end until the new text is there.
func CopyOver(path string, from *File) error {
	to, err := OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	n := int64(0)
	_, err = from.Seek(0, io.SeekStart)
	if err == nil {
		n, err = io.Copy(to, from)
	}
	if err == nil {
		err = to.Truncate(n)
	}
	if err == nil {
		err = SyncFile(to)
	}
	return errors.Join(err, to.Close())
}

// SyncFile makes the data of a file durable. A file that cannot be synced, such as a pipe, a
// device and files of some file systems, is not an error.
func SyncFile(f *File) error {
	if err := f.Sync(); err != nil && !syncUnsupported(err) {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// Flush returns the error that closing f would return. Some file systems send the data only at
// a close, and only then report that there is no room. f itself stays open, and so it stays
// locked.
func Flush(f *File) error {
	// If there is no duplicate, the later close reports the error.
	twin, err := Duplicate(f)
	if err != nil {
		return nil // too few descriptors, or not supported
	}
	return twin.Close()
}
