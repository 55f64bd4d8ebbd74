//go:build !safe

package record

import (
	"unsafe"

	"mrlocal/internal/membudget"
)

// EntriesOf is the chunk's memory, or as much of it as holds n entries, as
// entries. Chunks start at page boundaries.
func EntriesOf(c *membudget.Chunk, n int) []Entry { return EntriesIn(c.Data, n) }

// EntriesIn is the first n entries that lie in data, which is aligned to 8.
func EntriesIn(data []byte, n int) []Entry {
	_ = data[:n*EntryBytes]
	return unsafe.Slice((*Entry)(unsafe.Pointer(unsafe.SliceData(data))), n)
}
