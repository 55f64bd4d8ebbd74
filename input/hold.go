package input

import (
	"fmt"
	"io"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

const (
	chunkBytes = membudget.ChunkBytes
	// maxRecordBytes is what a jobs.Span can measure.
	maxRecordBytes = 1<<32 - 1
)

// LentBlock is a block of whole records with the chunk that its data lies in.
// The reader lends the chunk until the next call of Next or Close. A borrower
// that wants it for longer takes it over (Loan.Take) before that.
type LentBlock struct {
	jobs.Block
	Loan          *membudget.Loan
	ConsumedBytes int64 // stored bytes of the source that are read, with this block
}

// hold is the one chunk that a reader holds between two calls of Next.
type hold struct {
	mem   Memory
	chunk *membudget.Chunk
	loan  membudget.Loan // of chunk
	taken bool           // a borrower took a chunk over: others may be, too
}

// lend lends the chunk at hand.
func (h *hold) lend() { h.loan = membudget.Loan{Chunk: h.chunk} }

// endLoan ends what lend began: a chunk that was taken over is held no more.
func (h *hold) endLoan() {
	if h.loan.Taken() {
		h.chunk, h.taken = nil, true
	}
	h.loan = membudget.Loan{}
}

// take returns a buffer of at least bytes: the chunk at hand where it fits.
// One standard chunk serves all small files as long as nobody takes it over;
// from then on each gets a chunk of its size.
func (h *hold) take(bytes int) ([]byte, error) {
	if !h.taken {
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
// chunk of the previous block may have been taken over.
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
