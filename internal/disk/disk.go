// Package disk is the way to the files that a run reads, writes, moves and removes, and has its
// temporary files (TempRoot). In a normal build File is os.File, and each function of the file
// system is one call of package os that the compiler inlines.
//
// A build with the tag faults counts the calls by kind (Op) and lets the n-th one fail, once or
// from then on (Inject). It also notifies a watcher of each sync and rename that has succeeded, so
// that a test can copy what a power cut would leave. Tests with that tag run whole jobs in this
// way. A normal build has none of it.
//
// The package keeps no memory of the caller's. Neighbours: output, spill/runs and input make every
// call that can fail through it; attributes (stat) and locks are not covered.
package disk

import (
	"errors"
	"syscall"
)

// Op is a kind of call to the file system.
type Op uint8

// The kinds. Open is also the making of a file, Read the reading of a directory, Unlink the
// removal of a directory, Write a change of length.
const (
	Any Op = iota
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

// isFull reports whether err says that a file system or a quota has no room left.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
