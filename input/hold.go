package input

import (
	"fmt"
	"io"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

const (
	chunkBytes = membudget.ChunkBytes
	// maxRecordBytes is the largest length that a jobs.Span can hold.
	maxRecordBytes = 1<<32 - 1
)

// LentBlock is a block of whole records, with the loan of the chunk in which
// its data lies. It is valid until the next call of Next or Close. A borrower
// that needs the data for longer takes the chunk over (membudget.Loan).
type LentBlock struct {
	jobs.Block
	Loan          *membudget.Loan
	ConsumedBytes int64 // how much of the source has been read, up to the end of this block
}

// hold is the one chunk that a reader holds between two calls of Next.
type hold struct {
	mem   Memory
	chunk *membudget.Chunk
	loan  membudget.Loan // of chunk
	taken bool           // a borrower has taken a chunk over, and may do it again
}

// lend lends the chunk at hand.
func (h *hold) lend() { h.loan = membudget.Loan{Chunk: h.chunk} }

// endLoan ends the loan. A chunk that was taken over is not held any more.
func (h *hold) endLoan() {
	if h.loan.Taken() {
		h.chunk, h.taken = nil, true
	}
	h.loan = membudget.Loan{}
}

// take returns a buffer of at least bytes: the chunk at hand if it is large
// enough. One standard chunk serves all small files until a borrower takes a
// chunk over. From then on, each file gets a chunk of its size.
func (h *hold) take(bytes int) ([]byte, error) {
	if !h.taken {
		bytes = max(bytes, chunkBytes)
	}
	if h.chunk != nil {
		n := len(h.chunk.Data)
		// A large chunk is kept only for another large record. Otherwise one long record would
		// keep its memory to the end of the split.
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

// free gives the chunk back. It does nothing if a borrower has taken the chunk over.
func (h *hold) free() {
	if h.chunk != nil {
		h.mem.Put(h.chunk)
		h.chunk = nil
	}
}

// block is a sequence of whole records in the held chunk.
type block struct {
	data []byte
	off  int64 // place of data[0] in the file
	last bool  // the file ends with it
}

// source yields the blocks of one piece, then io.EOF. Before each call of next,
// the chunk of the last block may have been taken over.
type source interface {
	next(h *hold) (block, error)
	consumedBytes() int64
	io.Closer
}

// roomError is the error of a record for which there is no memory.
func roomError(path string, off, bytes int64, err error) error {
	return fmt.Errorf("%s: record at offset %d of %d bytes: %w", shown(path), off, bytes, err)
}

func tooLong(path string, off int64) error {
	return fmt.Errorf("%s: record at offset %d is longer than 4 GiB", shown(path), off)
}
