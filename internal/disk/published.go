package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// publishedName is a hidden file in the directory that the user has named for KeepTemp. It has a line
// for each directory that a run was about to publish as its result: the inode, and the path in quotes.
const publishedName = ".mrlocal-published"

// NotePublished notes in dir, a directory of KeepTemp, that the directory at stage is about to get the
// name path. The note survives a power cut. If dir is "", NotePublished does nothing.
func NotePublished(dir, stage, path string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(stage)
	if err != nil {
		return err
	}
	f, err := OpenFile(filepath.Join(dir, publishedName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %q\n", inode(info), path)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	d, err := OpenRead(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// WasPublished reports whether a run that was killed has noted in dir that it publishes the directory
// that has the name path now. It reports false if dir is "", and on a system without inode numbers.
func WasPublished(dir, path string, now fs.FileInfo) bool {
	if dir == "" || inode(now) == 0 {
		return false
	}
	f, err := OpenRead(filepath.Join(dir, publishedName))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if lines.Text() == fmt.Sprintf("%d %q", inode(now), path) {
			return true
		}
	}
	return false
}
