//go:build !safe

package spill

import (
	"unsafe"

	"mrlocal/internal/membudget"
)

// entriesOf is the chunk's memory, or as much of it as holds n entries, as
// entries. Chunks start at page boundaries.
func entriesOf(c *membudget.Chunk, n int) []entry { return entriesIn(c.Data, n) }

// entriesIn is the first n entries that lie in data, which is aligned to 8.
func entriesIn(data []byte, n int) []entry {
	_ = data[:n*entryBytes]
	return unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(data))), n)
}
