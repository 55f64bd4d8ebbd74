//go:build unix

package testkit

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guarded returns a copy of data that ends at the end of a page. Reading or writing the next page
// crashes the test. So a test finds reads and writes beyond the end by loops in assembly, which have
// no bounds checks. The copy is freed at the end of the test.
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
