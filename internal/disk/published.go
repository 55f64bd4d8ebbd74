package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// publishedName is a hidden file in the directory that the user has named for KeepTemp. It has a line
// for each directory that a run was about to make or to publish as its result: a key by which a later
// run knows the directory again, and the path of the result in quotes.
const publishedName = ".mrlocal-published"

// Note notes key for the result at path, in dir, a directory of KeepTemp. A key has no spaces and line
// ends. The note survives a power cut.
func Note(dir, key, path string) error {
	f, err := openNotes(dir, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %q\n", key, path)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	d, err := OpenRead(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Noted returns the keys that killed runs have noted in dir for the result at path. It returns none if
// dir is "" or has no file of notes.
func Noted(dir, path string) (keys []string) {
	if dir == "" {
		return nil
	}
	f, err := openNotes(dir, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(f) // the notes before an error count
	for line := range strings.SplitSeq(string(text), "\n") {
		if key, of, _ := strings.Cut(line, " "); of == strconv.Quote(path) {
			keys = append(keys, key)
		}
	}
	return keys
}

// openNotes opens the file of notes in dir. It follows no link, and takes nothing but a regular file.
func openNotes(dir string, flag int) (*File, error) {
	name := filepath.Join(dir, publishedName)
	f, err := openNoLink(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: errors.New("no regular file")}, err, f.Close())
	}
	return f, nil
}

// NotePublished notes in dir, a directory of KeepTemp, that the directory at stage is about to get the
// name path. If dir is "", NotePublished does nothing.
func NotePublished(dir, stage, path string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(stage)
	if err != nil {
		return err
	}
	return Note(dir, strconv.FormatUint(inode(info), 10), path)
}

// WasPublished reports whether a run that was killed has noted in dir that it publishes the directory
// that has the name path now. It reports false if dir is "", and on a system without inode numbers.
func WasPublished(dir, path string, now fs.FileInfo) bool {
	id := inode(now)
	return id != 0 && slices.Contains(Noted(dir, path), strconv.FormatUint(id, 10))
}
