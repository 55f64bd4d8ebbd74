package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// syncFile makes a file's data durable. What cannot be synced (a pipe, a
// device, some mounted file systems) is not an error.
func syncFile(f *os.File) error {
	if err := f.Sync(); err != nil && !syncUnsupported(err) && !unsyncable(err) {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// syncDir makes the names in a directory durable. One that may be written to
// but not read cannot be opened, and so not be synced either.
func syncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return fmt.Errorf("output: sync: %w", err)
	}
	defer d.Close()
	return syncFile(d)
}

func unsyncable(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && syncUnsupported(p.Err)
}
