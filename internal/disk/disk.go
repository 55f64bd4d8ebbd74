// Package disk has the calls by which a run reads, writes, moves and removes files, and its
// temporary files (TempRoot). In a normal build File is os.File, and each function of the file
// system is one call of package os that the compiler inlines.
//
// A build with the tag faults counts the calls by kind (Op) and makes the n-th one fail, once or
// from then on (Inject). It also calls a watcher for each sync and rename that has succeeded. The
// watcher of a test can copy the files that a power cut would leave. Tests with that tag run whole
// jobs in this way.
//
// The package keeps no memory of the caller.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"mrlocal/internal/errs"
)

// Op is a kind of call to the file system.
type Op uint8

// The kinds of calls. Open includes making a file, Read includes reading a directory, Unlink includes
// removing a directory, and Write includes a change of length. Change stands for all of them except Read
// and Close, which change nothing on the disk.
const (
	Change Op = iota
	Open
	Read
	Write
	Sync
	Close
	Rename
	Unlink
	Mkdir
	ops
)

// isFull reports whether err means that a file system or a quota has no room left.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// WritesTo reports whether w is an open regular file, and name names the same file.
func WritesTo(w io.Writer, name string) bool {
	f, ok := w.(*os.File)
	if !ok || name == "" {
		return false
	}
	open, err := f.Stat()
	if err != nil || !open.Mode().IsRegular() {
		return false
	}
	named, err := os.Stat(name)
	return err == nil && os.SameFile(open, named)
}

// Stat is os.Stat of a path of any length.
func Stat(path string) (os.FileInfo, error) { return onShort(path, os.Stat) }

// Lstat is os.Lstat of a path of any length.
func Lstat(path string) (os.FileInfo, error) { return onShort(path, os.Lstat) }

// ReadFile is os.ReadFile of a path of any length.
func ReadFile(path string) ([]byte, error) { return onShort(path, os.ReadFile) }

// OpenInput is os.Open of a path of any length.
func OpenInput(path string) (*os.File, error) { return onShort(path, os.Open) }

// onShort calls f with a path of any length. Its error names path.
func onShort[T any](path string, f func(string) (T, error)) (T, error) {
	short, release := Short(path)
	defer release()
	v, err := f(short)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return v, err
}

// specialBits are the bits of a mode that are not permissions. A write into a file keeps those that the system
// lets it keep.
const specialBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Publish puts f, which Beside has made for path, in the place of the file at path, and closes it. It
// renames f, or copies it into the file if a rename would lose something or replace a link. After an error
// it removes f, unless the file has a part of the text: then f has the only whole one, and the error names it.
func Publish(f *File, path string) error {
	old, err := os.Lstat(path)
	if err == nil && (old.Mode()&fs.ModeSymlink != 0 || LosesByRename(path, old) || KeepOwner(f, old) != nil) {
		if err := CopyOver(path, f); err != nil {
			return errors.Join(fmt.Errorf("%s was not written to its end, the whole text is %s: %w", path, f.Name(), errs.Cause(err)), f.Close())
		}
		return errors.Join(f.Close(), Remove(f.Name()))
	}
	if err = f.Close(); err == nil {
		err = Move(f.Name(), path)
	}
	if err != nil {
		_ = Remove(f.Name())
	}
	return err
}

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

// SyncPath syncs a file, or the names in a directory.
func SyncPath(path string) error {
	f, err := OpenRead(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
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
