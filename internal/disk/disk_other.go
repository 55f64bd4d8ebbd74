//go:build !linux

package disk

import (
	"errors"
	"io"
)

func exchange(string, string) error { return errors.ErrUnsupported }

// freeBytes does not know.
func freeBytes(string) (bytes int64, ok bool) { return 0, false }

// GrowPipe only makes things faster. It may do nothing.
func GrowPipe(io.Writer) {}

// startWriteback and dropPages only help the disk and the memory. They may do nothing.
func startWriteback(*File, int64, int64) {}

func dropPages(*File, int64, int64) {}

// Duplicate is not supported here. The close itself reports its errors.
func Duplicate(*File) (*File, error) { return nil, errors.ErrUnsupported }

// Offset returns false, so standard output is written in order.
func Offset(*File) (offset int64, atEnd bool) { return 0, false }
