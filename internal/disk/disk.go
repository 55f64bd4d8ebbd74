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
	"io"
	"os"
	"syscall"
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
