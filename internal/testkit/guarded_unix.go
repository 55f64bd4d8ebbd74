//go:build unix

package testkit

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guarded returns a copy of data that ends with a page. The next page must not be
// touched: reading or writing it crashes the test. Loops in assembly have no bounds checks, so
// only this finds a read or a write beyond the end. The copy is freed at the end of the test.
func Guarded(t testing.TB, data []byte) []byte {
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
