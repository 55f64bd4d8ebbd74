//go:build !linux

package disk

import "errors"

func exchange(string, string) error { return errors.ErrUnsupported }

// freeBytes does not know.
func freeBytes(string) (bytes int64, ok bool) { return 0, false }

// startWriteback and dropPages only help the disk and the memory. They may do nothing.
func startWriteback(*File, int64, int64) {}

func dropPages(*File, int64, int64) {}
