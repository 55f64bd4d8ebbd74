package input

import (
	"fmt"
	"io"

	"mrlocal/internal/membudget"
)

const (
	chunkBytes = membudget.ChunkBytes
	// maxRecordBytes is what a jobs.Span can measure.
	maxRecordBytes = 1<<32 - 1
)

// hold is the one chunk that a reader holds between two calls of Next.
type hold struct {
	mem   Memory
	chunk *membudget.Chunk
	kept  bool // a chunk was kept: others may be, too
}

// take returns a buffer of at least bytes: the chunk at hand where it fits.
// One standard chunk serves all small files as long as nobody keeps it; from
// then on each gets a chunk of its size.
func (h *hold) take(bytes int) ([]byte, error) {
	if !h.kept {
		bytes = max(bytes, chunkBytes)
	}
	if h.chunk != nil {
		n := len(h.chunk.Data)
		if n >= bytes && (n <= chunkBytes || bytes > chunkBytes) {
			return h.chunk.Data, nil
		}
		h.free()
	}
	c, err := h.mem.Get(bytes)
	if err != nil {
		return nil, err
	}
	h.chunk = c
	return c.Data, nil
}

// keep leaves the chunk to whoever uses the block.
func (h *hold) keep() { h.chunk, h.kept = nil, true }

func (h *hold) free() {
	if h.chunk != nil {
		h.mem.Put(h.chunk)
		h.chunk = nil
	}
}

// block is a run of whole records in the held chunk.
type block struct {
	data []byte
	off  int64 // of data[0] in the file
	last bool  // the file ends with it
}

// source yields the blocks of one piece, io.EOF after the last. The held
// chunk of the previous block may have been kept.
type source interface {
	next(h *hold) (block, error)
	consumedBytes() int64
	io.Closer
}

// roomError explains a record that memory has no room for.
func roomError(path string, off, bytes int64, err error) error {
	return fmt.Errorf("%s: record at offset %d of %d bytes: %w", shown(path), off, bytes, err)
}

func tooLong(path string, off int64) error {
	return fmt.Errorf("%s: record at offset %d is longer than 4 GiB", shown(path), off)
}
