//go:build !linux

package disk

import (
	"errors"
	"io"
)

func exchange(string, string) error { return errors.ErrUnsupported }

// freeBytes returns false: the free space is not known here.
func freeBytes(string) (bytes int64, ok bool) { return 0, false }

// GrowPipe does nothing here: pipes are only slower.
func GrowPipe(io.Writer) {}

// startWriteback does nothing here: only the sync at the end takes longer.
func startWriteback(*File, int64, int64) {}

func dropPages(*File, int64, int64) {}

// Duplicate is not supported here. The close itself reports its errors.
func Duplicate(*File) (*File, error) { return nil, errors.ErrUnsupported }

// Offset returns false, so standard output is written in order.
func Offset(*File) (offset int64, atEnd bool) { return 0, false }
