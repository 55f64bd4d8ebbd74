//go:build unix

// Package guarded places test data directly before memory that must not be
// touched. Loops in assembly have no bounds checks; with such data, a read or a
// write beyond the end crashes the test.
//
// Memory: a copy belongs to the test, and is freed at its end.
//
// Neighbours: the tests of internal/scan, jobs/grep/dfa and spill use it.
package guarded

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Copy returns a copy of data that ends with a page. The next page must not be
// touched: reading or writing it crashes the test.
func Copy(t testing.TB, data []byte) []byte {
	t.Helper()
	page := unix.Getpagesize()
	size := (len(data) + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(m) })
	if err := unix.Mprotect(m[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	end := m[size-len(data) : size : size]
	copy(end, data)
	return end
}
