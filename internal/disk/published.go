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

	"mrlocal/internal/paths"
)

// publishedName is a hidden file in the directory that the user has named for KeepTemp. It has a line
// for each directory that a run was about to make or to publish as its result: a key by which a later
// run knows the directory again, and the path of the result in quotes. removeLeft moves the file to
// notesBeside.
const publishedName = ".mrlocal-published"

// notesBeside returns the name of the notes while dir, which KeepTemp has made, is being removed.
func notesBeside(dir string) string { return paths.Claim(dir) }

// leftNotes reports whether a run was killed as it removed dir, which KeepTemp had made: its notes lie next to dir.
func leftNotes(dir string) bool {
	info, err := os.Lstat(notesBeside(dir))
	return err == nil && info.Mode().IsRegular() && ownedByUs(info)
}

// Note notes key for the result at path, in dir, a directory of KeepTemp. A key has no spaces and line
// ends. The note survives a power cut. If dir is "", Note does nothing.
func Note(dir, key, path string) error {
	if dir == "" {
		return nil
	}
	f, err := openNotes(filepath.Join(dir, publishedName), os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %q\n", key, path)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return SyncPath(dir)
}

// Noted returns the keys that killed runs have noted in dir for the result at path. It returns none if
// dir is "", or if there is no file of notes.
func Noted(dir, path string) (keys []string) {
	if dir == "" {
		return nil
	}
	for _, name := range []string{filepath.Join(dir, publishedName), notesBeside(dir)} {
		f, err := openNotes(name, os.O_RDONLY)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(f) // the notes before an error count
		for line := range strings.SplitSeq(string(text), "\n") {
			if key, of, _ := strings.Cut(line, " "); of == strconv.Quote(path) {
				keys = append(keys, key)
			}
		}
		_ = f.Close()
	}
	return keys
}

// openNotes opens a file of notes. It follows no link, and takes nothing but a regular file
// of this user.
func openNotes(name string, flag int) (*File, error) {
	f, err := openNoLink(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !ownedByUs(info) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: errors.New("no regular file of this user")}, err, f.Close())
	}
	return f, nil
}

// NotePublished notes in dir, a directory of KeepTemp, that the directory at stage is about to get the
// name path.
func NotePublished(dir, stage, path string) error {
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
