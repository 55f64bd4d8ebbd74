//go:build !safe

package record

import "unsafe"

// EntriesIn returns the memory of data, or as much of it as n entries take, as entries. data
// must be aligned to 8 bytes; chunks begin at page boundaries.
func EntriesIn(data []byte, n int) []Entry {
	_ = data[:n*EntryBytes]
	return unsafe.Slice((*Entry)(unsafe.Pointer(unsafe.SliceData(data))), n)
}
