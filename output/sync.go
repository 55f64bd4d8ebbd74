package output

import (
	"errors"
	"fmt"
	"io/fs"

	"mrlocal/internal/disk"
)

// flush returns the error that a close of f would return. Some file systems send data only
// at a close, and find then that it has no room. f stays open, and so it stays locked.
func flush(f *disk.File) error {
	twin, err := duplicate(f)
	if err != nil {
		return nil // no descriptor is left, or the system has no duplicates: the close itself will tell
	}
	return twin.Close()
}

// syncFile makes the data of a file durable. It is no error that a file cannot be synced, as
// a pipe, a device and files of some mounted file systems.
func syncFile(f *disk.File) error {
	if err := f.Sync(); err != nil && !syncUnsupported(err) {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// syncDir makes the names in a directory durable. A directory that may be written to but not
// read cannot be opened, and so it is not synced.
// It is called for the directory that holds a name, after a rename.
func syncDir(path string) error {
	d, err := disk.OpenRead(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return fmt.Errorf("output: sync: %w", err)
	}
	defer d.Close()
	return syncFile(d)
}
