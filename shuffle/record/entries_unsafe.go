//go:build !safe

package record

import "unsafe"

// EntriesIn returns the first n*EntryBytes bytes of data as n entries, without a copy. data
// must be aligned to 8 bytes; chunks are, because they begin at page boundaries. It panics if
// data is shorter.
func EntriesIn(data []byte, n int) []Entry {
	_ = data[:n*EntryBytes]
	return unsafe.Slice((*Entry)(unsafe.Pointer(unsafe.SliceData(data))), n)
}
